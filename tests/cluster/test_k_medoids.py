"""KMedoids against brute force, SciPy's metrics and the laws of its objective."""

import itertools
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from contract import case
from mlcore._ext.cluster import dissimilarities as _ext
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import KMedoids
from mlcore.cluster.k_medoids import dissimilarities
from mlcore.cluster.k_medoids.dissimilarities import Dissimilarity, OnDemand, extremes
from mlcore.cluster.k_medoids.fasterpam import NearestMedoids, plus_plus, swap_medoids
from mlcore.cluster.metrics import ALIASES, NAMED
from mlcore.numerics.seeds.row_sampler import RowSampler

ROUNDING = 1e-10  # relative, of sums of some hundred distances in double precision


def blobs(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, seed])
    return (rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


def objective(D, medoids, weights=None):
    near = D[:, medoids].min(axis=1)
    return near.sum() if weights is None else weights @ near


def swapped(D, medoids, weights=None):
    """The objectives that swaps of one medoid lead to: of each medoid by each sample."""
    found = []
    for slot in range(len(medoids)):
        rest = D[:, np.delete(medoids, slot)].min(axis=1, initial=np.inf)
        near = np.minimum(rest[:, None], D)
        found.append(near.sum(axis=0) if weights is None else weights @ near)
    return np.array(found)


def best_swap(D, medoids, weights=None):
    """The least objective that a swap of one medoid leads to."""
    candidates = slice(None) if weights is None else np.flatnonzero(weights)
    return swapped(D, medoids, weights)[:, candidates].min()


# ---- oracles


@pytest.fixture(params=["exact", "by products"])
def ways(request, monkeypatch):
    """Euclidean distances from differences, as of few samples, or from products, as of many."""
    if request.param == "by products":
        monkeypatch.setattr(dissimilarities, "_EXACT", 0)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "precomputed"])
def test_no_swap_lowers_the_objective(metric):
    shapes = (40, 2, 1), (90, 3, 4), (70, 20, 7), (30, 1, 29)
    for (n, d, most), weighted, power in itertools.product(shapes, (False, True), (1, 2)):
        X = blobs(n, d)
        D = cdist(X, X, "euclidean" if metric == "precomputed" else metric)
        weights = np.random.default_rng(1).integers(0, 4, n) / 2 if weighted else None
        k = min(most, n if weights is None else np.count_nonzero(weights))
        model = KMedoids(k, metric=metric, power=power, random_state=0)
        model.fit(D if metric == "precomputed" else X, sample_weight=weights)
        costs = D**power
        found = objective(costs, model.medoid_indices_, weights)
        with case(n, d, k, "weighted" if weighted else "plain", power):
            assert model.converged_ and len(set(model.medoid_indices_.tolist())) == k
            assert_allclose(model.inertia_, found, rtol=ROUNDING)
            assert best_swap(costs, model.medoid_indices_, weights) >= found * (1 - ROUNDING)
            assert (np.diff(model.objective_trace_) < 0).all()
            assert model.objective_trace_[-1] == model.inertia_


def test_a_larger_fit_prepared_on_parts_misses_no_swap():
    X = blobs(1200, 4)
    D = cdist(X, X)
    for model in (KMedoids(6, init="random", random_state=2).fit(X),
                  KMedoids(6, metric="precomputed", init=range(6)).fit(D)):  # fmt: skip
        kept = objective(D, model.medoid_indices_)
        assert_allclose(model.inertia_, kept, rtol=ROUNDING)
        near = np.sort(D[:, model.medoid_indices_], axis=1)
        assert best_swap(D, model.medoid_indices_) >= kept * (1 - ROUNDING)
        assert_allclose(model.medoid_silhouettes_, 1 - near[:, 0] / near[:, 1], atol=1e-7)


def changes(costs, medoids, weights):
    """What a swap for each sample would change at best."""
    return swapped(costs, medoids, weights).min(axis=0) - objective(costs, medoids, weights)


def test_swaps_lower_what_others_would_change_by_no_more_than_they_say():
    """Also where no triangle inequality holds."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(8, 25)), int(rng.integers(1, 6))
        D = rng.random((n, n))
        D += D.T
        np.fill_diagonal(D, 0.0)
        weights = rng.integers(1, 4, n).astype(float)
        rows = Dissimilarity("precomputed", 1, "test").rows(D, weights)
        state = NearestMedoids(rows, weights, rng.choice(n, k, replace=False))
        before = changes(D, state.medoids, weights)
        for slot, sample in zip(rng.integers(0, k, 30), rng.integers(0, n, 30), strict=True):
            if sample not in state.medoids and state.swap(slot, sample):
                kept = objective(D, state.medoids, weights)
                assert_allclose(state.objective, kept, rtol=ROUNDING, err_msg=f"seed {seed}")
                now = changes(D, state.medoids, weights)
                assert (now >= before - state.decrease - 1e-12).all(), seed
                before = now


@pytest.mark.parametrize("k", [1, 2, 4, 6, 7, 10, 11])
def test_swaps_in_one_call_are_those_made_one_by_one(k):
    """As many as ten medoids are compared lane by lane, others sample by sample."""
    for seed, dtype, power in itertools.product(range(6), (np.float32, np.float64), (1, 2)):
        with case(seed, dtype, power):
            check_swaps_in_one_call(k, power, dtype, seed)


def check_swaps_in_one_call(k, power, dtype, seed):
    rng = np.random.default_rng([k, seed])
    n = int(rng.integers(12, 90))
    D = rng.random((n, n)).astype(dtype)
    D += D.T
    np.fill_diagonal(D, 0.0)
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else np.empty(0)
    start, order = rng.choice(n, k, replace=False), rng.permutation(n)
    found, told = [], []
    for few in True, False:
        rows = Dissimilarity("precomputed", power, "test").rows(D, weights)
        assert rows.small
        rows.small = few
        state, steps = NearestMedoids(rows, weights, start), []
        found.append(
            swap_medoids(
                rows, state, order, tol=0.0, max_iter=9, report=lambda *a, s=steps: s.append(a)
            )
        )
        told.append(steps)
    assert_array_equal(found[0].medoids, found[1].medoids)
    assert found[0][2:] == found[1][2:]
    assert_allclose(found[0].trace, found[1].trace, rtol=ROUNDING)
    assert [step for step, _, _ in told[0]] == [step for step, _, _ in told[1]]
    costs = (D.astype(np.float64) ** power).T
    assert_allclose(
        found[0].trace[-1],
        objective(costs, found[0].medoids, weights if len(weights) else None),
        rtol=16 * np.finfo(dtype).eps,
    )


@pytest.mark.parametrize("power", [1, 2])
def test_medoids_drawn_in_one_call_are_those_drawn_one_by_one(power):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, size=(int(rng.integers(5, 60)), 2)).astype(np.float64)
        weights = rng.integers(0, 4, len(X)).astype(float) if seed % 2 else np.empty(0)
        sampler, found = RowSampler(X, weights), []
        for few in True, False:
            rows = Dissimilarity("euclidean", power, "test").rows(X, weights)
            rows.small = few
            found.append(plus_plus(rows, weights, 4, sampler, np.random.default_rng(seed)))
        assert_array_equal(*found, err_msg=f"seed {seed}")


@each("dtype", [np.float32, np.float64])
@each(("n", "d"), [(1, 1), (7, 3), (8, 2), (9, 40), (31, 4), (65, 5)])
def test_distances_of_few_samples_are_those_of_scipy(n, d, dtype):
    X = blobs(n, d, dtype=dtype)
    for metric, power in itertools.product(("euclidean", "sqeuclidean"), (1, 2)):
        rows = Dissimilarity(metric, power, "test").rows(X, np.empty(0))
        expected = cdist(X, X, metric)
        assert_allclose(rows.values, expected, rtol=4 * np.finfo(dtype).eps)
        assert_array_equal(rows.values, rows.values.T)
        assert rows.max_cost >= expected.max() ** power * (1 - 16 * np.finfo(dtype).eps)


def test_all_optima_of_small_problems_are_found_from_some_start():
    X = blobs(12, 2)
    D = cdist(X, X)
    best = min(objective(D, list(m)) for m in itertools.combinations(range(12), 3))
    found = [KMedoids(3, init="random", random_state=s).fit(X).inertia_ for s in range(10)]
    assert_allclose(min(found), best, rtol=ROUNDING)


def test_build_is_greedy():
    X = blobs(50, 3)
    D = cdist(X, X)
    expected = []
    for _ in range(4):
        costs = [objective(D, [*expected, j]) for j in range(50)]
        expected.append(int(np.argmin(costs)))
    model = KMedoids(4, init="build").fit(X)
    start = objective(D, expected)
    assert_allclose(model.objective_trace_[0], start, rtol=ROUNDING)


@each("metric", [*NAMED, *ALIASES])
def test_metrics_are_scipys(metric):
    X = np.abs(blobs(60, 5))
    if metric in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        X = (np.random.default_rng(0).random((60, 12)) < 0.4).astype(float)
        X[:, :2] = 0, 1
    name = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}.get(metric, metric)
    # Two arguments of cdist would count twice in what these two learn from the samples.
    learns = name in ("mahalanobis", "seuclidean")
    D = squareform(pdist(X, name)) if learns else cdist(X, X, name)
    model = KMedoids(4, metric=metric, random_state=0).fit(X)
    assert_allclose(model.transform(X), D[:, model.medoid_indices_], atol=1e-12)
    assert_allclose(model.inertia_, objective(D, model.medoid_indices_), rtol=ROUNDING)
    assert best_swap(D, model.medoid_indices_) >= model.inertia_ * (1 - ROUNDING)
    assert_array_equal(model.predict(X), model.labels_)


def test_a_callable_metric_is_called_with_rows():
    X = blobs(40, 3)
    model = KMedoids(3, metric=lambda a, b: np.abs(a - b).max(), random_state=0).fit(X)
    named = KMedoids(3, metric="chebyshev", random_state=0).fit(X)
    assert_array_equal(model.medoid_indices_, named.medoid_indices_)
    assert_array_equal(model.transform(X), named.transform(X))


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_distances_give_what_the_samples_give(dtype):
    X = blobs(300, 6, dtype=dtype)
    D = cdist(X, X).astype(dtype)
    init = [3, 50, 200]
    direct = KMedoids(3, init=init).fit(X)
    given_ = KMedoids(3, init=init, metric="precomputed").fit(D)
    assert_array_equal(direct.medoid_indices_, given_.medoid_indices_)
    assert_array_equal(direct.labels_, given_.labels_)
    assert_array_equal(direct.predict(X), given_.predict(D))
    assert direct.transform(X).dtype == given_.transform(D).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [1, 2])
def test_rows_formed_on_demand_are_those_kept(dtype, power, monkeypatch):
    X = blobs(700, 5, dtype=dtype)
    monkeypatch.setattr(dissimilarities, "_EXACT", 0)
    kept = KMedoids(5, power=power, init=range(5)).fit(X)
    monkeypatch.setattr(OnDemand, "worth_storing", False)
    again = KMedoids(5, power=power, init=range(5)).fit(X)
    assert_array_equal(kept.medoid_indices_, again.medoid_indices_)
    assert_array_equal(kept.objective_trace_, again.objective_trace_)


def test_medoid_silhouettes():
    X = [[0.0], [1.0], [4.0], [5.0], [6.0]]
    model = KMedoids(2, init=[0, 3]).fit(X)
    assert sorted(model.medoid_indices_.tolist()) in ([0, 3], [1, 3])
    D = np.sort(np.abs(np.array(X) - np.array(X)[model.medoid_indices_].T), axis=1)
    assert_allclose(model.medoid_silhouettes_, 1 - D[:, 0] / D[:, 1])
    assert_allclose(model.medoid_silhouette_, model.medoid_silhouettes_.mean())
    assert not KMedoids(1).fit(X).medoid_silhouettes_.any()


# ---- laws


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 6), st.sampled_from([1, 2]))
@example(seed=12, n=13, k=3, power=1)  # a tie
def test_laws(seed, n, k, power):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n, 2)) + rng.normal(scale=0.1, size=(n, 2))
    k, counts = min(k, n), rng.integers(1, 4, n)
    model = KMedoids(k, power=power, random_state=0)
    repeated = model.fit(X.repeat(counts, axis=0))
    centers, inertia = repeated.cluster_centers_, repeated.inertia_
    weighted = model.fit(X, sample_weight=counts)
    assert_as_good(weighted, centers, inertia, X, counts, power)
    order = rng.permutation(n)
    shuffled = model.fit(X[order], sample_weight=counts[order])
    assert_as_good(shuffled, centers, inertia, X, counts, power)
    scaled = model.fit(X * 4, sample_weight=counts)
    assert_as_good(scaled, centers * 4, inertia * 4**power, X * 4, counts, power)


def assert_as_good(model, centers, inertia, X, weights, power):
    """The same medoids, or others where the objective is a tie."""
    assert_allclose(model.inertia_, inertia, rtol=1e-12, atol=1e-14)
    if not np.array_equal(model.cluster_centers_, centers):
        for medoids in (model.cluster_centers_, centers):
            costs = cdist(X, medoids).min(axis=1) ** power
            assert_allclose(weights @ costs, inertia, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_threads_change_no_bit(metric, dtype):
    X = blobs(1000, 12, dtype=dtype)
    X = cdist(X, X).astype(dtype) if metric == "precomputed" else X
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            model = KMedoids(9, metric=metric, init="random", random_state=1).fit(X)
        found.append((model.medoid_indices_.tobytes(), model.objective_trace_.tobytes()))
    assert found[0] == found[1] == found[2]


# ---- hard data


def test_duplicates_constants_and_as_many_medoids_as_samples():
    X = blobs(20, 2)
    assert KMedoids(20).fit(X).inertia_ == 0
    assert KMedoids(3).fit(np.ones((10, 2))).inertia_ == 0
    assert KMedoids(5).fit(X[:3].repeat(6, axis=0)).inertia_ == 0
    assert KMedoids(1).fit(X[:1]).medoid_indices_.tolist() == [0]
    with pytest.raises(ValueError, match=r"n_samples=20 .* n_clusters=21"):
        KMedoids(21).fit(X)
    with pytest.raises(ValueError, match=r"n_samples=1 .* n_clusters=2"):
        KMedoids(2).fit(X, sample_weight=np.eye(20)[3])


@pytest.mark.usefixtures("ways")
@each("scale", [1e-200, 1e-20, 1e20, 1e150])
@each("power", [1, 2])
def test_units_do_not_matter(scale, power):
    X = blobs(200, 3)
    expected = KMedoids(4, power=power, init=range(4)).fit(X)
    try:
        found = KMedoids(4, power=power, init=range(4)).fit(X * scale)
    except ValueError as error:
        assert power == 2 and scale == 1e150 and "rescale" in str(error)
    else:
        assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
        assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_far_from_zero(dtype):
    X = blobs(200, 3, dtype=dtype) * 2.0**10
    X = np.round(X)
    expected = KMedoids(4, init=range(4)).fit(X)
    found = KMedoids(4, init=range(4)).fit(X + dtype(2.0**20))
    assert_array_equal(found.medoid_indices_, expected.medoid_indices_)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda D: D[:, :-1], "should be square"),
        (lambda D: -D, "Negative values in data passed to KMedoids"),
        (lambda D: np.triu(D), "not symmetric"),
        (lambda D: D * np.nan, "NaN"),
    ],
)
def test_what_are_no_distances_is_refused(spoil, message):
    X = blobs(70, 3)
    D = cdist(X, X)
    with pytest.raises(ValueError, match=message):
        KMedoids(2, metric="precomputed").fit(spoil(D))
    model = KMedoids(2, metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="Negative"):
        model.predict(-D)


@each("n", [1, 7, 64, 65, 200])
@each("dtype", [np.float32, np.float64])
def test_extremes_of_a_matrix(n, dtype):
    D = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    found = extremes(D)
    assert_allclose(found, (D.min(), D.max(), np.abs(D - D.T).max()), rtol=1e-6)
    assert _ext.TILE_SIDE == 64


@each(
    ("init", "message"),
    [([0, 0], "different"), ([0, 70], "from 0 to 69"), ([-1, 2], "from 0"), ([0.5, 1.0], "init"),
     ([1], "init"), ("buildd", "'build'")],
)  # fmt: skip
def test_wrong_starts_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        KMedoids(2, init=init).fit(blobs(70, 3))


def test_a_metric_that_fails_is_named():
    X = blobs(30, 3)
    X[4] = 0
    with pytest.raises(ValueError, match="cosine.* gave nan"):
        KMedoids(2, metric="cosine").fit(X)
    with pytest.raises(ValueError, match="backwards gave -1"):
        KMedoids(2, metric=backwards).fit(X)


def backwards(a, b):
    return -1.0


def test_rounds_that_run_out_are_said():
    X = blobs(400, 3)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = KMedoids(6, init=range(6), max_iter=1).fit(X)
    assert not model.converged_ and model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KMedoids(6, init=range(6), tol=0.5, max_iter=2).fit(X).converged_


def test_scikit_learns_checks_of_clusterers():
    model = KMedoids()
    for check in _yield_clustering_checks(model):
        check("KMedoids", model)


def test_silhouettes_by_medoids_where_distances_are_0_and_1():
    apart = KMedoids(2).fit([[0.0], [1.0]])
    assert_array_equal(apart.medoid_silhouettes_, [1, 1])
    together = KMedoids(2).fit([[1.0], [1.0]])
    assert_array_equal(together.medoid_silhouettes_, [0, 0])


@pytest.mark.parametrize("n", [2, 3])
def test_variances_of_few_samples_are_unbiased(n):
    X = np.array([[0.0, 1.0], [2.0, 5.0], [3.0, 1.0]])[:n]
    D = squareform(pdist(X, "seuclidean"))
    model = KMedoids(1, metric="seuclidean").fit(X)
    assert_allclose(model.transform(X), D[:, model.medoid_indices_], rtol=1e-12)
