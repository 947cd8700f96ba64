"""Rows of a Gram matrix for solvers, and what a user's kernel may return."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from mlcore.kernels.vector_kernels import as_kernel

N = 150


def inner(A, B):
    return A @ B.T


def rbf(A, B, gamma=0.3):
    return np.exp(-gamma * cdist(A, B, "sqeuclidean"))


def samples(n=N, d=4, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def of_each_kind(double=True):
    """The same kernel matrix, in every way that it can be given."""
    X = samples()
    K = rbf(X, X)
    return {
        "name": as_kernel("rbf", gamma=0.3).rows(X, double=double),
        "CSR": as_kernel("rbf", gamma=0.3).rows(sparse.csr_array(X), double=double),
        "precomputed": as_kernel("precomputed").rows(K, double=double),
        "callable": as_kernel(rbf).rows(X, double=double),
    }, K


@each("double", [True, False])
@each("kind", ["name", "CSR", "precomputed", "callable"])
def test_rows_blocks_and_the_whole_matrix(kind, double):
    kinds, K = of_each_kind(double)
    rows = kinds[kind]
    assert rows.n == N and rows.dtype == (np.float64 if double else np.float32)
    assert rows.diagonal.dtype == np.float64
    assert_allclose(rows.diagonal, np.ones(N), rtol=1e-15)
    atol = 50 * np.finfo(rows.dtype).eps
    chosen, columns = np.array([140, 3, 3, 77]), np.array([9, 149, 3])
    assert_allclose(rows.block(chosen), K[chosen], rtol=0, atol=atol)
    assert_array_equal(rows.block(chosen)[[0, 1, 2, 3], chosen], 1)
    assert_allclose(rows.block(chosen, columns), K[np.ix_(chosen, columns)], rtol=0, atol=atol)
    assert rows.block(chosen[:0]).shape == (0, N)

    wide = np.full((9, N + 7), np.nan, rows.dtype)
    rows.fill(chosen, wide, np.array([8, 0, 4, 2]))
    assert_allclose(wide[[8, 0, 4, 2], :N], K[chosen], rtol=0, atol=atol)
    assert np.isnan(wide[:, N:]).all() and np.isnan(wide[[1, 3, 5, 6, 7]]).all()

    whole = np.full((N, N + 10), np.nan, rows.dtype)
    rows.fill_all(whole)
    assert_allclose(whole[:, :N], K, rtol=0, atol=atol)
    assert np.isnan(whole[:, N:]).all()


@each("d", [3, 20, 90])
@each("kernel", ["rbf", "laplacian"])
def test_the_diagonal_of_distance_kernels_is_exact_in_any_row(kernel, d):
    rows = as_kernel(kernel, gamma=0.3).rows(100 * samples(N, d), double=False)
    assert_array_equal(np.diagonal(rows.block(np.arange(N))), 1)


def test_a_precomputed_or_users_matrix_is_taken_as_it_is():
    """Not symmetric: row i of the matrix is row i here, of either kind."""
    K = np.random.default_rng(0).normal(size=(N, N))
    rows = as_kernel("precomputed").rows(K, double=True)
    assert_array_equal(rows.block(np.arange(N)), K)
    assert_array_equal(rows.diagonal, np.diagonal(K))

    def first_of_a_minus_b(A, B):
        return A[:, :1] - B[:, 0]

    X = samples()
    rows = as_kernel(first_of_a_minus_b).rows(X, double=True)
    assert_array_equal(rows.block([1, 0], [2]), X[[1, 0], :1] - X[2, 0])


def test_a_users_kernel_is_asked_for_bounded_blocks():
    asked = []

    def counting(A, B):
        asked.append((len(A), len(B)))
        return A @ B.T

    X = samples(2100, 2)
    rows = as_kernel(counting).rows(X, double=False)
    assert asked == [(1, 1)] * 2100
    del asked[:]
    K = rows.block(np.arange(2100))
    assert len(asked) > 1 and max(n * m for n, m in asked) <= 4_000_000
    assert_allclose(K, X @ X.T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("d", [3, 100])
@pytest.mark.parametrize("csr", [False, True])
def test_linear_products_need_no_matrix(d, csr):
    X = samples(N, d)
    rows = as_kernel("linear").rows(sparse.csr_array(X) if csr else X, double=True)
    assert rows.linear and rows.d == d
    weights = np.random.default_rng(1).normal(size=20)
    chosen = np.random.default_rng(2).permutation(N)[:20]
    w, out = np.zeros(d), np.empty(N)
    rows.add_weights(chosen, weights, w)
    assert_allclose(w, weights @ X[chosen], rtol=1e-12)
    rows.add_weights(chosen, -weights, w)
    assert_allclose(w, 0, atol=1e-12)
    rows.add_weights(chosen, weights, w)
    rows.expand(w, out)
    assert_allclose(out, X @ (weights @ X[chosen]), rtol=1e-10, atol=1e-10)


def test_only_the_linear_kernel_says_it_is():
    X = samples()
    assert not as_kernel("rbf").rows(X, double=False).linear
    assert not as_kernel(inner).rows(X, double=False).linear
    assert not as_kernel("precomputed").rows(X @ X.T, double=False).linear


def test_cost_and_memory_are_known_where_they_can_be():
    X = samples(N, 100)
    assert as_kernel("linear").rows(X, double=False).terms == 100
    assert as_kernel("linear").rows(X, double=False).nbytes >= 4 * X.size
    for kernel, given in ((inner, X), ("precomputed", X @ X.T)):
        unknown = as_kernel(kernel).rows(given, double=False)
        assert unknown.terms == np.inf and unknown.nbytes == 0


@each(
    ("kernel", "scale", "parameters"),
    [
        ("linear", 1e60, {}),
        ("linear", 1e-60, {}),
        ("polynomial", 1e10, {"gamma": 1.0, "coef0": 1.0, "degree": 3}),
        ("polynomial", 1e-20, {"gamma": 1.0, "coef0": 0.0, "degree": 2}),
        ("polynomial", 1.0, {"gamma": 1e20, "coef0": 1.0, "degree": 3}),
        ("precomputed", 1e60, {}),
        (inner, 1e60, {}),
    ],
)
def test_values_outside_single_precision_are_kept_in_double(kernel, scale, parameters):
    X = scale * samples()
    data = (X / 1e30) @ (X / 1e30).T * 1e60 if kernel == "precomputed" else X
    rows = as_kernel(kernel, **parameters).rows(data, double=False)
    assert rows.dtype == np.float64
    whole = np.empty((N, N))
    rows.fill_all(whole)
    expected = X @ X.T
    if kernel == "polynomial":
        expected = (parameters["gamma"] * expected + parameters["coef0"]) ** parameters["degree"]
    assert_allclose(whole, expected, rtol=0, atol=1e-12 * abs(expected).max())


HOMOGENEOUS = {"rbf": 2, "polynomial": 2, "sigmoid": 2, "laplacian": 1, "chi2": 1, "cosine": 0}
ANY_SCALE = [(k, s) for k in HOMOGENEOUS for s in (1e-150, 1e-40, 1e40, 1e150)]


@each(("kernel", "scale"), [*ANY_SCALE, ("laplacian", 1e-300), ("cosine", 1e-300)])
def test_any_scale_of_the_data_fits_single_precision_with_its_gamma(kernel, scale):
    """gamma undoes the scale, so that the values are those of the unscaled data."""
    X = abs(samples())
    gamma = 0.3 / scale ** HOMOGENEOUS[kernel]
    plain = as_kernel(kernel, gamma=0.3, coef0=0.5).rows(X, double=True)
    scaled = as_kernel(kernel, gamma=gamma, coef0=0.5).rows(X * scale, double=False)
    assert scaled.dtype == np.float32
    K, expected = scaled.block(np.arange(N)), plain.block(np.arange(N))
    assert_allclose(K, expected, rtol=0, atol=1e-5 * abs(expected).max())


def test_single_data_stay_in_single_or_double_as_asked():
    X = samples().astype(np.float32)
    for double in (False, True):
        rows = as_kernel("rbf", gamma=0.3).rows(X, double=double)
        assert rows.dtype == (np.float64 if double else np.float32)
        assert_allclose(rows.block(np.arange(N)), rbf(X.astype(float), X.astype(float)), atol=1e-5)


# ---- what a user's kernel may return


def named_kernel(returned):
    def my_kernel(A, B):
        return returned

    return my_kernel


@pytest.mark.parametrize(
    "returned",
    [np.ones((2, 3)), np.ones((2, 3), np.float32), np.ones((2, 3), bool), [[1, 2, 3]] * 2],
)
def test_real_matrices_of_the_right_shape_are_taken(returned):
    assert_array_equal(
        as_kernel(named_kernel(returned)).values(np.ones((2, 1)), np.ones((3, 1))), returned
    )


@each(
    ("returned", "error", "message"),
    [
        (np.ones((3, 2)), ValueError, r"'my_kernel' returned shape \(3, 2\); \(2, 3\) is needed"),
        (np.ones(6), ValueError, r"'my_kernel' returned shape \(6,\)"),
        (1.0, ValueError, r"'my_kernel' returned shape \(\)"),
        (np.full((2, 3), np.nan), ValueError, "'my_kernel' returned NaN or infinity"),
        (np.full((2, 3), np.inf), ValueError, "'my_kernel' returned NaN or infinity"),
        (np.ones((2, 3), complex), TypeError, "'my_kernel' returned dtype complex128"),
        (np.full((2, 3), "a"), TypeError, "'my_kernel' returned dtype <U1"),
        (None, TypeError, "'my_kernel' returned dtype object"),
        ([[1.0], [1.0, 2.0]], TypeError, "'my_kernel' returned no array"),
        (sparse.csr_array(np.ones((3, 2))), ValueError, r"returned shape \(3, 2\); \(2, 3\)"),
    ],
)
def test_what_a_users_kernel_must_not_return(returned, error, message):
    with pytest.raises(error, match=message):
        as_kernel(named_kernel(returned)).values(np.ones((2, 1)), np.ones((3, 1)))


def test_a_users_kernel_without_a_name_is_named_by_its_class():
    class Kernel:
        def __call__(self, A, B):
            return np.ones((1, 1))

    with pytest.raises(ValueError, match="kernel 'Kernel' returned shape"):
        as_kernel(Kernel()).values(np.ones((2, 1)), np.ones((2, 1)))


def test_a_users_own_exception_passes_unchanged():
    class Mine(Exception):
        pass

    def raises(A, B):
        raise Mine

    with pytest.raises(Mine):
        as_kernel(raises).rows(samples(), double=False)
