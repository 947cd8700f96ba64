"""Leading eigenvectors: against LAPACK, closed forms, and the laws of Rayleigh and Ritz."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.kernels.single_precision import centered_single
from mlcore.numerics import sparse_products
from mlcore.numerics.eigen import (
    Scaled,
    by_lapack,
    largest_by_lapack,
    leading_eigenpairs,
    orthonormal,
    times,
)
from mlcore.numerics.eigen.lanczos import _along, _both_along, _less, orthonormal_block


def symmetric(n, seed=0, rank=None):
    A = np.random.default_rng(seed).normal(size=(n, rank or n))
    return A @ A.T / n if rank else (A + A.T) / np.sqrt(n)


def path(n):
    """I - L / 2 of a path: eigenvalues cos(pi j / n), crowded at 1."""
    S = sp.diags_array([np.full(n - 1, 0.5)] * 2, offsets=[-1, 1]).tolil()
    S[0, 0] = S[-1, -1] = 0.5
    return S.tocsr()


def rng():
    return np.random.default_rng(0)


@each("dtype", [np.float32, np.float64])
@each(("n", "m", "k"), [(1, 1, 1), (7, 3, 2), (33, 257, 8), (70, 600, 13), (65, 300, 40)])
def test_products_match_numpy(n, m, k, dtype):
    generator = np.random.default_rng([n, m, k])
    K = generator.normal(size=(n, m)).astype(dtype)
    V = generator.normal(size=(m, k))
    expected = K.astype(np.float64) @ V
    bound = 2 * m * np.finfo(np.float64).eps * (np.abs(K).astype(np.float64) @ np.abs(V))
    assert np.all(np.abs(times(K, V) - expected) <= bound)
    assert np.all(np.abs(times(sp.csr_array(K), V) - expected) <= bound)


def test_products_do_not_depend_on_threads_or_on_other_rows():
    K, V = symmetric(700), rng().normal(size=(700, 24))
    with threadpool_limits(1, user_api="openmp"):
        alone = times(K, V)
    assert_array_equal(alone, times(K, V))
    assert_array_equal(alone[5:6], times(K[5:6].copy(), V))


def test_scaled_is_its_definition():
    K, V = symmetric(50), rng().normal(size=(50, 3))
    scale, shift = rng().random(50) + 0.5, rng().normal(size=50)
    S = Scaled(K, scale, shift)
    definition = np.diag(scale) @ K @ np.diag(scale) + np.diag(shift)
    assert_allclose(S.dense(), definition, atol=1e-14)
    assert_allclose(S @ V, definition @ V, atol=1e-13)
    assert_allclose(Scaled(sp.csr_array(K), scale, shift) @ V, definition @ V, atol=1e-13)


MATRICES = {
    "one": np.array([[3.0]]),
    "tiny": symmetric(5),
    "small": symmetric(300),
    "large": symmetric(600),
    "rank 3": symmetric(500, rank=3),
    "zero": np.zeros((450, 450)),
    "identity": np.eye(500),
    "each eigenvalue forty times": np.kron(np.eye(40), symmetric(12, seed=1)),
    "gaps of all sizes": np.diag(1 - 0.5 ** np.arange(600.0)),
}


@pytest.mark.parametrize("case", MATRICES)
def test_against_lapack(case):
    A = MATRICES[case]
    exact = np.linalg.eigvalsh(A)[::-1]
    size = np.abs(exact).max() or 1.0
    for k in (k for k in (1, 2, 5, 12) if k <= len(A)):
        found = leading_eigenpairs(Scaled(A), k, rng(), tol=1e-10)
        assert found.converged and found.residuals.max() <= 1e-10
        assert_allclose(found.values, exact[:k], rtol=0, atol=1e-10 * size)
        assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)
        residuals = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
        assert residuals.max() <= 1.01e-10 * size
        if k < len(A):
            assert_allclose(found.next_value, exact[k], rtol=0, atol=1e-5 * size)
        else:
            assert found.next_value == -np.inf


class CentredProducts:
    """Inner products of rows around their mean, which are not formed."""

    sparse = True

    def __init__(self, X):
        self.X, self.n = X - X.mean(axis=0), len(X)

    @property
    def size(self):
        return float(np.square(self.X).sum())  # the trace

    def __matmul__(self, V):
        return self.X @ (self.X.T @ V)

    def dense(self):
        return self.X @ self.X.T


@pytest.mark.parametrize("solver", [None, "arpack"])
@pytest.mark.parametrize("n", [60, 700])
def test_any_operator_is_searched(n, solver):
    X = rng().normal(size=(n, 12)) * np.arange(1, 13)
    found = leading_eigenpairs(CentredProducts(X), 4, rng(), tol=1e-10, solver=solver)
    left, singular, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert_allclose(found.values, singular[:4] ** 2, rtol=1e-9)
    assert_allclose(np.abs(np.sum(found.vectors * left[:, :4], axis=0)), 1, rtol=1e-9)


def test_crowded_eigenvalues_of_a_sparse_matrix_have_their_closed_form():
    n, k = 600, 4
    assert not by_lapack(n, k)
    found = leading_eigenpairs(Scaled(path(n)), k, rng(), tol=1e-9)
    assert found.converged
    assert_allclose(found.values, np.cos(np.pi * np.arange(k) / n), rtol=0, atol=1e-12)
    steps = np.diff(found.trace)
    assert steps.min() > -1e-13 and len(steps) > 5, "sums of Ritz values never fall"


@pytest.mark.parametrize("n", [100, 800])
def test_what_is_known_is_not_sought_again(n):
    A = symmetric(n, rank=n)
    values, vectors = np.linalg.eigh(A)
    known = vectors[:, [-1, -2]]
    found = leading_eigenpairs(Scaled(A), 4, rng(), known=known, tol=1e-10)
    assert_allclose(found.values, values[::-1][:4], rtol=1e-9)
    assert_allclose(np.abs((found.vectors * vectors[:, :-5:-1]).sum(axis=0)), 1, rtol=1e-9)
    only = leading_eigenpairs(Scaled(A), 2, rng(), known=known, tol=1e-10)
    assert_allclose(only.next_value, values[-3], rtol=1e-4)


@each("condition", [1, 1e3, 1e7, 1e12, np.inf])
def test_blocks_become_orthonormal_whatever_their_condition(condition):
    rng = np.random.default_rng(3)
    Q = linalg.qr(rng.normal(size=(500, 46)), mode="economic")[0]
    basis, U = Q[:, :30].T, Q[:, 30:]
    sizes = np.geomspace(1, 1 / condition, 16) if condition < np.inf else np.arange(16) % 2
    W = U * sizes @ linalg.qr(rng.normal(size=(16, 16)))[0]
    X = orthonormal_block(W, basis, 1.0, rng)
    assert_allclose(X.T @ X, np.eye(16), atol=1e-13)
    assert_allclose(basis @ X, 0, atol=1e-13)
    assert_allclose(X @ (X.T @ W), W, atol=1e-13)  # their span is kept


@each("condition", [1, 1e1, 1e3, 1e7])
def test_blocks_of_a_loose_basis_are_as_orthogonal_as_is_asked(condition):
    """One factor of a block leaves more than rounding, and no more than that."""
    rng = np.random.default_rng(4)
    Q = linalg.qr(rng.normal(size=(500, 38)), mode="economic")[0]
    basis, U = np.ascontiguousarray(Q[:, :30].T), Q[:, 30:]
    W = U * np.geomspace(1, 1 / condition, 8) @ linalg.qr(rng.normal(size=(8, 8)))[0]
    X = orthonormal_block(W, basis, 1.0, rng, 1e-11)
    assert_allclose(X.T @ X, np.eye(8), rtol=0, atol=1e-11)
    assert_allclose(basis @ X, 0, rtol=0, atol=1e-11)
    assert_allclose(X @ (X.T @ W), W, rtol=0, atol=1e-11)


def test_a_search_by_narrow_blocks_of_crowded_values_ends_at_the_pairs():
    """Restarts keep the basis orthogonal, whose cosines would grow in many steps."""
    rng = np.random.default_rng(8)
    A = sp.csr_array(sp.random_array((5000, 1500), density=0.01, rng=rng))
    S = sparse_products.CentredProducts(A, np.ones(5000), A.mean(axis=0))
    found = leading_eigenpairs(S, 5, rng, narrow=True)
    values = linalg.eigvalsh(S.dense())
    assert found.converged
    assert_allclose(found.values, values[:-6:-1], rtol=1e-12)
    left = S @ found.vectors - found.vectors * found.values
    assert (np.linalg.norm(left, axis=0) <= 2e-8 * values[-1]).all()


@pytest.mark.parametrize("rank", [3, 30])
def test_a_search_by_narrow_blocks_goes_on_where_a_block_is_deficient(rank):
    """Vectors are drawn then, which are not orthogonal to the basis before they are looked at."""
    A = symmetric(700, rank=rank)
    found = leading_eigenpairs(Scaled(A), 12, rng(), narrow=True)
    values = np.linalg.eigvalsh(A)[::-1]
    assert found.converged
    assert_allclose(found.values, values[:12], rtol=0, atol=1e-11 * values[0])
    assert_allclose(found.vectors.T @ found.vectors, np.eye(12), rtol=0, atol=1e-9)
    left = A @ found.vectors - found.vectors * found.values
    assert (np.linalg.norm(left, axis=0) <= 2e-8 * values[0]).all()


def test_too_few_steps_are_said():
    A = symmetric(800)
    found = leading_eigenpairs(Scaled(A), 3, rng(), tol=1e-10, max_iter=2)
    assert not found.converged and len(found.trace) == 2
    assert found.residuals.max() > 1e-10


def test_reports_every_step():
    seen = []
    found = leading_eigenpairs(Scaled(symmetric(800)), 3, rng(), report=lambda *s: seen.append(s))
    assert [step for step, _, _ in seen] == list(range(1, len(found.trace) + 1))
    assert_allclose([total for _, total, _ in seen], found.trace)
    assert seen[-1][2] <= 1e-8


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads():
    S = Scaled(symmetric(900))
    with threadpool_limits(1):
        one = leading_eigenpairs(S, 5, rng())
    two = leading_eigenpairs(S, 5, rng())
    for first, second in zip(one, two, strict=True):
        assert_array_equal(first, second)


@pytest.mark.parametrize("case", ["large", "rank 3", "each eigenvalue forty times"])
def test_a_rough_matrix_is_where_the_search_begins_not_what_it_finds(case):
    A = MATRICES[case]
    rough = centered_single(A, np.zeros(len(A)), 0.0, np.ones(len(A)))
    found = leading_eigenpairs(Scaled(A), 12, rng(), tol=1e-6, rough=rough)
    exact = np.linalg.eigvalsh(A)[::-1]
    assert found.converged
    assert_allclose(found.values, exact[:12], rtol=0, atol=1e-10 * exact[0])
    wrong = centered_single(symmetric(len(A), 5), np.zeros(len(A)), 0.0, np.ones(len(A)))
    again = leading_eigenpairs(Scaled(A), 12, rng(), tol=1e-6, rough=wrong)
    assert again.converged
    assert_allclose(again.values, exact[:12], rtol=0, atol=1e-10 * exact[0])


@each("n", [9, 20, 33])
@each("count", [0, 2, 3, 9])
def test_lapack_leaves_none_of_equal_eigenvalues_out(n, count):
    A = np.eye(n) - 1 / n  # n - 1 eigenvalues of 1, of which bisection alone returns fewer
    values, vectors = largest_by_lapack(A, count)
    assert_allclose(values, np.r_[np.ones(n - 1), 0.0][:count], atol=1e-14)
    assert_allclose(vectors.T @ vectors, np.eye(n)[:count, :count], atol=1e-13)
    assert_allclose(A @ vectors, vectors * values, atol=1e-13)


@each("width", [1, 3, 4, 8, 16])
@each(("m", "n"), [(0, 5), (1, 1), (7, 511), (8, 512), (33, 1025), (90, 3000)])
def test_products_with_a_basis(m, n, width):
    # Integers, so that any order has the same sums.
    rng = np.random.default_rng([m, n, width])
    basis = rng.integers(-8, 9, (m + 3, n))[3:].astype(float)
    W = rng.integers(-8, 9, (n, 2 * width)).astype(float)[:, ::2]  # not contiguous
    C = rng.integers(-8, 9, (m, width)).astype(float)
    assert_array_equal(_along(basis, W), basis @ W)
    if width in (4, 8):
        of_both = _both_along(basis, -W[::-1], W)
        assert_array_equal(of_both[0], basis @ -W[::-1])
        assert_array_equal(of_both[1], basis @ W)
    expected = W - basis.T @ C
    assert_array_equal(_less(W, basis, C), expected)


@pytest.mark.parametrize("width", [4, 8])
def test_products_with_a_basis_do_not_depend_on_threads(width):
    rng = np.random.default_rng(width)
    basis, W = rng.normal(size=(100, 4000)), rng.normal(size=(4000, width))
    found = set()
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            C = _along(basis, W)
            both = b"".join(part.tobytes() for part in _both_along(basis, W, 2 * W))
            found.add(C.tobytes() + _less(W.copy(), basis, C).tobytes() + both)
    assert len(found) == 1
    assert_allclose(C, basis @ W, rtol=0, atol=1e-12 * 4000)


@each("case", ["well", "ill", "deficient", "zero", "wide range"])
def test_orthonormal_columns_are_those_of_qr(case):
    W = rng().normal(size=(300, 9))
    if case == "ill":
        W[:, 4] = W[:, 3] + 1e-9 * W[:, 4]
    elif case == "deficient":
        W[:, 4] = W[:, 3]
    elif case == "zero":
        W[:, 8] = 0.0
    elif case == "wide range":
        W *= np.logspace(-120, 120, 9)
    Q = orthonormal(W.copy())
    assert np.abs(Q.T @ Q - np.eye(9)).max() < 1e-14
    R, size = Q.T @ W, np.linalg.norm(W, axis=0)
    assert np.all(np.abs(np.tril(R, -1)) <= 1e-13 * size)
    assert np.all(np.abs(Q @ R - W) <= 1e-13 * size)
    assert np.all(R.diagonal() >= -1e-13 * size)
