"""Logistic regression, against SciPy's minimisers of its definition and published fits."""

import warnings
from itertools import product

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression
from mlcore.linear_model.logistic import logistic_pass
from mlcore.row_sums import RowSums


def drawn(n, d, k, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, k)) / np.sqrt(d) + rng.gumbel(size=(n, k))
    y = scores.argmax(axis=1)
    y[:k] = np.arange(k)
    return X.astype(dtype), y


def scores_of(W, b, X, offset=None):
    Z = X @ W.T + b
    if offset is not None:
        Z = Z + offset.reshape(len(X), -1)
    return np.hstack([np.zeros_like(Z), Z]) if Z.shape[1] == 1 else Z


def value(W, b, X, y, C=1.0, s=None, offset=None):
    """P by its definition; without penalty the sum of the losses."""
    Z = scores_of(W, b, X, offset)
    losses = logsumexp(Z, axis=1) - Z[np.arange(len(X)), y]
    losses = losses.sum() if s is None else s @ losses
    return losses if C == np.inf else C * losses + 0.5 * np.square(W).sum()


def value_of(model, X, y, s=None, offset=None):
    return value(model.coef_, model.intercept_, X, y, model.C, s, offset)


def minimum(X, y, C=1.0, s=None, offset=None, intercept=True):
    """The least P that SciPy finds."""
    n, d = X.shape
    s = np.ones(n) if s is None else s
    k = y.max() + 1
    c = 1 if k == 2 else k

    def P(theta):
        theta = theta.reshape(c, d + 1)
        W, b = theta[:, :d], theta[:, d] * intercept
        Z = scores_of(W, b, X, offset)
        R = np.exp(Z - logsumexp(Z, axis=1, keepdims=True))
        R[np.arange(n), y] -= 1
        R = C * s[:, None] * (R[:, 1:] if c == 1 else R)
        gradient = np.c_[R.T @ X + W, intercept * R.sum(axis=0)]
        return value(W, b, X, y, C, s, offset), gradient.ravel()

    options = {"maxiter": 10_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 50}
    return minimize(P, np.zeros(c * (d + 1)), jac=True, method="L-BFGS-B", options=options).fun


SOLVERS = ["newton", "lbfgs", "gradient"]


@pytest.mark.parametrize(
    ("n", "d", "k"), [(9, 1, 2), (126, 15, 2), (127, 17, 3), (300, 40, 5), (40, 60, 3), (30, 90, 2)]
)
def test_the_objective_is_the_least_that_scipy_finds(n, d, k):
    X, y = drawn(n, d, k)
    least = minimum(X, y, 0.7)
    for solver, form in product(SOLVERS, (np.asarray, sparse.csr_array)):
        model = LogisticRegression(C=0.7, solver=solver, tol=1e-6, max_iter=2000).fit(form(X), y)
        assert model.converged_, (solver, form)
        assert_allclose(model.objective_, value_of(model, X, y), rtol=1e-13)
        assert_allclose(model.objective_, least, rtol=1e-9, err_msg=f"{solver}, {form}")
        # The gap bounds the excess, up to the rounding of the two sums.
        assert model.duality_gap_ >= model.objective_ - least - 1e-13 * least, (solver, form)


@pytest.mark.parametrize("k", [2, 4])
def test_weights_class_weights_offsets_and_no_intercept(k):
    X, y = drawn(150, 6, k)
    rng = np.random.default_rng(1)
    s = rng.integers(0, 4, size=150) * 0.7
    shape = 150 if k == 2 else (150, k)
    offset = rng.normal(size=shape)
    weights = {0: 2.0, 1: 0.5}
    total = s * np.where(y == 0, 2.0, np.where(y == 1, 0.5, 1.0))
    for intercept in (True, False):
        model = LogisticRegression(class_weight=weights, fit_intercept=intercept, tol=1e-7)
        model.fit(X, y, s, offset=offset)
        least = minimum(X, y, 1.0, total, offset, intercept)
        assert_allclose(value_of(model, X, y, total, offset), least, rtol=1e-10)
        Z = scores_of(model.coef_, model.intercept_, X, offset)
        log_p = Z - logsumexp(Z, axis=1, keepdims=True)
        assert_allclose(model.predict_log_proba(X, offset=offset), log_p, atol=1e-12)
        assert_allclose(model.predict_proba(X, offset=offset), np.exp(log_p), atol=1e-13)
        assert_array_equal(model.predict(X, offset=offset), log_p.argmax(axis=1))
        found = model.verify(X, y, s, offset=offset)
        assert_allclose(found.objective, model.objective_, rtol=1e-12)


O_RINGS = np.array(
    [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58.0]
)  # degrees Fahrenheit at 23 flights
DAMAGED = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1])


def test_maximum_likelihood_of_the_o_rings_as_in_r():
    model = LogisticRegression(C=np.inf, tol=1e-12).fit(O_RINGS[:, None], DAMAGED)
    assert_allclose(model.intercept_, [15.04290164770244], rtol=1e-11)
    assert_allclose(model.coef_, [[-0.2321627442185965]], rtol=1e-11)
    assert_allclose(2 * model.objective_, 20.31519268786683, rtol=1e-13)


def test_iris_as_published():
    X, y = load_iris()
    assert round(LogisticRegression(tol=1e-8).fit(X, y).objective_, 10) == 28.8863166041
    pair = y > 0
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X[pair], y[pair])
    assert round(2 * model.objective_, 10) == 11.8985467914


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_wine, load_digits])
def test_raw_data_converge_at_defaults(load):
    X, y = load(return_X_y=True) if load is not load_iris else load()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y)
        assert exact.duality_gap_ < 1e-10 * exact.objective_
        for solver in ("auto", "lbfgs"):
            model = LogisticRegression(solver=solver).fit(X, y)
            assert_allclose(model.objective_, exact.objective_, rtol=1e-8)


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_images_that_many_features_separate_converge_at_defaults(C, monkeypatch):
    """L-BFGS alone ends 9e-6 above the minimum of all digits at C=1e3, and 4% at 1e5."""
    monkeypatch.setattr(logistic_pass, "_DENSE", 0.25)  # as it is: a half is not 0
    X, y = load_digits(return_X_y=True)
    first = np.flatnonzero(y < 7)[:700]
    X, y = X[first], y[first]  # 16 shades; 455 coefficients, too many for Newton's whole Hessian
    exact = LogisticRegression(C=C, solver="newton", tol=1e-10).fit(X, y)
    assert exact.converged_ and exact.gradient_norm_ < 1e-12
    for form in (np.asarray, sparse.csr_array):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LogisticRegression(C=C).fit(form(X), y)
        assert_allclose(model.objective_, exact.objective_, rtol=1e-8)
        assert (np.diff(model.objective_trace_) <= 0).all()
        assert model.duality_gap_ >= model.objective_ - exact.objective_


def test_sparse_rows_of_many_values_are_read_as_dense_ones(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400] % 2
    for share, same in ((0.25, True), (0.9, False)):
        monkeypatch.setattr(logistic_pass, "_DENSE", share)
        dense, csr = (
            LogisticRegression().fit(form(X), y) for form in (np.asarray, sparse.csr_array)
        )
        assert (dense.coef_.tobytes() == csr.coef_.tobytes()) == same
        assert_allclose(csr.objective_, dense.objective_, rtol=1e-10)


@pytest.mark.parametrize("first", [np.asarray, sparse.csr_array])
def test_blocks_of_both_forms_have_one_sum(first):
    X, y = load_iris()
    model = LogisticRegression().begin(first(X + 5), y)  # the first rows tell the shift
    for _ in range(2):
        dense, csr = (model.partial_statistics(f(X), y) for f in (np.asarray, sparse.csr_array))
        assert_allclose(csr.loss, dense.loss, rtol=1e-13)
        assert_allclose(csr.gradient, dense.gradient, rtol=0, atol=1e-13 * len(X))
        assert_allclose(
            csr.hessian, dense.hessian, rtol=0, atol=1e-13 * np.abs(dense.hessian).max()
        )
        model.update(dense)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 5), st.integers(2, 3),
    st.floats(-3, 3), st.sampled_from(["plain", "separable", "collinear", "scaled"]),
)  # fmt: skip
@example(105, 33, 1, 2, 3.0, "separable")
def test_evidence_is_never_below_the_true_excess(seed, n, d, k, log_C, kind):
    X, y = drawn(n, d, k, seed)
    if kind == "separable":
        X[:, 0] += 10 * y
    elif kind == "collinear":
        X = np.hstack([X, X[:, :1] * 2])
    elif kind == "scaled":
        X *= 10.0 ** np.arange(-2, d - 2)
    C = 10.0**log_C
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Rounding may hide the last steps; the square of the decrement is what is left to gain.
        exact = LogisticRegression(C=C, tol=1e-12, max_iter=1000).fit(X, y)
        least = exact.objective_
        assert exact.newton_decrement_**2 < 1e-12 * least
        for max_iter in (1, 2, 4):
            rough = LogisticRegression(C=C, max_iter=max_iter).fit(X, y)
            excess = value_of(rough, X, y) - least
            found = rough.verify(X, y)
            rounding = 1e-12 * value_of(rough, X, y)
            assert found.duality_gap >= excess - rounding
            assert found.excess_bound >= excess - rounding
            assert rough.duality_gap_ >= excess - rounding


@pytest.mark.parametrize("k", [2, 3])
def test_laws(k):
    X, y = drawn(400, 5, k)
    s = np.random.default_rng(2).integers(1, 4, size=400).astype(float)
    model = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y, s)
    # With intercepts the mean probability of a class is its weighted share.
    shares = np.bincount(y, weights=s) / s.sum()
    assert_allclose(s @ model.predict_proba(X) / s.sum(), shares, atol=1e-9)
    copies = LogisticRegression(C=np.inf, tol=1e-9).fit(
        np.repeat(X, s.astype(int), axis=0), np.repeat(y, s.astype(int))
    )
    assert_allclose(copies.coef_, model.coef_, rtol=1e-7)
    shifted = LogisticRegression(C=np.inf, tol=1e-9).fit(X * 3 + 7, y, s)
    assert_allclose(shifted.coef_ * 3, model.coef_, rtol=1e-7)
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    penalised = LogisticRegression(tol=1e-9).fit(X, y, s)
    rotated = LogisticRegression(tol=1e-9).fit(X @ Q, y, s)
    assert_allclose(rotated.coef_, penalised.coef_ @ Q, atol=1e-8)
    assert_allclose(model.coef_.sum(axis=0) * (k > 2), 0, atol=1e-8)
    assert_allclose(model.intercept_.sum() * (k > 2), 0, atol=1e-8)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("k", "solver"), [(2, "newton"), (3, "newton"), (3, "lbfgs")])
def test_any_number_of_threads_gives_the_same_bytes(k, solver, form):
    X, y = drawn(20_000, 20, k)
    X[np.abs(X) < 0.5] = 0
    with threadpool_limits(1, user_api="openmp"):
        one = LogisticRegression(solver=solver).fit(form(X), y)
    with threadpool_limits(2, user_api="openmp"):
        two = LogisticRegression(solver=solver).fit(form(X), y)
    assert_array_equal(one.coef_, two.coef_)
    assert one.duality_gap_ == two.duality_gap_


def test_large_offsets_and_scales():
    X, y = drawn(300, 3, 2)
    plain = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    scale = np.array([1e150, 1.0, 1e-150])
    scaled = LogisticRegression(C=np.inf, tol=1e-8).fit(X * scale, y)
    assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-9)
    far = LogisticRegression(C=np.inf, tol=1e-8).fit(X + 1e6, y)
    # X + 1e6 is rounded to 1e-10.
    assert_allclose(far.coef_, plain.coef_, rtol=1e-8)


@each("C", [1e-300, 1e-30, 1e30, 1e300])
@each("k", [2, 3])
def test_extreme_C(C, k):
    X, y = drawn(200, 3, k)
    model = LogisticRegression(C=C).fit(X, y)
    assert np.isfinite(model.coef_).all()
    if C < 1:
        assert np.abs(model.coef_).max() < 1e-20
        shares = np.bincount(y) / 200
        assert_allclose(model.predict_proba(X)[0], shares, rtol=1e-9)
    else:
        free = LogisticRegression(C=np.inf).fit(X, y)
        assert_allclose(model.coef_, free.coef_, rtol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [2, 3])
def test_constant_and_dependent_columns_without_penalty(k, form):
    X, y = drawn(200, 3, k)
    model = LogisticRegression(C=np.inf, tol=1e-9).fit(form(X), y)
    more = np.c_[X, np.full(200, 5.1), X[:, 0] - 2 * X[:, 1]]
    found = LogisticRegression(C=np.inf, tol=1e-9).fit(form(more), y)
    assert_allclose(found.predict_proba(more), model.predict_proba(X), atol=1e-8)
    assert_allclose(found.coef_[:, 3], 0, atol=1e-8)
    # The least norm: orthogonal to the dependence.
    assert_allclose(found.coef_ @ [1, -2, 0, 0, -1], 0, atol=1e-7)


def test_float32_agrees_to_its_digits():
    X, y = drawn(300, 5, 3, dtype=np.float32)
    single = LogisticRegression(tol=1e-6).fit(X, y)
    double = LogisticRegression(tol=1e-6).fit(X.astype(np.float64), y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, double.coef_, rtol=1e-5, atol=1e-6)


def test_softmax_of_two_classes_is_binary_with_twice_C():
    """A third class that is far away in one column leaves two of them as they are."""
    X, y = drawn(100, 3, 2)
    least = minimum(X, y, 2.0)

    def softmax(theta):
        W, b = theta.reshape(2, 4)[:, :3], theta.reshape(2, 4)[:, 3]
        return value(W, b, X, y, 1.0)

    binary = LogisticRegression(C=2.0, tol=1e-9).fit(X, y)
    half = np.r_[-binary.coef_[0], -binary.intercept_, binary.coef_[0], binary.intercept_] / 2
    assert_allclose(softmax(half), least / 2, rtol=1e-10)


def test_warm_start_goes_on_where_the_last_fit_ended():
    X, y = drawn(300, 5, 3)
    cold = LogisticRegression(warm_start=True, solver="lbfgs").fit(X, y)
    steps = cold.n_iter_[0]
    warm = cold.fit(X, y)
    assert warm.n_iter_[0] <= 2 < steps
    assert (np.diff(cold.objective_trace_) <= 0).all()


def test_too_few_iterations_are_a_warning_with_both_numbers():
    X, y = drawn(300, 5, 3)
    text = r"gradient of .* decrement of .* tol=0.0001. lbfgs failed to converge. The max_iter was"
    with pytest.warns(ConvergenceWarning, match=text):
        model = LogisticRegression(max_iter=1, solver="lbfgs").fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_start_from_a_part_of_the_rows_ends_at_the_same_optimum(form):
    X, y = drawn(30_000, 4, 2)
    X[np.abs(X) < 0.5] = 0
    model = LogisticRegression().fit(form(X), y)
    assert model.n_passes_ < 7
    assert model.duality_gap_ < 1e-9 * model.objective_


@pytest.mark.parametrize("solver", [*SOLVERS, "sag"])
def test_no_iteration_leaves_the_start(solver):
    X, y = drawn(60, 3, 2)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver=solver, max_iter=0).fit(X, y)
    assert not model.coef_.any()
    assert_array_equal(model.predict_proba(X), np.full((60, 2), 0.5))
    assert model.duality_gap_ >= model.objective_ - minimum(X, y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-100])
def test_more_features_than_samples(k, scale):
    X, y = drawn(80, 300, k)
    X[40:60] = X[:20]  # products of rank 60
    s = np.random.default_rng(0).random(80)
    model = LogisticRegression(C=0.5 / scale**2, tol=1e-6).fit(X * scale, y, s)
    least = minimum(X, y, 0.5, s)
    assert_allclose(model.objective_ * scale**2, least, rtol=1e-8)
    assert_allclose(value_of(model, X * scale, y, s), model.objective_, rtol=1e-12)
    assert model.gradient_norm_ <= 1e-6
    long = LogisticRegression(C=0.5 / scale**2, tol=1e-6, solver="lbfgs").fit(X * scale, y, s)
    assert_allclose(long.coef_, model.coef_, rtol=1e-3, atol=1e-4 * np.abs(model.coef_).max())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [2, 3])
def test_steps_from_merged_blocks_end_at_the_optimum(k, form):
    X, y = drawn(400, 4, k)
    X = X * [1, 10, 0.1, 1] + 3
    whole = LogisticRegression(C=2.0, tol=1e-8).fit(form(X), y)
    model = LogisticRegression(C=2.0, tol=1e-8)
    assert isinstance(model, RowSums)
    model.begin(form(X[:100]), y[:100])
    for _ in range(30):
        total = None
        for rows in (slice(0, 150), slice(150, 160), slice(160, 400)):
            part = model.partial_statistics(form(X[rows]), y[rows])
            total = part if total is None else model.merge(total, part)
        model.update(total)
        if model.converged_:
            break
    assert model.converged_
    assert_allclose(model.coef_, whole.coef_, rtol=1e-7)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="cannot be merged"):
        model.merge(total, model.begin(form(X[:, :2]), y).partial_statistics(form(X[:, :2]), y))
    with pytest.raises(ValueError, match="'balanced' needs all rows"):
        LogisticRegression(class_weight="balanced").begin(X, y)
    with pytest.raises(ValueError, match="l1_ratio=0.1 of 2001 parameters needs all rows at once"):
        LogisticRegression(l1_ratio=0.1).begin(np.zeros((2, 2000)), [0, 1])


def test_steps_that_are_too_long_are_halved():
    """Newton's step from far away overshoots, by its first derivative alone."""
    X = np.array([[-1.0], [1.0], [1.0], [20.0]])
    y = np.array([0, 1, 0, 1])
    model = LogisticRegression(C=1e6, tol=1e-9).begin(X, y)
    values = []
    for _ in range(60):
        model.update(model.partial_statistics(X, y))
        values.append(model.objective_)
        if model.converged_:
            break
    assert model.converged_
    assert (np.diff(values) <= 1e-9).all()
    assert_allclose(values[-1], LogisticRegression(C=1e6, tol=1e-9).fit(X, y).objective_, rtol=1e-9)


def test_classes_of_zero_weight_are_absent():
    X, y = drawn(90, 2, 3)
    model = LogisticRegression(class_weight={0: 0.0}).fit(X, y)
    assert_array_equal(model.classes_, [1, 2])
    with pytest.raises(ValueError, match="class_weight leaves fewer than 2 classes"):
        LogisticRegression(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"offset has 2 columns, but must have shape \(n_sam"):
        model.fit(X, y, offset=np.zeros((90, 2)))
