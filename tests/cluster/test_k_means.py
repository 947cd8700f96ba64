"""KMeans against scikit-learn, brute force and the laws of its objective."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as ScikitLearns
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import KMeans, MiniBatchKMeans
from mlcore.row_sums import RowSums

N_SAMPLES = 900


def blobs(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, seed])
    return (rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


def some_rows(X, k, seed=0):
    return X[np.random.default_rng(seed).choice(len(X), k, replace=False)]


def objective(X, centers, weights=None):
    nearest = cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean").min(axis=1)
    return nearest.sum() if weights is None else weights @ nearest


# ---- oracles


SIZES = [1, 2, 17, 100, 500, N_SAMPLES]
FEATURES = [1, 2, 8, 16, 64, 784]
# Every number of steps with every number of features, and of clusters.
PAIRED = [
    (d, k, [1, 4, 300][(i + j) % 3]) for i, d in enumerate(FEATURES) for j, k in enumerate(SIZES)
]


@pytest.mark.parametrize("d", FEATURES)
def test_from_the_same_start_it_is_scikit_learns(d):
    for _, k, max_iter in (paired for paired in PAIRED if paired[0] == d):
        with case(k, max_iter):
            check_with_scikit_learn(d, k, max_iter)


def check_with_scikit_learn(d, k, max_iter):
    n = N_SAMPLES if d < 784 or k < N_SAMPLES else 300
    X = blobs(n, d)
    k = min(k, n)
    start = some_rows(X, k)
    peer = ScikitLearns(k, init=start, n_init=1, tol=0, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X)
    model = KMeans(k, init=start, tol=0, max_iter=max_iter).fit(X)
    assert_array_equal(model.labels_, peer.labels_)
    # Both add up to n values of this size in some order, and divide.
    assert_allclose(
        model.cluster_centers_, peer.cluster_centers_, rtol=1e-12, atol=1e-12 * np.abs(X).max()
    )
    assert_allclose(model.inertia_, objective(X, model.cluster_centers_), rtol=1e-12, atol=1e-20)
    assert model.n_iter_ == peer.n_iter_ and model.labels_.dtype == np.int32


@pytest.mark.parametrize("tol", [0, 1e-4, 1e-2])
def test_it_stops_where_scikit_learn_does(tol):
    X = blobs(3000, 3)
    start = some_rows(X, 20)
    peer = ScikitLearns(20, init=start, n_init=1, tol=tol).fit(X)
    model = KMeans(20, init=start, tol=tol).fit(X)
    assert model.n_iter_ == peer.n_iter_ and model.converged_
    assert_array_equal(model.labels_, peer.labels_)


@pytest.mark.parametrize(("d", "k"), [(2, 9), (8, 64), (40, 30)])
def test_weights_from_the_same_start_are_scikit_learns(d, k):
    X = blobs(N_SAMPLES, d)
    weights = np.random.default_rng(0).uniform(0.1, 3, len(X))
    start = some_rows(X, k)
    peer = ScikitLearns(k, init=start, n_init=1, tol=0).fit(X, sample_weight=weights)
    model = KMeans(k, init=start, tol=0).fit(X, sample_weight=weights)
    assert_array_equal(model.labels_, peer.labels_)
    assert_allclose(model.cluster_centers_, peer.cluster_centers_, rtol=1e-12, atol=1e-11)
    assert_allclose(model.inertia_, peer.inertia_, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_iter", [2, 25, 100])
def test_labels_are_those_of_a_full_search(max_iter, dtype):
    """On every route: bounds from the start, begun later, or never."""
    single = dtype == np.float32
    for n, d, k in [(1, 1, 1), (5, 1, 2), (63, 5, 2), (4097, 2, 16)] + (
        [(5003, 17, 33)] if single == (max_iter == 25) else [(2100, 16, 200), (700, 130, 40)]
    ):
        with case(n, d, k):
            check_labels(n, d, k, max_iter, dtype)


def check_labels(n, d, k, max_iter, dtype):
    X = blobs(n, d, dtype=dtype)
    model = KMeans(k, init=some_rows(X, k), tol=0, max_iter=max_iter).fit(X)
    squared = cdist(X.astype(np.float64), model.cluster_centers_.astype(np.float64), "sqeuclidean")
    # |c|²/2 - x.c is formed of d + 1 products and sums.
    eps = 4 * (d + 4) * np.finfo(dtype).eps * (np.square(X, dtype=np.float64).sum(axis=1).max() + 1)
    assert (squared[np.arange(n), model.labels_] - squared.min(axis=1)).max() <= eps
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.fit_predict(X), model.labels_)


def test_a_fixed_point_has_its_means_as_centres():
    X = blobs(2000, 6)
    weights = np.random.default_rng(1).uniform(0.1, 3, len(X))
    model = KMeans(15, random_state=0, tol=0, max_iter=1000).fit(X, sample_weight=weights)
    assert model.converged_
    for j, center in enumerate(model.cluster_centers_):
        own = model.labels_ == j
        assert_allclose(center, np.average(X[own], axis=0, weights=weights[own]), atol=1e-12)
    assert_allclose(model.inertia_, objective(X, model.cluster_centers_, weights), rtol=1e-12)
    assert_allclose(model.score(X, sample_weight=weights), -model.inertia_, rtol=1e-12)


def test_transform_is_the_distances():
    X = blobs(500, 7)
    model = KMeans(9, random_state=0).fit(X)
    expected = cdist(X, model.cluster_centers_)
    assert_allclose(model.transform(X), expected, rtol=1e-13)
    assert_allclose(model.fit_transform(X), expected, rtol=1e-13)
    assert_allclose(model.transform(sp.csr_array(X)), expected, rtol=1e-7, atol=1e-6)
    assert model.set_output(transform="pandas").transform(X).columns[0] == "kmeans0"


@pytest.mark.parametrize("estimator", [KMeans(3), MiniBatchKMeans(3)])
def test_scikit_learns_checks_of_clusterers(estimator):
    for check in _yield_clustering_checks(estimator):
        check(type(estimator).__name__, estimator)


# ---- laws

SEEDS = st.integers(0, 2**32)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 12), st.integers(1, 9))
def test_the_trace_never_rises_and_ends_at_the_inertia(seed, k, d):
    X = blobs(150, d, seed)
    model = KMeans(k, random_state=seed, tol=0).fit(X)
    assert (np.diff(model.objective_trace_) <= 0).all()
    assert_allclose(model.objective_trace_[-1], model.inertia_, rtol=1e-12, atol=1e-20)
    assert_allclose(model.inertia_, objective(X, model.cluster_centers_), rtol=1e-12, atol=1e-20)


@settings(max_examples=15)
@given(SEEDS)
def test_neither_the_order_of_rows_nor_copies_for_weights_matter(seed):
    rng = np.random.default_rng(seed)
    X, counts = blobs(120, 3, seed), rng.integers(0, 3, 120)
    order = rng.permutation(120)
    weighted = KMeans(6, random_state=seed).fit(X, sample_weight=counts)
    for rows in (np.arange(120).repeat(counts), order.repeat(counts[order])):
        repeated = KMeans(6, random_state=seed).fit(X[rows])
        assert_allclose(repeated.cluster_centers_, weighted.cluster_centers_, atol=1e-12)
        assert_array_equal(repeated.labels_, weighted.labels_[rows])
        assert_allclose(repeated.inertia_, weighted.inertia_, rtol=1e-10)


@settings(max_examples=20)
@given(SEEDS, st.integers(-500, 500), st.sampled_from([np.float32, np.float64]))
def test_another_unit_scales_the_centres_exactly(seed, power, dtype):
    power = power // 10 if dtype == np.float32 else power
    X = blobs(200, 4, seed, dtype)
    model = KMeans(7, random_state=seed).fit(X)
    scaled = KMeans(7, random_state=seed).fit(np.ldexp(X, power))
    assert_array_equal(scaled.cluster_centers_, np.ldexp(model.cluster_centers_, power))
    assert_array_equal(scaled.labels_, model.labels_)
    assert_array_equal(scaled.predict(np.ldexp(X, power)), model.labels_)


@pytest.mark.parametrize(
    ("n", "d", "k", "dtype"),
    [
        (30_000, 2, 9, np.float32),
        (9000, 8, 64, np.float32),
        (9000, 8, 64, np.float64),
        (9000, 40, 30, np.float64),
    ],
)
def test_any_number_of_threads_gives_the_same_bytes(n, d, k, dtype):
    X = blobs(n, d, dtype=dtype)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found.append(pickle.dumps(vars(KMeans(k, random_state=0, max_iter=15).fit(X))))
    assert found[0] == found[1] == found[2]


# ---- the sums over rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_blocks", [1, 7, 100])
def test_merged_blocks_give_the_serial_answer(n_blocks, weighted):
    X = blobs(2000, 5)
    weights = np.random.default_rng(0).uniform(0, 2, len(X)) if weighted else np.ones(len(X))
    start = some_rows(X, 12)
    expected = KMeans(12, init=start, tol=0, max_iter=5).fit(X, sample_weight=weights)
    model = KMeans(12, init=start)
    assert isinstance(model, RowSums)
    model.begin(X)
    assert_array_equal(model.cluster_centers_, start)
    for _ in range(5):
        total = None
        for rows in np.array_split(np.arange(len(X)), n_blocks):
            part = model.partial_statistics(X[rows], sample_weight=weights[rows])
            total = part if total is None else model.merge(total, part)
        model.update(pickle.loads(pickle.dumps(total)))
    assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert_allclose(model.objective_trace_, expected.objective_trace_[:5], rtol=1e-12)
    assert_array_equal(model.predict(X), expected.labels_)
    assert model.n_iter_ == 5


def test_one_step_through_the_sums_is_a_step_of_fit():
    X = blobs(1000, 4, dtype=np.float32) + np.float32(1e4)
    start = some_rows(X, 10)
    model = KMeans(10, init=start).begin(X)
    model.update(model.partial_statistics(X))
    stepped = KMeans(10, init=start, max_iter=1).fit(X)
    assert_array_equal(model.cluster_centers_, stepped.cluster_centers_)
    assert_array_equal(model.offsets_, stepped.offsets_)


# ---- starts


def test_starts_of_every_kind():
    X = blobs(400, 3)
    seen = []

    def first_rows(X, n_clusters, random_state):
        seen.append(random_state.random())
        return X[:n_clusters]

    model = KMeans(5, init=first_rows, random_state=0).fit(X)
    assert len(set(seen)) == 10
    assert_array_equal(model.labels_, KMeans(5, init=X[:5]).fit(X).labels_)
    one, ten = (KMeans(5, init="random", n_init=n, random_state=3).fit(X) for n in (1, "auto"))
    assert ten.inertia_ <= one.inertia_
    with pytest.raises(ValueError, match=r"centers \(4, 3\) \(init.*random_state\).*\(5, 3\)"):
        KMeans(5, init=lambda X, k, random_state: X[:4]).fit(X)


# ---- hard data


def test_empty_clusters_begin_anew_as_scikit_learns_do():
    X = blobs(300, 2)
    start = np.r_[some_rows(X, 4), np.full((2, 2), 1e3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = ScikitLearns(6, init=start, n_init=1, tol=0).fit(X)
    model = KMeans(6, init=start, tol=0).fit(X)
    assert_array_equal(model.labels_, peer.labels_)
    assert_allclose(model.cluster_centers_, peer.cluster_centers_, rtol=1e-12, atol=1e-12)


@each("sparse", [False, True])
@each("init", ["k-means++", "random", "given"])
@each("dtype", [np.float32, np.float64])
def test_fewer_points_than_clusters_give_distinct_centres_and_one_warning(init, dtype, sparse):
    points = np.random.default_rng(0).normal(size=(5, 3)).astype(dtype)
    X = points.repeat(30, axis=0)
    start = X[:8].copy() if init == "given" else init
    with pytest.warns(
        ConvergenceWarning, match=r"distinct clusters \(5\).*n_clusters \(8\)"
    ) as seen:
        model = KMeans(8, init=start, n_init=1, random_state=1).fit(
            sp.csr_array(X) if sparse else X
        )
    assert len(seen) == 1
    assert_allclose(np.sort(model.cluster_centers_, axis=0), np.sort(points, axis=0), rtol=1e-6)
    assert_allclose(model.inertia_, 0, atol=1e-20)
    assert set(model.labels_) == set(range(5)) and model.transform(X).shape == (150, 5)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e300])
def test_weights_of_any_scale(scale):
    X = blobs(200, 3)
    weights = np.random.default_rng(0).uniform(0.5, 1, len(X))
    model = KMeans(5, random_state=0).fit(X, sample_weight=weights)
    scaled = KMeans(5, random_state=0).fit(X, sample_weight=weights * scale)
    assert_allclose(scaled.cluster_centers_, model.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert_allclose(scaled.inertia_, model.inertia_ * scale, rtol=1e-12)


def test_weights_of_mixed_scales_leave_no_residue_in_emptied_clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    weights = 10.0 ** rng.uniform(-14, 0, len(X))
    model = KMeans(40, random_state=0, tol=0).fit(X, sample_weight=weights)
    for j in np.unique(model.labels_):
        own = model.labels_ == j
        expected = np.average(X[own], axis=0, weights=weights[own])
        assert_allclose(model.cluster_centers_[j], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 1)),
        np.c_[blobs(50, 2), np.full(50, 7.0)],
        blobs(6, 500),
        np.arange(6.0)[:, None],
    ],
    ids=["one point", "constant feature", "d >> n", "one feature"],
)
def test_degenerate_data(X):
    for k in {1, len(X) // 2 or 1, len(X)}:
        model = KMeans(k, random_state=0).fit(X)
        assert len(set(model.labels_)) == k
        assert_allclose(
            model.inertia_, objective(X, model.cluster_centers_), rtol=1e-12, atol=1e-20
        )


def test_too_many_clusters_are_named():
    with pytest.raises(ValueError, match="n_samples=5 .* n_clusters=6"):
        KMeans(6).fit(blobs(5, 2))
    with pytest.raises(ValueError, match="n_samples=3 .* n_clusters=4"):
        KMeans(4).fit(blobs(5, 2), sample_weight=[1, 1, 1, 0, 0])


def test_more_clusters_than_bounds_are_made_for():
    X = blobs(3000, 2)
    start = some_rows(X, 1100)
    model = KMeans(1100, init=start, tol=0).fit(X)
    peer = ScikitLearns(1100, init=start, n_init=1, tol=0).fit(X)
    assert_array_equal(model.labels_, peer.labels_)


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_given_centres_start_once_and_say_so(kind):
    X, starts = blobs(100, 3), []
    with pytest.warns(RuntimeWarning, match="performing only one init in .* instead of n_init=10"):
        kind(4, init=X[:4], n_init=10, callback=lambda **seen: starts.append(seen["step"])).fit(X)
    assert starts.count(1) == 1


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_shapes_of_given_centres_are_named(kind):
    X, before = blobs(100, 3), "The shape of the initial centers .* does not match the number of"
    with pytest.raises(ValueError, match=f"{before} clusters"):
        kind(4, init=X[:5]).fit(X)
    with pytest.raises(ValueError, match=f"{before} features of the data"):
        kind(4, init=X[:4, :2]).fit(X)


def test_an_interrupted_refit_leaves_the_old_model():
    X = blobs(300, 3)
    model = KMeans(4, random_state=0).fit(X)
    before = pickle.dumps(vars(model))

    def stop(**_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=stop).fit(X[:100])
    model.set_params(callback=None)
    assert pickle.dumps(vars(model)) == before


def test_memory_beside_the_data_is_bounded():
    X = np.tile(blobs(20_000, 8), (10, 1))
    for init in ("k-means++", "random"):
        tracemalloc.start()
        try:
            KMeans(64, init=init, n_init=1, max_iter=2, random_state=0).fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # A sample: label 4, norm 8, bounds 8 + 4 per group of 8 centres; sums of 32 chunks; blocks.
        assert peak < len(X) * (4 + 8 + 8 + 32) + 33 * 64 * 9 * 8 + 2**23, init


# ---- evidence that rounding cannot hide


def test_a_rise_of_the_objective_is_shown_and_told():
    reads = iter(range(1000))

    def rows():  # other rows at each reading
        return np.random.default_rng(next(reads)).normal(size=(50, 2))

    model = KMeans(3, init=np.eye(3, 2), max_iter=30)
    with pytest.warns(ConvergenceWarning, match="the objective rose .* the same in every pass"):
        model.begin(rows())
        while model.needs_another_pass():
            model.update(model.partial_statistics(rows()))
        model.finish(model.partial_statistics(rows()))
    assert (np.diff(model.objective_trace_) > 1).any()
    assert model.objective_trace_[-1] == model.inertia_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_too_far_from_0_to_be_told_apart(dtype):
    X = blobs(300, 2) + (1e8 if dtype == np.float64 else 1e7)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = KMeans(3, random_state=0).fit(sp.csr_array(X.astype(dtype)))
    assert any("rounding hides which centre is nearest" in str(w.message) for w in told)
    assert not model.converged_
    dense = KMeans(3, random_state=0).fit(X)
    assert dense.converged_
    assert dense.inertia_ < model.inertia_


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_copies_far_from_0_are_told_apart_without_a_warning(kind):
    X = np.repeat(blobs(4, 3), 50, axis=0) + 1e3
    model = KMeans(4, random_state=0).fit(kind(X))
    assert model.converged_
    assert model.inertia_ < 1e-18 * np.square(X).sum()
