"""KernelKMeans against its definition, KMeans, brute force and the laws of its objective."""

import itertools
import pickle
import warnings
from unittest import mock

import numpy as np
import pytest
from each import each
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import KernelKMeans, KMeans, adjusted_rand_index
from mlcore.cluster.kernel_k_means.kernel_assignment import KernelAssignment
from mlcore.kernels import gram_matrix
from mlcore.kernels.gram_rows import GramRows
from mlcore.kernels.vector_kernels import as_kernel

pytestmark = pytest.mark.filterwarnings(
    "ignore:KernelKMeans stopped after max_iter", "ignore:Number of distinct clusters"
)
SEEDS = st.integers(0, 2**32)
EPS = float(np.finfo(np.float64).eps)


def blobs(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, seed])
    return (rng.normal(size=(n, d)) + 2 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


def some_labels(n, k, seed=0):
    """Every label at least once."""
    rng = np.random.default_rng([n, k, seed])
    return rng.permutation(np.r_[np.arange(k), rng.integers(0, k, n - k)])


def objective(K, labels, weights=None):
    """tr(W K) - tr(G'KG), G the scaled indicators of the clusters."""
    w = np.ones(len(K)) if weights is None else weights
    K = K.astype(np.float64)
    G = np.eye(labels.max() + 1)[labels] * w[:, None]
    mass = np.bincount(labels, w)
    return w @ K.diagonal() - (np.einsum("ij,ij->j", G, K @ G)[mass > 0] / mass[mass > 0]).sum()


def squares(K, labels, weights, k):
    """Squared distances of all samples from all means, by expansion."""
    A = np.eye(k)[labels] * weights[:, None]
    A /= A.sum(axis=0)
    KA = K @ A
    return K.diagonal()[:, None] - 2 * KA + np.einsum("ij,ij->j", A, KA)


def by_definition(K, labels, k, max_iter, weights=None):
    w = np.ones(len(K)) if weights is None else weights
    for _ in range(max_iter):
        labels = squares(K, labels, w, k).argmin(axis=1)
    return labels


# ---- oracles

PARAMETERS = {
    "rbf": {"gamma": 0.2},
    "laplacian": {"gamma": 0.2},
    "polynomial": {"gamma": 0.1, "degree": 2, "coef0": 1.0},
    "cosine": {},
    "chi2": {"gamma": 0.1},
}


@each("max_iter", [1, 2, 7])
@each("kernel", PARAMETERS)
@each("weighted", [False, True])
def test_steps_are_those_of_the_definition(kernel, max_iter, weighted):
    n, k = 200, 4
    X = np.abs(blobs(n, 5))
    start = some_labels(n, k)
    weights = np.random.default_rng(1).uniform(0.1, 3, n) if weighted else np.ones(n)
    K = gram_matrix(X, kernel=kernel, **PARAMETERS[kernel])
    model = KernelKMeans(
        k, kernel=kernel, init=start, max_iter=max_iter, tol=0, **PARAMETERS[kernel]
    ).fit(X, sample_weight=weights)
    assert_array_equal(model.labels_, by_definition(K, start, k, max_iter, weights))
    # Sums of n² values of the size of K, in another order.
    atol = n * EPS * weights @ K.diagonal()
    assert_allclose(model.inertia_, objective(K, model.labels_, weights), atol=atol)
    assert model.labels_.dtype == np.int32


@each(("n", "d", "k"), [(50, 1, 2), (400, 3, 5), (700, 20, 12)])
@each("weighted", [False, True])
def test_the_linear_kernel_is_k_means(n, d, k, weighted):
    X = blobs(n, d)
    start = some_labels(n, k)
    weights = np.random.default_rng(1).uniform(0.1, 3, n) if weighted else np.ones(n)
    means = np.array(
        [np.average(X[start == j], axis=0, weights=weights[start == j]) for j in range(k)]
    )
    plain = KMeans(k, init=means, tol=0).fit(X, sample_weight=weights)
    model = KernelKMeans(k, kernel="linear", init=start, tol=0).fit(X, sample_weight=weights)
    assert model.converged_
    assert_array_equal(model.labels_, plain.labels_)
    atol = n * EPS * (weights @ (X**2).sum(axis=1))
    assert_allclose(model.inertia_, plain.inertia_, atol=atol)
    assert_allclose(model.center_squared_norms_, (plain.cluster_centers_**2).sum(axis=1), rtol=1e-9)
    new = blobs(200, d, seed=5)
    assert_array_equal(model.predict(new), plain.predict(new))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_partitions_is_a_fixed_point_and_a_bound(seed):
    n, k = 8, 3
    X = np.random.default_rng(seed).normal(size=(n, 2))
    K = gram_matrix(X, gamma=0.5)
    partitions = [
        np.array(labels)
        for labels in itertools.product(range(k), repeat=n)
        if list(dict.fromkeys(labels)) == list(range(k))  # one of those that differ by names
    ]
    G = np.eye(k)[np.array(partitions)]
    objectives = np.trace(K) - (np.einsum("pik,ij,pjk->pk", G, K, G) / G.sum(axis=1)).sum(axis=1)
    best = int(np.argmin(objectives))
    model = KernelKMeans(k, gamma=0.5, tol=0)
    at_best = model.set_params(init=partitions[best]).fit(X)
    assert_array_equal(at_best.labels_, partitions[best])
    assert at_best.n_iter_ == 1 and at_best.converged_
    assert_allclose(at_best.inertia_, objectives[best], rtol=1e-12)
    for start in range(0, len(partitions), 100):
        found = model.set_params(init=partitions[start]).fit(X).inertia_
        assert objectives[best] * (1 - 1e-12) <= found <= objectives[start] * (1 + 1e-12)
    assert model.set_params(init="random", n_init=20, random_state=0).fit(X).inertia_ < np.median(
        objectives
    )


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_fixed_point_has_every_sample_at_its_nearest_mean(init):
    X = blobs(600, 4)
    weights = np.random.default_rng(1).uniform(0.1, 3, len(X))
    model = KernelKMeans(9, init=init, tol=0, gamma=0.3, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.converged_
    K = gram_matrix(X, gamma=0.3)
    found = squares(K, model.labels_, weights, 9)
    own = found[np.arange(len(X)), model.labels_]
    assert (own - found.min(axis=1)).max() <= len(X) * EPS
    assert_allclose(model.inertia_, weights @ own, rtol=1e-12)
    means = np.eye(9)[model.labels_] * model.coefficients_[:, None]
    expected = np.einsum("ij,ij->j", means, K @ means)
    assert_allclose(model.center_squared_norms_, expected, rtol=1e-12)
    assert_array_equal(model.predict(X), model.labels_)
    new = blobs(100, 4, seed=3)
    distances = model.center_squared_norms_ - 2 * gram_matrix(new, X, gamma=0.3) @ means
    assert_array_equal(model.predict(new), distances.argmin(axis=1))


def test_greedy_seeding_is_near_the_best():
    X = np.repeat(np.eye(12) * 10, 20, axis=0) + np.random.default_rng(0).normal(size=(240, 12))
    model = KernelKMeans(12, gamma=0.01, random_state=0).fit(X)
    assert len(np.unique(model.labels_.reshape(12, 20))) == 12
    assert (np.ptp(model.labels_.reshape(12, 20), axis=1) == 0).all()


# ---- routes

ROUTES = [0.001, 0.9]  # MB: nothing kept, some rows


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("mlcore.kernels.gram_rows.GramRows.PASSING", 1 << 17)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["labels", "k-means++", "random"])
def test_blocks_give_what_the_whole_matrix_gives(init, dtype, small_blocks):
    X = blobs(520, 40, dtype=dtype)
    init = some_labels(520, 5) if init == "labels" else init
    model = KernelKMeans(5, init=init, tol=0, random_state=0, n_init=2)
    whole = model.fit(X)
    labels, trace = whole.labels_, whole.objective_trace_
    for cache_size in ROUTES:
        blocks = model.set_params(cache_size=cache_size).fit(X)
        assert_array_equal(blocks.labels_, labels, err_msg=f"cache_size={cache_size}")
        assert_allclose(blocks.objective_trace_, trace, rtol=100 * np.finfo(dtype).eps)


def plain_rbf(A, B):
    A, B = (M.toarray() if sp.issparse(M) else M for M in (A, B))
    return np.exp(-0.3 * cdist(A, B, "sqeuclidean"))


@pytest.mark.parametrize("init", ["labels", "k-means++", "random"])
def test_precomputed_callable_and_sparse_are_the_named_kernel(init, small_blocks):
    X = blobs(200, 4)
    X[np.abs(X) < 0.6] = 0
    new = blobs(50, 4, seed=2)
    start = some_labels(200, 4) if init == "labels" else init
    model = KernelKMeans(4, gamma=0.3, init=start, tol=0, random_state=0).fit(X)
    expected, asked = model.labels_, model.predict(new)
    trace = model.objective_trace_
    for cache_size in (1000, 0.01):
        model.set_params(kernel=plain_rbf, cache_size=cache_size)
        assert_array_equal(model.fit(X).labels_, expected)
        assert_array_equal(model.predict(new), asked)
        model.set_params(kernel="rbf").fit(sp.csr_array(X))
        assert_array_equal(model.labels_, expected)
        assert_allclose(model.objective_trace_, trace, rtol=1e-11)
        assert_array_equal(model.predict(new), asked)
        assert_array_equal(model.predict(sp.csr_array(new)), asked)
    given_ = KernelKMeans(4, kernel="precomputed", init=start, tol=0, random_state=0)
    if init == "labels":  # draws follow another order of the samples
        assert_array_equal(given_.fit(plain_rbf(X, X)).labels_, expected)
        assert_array_equal(given_.predict(plain_rbf(new, X)), asked)
    K = plain_rbf(X, X)
    K.setflags(write=False)
    given_.fit(K)
    assert_array_equal(given_.predict(K), given_.labels_)


# All pairs of the three.
@pytest.mark.parametrize(
    ("dtype", "cache_size", "init"),
    [
        (np.float32, 1000, "labels"),
        (np.float32, 1, "k-means++"),
        (np.float64, 1000, "k-means++"),
        (np.float64, 1, "labels"),
    ],
)
def test_the_same_bytes_on_any_number_of_threads(dtype, cache_size, init, small_blocks):
    X = blobs(1200, 8, dtype=dtype)
    init = some_labels(1200, 7) if init == "labels" else init
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = KernelKMeans(7, init=init, cache_size=cache_size, random_state=0).fit(X)
        found.append([model.labels_.tobytes(), model.objective_trace_.tobytes()])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e16])
def test_sums_stay_exact_however_samples_move(dtype, scale):
    """A heavy sample that comes and goes must leave no rounding behind."""
    rng = np.random.default_rng(0)
    n, k = 90, 4
    X = blobs(n, 3, dtype=dtype)
    K = gram_matrix(X, gamma=0.3).astype(np.float64)
    weights = np.ones(n)
    weights[:2] = scale
    kernel = as_kernel("rbf", gamma=0.3).rows(X, double=dtype == np.float64)
    assignment = KernelAssignment(GramRows.within(kernel, 100), weights, k)
    labels = rng.integers(0, k, n).astype(np.int32)
    for _ in range(60):
        labels = labels.copy()
        labels[rng.integers(0, n, rng.integers(1, 9))] = rng.integers(0, k)
        means = assignment.move(labels)
        for j in np.flatnonzero(np.bincount(labels, minlength=k)):
            own = labels == j
            w = weights[own] / weights[own].sum()
            assert_allclose(means.squared_norms[j], w @ K[np.ix_(own, own)] @ w, rtol=1e-13)


# ---- laws


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 12), st.integers(1, 6))
def test_the_trace_never_rises_and_ends_at_the_inertia(seed, k, d):
    X = blobs(80, d, seed)
    model = KernelKMeans(k, random_state=seed, tol=0).fit(X)
    assert (np.diff(model.objective_trace_) <= 0).all()
    assert model.objective_trace_[-1] == model.inertia_
    assert len(model.objective_trace_) == model.n_iter_
    K = gram_matrix(X, gamma=model.gamma_)
    assert_allclose(model.inertia_, objective(K, model.labels_), atol=80 * 80 * EPS)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(["labels", "k-means++", "random"]))
def test_the_order_of_samples_does_not_count(seed, init):
    X = blobs(70, 3, seed)
    order = np.random.default_rng(seed).permutation(70)
    start = some_labels(70, 4, seed)
    model = KernelKMeans(4, tol=0, gamma=0.3, n_init=2, random_state=seed)
    labels = model.set_params(init=start if init == "labels" else init).fit(X).labels_
    model.set_params(init=start[order] if init == "labels" else init)
    assert_array_equal(model.fit(X[order]).labels_, labels[order])


@settings(max_examples=15)
@given(SEEDS, st.integers(-60, 60))
def test_scaling_the_kernel_scales_the_objective(seed, power):
    X = blobs(60, 3, seed)
    K = gram_matrix(X, gamma=0.3)
    model = KernelKMeans(4, kernel="precomputed", tol=0, random_state=seed).fit(K)
    labels, inertia = model.labels_, model.inertia_
    model.fit(np.ldexp(K, power))
    assert_array_equal(model.labels_, labels)
    assert model.inertia_ == np.ldexp(inertia, power)


@settings(max_examples=15)
@given(SEEDS, st.integers(-300, 300))
def test_scaling_the_weights_scales_the_objective(seed, power):
    X = blobs(60, 3, seed)
    weights = np.random.default_rng(seed).integers(0, 4, 60) + 0.5
    model = KernelKMeans(4, tol=0, random_state=seed).fit(X, sample_weight=weights)
    labels, inertia = model.labels_, model.inertia_
    model.fit(X, sample_weight=np.ldexp(weights, power))
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, np.ldexp(inertia, power), rtol=1e-12)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(["labels", "k-means++", "random"]))
@example(seed=1083, init="labels")  # in the first step a cluster loses all samples
def test_weights_are_copies_and_zero_is_absence(seed, init):
    """But where a cluster loses all samples, as one copy alone begins it anew."""
    X = blobs(60, 3, seed)
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, 60)
    start = some_labels(60, 4, seed)
    refilled = []

    def fill_empty(assignment, labels, fill=KernelAssignment.fill_empty):
        before = labels.copy()
        fill(assignment, labels)
        refilled.append(bool((labels != before).any()))

    with mock.patch.object(KernelAssignment, "fill_empty", fill_empty):
        weighted = KernelKMeans(
            4, init=start if init == "labels" else init, tol=0, random_state=seed
        ).fit(X, sample_weight=counts)
        copies = KernelKMeans(
            4, init=start.repeat(counts) if init == "labels" else init, tol=0, random_state=seed
        ).fit(X.repeat(counts, axis=0))
    assume(refilled and not any(refilled))
    assert_allclose(weighted.gamma_, copies.gamma_, rtol=1e-12)
    assert_array_equal(weighted.labels_.repeat(counts), copies.labels_)
    assert_allclose(weighted.inertia_, copies.inertia_, rtol=1e-11)
    new = blobs(40, 3, seed + 1)
    assert_array_equal(weighted.predict(new), copies.predict(new))


# ---- hard data


def test_empty_clusters_get_the_farthest_samples():
    X = blobs(100, 2)
    model = KernelKMeans(6, init=np.zeros(100, dtype=int), tol=0).fit(X)
    assert set(model.labels_) == set(range(6))
    one = KernelKMeans(1).fit(X).inertia_
    assert model.inertia_ < one


def test_duplicates_give_fewer_clusters():
    X = np.repeat(blobs(3, 2), 10, axis=0)
    for init in ("k-means++", "random", np.arange(30) % 5):
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller"):
            model = KernelKMeans(5, init=init, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(0, abs=30 * 30 * EPS)
        assert set(model.labels_) == {0, 1, 2} and model.center_squared_norms_.shape == (3,)
        assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_many_clusters_as_samples(dtype):
    X = blobs(25, 3, dtype=dtype)
    model = KernelKMeans(25, random_state=0).fit(X)
    assert len(set(model.labels_)) == 25
    assert_allclose(model.inertia_, 0, atol=25 * np.finfo(dtype).eps)
    assert KernelKMeans(1).fit(X[:1]).labels_.tolist() == [0]


def test_constant_data_are_one_cluster():
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model = KernelKMeans(3, random_state=0).fit(np.ones((20, 2)))
    assert set(model.labels_) == {0} and model.inertia_ == 0 and model.converged_


@each("kernel", ["linear", "rbf", "polynomial"])
@each("scale", [1e-150, 1e-20, 1e20, 1e60])
def test_tiny_and_huge_units(kernel, scale):
    X = blobs(90, 3)
    params = {"kernel": kernel, "init": some_labels(90, 4), "tol": 0, "degree": 2}
    expected = KernelKMeans(4, **params).fit(X)
    model = KernelKMeans(4, **params).fit(X * scale)
    assert_array_equal(model.labels_, expected.labels_)


def test_kernel_values_too_large_are_refused():
    with pytest.raises(ValueError, match="too large.*[Rr]escale"):
        KernelKMeans(2, kernel="linear").fit(blobs(40, 3) * 3e153)


def test_samples_without_weight_get_the_nearest_mean():
    X = blobs(100, 3)
    weights = (np.arange(100) % 3 > 0).astype(float)
    model = KernelKMeans(4, random_state=0, tol=0).fit(X, sample_weight=weights)
    assert_array_equal(model.predict(X), model.labels_)
    assert (model.coefficients_[weights == 0] == 0).all()
    alone = KernelKMeans(4, random_state=0, tol=0).fit(X[weights > 0])
    assert_array_equal(model.labels_[weights > 0], alone.labels_)


def test_kernels_that_are_not_positive_never_raise_the_objective():
    rng = np.random.default_rng(0)
    rose = 0
    for seed in range(20):
        K = rng.normal(size=(40, 40))
        K = K + K.T
        model = KernelKMeans(4, kernel="precomputed", init="random", random_state=seed, n_init=1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model.fit(K)
        told = [str(warning.message) for warning in seen]
        assert any("not positive semi-definite on these samples" in text for text in told)
        assert (np.diff(model.objective_trace_) <= 0).all()
        assert_allclose(model.inertia_, objective(K, model.labels_), atol=1e-12)
        rose += not model.converged_
    assert rose  # else this test shows nothing


def test_stopping_early_is_said():
    X = blobs(500, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="after max_iter=1 steps"):
            KernelKMeans(8, init="random", max_iter=1, tol=0, random_state=0).fit(X)
    loose = KernelKMeans(8, init="random", tol=0.5, random_state=0).fit(X)
    assert loose.converged_ and loose.n_iter_ < 5


@each(
    ("init", "error", "message"),
    [
        ([0, 1, 2], ValueError, r"init has shape \(3,\).*\(40,\)"),
        ([0] * 39 + [3], ValueError, "init has labels from 0 to 3.*0 to 2"),
        ([0] * 39 + [-1], ValueError, "init has labels from -1 to 0"),
        ([0.5] * 40, TypeError, "init is of type float64"),
        (["a"] * 40, TypeError, "init is of type <U1"),
        (np.zeros((40, 1), int), ValueError, r"init has shape \(40, 1\)"),
        (None, TypeError, "init is of type NoneType"),
        (len, TypeError, "init is of type builtin"),
    ],
)
def test_wrong_starts_are_named(init, error, message):
    with pytest.raises(error, match=message):
        KernelKMeans(3, init=init).fit(blobs(40, 2))


def test_negative_values_have_no_chi2_kernel():
    with pytest.raises(ValueError, match="Negative values.*chi2"):
        KernelKMeans(3, kernel="chi2").fit(blobs(40, 2))


def test_scikit_learns_checks_of_clusterers():
    for check in _yield_clustering_checks(KernelKMeans(3)):
        check("KernelKMeans", KernelKMeans(3))


def test_later_calls_follow_the_fit_and_the_parameters_now():
    """What the first call lays out is kept beside the model, for these vectors and parameters."""
    X, others = blobs(60, 3, seed=1), blobs(40, 3, seed=2)
    model = KernelKMeans(3, gamma=0.5, random_state=0).fit(X)
    first = model.predict(X)
    assert_array_equal(first, model.labels_)
    assert_array_equal(model.predict(X), first)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), first)
    model.fit(others)
    fresh = KernelKMeans(3, gamma=0.5, random_state=0).fit(others)
    assert_array_equal(model.predict(X), fresh.predict(X))


@each("offset", [0.0, 1e4, 1e8, 1e10])
@each("kernel", ["linear", "poly"])
def test_kernels_free_of_the_origin_cluster_at_any_offset(kernel, offset):
    r = np.random.default_rng(0)
    X = np.r_[r.normal(0, 1, (40, 2)), r.normal(8, 1, (40, 2))] + offset
    model = KernelKMeans(2, kernel=kernel, degree=1, gamma=0.5, random_state=0).fit(X)
    expected = KMeans(2, random_state=0).fit(X)  # takes the mean from the samples
    assert adjusted_rand_index(model.labels_, expected.labels_) == 1
    factor = 1.0 if kernel == "linear" else 0.5
    assert_allclose(model.inertia_, factor * expected.inertia_, rtol=1e-12)
    assert_array_equal(model.predict(X), model.labels_)
    assert (model.origin_ is not None) == (offset > 0)


@pytest.mark.parametrize(
    "how", [{"kernel": "poly", "gamma": 1.0}, {"kernel": "precomputed"}, {"kernel": "linear"}]
)
def test_distances_lost_in_the_rounding_of_the_kernel_are_told(how):
    r = np.random.default_rng(0)
    X = np.r_[r.normal(0, 1, (40, 2)), r.normal(8, 1, (40, 2))] + 1e8
    X = X @ X.T if how["kernel"] == "precomputed" else sp.csr_array(X)
    model = KernelKMeans(2, random_state=0, **how)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X)
    assert any("lost in the rounding" in str(w.message) for w in told)
    assert not model.converged_
