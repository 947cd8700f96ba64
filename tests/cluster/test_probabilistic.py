"""ProbabilisticClustering: its optimality conditions, exact cases, and the laws of descent."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import linear_sum_assignment, minimize
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import ProbabilisticClustering, SpectralClustering, normalize_affinity
from mlcore.kernels import gram_matrix


def blobs(n, k=3, seed=0, apart=5.0):
    rng = np.random.default_rng([n, k, seed])
    y = rng.integers(0, k, n)
    return apart * rng.normal(size=(k, 3))[y] + rng.normal(size=(n, 3)), y


def fitted(X, k=3, **params):
    return ProbabilisticClustering(k, random_state=0, **params).fit(X)


def objective(F, G):
    return np.sum((F - G @ G.T) ** 2)


# ---- oracles


@each("n", [30, 150])
@each("seed", range(3))
def test_the_result_is_stationary(n, seed):
    X, _ = blobs(n, seed=seed, apart=1.0)
    model = fitted(X, tol=1e-12, max_iter=100_000, gamma=0.3)
    F, G = normalize_affinity(gram_matrix(X, gamma=0.3)), model.factor_
    gradient = 4 * (G @ (G.T @ G) - F @ G)
    size = np.abs(F @ G).max()
    assert np.abs(gradient[G > 0]).max() < 1e-9 * size
    assert gradient[G == 0].min(initial=0) > -1e-9 * size
    assert_allclose(model.objective_, objective(F, G), rtol=1e-12)
    assert_allclose(model.objective_trace_[-1], model.objective_, rtol=1e-9)


def test_a_general_minimiser_finds_no_better():
    X, _ = blobs(25, apart=1.0)
    F = normalize_affinity(gram_matrix(X, gamma=0.3))
    model = fitted(X, tol=1e-10, max_iter=100_000, gamma=0.3, n_init=10)

    def value_and_gradient(flat):
        G = flat.reshape(25, 3)
        rest = G @ G.T - F
        return np.sum(rest**2), (4 * rest @ G).ravel()

    best = min(
        minimize(
            value_and_gradient,
            np.random.default_rng(seed).random(75) / 3,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * 75,
        ).fun
        for seed in range(5)
    )
    assert model.objective_ <= best * (1 + 1e-6)


@each("form", [np.asarray, sp.csr_array])
@each("sizes", [(5, 5), (10, 3, 20), (1, 2, 3, 4)])
@pytest.mark.filterwarnings("ignore:The graph of affinities")
def test_blocks_of_equal_affinities_are_recovered_exactly(sizes, form):
    y = np.repeat(np.arange(len(sizes)), sizes)
    K = form((y[:, None] == y).astype(float))
    model = fitted(K, len(sizes), affinity="precomputed")
    assert model.objective_ < 1e-20
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert_allclose(model.probabilities_.max(axis=1), 1, rtol=1e-12)


def test_soft_memberships_are_recovered_from_their_products():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.2] * 3, 80)
    P[:6] = np.eye(3)[[0, 1, 2, 0, 1, 2]]  # samples of one cluster only make the factors unique
    F = P @ P.T
    model = fitted(
        F, affinity="precomputed", normalization="ratio_cut", tol=1e-9, max_iter=50_000, n_init=5
    )
    # F is not doubly stochastic; ratio_cut moves its diagonal only.
    found = model.factor_ @ model.factor_.T
    shifted = normalize_affinity(F, "ratio_cut")
    assert objective(shifted, model.factor_) <= np.sum((shifted - found) ** 2) * (1 + 1e-12)


def test_hard_clusters_are_those_of_spectral_clustering():
    X, y = blobs(200, apart=12.0)
    model = fitted(X, gamma=0.2)
    hard = SpectralClustering(3, gamma=0.2, normalization="doubly_stochastic", random_state=0).fit(
        X
    )
    assert adjusted_rand_score(model.labels_, hard.labels_) == 1.0
    assert adjusted_rand_score(model.labels_, y) == 1.0


def test_a_sample_between_two_clusters_is_of_both():
    X = np.r_[np.zeros((10, 1)), np.full((10, 1), 4.0), [[2.0]]]
    X[:20] += np.random.default_rng(0).normal(scale=0.3, size=(20, 1))
    model = fitted(X, 2, gamma=0.2)
    assert model.probabilities_[-1].min() > 0.3
    assert np.median(model.probabilities_[:20].max(axis=1)) > 0.95


# ---- laws


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_objective_never_increases_and_rows_sum_to_one(seed, k):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(X, k, n_init=2, max_iter=200)
    trace = model.objective_trace_
    assert trace[-1] == model.objective_
    assert np.diff(trace).max(initial=-1.0) <= 1e-14 * len(X)
    assert_allclose(model.probabilities_.sum(axis=1), 1, rtol=1e-12)
    assert model.probabilities_.min() >= 0
    assert_array_equal(model.labels_, model.probabilities_.argmax(axis=1))


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_permuted_samples_have_permuted_probabilities(seed):
    X, _ = blobs(40, seed=seed % 5)
    order = np.random.default_rng(seed).permutation(40)
    first = fitted(X, gamma=0.2, tol=1e-9, max_iter=10_000)
    second = fitted(X[order], gamma=0.2, tol=1e-9, max_iter=10_000)
    P, Q = first.probabilities_[order], second.probabilities_
    assert_allclose(P @ P.T, Q @ Q.T, atol=1e-6)


@pytest.mark.parametrize("n", [63, 64, 65, 300])
def test_sparse_and_dense_agree(n):
    X, _ = blobs(n, apart=1.0)
    K = gram_matrix(X, gamma=0.5)
    params = {"affinity": "precomputed", "tol": 1e-8, "max_iter": 10_000}
    dense, sparse = fitted(K, **params), fitted(sp.csr_array(K), **params)
    # Eigenvectors of nearly equal eigenvalues may change places, and the clusters with them.
    order = linear_sum_assignment(-dense.factor_.T @ sparse.factor_)[1]
    assert_allclose(dense.factor_, sparse.factor_[:, order], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_byte(dtype):
    X = blobs(600)[0].astype(dtype)
    with threadpool_limits(1):
        one = fitted(X, 3)
    two = fitted(X, 3)
    assert one.probabilities_.dtype == dtype
    for name in ("labels_", "probabilities_", "objective_trace_"):
        assert_array_equal(getattr(one, name), getattr(two, name))


# ---- hard data


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("normalization", ["doubly_stochastic", "frobenius", "normalized_cut"])
def test_few_samples_and_as_many_clusters(n, normalization):
    X = np.random.default_rng(n).normal(size=(n, 2))
    for k in {1, min(n, 2), n}:
        model = fitted(X, k, normalization=normalization)
        assert model.probabilities_.shape == (n, k)
        assert np.isfinite(model.probabilities_).all()


@pytest.mark.filterwarnings("ignore:The graph of affinities")
def test_neighbours_stay_sparse():
    X, y = blobs(300)
    model = fitted(X, affinity="nearest_neighbors")
    assert adjusted_rand_score(model.labels_, y) == 1.0


def test_a_stopped_descent_is_said():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 sweeps"):
        model = fitted(blobs(100, apart=0.5)[0], 5, max_iter=2)
    assert not model.converged_ and model.n_iter_ == 2 == len(model.objective_trace_) - 1


def test_clusterer_checks():
    model = ProbabilisticClustering()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in _yield_clustering_checks(model):
            check("ProbabilisticClustering", model)
