"""Laws of discriminant analysis over random problems, and 50 digits for ill-conditioned ones."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

MODELS = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)


def problem(seed, d, c):
    rng = np.random.default_rng([seed, d, c])
    n = c * (d + 4) + int(rng.integers(20))
    y = np.arange(n) % c
    mixing = [np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.1, 3, d) for _ in range(c)]
    X = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), np.array(mixing)[y])
    return X + rng.normal(size=(c, d))[y], y, rng


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:.*half the digits")  # by few rows at first
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), c=st.integers(2, 4))
def test_posteriors_are_those_of_any_coordinates_and_order(model, seed, d, c):
    X, y, rng = problem(seed, d, c)
    expected = model().fit(X, y).predict_log_proba(X)
    A = np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.1, 10, d)
    order, w = rng.permutation(len(X)), rng.integers(1, 4, len(X))
    moved = X @ A + 100 * rng.normal(size=d)
    scale = 1 + np.abs(expected)
    found = model().fit(moved, y).predict_log_proba(moved)
    assert np.abs((found - expected) / scale).max() < 1e-7
    found = model().fit(X[order], y[order]).predict_log_proba(X)
    assert np.abs((found - expected) / scale).max() < 1e-8
    copies = model().fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_log_proba(X)
    found = model().fit(X, y, w).predict_log_proba(X)
    assert np.abs((found - copies) / (1 + np.abs(copies))).max() < 1e-8
    halves = len(X) // 2
    by_blocks = model().partial_fit(X[halves:], y[halves:]).partial_fit(X[:halves], y[:halves])
    found = by_blocks.predict_log_proba(X)
    assert np.abs((found - expected) / scale).max() < 1e-7


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), n_blocks=st.sampled_from([1, 7, 100]), at_once=st.booleans())
def test_blocks_with_a_drift_of_1e7_deviations_give_the_fit(model, seed, n_blocks, at_once):
    X, y, rng = problem(seed, 3, 2)
    X, y = np.repeat(X, 9, axis=0) + rng.normal(size=(9 * len(X), 3)), np.repeat(y, 9)
    first = X[:4].copy()
    # From an origin that far the mean of a block is known to 1e7 eps = 2e-9 deviations.
    X[:, 0] += 1e7 if at_once else 1e7 * np.arange(len(X)) / len(X)
    found, tolerance = model().begin(first), 2e-9 if at_once else 1e-10
    parts = np.array_split(rng.permutation(len(X)), n_blocks)
    totals = [found.partial_statistics(X[rows], y[rows]) for rows in parts]
    while len(totals) > 1:
        totals.append(found.merge(totals.pop(0), totals.pop(0)))
    found.update(totals[0])
    name = "covariance_" if model is LinearDiscriminantAnalysis else "covariances_"
    expected = getattr(model().fit(X, y), name)
    assert_allclose(getattr(found, name), expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("unit", [1.0, 1e-150])
def test_a_class_of_one_sample_is_fitted_by_its_mean(unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(21, 2)), np.append(np.arange(20) % 2, 2)
    X[20] += 8
    X *= unit
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.means_[2], X[20], rtol=1e-12)
    assert model.predict(X[20:])[0] == 2
    with pytest.raises(np.linalg.LinAlgError, match="only 1 sample in class 2"):
        QuadraticDiscriminantAnalysis().fit(X, y)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["few", "equal", "rank one", "duplicates", "huge", "tiny", "units"]),
    reg=st.sampled_from([0.0, 0.1]),
)
@pytest.mark.filterwarnings("ignore:.*pseudo-inverse")
def test_hard_data_are_finite_or_refused_by_name(model, seed, kind, reg):
    rng = np.random.default_rng(seed)
    n, d = (6, 8) if kind == "few" else (20, 3)
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    if kind == "equal":
        X[:] = X[0]
    elif kind == "rank one":
        X = X[:, :1] * X[:1]
    elif kind == "duplicates":
        X[2:] = X[np.arange(n - 2) % 2]
    elif kind != "few":
        X *= {"huge": 1e140, "tiny": 1e-140, "units": 10.0 ** np.array([-12, 0, 12])}[kind]
    quadratic = model is QuadraticDiscriminantAnalysis
    try:
        found = (model(reg_param=reg) if quadratic else model()).fit(X, y)
    except np.linalg.LinAlgError as error:
        assert quadratic and not reg and "class" in str(error) and "reg_param" in str(error)
    else:
        assert np.isfinite(found.predict_proba(X)).all()


def exact_log_odds(X, y, quadratic, x):
    """Log odds of class 1 at x in 50 digits, for divisors n_j - 1, or n in all."""
    with mpmath.workdps(50):
        scores, parts, d = [], [], X.shape[1]
        for j in range(2):
            rows = mpmath.matrix(X[y == j].tolist())
            mean = [mpmath.fsum(rows[:, k]) / rows.rows for k in range(d)]
            centred = rows - mpmath.matrix([mean] * rows.rows)
            parts.append((mean, centred.T * centred, rows.rows))
        for mean, S, n in parts:
            S = S / (n - 1) if quadratic else (parts[0][1] + parts[1][1]) / len(X)
            e = mpmath.matrix([mpmath.mpf(float(v)) - m for v, m in zip(x, mean, strict=True)])
            determinant = mpmath.log(mpmath.det(S))
            scores.append(mpmath.log(n) - (determinant + (e.T * mpmath.lu_solve(S, e))[0]) / 2)
        return float(scores[1] - scores[0])


def ill_conditioned(condition, shift, seed=7):
    """Two classes with a direction of variance 1 / condition; the shift of one by direction."""
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 2
    base = rng.normal(size=(30, 3)) * [1, 1, condition**-0.5] + np.outer(y, shift)
    return base @ np.linalg.qr(rng.normal(size=(3, 3)))[0], y


# Each shift with each condition and each offset.
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("condition", "offset", "shift"),
    [
        (condition, offset, [(0.3, 0.3, 0.3), (0.5, -0.5, 0.0)][(i + j) % 2])
        for i, condition in enumerate([1e4, 1e8, 1e12])
        for j, offset in enumerate([0.0, 1e6, 1e10])
    ],
)
def test_ill_conditioned_classes_against_50_digits(model, shift, condition, offset):
    X, y = ill_conditioned(condition, shift)
    X += offset
    quadratic = model is QuadraticDiscriminantAnalysis
    # A variance of 1e-12 beside the other features is kept if asked.
    fitted = (model() if quadratic else model(tol=1e-20)).fit(X, y)
    expected = [exact_log_odds(X, y, quadratic, x) for x in X[:4]]
    # By QR of the samples, eps times the root of the condition is lost, not eps times it.
    rtol = 200 * np.finfo(float).eps * condition**0.5
    assert_allclose(fitted.decision_function(X[:4]), expected, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("condition", "offset"), [(1e8, 1e6), (1e12, 1e10)])
def test_leave_one_out_of_ill_conditioned_classes_against_50_digits(model, condition, offset):
    X, y = ill_conditioned(condition, (0.5, -0.5, 0.0))
    X += offset
    quadratic = model is QuadraticDiscriminantAnalysis
    found = (model() if quadratic else model(tol=1e-20)).fit(X, y).leave_one_out(X, y)[:3]
    expected = [
        exact_log_odds(np.delete(X, i, axis=0), np.delete(y, i), quadratic, X[i]) for i in range(3)
    ]
    assert_allclose(found[:, 1] - found[:, 0], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e140])
def test_tiny_and_huge_ill_conditioned_classes_against_50_digits(model, scale):
    X, y = ill_conditioned(1e8, (0.5, -0.5, 0.0))
    X *= scale * np.array([1, 1e-6, 1e6])
    expected = [exact_log_odds(X, y, model is QuadraticDiscriminantAnalysis, x) for x in X[:4]]
    assert_allclose(model().fit(X, y).decision_function(X[:4]), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8])
def test_float32_against_50_digits(model, offset, condition):
    X, y = ill_conditioned(condition, (0.5, -0.5, 0.0))
    narrow = (X + offset).astype(np.float32)
    wide, quadratic = narrow.astype(float), model is QuadraticDiscriminantAnalysis
    expected = [exact_log_odds(wide, y, quadratic, x) for x in wide[:4]]
    # Sums of products in float32 serve up to a condition of 1e3; beyond, float64 reads the rows.
    rtol = 1e-4 if condition == 1e2 else 1e-9
    found = model().fit(narrow, y).decision_function(narrow[:4])
    assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_many_float32_samples_do_not_hide_a_narrow_class():
    """Rounding of the data does not grow with their number."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    X = rng.normal(size=(20_000, 2))
    X[:, 1] = X[:, 0] + 1e-3 * (1 + y) * X[:, 1]
    X = X.astype(np.float32)
    found = QuadraticDiscriminantAnalysis().fit(X, y)
    expected = QuadraticDiscriminantAnalysis().fit(X.astype(float), y)
    assert found.rank_ == 2
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-6)
