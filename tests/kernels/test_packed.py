"""The layouts of samples: every kernel in each, at every edge of their blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.kernels.packed import Inverted, Packed, Panels, Products, rows_per_call
from mlcore.kernels.vector_kernels import KERNELS, as_kernel

DTYPES = [np.float32, np.float64]
N = 300  # more than a band of four panels, in either precision
PARAMETERS = {"gamma": 0.13, "coef0": 0.7, "degree": 3}
DISTANCES = ("rbf", "laplacian", "chi2")


def normal(d, share=1.0, csr=False):
    def make(rng):
        X = rng.normal(size=(N, d)) * (rng.random((N, d)) < share)
        X[11] = X[7]
        X[13] = 0
        return sparse.csr_array(X) if csr else X

    return make


def runs(rng):
    """Rows without zeros, which the loops take several at a time, between rows with some."""
    X = rng.normal(size=(N, 5))
    X[rng.random(N) < 0.3, 2] = 0
    return X


# name: (the layout it gets, its data)
DATA = {
    "one feature": (Panels, normal(1)),
    "few features": (Panels, normal(5)),
    "broken runs": (Panels, runs),
    "many zeros": (Panels, normal(90, share=0.2)),
    "many zeros in batches": (Panels, normal(205, share=0.25)),
    "many features": (Products, normal(90)),
    "moderate CSR": (Panels, normal(40, share=0.3, csr=True)),
    "moderate CSR in batches": (Panels, normal(161, share=0.2, csr=True)),
    "very sparse CSR": (Inverted, normal(400, share=0.02, csr=True)),
}


def layout(data, kernel):
    """What the shape of the data asks for, where the kernel allows it."""
    if kernel in ("laplacian", "chi2") and DATA[data][0] is Products:
        return Panels
    return DATA[data][0]


def samples(data, kernel, dtype):
    X = DATA[data][1](np.random.default_rng(len(data))).astype(dtype)
    return abs(X) if kernel == "chi2" else X


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def chi2_distance(X, Y):
    """Sum of (x - y)^2 / (x + y) over the features, 0 / 0 = 0."""
    total = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        i, j = np.flatnonzero(x), np.flatnonzero(y)  # where y = 0 it is x, and the reverse
        total[i] += x[i, None]
        total[:, j] += y[j]
        x, y = x[i, None], y[j]
        total[np.ix_(i, j)] += (x - y) ** 2 / (x + y) - (x + y)
    return total


def defined(kernel, X, Y, *, gamma, coef0, degree):
    """The kernel as its definition says, in double precision."""
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    if kernel == "rbf":
        return np.exp(-gamma * cdist(X, Y, "sqeuclidean"))
    if kernel == "laplacian":
        return np.exp(-gamma * cdist(X, Y, "cityblock"))
    if kernel == "chi2":
        return np.exp(-gamma * chi2_distance(X, Y))
    products = X @ Y.T
    if kernel == "polynomial":
        return (gamma * products + coef0) ** degree
    if kernel == "sigmoid":
        return np.tanh(gamma * products + coef0)
    if kernel == "cosine":
        norms = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
        return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return products


def rounding(kernel, X, dtype, *, gamma, coef0, degree):
    """A bound on the error of a value, from the sizes of what is summed."""
    X = X.astype(np.float64)
    unit = np.finfo(dtype).eps * (2 + np.sqrt(X.shape[1]))  # of a sum of d terms, relative
    square, size = (X**2).sum(axis=1).max(), abs(X).sum(axis=1).max()
    if kernel == "rbf":  # |x|^2 + |y|^2 - 2 x.y; exp passes its error on, times at most 1
        return unit * (1 + 4 * gamma * square)
    if kernel in ("laplacian", "chi2"):  # a sum that starts at that of one sample
        return unit * (1 + 2 * gamma * size)
    if kernel == "polynomial":
        return unit * degree * (gamma * square + abs(coef0)) ** degree
    if kernel == "sigmoid":
        return unit * (1 + gamma * square + abs(coef0))
    return unit * (square if kernel == "linear" else 1)


def near(found, expected, atol):
    return np.abs(found - expected).max() <= atol  # not where one is NaN


# All pairs of data, kernels and types.
@pytest.mark.parametrize("data", DATA)
def test_blocks_and_symmetric_matrices_are_the_kernel_as_defined(data):
    for i, kernel in enumerate(KERNELS):
        dtype = DTYPES[(list(DATA).index(data) + i) % 2]
        X = samples(data, kernel, dtype)
        expected = defined(kernel, dense(X), dense(X), **PARAMETERS)
        atol = rounding(kernel, dense(X), dtype, **PARAMETERS)
        with case(kernel, dtype):
            check_blocks(data, kernel, X, expected, atol)
            check_symmetric(kernel, X, expected, atol)


def check_blocks(data, kernel, X, expected, atol):
    dtype = X.dtype
    packed = Packed(X, as_kernel(kernel, **PARAMETERS), dtype=dtype)
    assert type(packed.layout) is layout(data, kernel)
    few = data in ("one feature", "few features", "broken runs")
    assert packed._plan.differences == (few and kernel == "rbf")
    rng = np.random.default_rng(0)
    edges = [(1, 1), (3, 31), (5, 32), (33, 64), (64, 65), (257, 129)]
    for n, m in edges:
        rows, columns = np.sort(rng.permutation(N)[:n]), np.arange(N - m, N)
        to = rng.permutation(n + 2)[:n]
        out = np.full((n + 2, m + 3), np.nan, dtype)
        packed.block(rows, packed.columns(columns), out, to)
        assert near(out[to, :m], expected[rows, N - m :], atol), (n, m)
        if kernel in DISTANCES:
            assert out[to, :m].min() >= 0 and out[to, :m].max() <= 1
        out[to, :m] = np.nan
        assert np.isnan(out).all()  # nothing else was written


def check_symmetric(kernel, X, expected, atol):
    dtype = X.dtype
    for n in (1, 31, 64, 65, 129, N):
        packed = Packed(X[:n], as_kernel(kernel, **PARAMETERS), dtype=dtype)
        K = np.full((n, n + 5), np.nan, dtype)
        packed.symmetric(K)
        assert np.isnan(K[:, n:]).all()  # a solver pads its rows
        K = K[:, :n]
        assert (K == K.T).all(), n
        assert (np.diagonal(K) == packed.diagonal.astype(dtype)).all(), n
        if kernel in DISTANCES:
            assert (np.diagonal(K) == 1).all(), n
            assert K.min() >= 0 and K.max() <= 1
        assert near(K, expected[:n, :n], atol), n


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", ["few features", "many features", "very sparse CSR"])
def test_rows_of_either_kind_meet_columns_of_any_layout(kernel, columns):
    """Dense rows against sparse columns and the other way round, of another size."""
    Y = samples(columns, kernel, np.float64)
    rng = np.random.default_rng(5)
    X = 3.0 * rng.random((N, Y.shape[1])) * (rng.random(Y.shape) < 0.5)
    packed = Packed(Y, as_kernel(kernel, **PARAMETERS), dtype=np.float64)
    expected = defined(kernel, X, dense(Y), **PARAMETERS)
    both = np.concatenate([X, dense(Y)])
    atol = rounding(kernel, both, np.float64, **PARAMETERS)
    empty = sparse.csr_array((3, Y.shape[1]))
    for rows in (X, sparse.csr_array(X), empty):
        out = np.empty((rows.shape[0], N))
        like = Packed(rows, as_kernel(kernel, **PARAMETERS), dtype=np.float64, like=packed)
        order = np.arange(rows.shape[0])
        like.block(order, packed.columns(), out, order)
        if rows is empty:
            expected = defined(kernel, empty.toarray(), dense(Y), **PARAMETERS)
        assert_allclose(out, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", ["few features", "many zeros", "very sparse CSR"])
def test_few_rows_are_prepared_as_many_are(columns, kernel, monkeypatch):
    for dtype in DTYPES:
        check_few_rows(columns, kernel, dtype, monkeypatch)


def check_few_rows(columns, kernel, dtype, monkeypatch):
    Y = samples(columns, kernel, dtype)
    X = np.ascontiguousarray(dense(Y)[5:16])
    like = Packed(Y, as_kernel(kernel, **PARAMETERS), dtype=dtype)
    found = []
    for most in (10_000, 0):
        monkeypatch.setattr("mlcore.kernels.packed._FEW_VALUES", most)
        rows = Packed(X, as_kernel(kernel, **PARAMETERS), dtype=dtype, like=like)
        out, order = np.empty((len(X), N), dtype), np.arange(len(X))
        rows.block(order, like.columns(), out, order)
        found.append(out)
    # A squared norm summed in another order is off by roundings of it, and exp passes them on.
    assert_allclose(found[0], found[1], rtol=200 * np.finfo(dtype).eps, atol=1e-30)


def test_dense_rows_without_zeros_meet_inverted_columns():
    """As many as take more than one compiled call to pack."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(100, 400)), samples("very sparse CSR", "linear", np.float64)
    columns = Packed(Y, as_kernel("linear"), dtype=np.float64)
    rows, out = Packed(X, as_kernel("linear"), dtype=np.float64, like=columns), np.empty((100, N))
    rows.block(np.arange(100), columns.columns(), out, np.arange(100))
    assert_allclose(out, X @ Y.toarray().T, rtol=0, atol=1e-12)


def test_more_features_than_a_panel_takes_are_inverted():
    X = sparse.random_array((30, 70_000), density=0.08, random_state=0, format="csr")
    packed = Packed(X, as_kernel("rbf", gamma=0.01), dtype=np.float64)
    K = np.empty((30, 30))
    packed.symmetric(K)
    assert type(packed.layout) is Inverted
    assert_allclose(K, defined("rbf", X.toarray(), X.toarray(), **PARAMETERS | {"gamma": 0.01}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("data", DATA)
def test_double_arithmetic_on_single_data_and_the_reverse(data, dtype):
    X = samples(data, "rbf", np.float64)
    other = np.float64 if dtype == np.float32 else np.float32
    packed = Packed(X.astype(dtype), as_kernel("rbf", **PARAMETERS), dtype=other)
    K = np.empty((N, N), other)
    packed.symmetric(K)
    expected = defined("rbf", dense(X.astype(dtype)), dense(X.astype(dtype)), **PARAMETERS)
    atol = rounding("rbf", dense(X), other, **PARAMETERS)
    assert_allclose(K, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("data", DATA)
def test_combine_and_project_are_products_with_the_samples(data, dtype):
    X = samples(data, "linear", dtype)
    packed = Packed(X, as_kernel("linear", gamma=1.0), dtype=dtype)
    rng = np.random.default_rng(1)
    rows, weights = rng.permutation(N)[:270], rng.normal(size=270)
    start = rng.normal(size=X.shape[1])
    w = start.copy()
    packed.layout.combine(rows, weights, w)
    exact = dense(X).astype(np.float64)
    assert_allclose(w, start + weights @ exact[rows], rtol=0, atol=1e-12)
    out = np.full(N, np.nan)
    packed.layout.project(w, out)
    assert_allclose(out, exact @ w, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_stored_zeros_are_zeros(kernel):
    """In CSR zeros may be stored, and numbers may become 0 in single precision."""
    shape = (3, 120)
    for tiny, dtype in ((0.0, np.float64), (1e-60, np.float32)):
        data = np.array([tiny, 1.0, tiny, 2.0, tiny, tiny])
        X = sparse.csr_array((data, [0, 1, 0, 2, 0, 1], [0, 2, 4, 6]), shape=shape)
        packed = Packed(X, as_kernel(kernel, **PARAMETERS), dtype=dtype)
        assert type(packed.layout) is Inverted
        K = np.empty((3, 3), dtype)
        packed.symmetric(K)
        if kernel == "cosine" and tiny:  # has a direction, however short
            X = sparse.csr_array(X.toarray()[:2])
            K = K[:2, :2]
        expected = defined(kernel, dense(X), dense(X), **PARAMETERS)
        assert_allclose(K, expected, rtol=0, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("data", ["few features", "many zeros", "many features", "very sparse CSR"])
def test_any_number_of_threads_gives_the_same_bytes(data):
    """On more samples: only loops that pay for threads have them."""
    X = samples(data, "rbf", np.float32)
    X = sparse.vstack([X] * 4, format="csr") if sparse.issparse(X) else np.tile(X, (4, 1))
    results = []
    for threads in (1, 2, 7):
        with threadpool_limits(threads):
            packed = Packed(X, as_kernel("rbf", **PARAMETERS), dtype=np.float32)
            K, B = (np.empty((packed.n,) * 2, np.float32) for _ in range(2))
            packed.symmetric(K)
            packed.block(np.arange(len(B)), packed.columns(), B, np.arange(len(B)))
            results.append((K.tobytes(), B.tobytes()))
    assert results[0] == results[1] == results[2]


def test_work_is_cut_into_calls_that_ctrl_c_can_wait_for(monkeypatch):
    """The same values, however few rows one compiled call takes."""
    for data in ("few features", "many features", "very sparse CSR"):
        X = samples(data, "rbf", np.float64)
        results = []
        for terms in (1e9, 1e4):
            monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", terms)
            packed = Packed(X, as_kernel("rbf", **PARAMETERS), dtype=np.float64)
            K, B = np.empty((N, N)), np.empty((N, N))
            packed.symmetric(K)
            packed.block(np.arange(N), packed.columns(), B, np.arange(N))
            results.append((K, B))
        assert_array_equal(results[0], results[1])


def test_no_call_writes_more_than_ctrl_c_can_wait_for():
    """Where products are few, time goes to memory that is touched for the first time."""
    packed = Packed(np.ones((6000, 2)), as_kernel("rbf", **PARAMETERS), dtype=np.float64)
    assert rows_per_call(6000, 6000, packed.layout.terms_per_value) * 6000 <= 2**23


def test_memory_and_cost_are_known():
    for data in DATA:
        X = samples(data, "linear", np.float64)
        packed = Packed(X, as_kernel("linear", **PARAMETERS), dtype=np.float64)
        stored = np.count_nonzero(dense(X)) if type(packed.layout) is not Products else X.size
        assert packed.layout.nbytes >= 8 * stored
        assert packed.layout.terms_per_value == stored / N
