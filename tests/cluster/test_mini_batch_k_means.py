"""MiniBatchKMeans: its steps by hand, its batches, and how near it comes to KMeans."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.cluster import KMeans, MiniBatchKMeans
from mlcore.numerics.seeds.row_sampler import RowSampler
from mlcore.row_sums import RowSums


def blobs(n=3000, d=4, k=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=5, size=(k, d))[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def test_each_step_moves_centres_to_the_means_of_all_their_samples():
    X = blobs(1000)
    start = X[:7]
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    model = MiniBatchKMeans(7, init=start)
    assert isinstance(model, RowSums)
    centers, counts = start.copy(), np.zeros(7)
    for rows in np.array_split(np.arange(len(X)), 9):
        labels = cdist(X[rows], centers).argmin(axis=1)
        for i, j in zip(rows, labels, strict=True):
            counts[j] += weights[i]
            centers[j] += weights[i] / counts[j] * (X[i] - centers[j])
        model.partial_fit(X[rows], sample_weight=weights[rows])
        assert_allclose(model.cluster_centers_, centers, rtol=1e-12, atol=1e-12)
        assert_allclose(model.counts_, counts, rtol=1e-12)
    assert model.n_steps_ == 9
    assert_array_equal(model.predict(X), cdist(X, centers).argmin(axis=1))


@each("kind, weighted", [(k, w) for k in (np.asarray, sp.csr_array) for w in (False, True)])
def test_batches_larger_than_the_data_count_each_draw_of_a_row(kind, weighted):
    X = blobs(60)
    weights = np.random.default_rng(2).uniform(0, 3, len(X)) if weighted else None
    model = MiniBatchKMeans(3, init=X[:3], n_init=1, max_iter=4, batch_size=100, random_state=5)
    model.fit(kind(X), sample_weight=weights)
    sampler = RowSampler(X, np.empty(0) if weights is None else weights)
    rng, centers, counts = model._rng(), X[:3].copy(), np.zeros(3)
    for _ in range(model.n_steps_):
        batch = X[sampler.draw_many(rng.random(100))]
        for x, j in zip(batch, cdist(batch, centers).argmin(axis=1), strict=True):
            counts[j] += 1
            centers[j] += (x - centers[j]) / counts[j]
    assert_array_equal(model.counts_, counts)
    assert_allclose(model.cluster_centers_, centers, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_blocks", [1, 7])
def test_a_batch_in_blocks_is_the_batch(n_blocks):
    X = blobs(500)
    one = MiniBatchKMeans(5, init=X[:5]).partial_fit(X)
    model = MiniBatchKMeans(5, init=X[:5]).begin(X)
    total = None
    for block in np.array_split(X, n_blocks):
        part = model.partial_statistics(block)
        total = part if total is None else model.merge(total, part)
    model.update(total)
    assert_allclose(model.cluster_centers_, one.cluster_centers_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_it_comes_near_k_means(kind):
    X = blobs()
    exact = KMeans(12, n_init=5, random_state=0).fit(X)
    model = MiniBatchKMeans(12, n_init=5, random_state=0).fit(kind(X))
    # From one start of the five both may end in another of the local minima.
    assert model.inertia_ < 1.5 * exact.inertia_
    own = model.cluster_centers_[model.labels_]
    assert_allclose(model.inertia_, ((X - own) ** 2).sum(), rtol=1e-10)
    assert_array_equal(model.predict(X), model.labels_)


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_neither_the_order_of_rows_nor_copies_for_weights_matter(seed):
    rng = np.random.default_rng(seed)
    X, counts = blobs(100, 3, 4, seed), rng.integers(0, 3, 100)
    order = rng.permutation(100)
    params = {"n_clusters": 4, "random_state": seed, "batch_size": 16, "max_iter": 3}
    params["max_no_improvement"] = None
    one, two = (
        MiniBatchKMeans(**params).fit(X[rows]).cluster_centers_
        for rows in (np.arange(100).repeat(counts), order.repeat(counts[order]))
    )
    assert_allclose(one, two, rtol=1e-10, atol=1e-10)
    begun = MiniBatchKMeans(**params).begin(X, sample_weight=counts)
    repeated = MiniBatchKMeans(**params).begin(X.repeat(counts, axis=0))
    assert_array_equal(begun.cluster_centers_, repeated.cluster_centers_)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_centres_without_samples_begin_anew(kind):
    X = blobs()
    start = np.r_[X[:3], np.full((3, 4), 1e3)]
    model = MiniBatchKMeans(6, init=start, random_state=0, max_iter=20).fit(kind(X))
    assert (np.bincount(model.labels_, minlength=6) > 0).all() and (model.counts_ > 0).all()


def test_it_stops_when_nothing_improves_or_centres_stand():
    X = blobs()
    patient = MiniBatchKMeans(12, random_state=0, max_no_improvement=None, max_iter=4).fit(X)
    assert patient.n_steps_ == 4 * len(X) // 1024 and not patient.converged_
    assert patient.n_iter_ == np.ceil(patient.n_steps_ * 1024 / len(X)) == 4
    few = MiniBatchKMeans(3, random_state=0, max_no_improvement=None, max_iter=4).fit(X[:100])
    assert few.n_steps_ == few.n_iter_ == 4  # a batch is larger than the data
    assert MiniBatchKMeans(12, random_state=0, tol=1e-2).fit(X).converged_
    assert MiniBatchKMeans(12, random_state=0, max_no_improvement=3).fit(X).converged_


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"tol": 1e-2, "max_no_improvement": None}, "small centers change"),
        ({"tol": 0.0, "max_no_improvement": 3}, "lack of improvement in inertia"),
    ],
)
def test_it_says_why_it_stopped(params, why, capsys):
    model = MiniBatchKMeans(12, random_state=0, verbose=1, **params).fit(blobs())
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"MiniBatchKMeans  Converged ({why}) at step {model.n_steps_}"


def test_a_failed_batch_leaves_the_model_as_it_was():
    X = blobs(100)
    model = MiniBatchKMeans(3, random_state=0)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X * np.nan)
    assert not hasattr(model, "cluster_centers_")
    model.partial_fit(X)
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.partial_fit(X[:, :2])
    assert_array_equal(model.cluster_centers_, before)
    assert model.n_steps_ == 1


@each("seed", range(6))
def test_passes_and_patience_count_weights_as_copies(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(300, 3)), rng.integers(0, 6, 300)
    weighted = MiniBatchKMeans(5, batch_size=50, random_state=seed).fit(X, sample_weight=w)
    copies = MiniBatchKMeans(5, batch_size=50, random_state=seed).fit(np.repeat(X, w, axis=0))
    assert (weighted.n_steps_, weighted.n_iter_) == (copies.n_steps_, copies.n_iter_)
    assert_allclose(weighted.cluster_centers_, copies.cluster_centers_, rtol=1e-9)
    assert_allclose(weighted.inertia_, copies.inertia_, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_weights_of_any_unit_end(unit):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = MiniBatchKMeans(3, batch_size=50, random_state=0)
    found = model.fit(X, sample_weight=np.full(200, unit))
    assert 1 <= found.n_steps_ < 64 * 100 * 4
    assert_allclose(found.inertia_ / unit, -found.score(X), rtol=1e-9)


def test_a_begun_model_has_taken_no_step():
    model = MiniBatchKMeans(5, random_state=0).begin(blobs(500))
    assert (model.n_iter_, model.n_steps_, model.converged_) == (0, 0, False)
    assert_array_equal(model.counts_, np.zeros(5))
