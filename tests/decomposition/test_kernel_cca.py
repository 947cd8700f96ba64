"""KernelCCA against CCA, the dense generalised eigenproblem in 50 digits, and copies of samples."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlcore.decomposition import CCA, KernelCCA
from mlcore.decomposition.cca.kernel_view import KernelView, leading_pairs
from mlcore.decomposition.centered_gram import CenteredGram
from mlcore.kernels import gram_matrix, polynomial_features
from mlcore.kernels.vector_kernels import as_kernel


def two_views(n=40, p=4, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    noise = rng.normal(size=(n, q))
    return X, np.sin(X[:, :1]) * rng.normal(size=q) + X[:, 1:2] ** 2 * rng.normal(size=q) + noise


def centred(K, w):
    H = np.eye(len(K)) - np.ones((len(K), 1)) * (w / w.sum())
    return H @ K @ H.T


def by_definition(K, L, w, alpha):
    """Correlations from the generalised eigenproblem of both penalised quadratic forms."""
    A, B, W = centred(K, w), centred(L, w), np.diag(w)
    parts = [M @ W @ M + ridge * M for M, ridge in zip((A, B), alpha, strict=True)]
    bases = []
    for M in (A, B):  # of the coefficients that give functions other than 0
        values, V = linalg.eigh(M)
        bases.append(V[:, values > 1e-9 * values[-1]])
    P, Q = bases
    cross = P.T @ A @ W @ B @ Q
    right = linalg.block_diag(P.T @ parts[0] @ P, Q.T @ parts[1] @ Q)
    left = np.zeros_like(right)
    r = cross.shape[0]
    left[:r, r:], left[r:, :r] = cross, cross.T
    return linalg.eigh(left, right, eigvals_only=True)[::-1]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 30),
    alpha=st.tuples(st.floats(1e-3, 10), st.floats(1e-3, 10)),
)
def test_linear_kernels_give_cca(seed, n, alpha):
    X, Y = two_views(n, 3, 2, seed)
    w = np.random.default_rng(seed).integers(0, 4, n)
    if np.count_nonzero(w) < 6:
        w = np.ones(n, dtype=int)
    total = w.sum() - 1
    model = KernelCCA(2, alpha=alpha).fit(X, Y, sample_weight=w)
    expected = CCA(2, alpha=tuple(np.divide(alpha, total))).fit(X, Y, sample_weight=w)
    rho = expected.canonical_correlations_
    assert_allclose(model.canonical_correlations_, rho, atol=1e-12)
    if rho[0] - rho[1] > 1e-3 and rho[1] > 1e-3:
        for found, variates in zip(model.transform(X, Y), expected.transform(X, Y), strict=True):
            found = found * np.sign((found * variates).sum(axis=0))
            assert_allclose(found * np.sqrt(total), variates, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.tuples(st.floats(1e-3, 10), st.floats(1e-3, 10)),
    gamma=st.floats(0.05, 2),
)
def test_pairs_solve_the_penalised_problem_and_evidence_is_true(seed, alpha, gamma):
    X, Y = two_views(20, seed=seed)
    w = np.random.default_rng(seed).uniform(0.5, 3, 20)
    K, L = gram_matrix(X, gamma=gamma), gram_matrix(Y, kernel="polynomial", degree=2, coef0=1)
    model = KernelCCA(3, kernel=("rbf", "poly"), gamma=(gamma, None), degree=2, alpha=alpha)
    with pytest.raises(ValueError, match="not fitted"):
        model.transform(X)
    model.set_params(gamma=(gamma, 1 / 3)).fit(X, Y, sample_weight=w)
    L = gram_matrix(Y, kernel="polynomial", degree=2, coef0=1, gamma=1 / 3)
    assert_allclose(model.canonical_correlations_, by_definition(K, L, w, alpha)[:3], atol=1e-8)
    # The functions themselves, from the attributes alone.
    F = K @ model.x_dual_coef_ + model.x_intercept_
    G = L @ model.y_dual_coef_ + model.y_intercept_
    assert_allclose(w @ F, 0, atol=1e-10)
    for found, values in zip(model.transform(X, Y), (F, G), strict=True):
        assert_allclose(found, values, atol=1e-10)
    W, A, B = w[:, None], model.x_dual_coef_, model.y_dual_coef_
    assert_allclose(F.T @ (W * F) + alpha[0] * A.T @ K @ A, np.eye(3), atol=1e-9)
    assert_allclose(G.T @ (W * G) + alpha[1] * B.T @ L @ B, np.eye(3), atol=1e-9)
    assert_allclose(F.T @ (W * G), np.diag(model.canonical_correlations_), atol=1e-9)
    assert model.orthogonality_ < 1e-7 and model.off_diagonal_ < 1e-7
    assert (model.training_correlations_ >= model.canonical_correlations_ - 1e-12).all()
    sizes = np.sqrt((w @ F**2) * (w @ G**2))
    assert_allclose(model.training_correlations_, (w @ (F * G)) / sizes, atol=1e-10)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), log_alpha=st.floats(-8, 1))
def test_the_real_errors_are_below_the_evidence(seed, log_alpha):
    X, Y = two_views(9, seed=seed)
    w, alpha = np.random.default_rng(seed).uniform(0.5, 3, 9), 10**log_alpha
    grams = gram_matrix(X, gamma=0.2), gram_matrix(Y, gamma=0.1)
    model = KernelCCA(2, kernel="precomputed", alpha=alpha).fit(*grams, sample_weight=w)
    with mpmath.workdps(50):
        W = mpmath.diag(w.tolist())
        H = mpmath.eye(9) - mpmath.ones(9, 1) * mpmath.matrix([w.tolist()]) / mpmath.fsum(w)
        values, away = [], []
        for K, A in zip(grams, (model.x_dual_coef_, model.y_dual_coef_), strict=True):
            centre = H * mpmath.matrix(K.tolist()) * H.T
            A = mpmath.matrix(A.tolist())
            values.append(centre * A)
            away.append(values[-1].T * W * values[-1] + alpha * A.T * values[-1] - mpmath.eye(2))
        cross = values[0].T * W * values[1]
        real = max(abs(float(x)) for matrix in away for x in matrix)
        off = max(abs(float(cross[0, 1])), abs(float(cross[1, 0])))
    assert real <= model.orthogonality_ and off <= model.off_diagonal_
    assert model.orthogonality_ < 1e-12 * max(1, 1 / alpha) ** 2


@pytest.mark.parametrize("alpha", [1e-6, 1e-2])
def test_fifty_digits(alpha):
    """Nearly free functions: the correlations as exact arithmetic gives them."""
    X, Y = two_views(12, 2, 1, seed=3)
    w = np.arange(1.0, 13.0)
    K, L = gram_matrix(X, gamma=0.3), gram_matrix(Y, gamma=0.5)
    with mpmath.workdps(50):
        n, total, one = 12, mpmath.mpf(78), mpmath.eye(12)
        H = one - mpmath.ones(n, 1) * mpmath.matrix([[x / total for x in w.tolist()]])
        half = mpmath.diag([mpmath.sqrt(x) for x in w.tolist()])
        S, T = (half * H * mpmath.matrix(M.tolist()) * H.T * half for M in (K, L))
        # rho² are the eigenvalues of S(S + alpha)^-1 T(T + alpha)^-1: of R R', T(...)^-1 = R'R.
        part = [M * mpmath.inverse(M + alpha * one) for M in (S, T)]
        values, V = mpmath.eigsy((part[0] + part[0].T) / 2)
        root = V * mpmath.diag([mpmath.sqrt(max(v, 0)) for v in values]) * V.T
        exact = mpmath.eigsy(root * (part[1] + part[1].T) / 2 * root, eigvals_only=True)
        exact = np.sqrt(np.maximum(np.array([float(v) for v in exact]), 0))[::-1]
    model = KernelCCA(4, kernel="rbf", gamma=(0.3, 0.5), alpha=alpha).fit(X, Y, sample_weight=w)
    # The kernel matrices are rounded: by eps of their norm, over alpha.
    assert_allclose(model.canonical_correlations_, exact[:4], atol=78 * 2.3e-16 / alpha)
    assert_allclose(model.training_correlations_[0], 1, atol=max(1e-6, alpha))


@pytest.mark.parametrize("kernel", ["rbf", ("poly", "linear")])
def test_weights_are_copies_and_their_scale_is_a_ridge(kernel):
    X, Y = two_views()
    w = np.random.default_rng(1).integers(0, 4, 40)
    params = {"kernel": kernel, "gamma": "scale", "degree": 2}
    weighted = KernelCCA(3, alpha=0.2, **params).fit(X, Y, sample_weight=w)
    copies = KernelCCA(3, alpha=0.2, **params).fit(X.repeat(w, axis=0), Y.repeat(w, axis=0))
    assert_allclose(weighted.canonical_correlations_, copies.canonical_correlations_, atol=1e-12)
    assert_allclose(weighted.transform(X), copies.transform(X), atol=1e-9)
    assert (weighted.x_dual_coef_[w == 0] == 0).all()
    for size in (2.0**301, 2.0**-302):
        scaled = KernelCCA(3, alpha=0.2 * size, **params).fit(X, Y, sample_weight=w * size)
        assert_allclose(scaled.canonical_correlations_, weighted.canonical_correlations_, rtol=1e-9)
        found = scaled.transform(X) * np.sqrt(size)
        assert_allclose(found, weighted.transform(X), atol=1e-8)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_any_unit(size):
    X, Y = two_views()
    model = KernelCCA(2, alpha=(0.3, 0.0)).fit(X, Y)
    scaled = KernelCCA(2, alpha=(0.3 * size * size, 0.0)).fit(X * size, Y)
    assert_allclose(scaled.canonical_correlations_, model.canonical_correlations_, rtol=1e-10)
    assert_allclose(scaled.transform(X * size, Y), model.transform(X, Y), atol=1e-10)


@pytest.mark.parametrize("degree", [1, 2])
def test_polynomial_kernels_give_the_cca_of_polynomial_features(degree):
    X, Y = two_views(25, 5, 3)  # with fewer samples than features of X for degree 2
    Z, T = (polynomial_features(block, degree, 0.5) for block in (X, Y))
    params = {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": 0.5}
    model = KernelCCA(3, alpha=(2.0, 0.7), **params).fit(X, Y)
    expected = CCA(3, alpha=(2.0 / 24, 0.7 / 24)).fit(Z, T)
    assert_allclose(model.canonical_correlations_, expected.canonical_correlations_, atol=1e-11)
    found, variates = model.transform(X) * np.sqrt(24), expected.transform(Z)
    found = found * np.sign((found * variates).sum(axis=0))
    assert_allclose(found, variates, atol=1e-8)
    order = np.random.default_rng(0).permutation(25)
    permuted = KernelCCA(3, alpha=(2.0, 0.7), **params).fit(X[order], Y[order])
    assert_allclose(permuted.canonical_correlations_, model.canonical_correlations_, atol=1e-12)
    swapped = KernelCCA(3, alpha=(0.7, 2.0), **params).fit(Y, X)
    assert_allclose(swapped.canonical_correlations_, model.canonical_correlations_, atol=1e-12)
    assert_allclose(swapped.training_correlations_, model.training_correlations_, atol=1e-11)


@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_offset_changes_nothing(kernel, offset):
    X, Y = (np.round(block * 2**20) / 2**20 for block in two_views())  # exact after the offset
    params = {"kernel": kernel, "gamma": "scale", "alpha": 0.1}
    model = KernelCCA(**params).fit(X, Y)
    moved = KernelCCA(**params).fit(X + offset, Y - offset)
    assert_allclose(moved.canonical_correlations_, model.canonical_correlations_, atol=1e-12)
    for found, variates in zip(
        moved.transform(X + offset, Y - offset), model.transform(X, Y), strict=True
    ):
        assert_allclose(found, variates, atol=1e-11 + offset * 2.3e-16)  # of the mean
    # As the intercept is documented: inner products with an offset of 1e4 keep half the digits.
    if offset == 1e4:
        K = gram_matrix(X + offset, kernel=kernel, gamma=model.gamma_)
        found = K @ moved.x_dual_coef_ + moved.x_intercept_
        assert_allclose(found, model.transform(X), atol=1e-6)
    if kernel == "linear":
        sparse = moved.transform(sp.csr_array(X + offset))
        assert_allclose(sparse, model.transform(X), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1e-8])
def test_without_a_ridge_linear_kernels_give_the_pairs_of_cca(alpha):
    X, Y = two_views()
    model, expected = KernelCCA(3, alpha=alpha).fit(X, Y), CCA(3).fit(X, Y)
    assert_allclose(model.canonical_correlations_, expected.canonical_correlations_, atol=1e-9)
    assert (model.x_rank_, model.y_rank_) == (4, 3)
    found, variates = model.transform(X) * np.sqrt(39), expected.transform(X)
    found = found * np.sign((found * variates).sum(axis=0))
    assert_allclose(found, variates, atol=1e-7)


def test_functions_that_take_any_values_need_a_ridge():
    X, Y = two_views(15)
    for kernel in ("rbf", ("rbf", "linear"), ("linear", "rbf")):
        with pytest.raises(ValueError, match=r"alpha=0, and functions of [Xy] .*rank 14"):
            KernelCCA(kernel=kernel, alpha=0.0).fit(X, Y)
        with pytest.raises(ValueError, match="rank 14"):  # nor do copies of samples help
            KernelCCA(kernel=kernel, alpha=0.0).fit(
                np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0)
            )
    binary = (X[:, 0] > 0).astype(float)  # functions of y are free, but not of the samples
    model, expected = (kind(1, alpha=0.0).fit(X, binary) for kind in (KernelCCA, CCA))
    assert_allclose(model.canonical_correlations_, expected.canonical_correlations_, atol=1e-12)
    model = KernelCCA(kernel=("rbf", "linear"), alpha=(1e-3, 0.0)).fit(X, Y)
    assert model.x_rank_ == 14 and model.canonical_correlations_[0] < 1


def test_every_form_of_a_view_is_the_same():
    X, Y = two_views()
    Y[np.abs(Y) < 0.5] = 0
    K, L = gram_matrix(X, gamma=0.2), gram_matrix(Y, gamma=0.2)
    how = {"kernel": "rbf", "gamma": 0.2, "alpha": 0.5}
    expected = KernelCCA(**how).fit(X, Y).transform(X, Y)

    def rbf(A, B):
        return gram_matrix(np.array([*A]), np.array([*B]), gamma=0.2)

    given_ = KernelCCA(kernel="precomputed", alpha=0.5).fit(K, L).transform(K, L)
    mixed = KernelCCA(kernel=(rbf, "precomputed"), alpha=0.5).fit(X, L).transform(X, L)
    csr = KernelCCA(**how).fit(sp.csr_array(X), sp.csr_array(Y))
    for found in (given_, mixed, csr.transform(sp.csr_array(X), sp.csr_array(Y))):
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, atol=1e-10)


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


def test_words_against_numbers_and_words():
    words = ["cat", "act", "dog", "god", "cod", "tack", "dot", "cart"]
    X = np.array([[word.count(c) for c in "catdogkr"] for word in words], dtype=float)
    model = KernelCCA(2, kernel=(shared_letters, "linear"), alpha=0.1).fit(words, X)
    same = KernelCCA(2, alpha=0.1).fit(X, X)
    assert_allclose(model.canonical_correlations_, same.canonical_correlations_, atol=1e-12)
    swapped = KernelCCA(2, kernel=("linear", shared_letters), alpha=0.1).fit(X, words)
    assert_allclose(swapped.canonical_correlations_, same.canonical_correlations_, atol=1e-12)
    assert_allclose(swapped.transform(X, words)[1], model.transform(words), atol=1e-10)
    with pytest.raises(TypeError, match="Y holds numbers, but KernelCCA was fitted to other"):
        swapped.transform(X, X)


def test_new_rows_are_scored_and_ridges_chosen():
    X, Y = two_views(120)
    model = KernelCCA(1, kernel="rbf", gamma="scale").fit(X[:80], Y[:80])
    f, g = model.transform(X[80:], Y[80:])
    expected = np.corrcoef(f[:, 0], g[:, 0])[0, 1]
    assert_allclose(model.correlations(X[80:], Y[80:]), [expected], atol=1e-12)
    assert_allclose(model.score(X[80:], Y[80:]), expected, atol=1e-12)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), KernelCCA(1, kernel="rbf")),
        {"kernelcca__alpha": [1e-9, 0.1], "kernelcca__gamma": ["scale", (5.0, 0.1)]},
        cv=3,
    ).fit(X, Y)
    assert search.best_params_ == {"kernelcca__alpha": 0.1, "kernelcca__gamma": "scale"}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_factor_of_small_rank_gives_the_eigenpairs(kernel):
    X = two_views(200, 3)[0] * 0.3
    w = np.random.default_rng(0).uniform(0.5, 2, 200)
    rows = as_kernel(kernel, gamma=0.01).rows(X, double=True)
    view = KernelView(rows, w, 0.1, 0, 2.3e-16)
    values = linalg.eigvalsh(CenteredGram(rows, w).dense())[::-1]
    assert 3 <= view.rank < 50
    assert_allclose(view.values, values[: view.rank], atol=200 * 2.3e-16 * values[0])
    assert_allclose(view.Q.T @ view.Q, np.eye(view.rank), atol=1e-13)
    leading = view.Q[:, :3]
    assert_allclose(view.S @ leading, leading * view.values[:3], atol=1e-11 * values[0])


def test_leading_pairs_of_a_large_matrix_are_those_of_all():
    rng = np.random.default_rng(0)
    M = np.linalg.qr(rng.normal(size=(450, 420)))[0] * np.r_[0.9, 0.8, 1e-3, np.zeros(417)]
    M = M @ np.linalg.qr(rng.normal(size=(420, 420)))[0]
    for A in (M, M.T):
        U, rho, V = leading_pairs(A, 3)
        assert_allclose(rho, [0.9, 0.8, 1e-3], atol=1e-15)
        assert_allclose(A @ V, U * rho, atol=1e-14)
        assert_allclose(U.T @ U, np.eye(3), atol=1e-13)


def test_float32_stays_float32_and_copies_of_features_do_not_count():
    X, Y = two_views()
    model = KernelCCA(2, alpha=0.0).fit(np.c_[X, X @ [1, 2, 3, 4]].astype(np.float32), Y)
    assert (model.x_rank_, model.y_rank_) == (4, 3)
    # With a ridge no direction is left out: the samples are computed with as they are.
    single = X.astype(np.float32)
    how = {"kernel": "rbf", "gamma": (1e-3, "scale"), "alpha": 1e-9}
    found, expected = (KernelCCA(2, **how).fit(Z, Y) for Z in (single, single.astype(float)))
    assert found.x_rank_ == expected.x_rank_ > 20
    rho = expected.canonical_correlations_
    assert_allclose(found.canonical_correlations_, rho, atol=1e-9)
    f, g = KernelCCA(2, alpha=0.1).fit(X.astype(np.float32), Y).transform(X, Y)
    assert (f.dtype, g.dtype) == (np.float32, np.float64)
    assert_allclose(f, KernelCCA(2, alpha=0.1).fit(X, Y).transform(X), atol=1e-5)


def test_indefinite_kernels_keep_positive_pairs_and_say_so():
    A = np.random.default_rng(0).normal(size=(30, 30))
    lowest = linalg.eigvalsh(centred(A + A.T, np.ones(30)))[0]
    with pytest.warns(UserWarning, match=f"has the eigenvalue {lowest:.6g}, and negative"):
        model = KernelCCA(kernel=("precomputed", "linear")).fit(A + A.T, A[:, :2])
    assert model.x_rank_ < 29 and model.orthogonality_ < 1e-12


def test_cross_validation_of_two_matrices():
    """scikit-learn cuts X, a matrix of kernel values, on both sides, but y on one."""
    X, Y = two_views()
    K, L = gram_matrix(X, kernel="rbf", gamma=0.3), gram_matrix(Y, kernel="rbf", gamma=0.3)
    how = {"cv": 3, "error_score": "raise"}
    expected = cross_val_score(KernelCCA(1, kernel="rbf", gamma=0.3), X, Y, **how)

    def values_of_y(a, b):
        return L[a.astype(int), b.astype(int).T]

    model = KernelCCA(1, kernel=("precomputed", values_of_y))
    found = cross_val_score(model, K, np.arange(len(X))[:, None], **how)
    assert_allclose(found, expected, rtol=1e-9)
    mixed = KernelCCA(1, kernel=("precomputed", "rbf"), gamma=0.3)
    assert_allclose(cross_val_score(mixed, K, Y, **how), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="y has shape .*scikit-learn cut y on one side.*row numb"):
        cross_val_score(KernelCCA(1, kernel="precomputed"), K, L, **how)


def test_wrong_input_is_refused():
    X, Y = two_views()
    for params, match in (
        ({"kernel": ("rbf",)}, r"kernel=\('rbf',\) must be one value, or two"),
        ({"alpha": (1.0, 2.0, 3.0)}, "alpha=.* must be one value, or two"),
        ({"alpha": (1.0, -1.0)}, "alpha=-1.0"),
        ({"gamma": ("scale", "other")}, "gamma='other'"),
    ):
        with pytest.raises(ValueError, match=match):
            KernelCCA(**params).fit(X, Y)
    with pytest.raises(ValueError, match="y has shape .*square"):
        KernelCCA(kernel=("linear", "precomputed")).fit(X, Y)
    for constant in (np.ones(40), np.full(40, 3.3), np.full((40, 2), 0.1)):
        with pytest.raises(ValueError, match="samples of y are constant for their kernel"):
            KernelCCA().fit(X, constant)
    with pytest.raises(ValueError, match="Negative values in data passed as y"):
        KernelCCA(kernel=("linear", "chi2")).fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 samples"):
        KernelCCA().fit(X, Y, sample_weight=np.eye(40)[0])
    with pytest.warns(UserWarning, match="n_components=5 is cut to 3, as X has rank 4 and y rank"):
        model = KernelCCA(5).fit(X, Y)
    with pytest.raises(ValueError, match="Y has 2 columns, but KernelCCA was fitted to 3"):
        model.transform(X, Y[:, :2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.correlations(X, Y[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.correlations(X[[0, 0]], Y[:2]), [0.0, 0.0, 0.0])


def test_leading_pairs_leave_none_of_equal_correlations_out():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(500, 420)))[0]  # all of them are 1
    U, rho, V = leading_pairs(Q, 10)
    assert_allclose(rho, 1.0, rtol=1e-13)
    assert U.shape == (500, 10) and V.shape == (420, 10)
    assert_allclose(Q @ V, U * rho, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 25),
    kernel=st.sampled_from(["linear", "rbf", "laplacian"]),
    alpha=st.floats(1e-3, 10),
    power=st.integers(-20, 20),
)
def test_order_of_rows_views_and_units_of_the_kernel(seed, n, kernel, alpha, power):
    X, Y = two_views(n, 3, 2, seed)
    w, order = (
        np.random.default_rng(seed).uniform(0.5, 3, n),
        np.random.default_rng(1).permutation(n),
    )
    K, L = gram_matrix(X, kernel=kernel, gamma=0.2), gram_matrix(Y, kernel="rbf", gamma=0.2)
    how = {"kernel": "precomputed", "alpha": (alpha, 2 * alpha)}
    model = KernelCCA(2, **how).fit(K, L, sample_weight=w)
    rho, variates = model.canonical_correlations_, model.transform(K, L)
    assert_allclose(rho, by_definition(K, L, w, how["alpha"])[:2], atol=1e-8)
    turned = np.ix_(order, order)
    permuted = KernelCCA(2, **how).fit(K[turned], L[turned], sample_weight=w[order])
    swapped = KernelCCA(2, kernel="precomputed", alpha=(2 * alpha, alpha)).fit(
        L, K, sample_weight=w
    )
    # A kernel in another unit, and its ridge in the same, has the same functions.
    unit = 2.0**power
    scaled = KernelCCA(2, kernel="precomputed", alpha=(unit * alpha, 2 * alpha))
    scaled.fit(unit * K, L, sample_weight=w)
    for other in (permuted, swapped, scaled):
        assert_allclose(other.canonical_correlations_, rho, atol=1e-10)
    if rho[0] - rho[1] > 1e-2 and rho[1] > 1e-2:
        found = [
            [part[np.argsort(order)] for part in permuted.transform(K[turned], L[turned])],
            swapped.transform(L, K)[::-1],
            scaled.transform(unit * K, L),
        ]
        for parts in found:
            for part, expected in zip(parts, variates, strict=True):
                part = part * np.sign((part * expected).sum(axis=0))
                assert_allclose(part, expected, atol=1e-7)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_a_ridge_that_vanishes_gives_cca_and_one_target_multiple_correlation(seed, weighted):
    X, Y = two_views(30, 3, 1, seed)
    w = np.random.default_rng(seed).uniform(0.5, 3, 30) if weighted else np.ones(30)
    centre = [part - w @ part / w.sum() for part in (X, Y)]
    fitted = np.sqrt(w)[:, None] * centre[0]
    target = np.sqrt(w) * centre[1][:, 0]
    left = target - fitted @ linalg.lstsq(fitted, target)[0]
    r2 = 1 - left @ left / (target @ target)
    before = 0.0
    for alpha in (10.0, 1e-2, 1e-6, 0.0):
        rho = KernelCCA(1, alpha=alpha).fit(X, Y, sample_weight=w).canonical_correlations_[0]
        assert rho >= before - 1e-12
        before = rho
    assert_allclose(rho**2, r2, atol=1e-12)


def test_every_form_of_the_samples_gives_the_same_bytes():
    X, Y = two_views()
    model = KernelCCA(2, kernel=("rbf", "linear"))
    expected = model.fit(X, Y).transform(X)
    fixed = X.copy()
    fixed.flags.writeable = False
    for rows in (fixed, X.astype(">f8"), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert_array_equal(clone(model).fit(rows, Y).transform(rows), expected)
    for library in ("pandas", "polars"):
        framed = clone(model).set_output(transform=library).fit(X, Y).transform(X)
        assert type(framed).__module__.startswith(library)
        assert_array_equal(framed.to_numpy(), expected)
