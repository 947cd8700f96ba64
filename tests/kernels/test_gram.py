"""Gram matrices against scikit-learn, SciPy and their definitions; the laws; what is refused."""

import itertools

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.kernels import gram_matrix, is_positive_semidefinite, polynomial_features
from mlcore.kernels.vector_kernels import KERNELS, resolve_gamma

DISTANCES = ("rbf", "laplacian", "chi2")
WITH_GAMMA = [k for k in KERNELS if k not in ("linear", "cosine")]


def samples(n, d, seed=0, dtype=np.float64):
    """Values of at least 0, as the chi2 kernel needs them, of sizes near 1."""
    return np.random.default_rng([n, d, seed]).exponential(size=(n, d)).astype(dtype)


def by_scikit_learn(X, Y, kernel, **parameters):
    named = {"rbf": "g", "laplacian": "g", "chi2": "g", "polynomial": "gcd", "sigmoid": "gc"}
    letters = {"gamma": "g", "coef0": "c", "degree": "d"}
    chosen = {k: v for k, v in parameters.items() if letters[k] in named.get(kernel, "")}
    return pairwise_kernels(X, Y, metric=kernel, **chosen)


# ---- against other implementations


@each("kernel", KERNELS)
@each("layout", [np.asarray, sparse.csr_array])
def test_matches_scikit_learn(layout, kernel):
    for (n, m, d), dtype in itertools.product(
        [(1, 1, 1), (63, 5, 2), (65, 130, 17), (70, 257, 80)], [np.float32, np.float64]
    ):
        with case(n, m, d, dtype):
            check_with_scikit_learn(n, m, d, kernel, layout, dtype)


def check_with_scikit_learn(n, m, d, kernel, layout, dtype):
    X, Y = samples(n, d, 1, dtype), samples(m, d, 2, dtype)
    X[X < 0.3] = 0  # also moderately sparse
    parameters = {"gamma": 0.2, "coef0": 0.5, "degree": 2}
    K = gram_matrix(layout(X), layout(Y), kernel=kernel, **parameters)
    expected = by_scikit_learn(X.astype(np.float64), Y.astype(np.float64), kernel, **parameters)
    assert K.dtype == dtype and K.shape == (n, m)
    # Inner products and squared norms of a few d in a sum of d terms, and their square.
    square = (X.astype(np.float64) ** 2).sum(axis=1).max() + (Y.astype(np.float64) ** 2).sum(
        1
    ).max()
    size = {"linear": square, "polynomial": (0.2 * square + 0.5) ** 2, "cosine": 1}
    atol = (2 + np.sqrt(d)) * np.finfo(dtype).eps * (1 + size.get(kernel, 0.4 * square))
    assert_allclose(K, expected, rtol=0, atol=atol)


@each("kernel", KERNELS)
def test_defaults(kernel):
    X = samples(20, 4)
    K = gram_matrix(X, kernel=kernel)
    expected = by_scikit_learn(X, X, kernel, gamma=0.25, degree=3, coef0=1.0)
    assert_allclose(K, expected, rtol=1e-12)
    assert_array_equal(K, gram_matrix(X, kernel=kernel, gamma="auto"))


def test_rbf_is_the_default_and_poly_another_name():
    X = samples(9, 3)
    assert_array_equal(gram_matrix(X), gram_matrix(X, kernel="rbf"))
    assert_array_equal(gram_matrix(X, kernel="poly"), gram_matrix(X, kernel="polynomial"))


@each("kernel", ["rbf", "laplacian", "chi2"])
@each("gamma", [1e-8, 1.0, 30.0])
def test_small_values_are_right_relatively(kernel, gamma):
    """With few features of size 1, the distance is right to a few eps, and so its exp."""
    X, Y = samples(40, 2, 3), samples(30, 2, 4)
    x, y = X.astype(np.longdouble)[:, None], Y.astype(np.longdouble)
    terms = {"rbf": (x - y) ** 2, "laplacian": abs(x - y), "chi2": (x - y) ** 2 / (x + y)}
    exponent = gamma * terms[kernel].sum(axis=2)
    K = gram_matrix(X, Y, kernel=kernel, gamma=gamma)
    summed = gamma * ((X**2).sum(1).max() + (Y**2).sum(1).max() + X.max() + Y.max())
    rtol = 8 * np.finfo(float).eps * (1 + summed)
    fine = exponent < 700
    assert_allclose(K[fine], np.exp(-exponent[fine]).astype(float), rtol=rtol)
    assert (K[~fine] < 1e-303).all()


@each("gamma", ["scale", "auto", 0.7])
@each("layout", [np.asarray, sparse.csr_array])
def test_gamma_by_name_is_scikit_learns(gamma, layout):
    X = samples(30, 5)
    X[X < 0.5] = 0
    X = layout(X)
    theirs = SVC(gamma=gamma).fit(X, np.arange(30) % 2)._gamma
    assert resolve_gamma(gamma, X) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_gamma_scale_of_constant_data_is_one(layout):
    assert resolve_gamma("scale", layout(np.zeros((4, 3)))) == 1.0
    assert resolve_gamma("scale", np.full((4, 3), 7.0)) == 1.0


# ---- symmetry and range


@each("dtype", [np.float32, np.float64])
@each("kernel", KERNELS)
def test_alone_exactly_symmetric_and_near_the_matrix_with_a_copy(kernel, dtype):
    for n, d in itertools.product([1, 2, 64, 130], [3, 70]):
        X = samples(n, d, 0, dtype)
        K = gram_matrix(X, kernel=kernel, gamma=0.1)
        assert_array_equal(K, K.T, err_msg=f"{n} samples of {d} features")
        atol = 200 * np.finfo(dtype).eps * abs(K).max()
        assert_allclose(K, gram_matrix(X, X.copy(), kernel=kernel, gamma=0.1), rtol=0, atol=atol)
        if kernel in DISTANCES:
            assert_array_equal(np.diagonal(K), 1)


@each("kernel", ["rbf", "laplacian", "chi2"])
@each("scale", [1e-150, 1e-3, 1.0, 1e5, 1e150])
def test_distance_kernels_stay_between_zero_and_one(kernel, scale):
    X = samples(70, 3) * scale
    X[5] = X[60]
    for gamma in (0.0, 1e-300, 1.0, 1e10, 1e300):
        for Y in (None, X[::-1]):
            K = gram_matrix(X, Y, kernel=kernel, gamma=gamma)
            assert K.min() >= 0 and K.max() <= 1  # neither holds for NaN


@each("kernel", KERNELS)
def test_zeros_are_samples_too(kernel):
    K = gram_matrix(np.zeros((3, 2)), np.eye(2), kernel=kernel, gamma=1.0, coef0=0.5)
    values = {
        "linear": 0, "polynomial": 0.125, "rbf": np.exp(-1), "laplacian": np.exp(-1),
        "sigmoid": np.tanh(0.5), "cosine": 0, "chi2": np.exp(-1),
    }  # fmt: skip
    assert_allclose(K, np.full((3, 2), values[kernel]), rtol=1e-15)
    for layout in (np.zeros, sparse.csr_array):
        diagonal = np.diagonal(gram_matrix(layout((3, 200)), kernel=kernel, gamma=1.0, coef0=0.5))
        assert_array_equal(diagonal, 1 if kernel in DISTANCES else diagonal[0])
    assert_array_equal(gram_matrix(np.zeros((2, 3)), kernel="cosine"), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 100])
def test_equal_rows_are_as_near_as_rounding_lets_them(d, dtype):
    X = samples(40, d, 0, dtype)
    X[20:] = X[:20]
    K = gram_matrix(X, kernel="rbf", gamma=0.5)
    square = ((X - X.mean(axis=0)) ** 2).sum(axis=1).max()
    assert abs(K[np.arange(20), np.arange(20) + 20] - 1).max() <= 4 * np.finfo(dtype).eps * square


# ---- offsets and scales


@each("dtype", [np.float32, np.float64])
@each("d", [4, 90])
@each("kernel", ["rbf", "laplacian"])
def test_an_offset_costs_nothing(kernel, d, dtype):
    """What the offset rounds away is lost before; of what is left, nothing is."""
    offset = 1e4 if dtype == np.float32 else 1e8
    X = (np.random.default_rng(0).normal(size=(150, d)) + offset).astype(dtype)
    Y = (np.random.default_rng(1).normal(size=(60, d)) + offset).astype(dtype)
    metric = {"rbf": "sqeuclidean", "laplacian": "cityblock"}[kernel]
    for A, B in ((X, None), (X, Y)):
        K = gram_matrix(A, B, kernel=kernel, gamma=1 / d)
        other = (A if B is None else B).astype(np.float64)
        expected = np.exp(-cdist(A.astype(np.float64), other, metric) / d)
        # As for data without offset: |x|^2 / d is about 1.
        assert_allclose(K, expected, rtol=0, atol=(20 + np.sqrt(d)) * np.finfo(dtype).eps)


@each("scale", [2.0**-500, 2.0**-100, 2.0**100, 2.0**490])
@each("kernel", ["rbf", "polynomial", "sigmoid"])
def test_gamma_scale_undoes_the_scale_of_the_data(kernel, scale):
    X = samples(30, 3)
    K, expected = (gram_matrix(A, kernel=kernel, gamma="scale") for A in (X * scale, X))
    assert_allclose(K, expected, rtol=1e-13)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-500, 2.0**500])
def test_cosine_does_not_depend_on_the_scale(scale):
    X = np.round(samples(30, 3) * 64) + 1  # a few bits, which denormal numbers hold too
    expected = gram_matrix(X, kernel="cosine")
    assert_allclose(gram_matrix(X * scale, kernel="cosine"), expected, rtol=1e-14)
    sparse_X = sparse.csr_array(X * scale)
    assert_allclose(gram_matrix(sparse_X, kernel="cosine"), expected, rtol=1e-14)
    mixed = X * np.where(np.arange(30) % 2, scale, 1.0)[:, None]
    assert_allclose(gram_matrix(mixed, kernel="cosine"), expected, rtol=1e-14)


@each("dtype", [np.float32, np.float64])
@each("kernel", WITH_GAMMA)
def test_a_huge_gamma_gives_limits_not_nan(kernel, dtype):
    for d in (2, 20, 90):
        with case(d):
            check_huge_gamma(kernel, d, dtype)


def check_huge_gamma(kernel, d, dtype):
    X = np.tile(np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 2.0]], dtype), d // 2)
    for gamma in (1e20, 1e39, 1e200, 1e308):
        if kernel == "polynomial":
            with pytest.raises(ValueError, match=rf"overflows {np.dtype(dtype)}.*degree=20"):
                gram_matrix(X, kernel=kernel, gamma=gamma, degree=20)
            continue
        K = gram_matrix(X, kernel=kernel, gamma=gamma)
        assert_array_equal(K[:2, :2], np.ones((2, 2)) if kernel == "sigmoid" else np.eye(2))
        assert K.min() >= 0 and K.max() <= 1  # that of equal rows depends on rounding


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 5e17), (np.float64, 1e150)])
@pytest.mark.parametrize("kernel", DISTANCES)
def test_rows_far_beyond_the_columns_are_infinitely_far(kernel, dtype, largest):
    for d in (2, 20, 90):
        with case(d):
            check_far_rows(kernel, d, dtype, largest)


def check_far_rows(kernel, d, dtype, largest):
    near, far = samples(5, d, 0, dtype), np.full((1, d), largest, dtype)
    near[3] = 0
    for gamma in (1.0, 1e10, 1e20, 1e38, 1e300):
        for origin in (near, near[3:4]):
            assert_array_equal(gram_matrix(far, origin, kernel=kernel, gamma=gamma), 0)
            assert_array_equal(gram_matrix(origin, far, kernel=kernel, gamma=gamma), 0)


def test_a_polynomial_that_overflows_is_refused_and_one_that_does_not_is_not():
    X = np.array([[1e60], [1.0]])
    with pytest.raises(ValueError, match="polynomial kernel overflows float64.*degree=3"):
        gram_matrix(X, kernel="polynomial", gamma=1.0)
    with pytest.raises(ValueError, match="polynomial kernel overflows float32"):
        gram_matrix(np.array([[1e10]], np.float32), kernel="polynomial", gamma=1.0)
    assert gram_matrix(X[:1], X[1:], kernel="polynomial", gamma=1.0)[0, 0] == pytest.approx(1e180)
    assert_array_equal(gram_matrix(X, kernel="polynomial", gamma=1.0, degree=0), 1)


# ---- what is taken


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "unaligned": unaligned,
    "nested lists": lambda X: X.tolist(),
}


@each("d", [3, 100])
@each("form", FORMS)
def test_any_form_of_the_data_gives_the_same_bytes(form, d):
    X, Y = samples(70, d, 0), samples(40, d, 1)
    for kernel in KERNELS:
        expected = gram_matrix(X, Y, kernel=kernel), gram_matrix(X, kernel=kernel)
        A, B = FORMS[form](X), FORMS[form](Y)
        assert_array_equal(gram_matrix(A, B, kernel=kernel), expected[0])
        assert_array_equal(gram_matrix(A, kernel=kernel), expected[1])
        assert_array_equal(np.asarray(A), X)  # untouched


@each("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, object])
def test_other_types_are_computed_in_double_precision(dtype):
    X = (samples(20, 3) > 1).astype(dtype)
    K = gram_matrix(X)
    assert K.dtype == np.float64
    assert_array_equal(K, gram_matrix(X.astype(np.float64)))


def test_the_precision_is_that_of_X():
    X, Y = samples(5, 2), samples(4, 2, 1)
    for kernel in ("rbf", lambda A, B: A @ B.T):
        assert gram_matrix(X.astype(np.float32), Y, kernel=kernel).dtype == np.float32
        assert gram_matrix(X, Y.astype(np.float32), kernel=kernel).dtype == np.float64


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("density", [0.03, 0.5])
def test_sparse_formats_equal_the_dense_matrix_and_stay_as_they_are(make, density):
    X = samples(60, 90) * (np.random.default_rng(0).random((60, 90)) < density)
    S = make(X)
    for kernel in KERNELS:
        expected = gram_matrix(X, kernel=kernel, gamma=0.1)
        assert_allclose(gram_matrix(S, kernel=kernel, gamma=0.1), expected, rtol=0, atol=1e-10)
        assert_allclose(gram_matrix(S, X, kernel=kernel, gamma=0.1), expected, rtol=0, atol=1e-10)
        assert_allclose(gram_matrix(X, S, kernel=kernel, gamma=0.1), expected, rtol=0, atol=1e-10)
    assert_array_equal(S.toarray(), X)


def test_unsorted_duplicate_and_wide_indices():
    data, indices, indptr = [1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]
    messy = sparse.csr_array((data, np.array(indices, np.int64), np.array(indptr, np.int64)))
    plain = np.array([[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    for kernel in KERNELS:
        expected = gram_matrix(plain, kernel=kernel)
        assert_allclose(gram_matrix(messy, kernel=kernel), expected, rtol=1e-14)
    assert_array_equal(messy.indices, indices)
    assert_array_equal(messy.data, data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_callables(dtype):
    X, Y = samples(7, 2, 0, dtype), samples(4, 2, 1, dtype)

    def kernel(A, B):
        assert A.dtype == B.dtype == dtype
        return 2.0 * (np.asarray(A, np.float64) @ np.asarray(B, np.float64).T)

    assert_array_equal(gram_matrix(X, Y, kernel=kernel), kernel(X, Y).astype(dtype))
    assert_array_equal(gram_matrix(X, kernel=kernel), kernel(X, X).astype(dtype))
    out = np.empty((7, 4), dtype)
    assert gram_matrix(X, Y, kernel=kernel, out=out) is out
    assert_array_equal(out, kernel(X, Y).astype(dtype))
    with pytest.raises(ValueError, match=r"kernel 'bad' returned shape \(1, 1\); \(7, 4\)"):

        def bad(A, B):
            return [[1.0]]

        gram_matrix(X, Y, kernel=bad)


@each("kernel", KERNELS)
def test_out_is_written_and_returned(kernel):
    for X in (samples(70, 3), samples(300, 70), sparse.csr_array(samples(40, 90) > 3, dtype=float)):
        Y = X[:11]
        out = np.full((X.shape[0], 11), np.nan)
        assert gram_matrix(X, Y, kernel=kernel, out=out) is out
        assert_array_equal(out, gram_matrix(X, Y, kernel=kernel))
        out = np.full((X.shape[0], X.shape[0]), np.nan)
        assert gram_matrix(X, kernel=kernel, out=out) is out
        assert_array_equal(out, gram_matrix(X, kernel=kernel))


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_number_of_threads_gives_the_same_bytes(kernel):
    for X in (
        samples(1100, 5),
        samples(400, 70),
        sparse.csr_array(samples(500, 200) * (samples(500, 200) > 4)),
    ):
        results = []
        for threads in (1, 2, 7):
            with threadpool_limits(threads):
                results.append(gram_matrix(X, kernel=kernel).tobytes())
        assert results[0] == results[1] == results[2]


# ---- what is refused


@each(
    ("arguments", "error", "message"),
    [
        ({"kernel": "gauss"}, ValueError, "kernel.*'gauss'.*rbf"),
        ({"kernel": "precomputed"}, ValueError, "kernel.*'precomputed'.*rbf"),
        ({"kernel": None}, (ValueError, TypeError), "kernel"),
        ({"gamma": -1.0}, ValueError, "gamma"),
        ({"gamma": np.nan}, ValueError, "gamma"),
        ({"gamma": np.inf}, ValueError, "gamma"),
        ({"gamma": "wide"}, ValueError, "gamma.*'wide'.*scale"),
        ({"gamma": [1.0]}, TypeError, "gamma"),
        ({"degree": -1}, ValueError, "degree"),
        ({"degree": 2.5}, (ValueError, TypeError), "degree"),
        ({"degree": 2**40}, ValueError, "degree"),
        ({"coef0": np.nan}, ValueError, "coef0"),
        ({"coef0": "1"}, TypeError, "coef0"),
        ({"Y": np.ones((2, 4))}, ValueError, "Y has 4 features, but X has 3"),
        ({"Y": [[np.nan] * 3]}, ValueError, "NaN"),
        ({"Y": [1.0, 2.0, 3.0]}, ValueError, "Reshape your data"),
        ({"X": [[1.0, np.inf, 2.0]]}, ValueError, "infinity"),
        ({"X": [[1e200, 1.0, 2.0]]}, ValueError, "too large"),
        ({"X": np.empty((0, 3))}, ValueError, "0 sample"),
        ({"X": [["a", "b", "c"]]}, TypeError, "X"),
        ({"out": [[0.0] * 2] * 2}, TypeError, "out is a list; a NumPy array is needed"),
        ({"out": np.empty((2, 3))}, ValueError, r"out has shape \(2, 3\).*\(2, 2\)"),
        ({"out": np.empty((2, 2), np.float32)}, ValueError, "out has.*float32.*float64"),
        ({"out": np.empty((2, 2), ">f8")}, ValueError, "out has.*>f8"),
        ({"out": np.empty((2, 2), order="F")[:, :]}, ValueError, "C-contiguity False"),
        ({"out": read_only(np.empty((2, 2)))}, ValueError, "out is read-only"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        gram_matrix(**{"X": np.arange(6.0).reshape(2, 3)} | arguments)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_chi2_needs_values_of_at_least_zero(layout):
    good, bad = layout([[1.0, 2.0]]), layout([[1.0, -2.0]])
    with pytest.raises(ValueError, match="Negative values in data passed as X.*-2.*chi2"):
        gram_matrix(bad, kernel="chi2")
    with pytest.raises(ValueError, match="Negative values in data passed as Y"):
        gram_matrix(good, bad, kernel="chi2")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_out_must_not_be_the_data(kernel):
    X = samples(80, 80)
    before = X.copy()
    with pytest.raises(ValueError, match="out shares memory with X or Y"):
        gram_matrix(X, kernel=kernel, out=X)
    with pytest.raises(ValueError, match="out shares memory with X or Y"):
        gram_matrix(before.copy(), X, kernel=kernel, out=X)
    assert_array_equal(X, before)


def test_a_matrix_that_cannot_fit_is_refused_before_it_is_allocated(monkeypatch):
    with pytest.raises(MemoryError, match="Gram matrix of 10000000 x 10000000 needs 8000000000000"):
        gram_matrix(sparse.csr_array((10**7, 2)))
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 2**20)
    monkeypatch.setattr(np, "empty", None)  # not even tried
    with pytest.raises(MemoryError, match="3000 x 3000 needs 36000000 bytes.*1048576 bytes"):
        gram_matrix(np.ones((3000, 2), np.float32))


# ---- laws


def matrices(low=-3.0, largest=6):
    def of_shape(shape):
        return st.lists(
            st.lists(st.floats(low, 3.0, width=32), min_size=shape[1], max_size=shape[1]),
            min_size=shape[0], max_size=shape[0],
        ).map(np.array)  # fmt: skip

    return st.tuples(st.integers(1, largest), st.integers(1, largest)).flatmap(of_shape)


@settings(max_examples=20)
@given(matrices(low=0.0), st.sampled_from(KERNELS), st.integers(0, 2**32 - 1))
def test_the_order_of_the_samples_orders_the_values(X, kernel, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    K = gram_matrix(X, kernel=kernel, gamma=0.5)
    assert_allclose(
        gram_matrix(X[order], kernel=kernel, gamma=0.5),
        K[np.ix_(order, order)],
        rtol=1e-12,
        atol=1e-12,
    )
    assert_allclose(
        gram_matrix(X, X[order], kernel=kernel, gamma=0.5), K[:, order], rtol=1e-12, atol=1e-12
    )


@settings(max_examples=20)
@given(matrices(low=0.0), st.sampled_from([k for k in KERNELS if k != "sigmoid"]))
def test_mercers_condition(X, kernel):
    assert is_positive_semidefinite(gram_matrix(X, kernel=kernel, gamma=0.5), tol=1e-12 * 1e6)[0]


@settings(max_examples=20)
@given(matrices(), st.sampled_from(["rbf", "laplacian"]), st.floats(-1e6, 1e6))
def test_distances_do_not_depend_on_the_origin(X, kernel, offset):
    moved = X + offset
    expected = gram_matrix(moved - offset, kernel=kernel, gamma=0.5)  # what the sum left of X
    assert_allclose(gram_matrix(moved, kernel=kernel, gamma=0.5), expected, rtol=0, atol=1e-12)


# ---- feature maps


# ---- Mercer's condition on a sample


@settings(max_examples=20)
@given(matrices(largest=4), st.integers(0, 4), st.sampled_from([0.0, 0.5, 2.0]))
def test_inner_products_of_the_feature_map_are_the_polynomial_kernel(X, degree, coef0):
    features = polynomial_features(X, degree, coef0)
    K = gram_matrix(X, kernel="polynomial", gamma=1.0, degree=degree, coef0=coef0)
    scale = (float((X**2).sum(axis=1).max()) + coef0 + 1) ** degree
    assert_allclose(features @ features.T, K, rtol=0, atol=1e-13 * scale)
