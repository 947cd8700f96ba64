"""The projection onto doubly stochastic matrices: its optimality conditions, SciPy, its laws."""

import itertools

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import lsq_linear
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import frobenius_projection


def symmetric(n, seed=0, scale=1.0):
    A = np.random.default_rng([n, seed]).normal(size=(n, n))
    return scale * (A + A.T) / 2


def gaussian(n, seed=0, gamma=0.3):
    X = np.random.default_rng([n, seed]).normal(size=(n, 3)) * 2
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


KINDS = {
    "normal": symmetric,
    "large": lambda n, seed=0: symmetric(n, seed, 100.0),
    "tiny": lambda n, seed=0: symmetric(n, seed, 1e-6),
    "gaussian": gaussian,
    "identity": lambda n, seed=0: np.eye(n),
    "constant": lambda n, seed=0: np.full((n, n), 3.0),
    "zero": lambda n, seed=0: np.zeros((n, n)),
}


def check(K, found, tol=1e-10):
    """Sums of 1, and F = max(0, K + u + u'): the conditions that are also sufficient."""
    F, K = found.matrix, np.asarray(K, dtype=np.float64)
    size = 1 + np.abs(K).max()
    eps = np.finfo(F.dtype).eps
    assert found.converged and found.residual <= tol
    assert_array_equal(F, F.T)
    assert F.min() >= 0
    assert_allclose(F.sum(axis=1, dtype=np.float64), 1, rtol=0, atol=tol + 4 * eps * size)
    expected = np.maximum(0, K + found.shift[:, None] + found.shift)
    assert_allclose(F, expected, rtol=0, atol=4 * eps * size)
    assert len(found.residual_trace) == found.n_iter + 1
    assert found.residual_trace[-1] == found.residual


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimality_conditions_hold(kind):
    for n, dtype in [*itertools.product([1, 2, 3, 9, 64], [np.float32, np.float64]),
                     (257, [np.float32, np.float64][list(KINDS).index(kind) % 2])]:  # fmt: skip
        K = KINDS[kind](n).astype(dtype)
        before = K.copy()
        with case(n, dtype):
            check(K, frobenius_projection(K))
        assert_array_equal(K, before)


@each("kind", ["normal", "gaussian", "large"])
@each("seed", range(3))
def test_as_least_squares_without_negative_values_find_it(kind, seed):
    """Sums of 1 with a weight that leaves them off by the multipliers over its square."""
    n, weight = 6, 1e4
    K = KINDS[kind](n, seed)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    A, b = np.vstack([np.eye(n * n), weight * sums]), np.r_[K.ravel(), weight * np.ones(2 * n)]
    F = lsq_linear(A, b, bounds=(0, np.inf), method="bvls", tol=1e-14).x
    found = frobenius_projection(K)
    atol = 1e-9 + 20 * np.abs(found.shift).max() / weight**2
    assert_allclose(found.matrix, F.reshape(n, n), rtol=0, atol=atol)


def test_closed_forms():
    assert_allclose(frobenius_projection(np.full((4, 4), 9.0)).matrix, 0.25, atol=1e-12)
    assert_allclose(frobenius_projection(100 * np.eye(5)).matrix, np.eye(5), atol=1e-10)
    p = 0.5 * (1 + 0.5 * ((0.3 + 0.9) - 2 * 0.4))  # of two samples: mean of the diagonal and 1 - b
    F = frobenius_projection([[0.3, 0.4], [0.4, 0.9]]).matrix
    assert_allclose(F, [[p, 1 - p], [1 - p, p]], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10**6), st.sampled_from(sorted(KINDS)))
def test_laws(n, seed, kind):
    rng = np.random.default_rng(seed)
    K = KINDS[kind](n, seed)
    F = frobenius_projection(K).matrix
    atol = 1e-7 * (1 + np.abs(K).max())
    order = rng.permutation(n)
    turned = frobenius_projection(K[np.ix_(order, order)]).matrix
    assert_allclose(turned, F[np.ix_(order, order)], atol=atol)
    u = rng.normal(size=n)  # what is added to rows and columns is taken away again
    assert_allclose(frobenius_projection(K + u[:, None] + u).matrix, F, atol=atol)
    assert_allclose(frobenius_projection(F).matrix, F, atol=atol)
    distance = np.linalg.norm(F - K)
    for _ in range(5):  # no other doubly stochastic matrix is nearer
        other = np.eye(n)[rng.permutation(n)] * 0.3 + 0.7 / n
        assert np.linalg.norm(other - K) >= distance - 1e-8 * (1 + distance)
        mixed = 0.9 * F + 0.1 * (other + other.T) / 2
        assert np.linalg.norm(mixed - K) >= distance - 1e-8 * (1 + distance)


def test_threads_do_not_change_a_byte():
    K = gaussian(1100)
    with threadpool_limits(1, user_api="openmp"):
        one = frobenius_projection(K)
    for n_threads in (2, 3):
        with threadpool_limits(n_threads, user_api="openmp"):
            assert_array_equal(frobenius_projection(K).matrix, one.matrix)


def test_in_place():
    K = gaussian(300)
    expected = frobenius_projection(K).matrix
    assert frobenius_projection(K, overwrite=True).matrix is K
    assert_array_equal(K, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_terms_that_cancel_is_no_asymmetry(dtype):
    K = symmetric(600)
    unit = np.finfo(dtype).eps * np.abs(K).max()
    K[40, 2] = K[2, 40] = 0
    K += 16 * unit * np.random.default_rng(0).uniform(-1, 1, size=K.shape)
    K = K.astype(dtype)
    check(np.tril(K) + np.tril(K, -1).T, frobenius_projection(K))
    K[40, 2] += 300 * unit
    with pytest.raises(ValueError, match=r"K is not symmetric: K\[2, 40\] is"):
        frobenius_projection(K)


@each(
    ("arguments", "error", "message"),
    [
        ({"K": sp.eye_array(3, format="csr")}, TypeError, "[Ss]parse.*toarray"),
        ({"K": np.ones((2, 3))}, ValueError, "square"),
        ({"K": [[0.0, 1.0], [2.0, 0.0]]}, ValueError, "not symmetric"),
        ({"K": [[0.0, -1.0], [-2.0, 0.0]]}, ValueError, "not symmetric"),
        ({"K": [[np.nan]]}, ValueError, "NaN"),
        ({"K": [[np.inf, -np.inf], [-np.inf, 0.0]]}, ValueError, "infinity"),
        ({"K": np.eye(2), "tol": -1.0}, ValueError, "tol"),
        ({"K": np.eye(2), "max_iter": 1.5}, TypeError, "max_iter"),
        ({"K": np.eye(2), "overwrite": None}, TypeError, "overwrite"),
        ({"K": np.eye(2), "callback": 1}, TypeError, "callback"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        frobenius_projection(**arguments)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="1 steps"):
        found = frobenius_projection(symmetric(200, scale=100.0), max_iter=1)
    assert not found.converged and found.n_iter == 1


def test_entries_too_large_for_unit_sums_are_named_in_the_advice():
    K = np.random.default_rng(0).random((30, 30)) * 1e12
    with pytest.warns(ConvergenceWarning, match="errors of up to .* no step removes"):
        found = frobenius_projection(K + K.T, max_iter=20)
    assert not found.converged
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        frobenius_projection((K + K.T) / 1e11, max_iter=1)
