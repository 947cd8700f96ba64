"""Intervals against order statistics of residuals, their coverage, and rounding at the ends."""

import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose

from mlcore.conformal import conformal_intervals, conformal_rank
from mlcore.kernel_ridge import KernelRidge
from mlcore.linear_model import LinearRegression


def centre(X):
    return X[:, 0]


def deviation(X):
    return X[:, 1]


def draw(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.uniform(0.5, 2, n)])
    return X, X[:, 0] + X[:, 1] * rng.standard_t(3, n), rng.integers(0, 2, n)


@each(("scaled", "grouped"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_ends_are_order_statistics_of_scores(scaled, grouped):
    rng = np.random.default_rng(0)
    (X, y, g), (Z, _, h) = draw(rng, 150), draw(rng, 30)
    found = conformal_intervals(
        centre, X, y, 0.8, scale=deviation if scaled else None, groups=g if grouped else None
    )
    lower, upper = found.predict(Z, h if grouped else None)
    scores = abs(y - X[:, 0]) / (X[:, 1] if scaled else 1)
    for i, z in enumerate(Z):
        own = np.sort(scores[g == h[i]] if grouped else scores)
        half = own[conformal_rank(len(own), 0.8) - 1] * (z[1] if scaled else 1)
        assert_allclose([lower[i], upper[i]], [z[0] - half, z[0] + half], rtol=1e-14, atol=1e-14)


@each("scale", [None, deviation])
def test_coverage_by_simulation_is_exact(scale):
    rng, runs = np.random.default_rng(1), 300
    means = []
    for _ in range(runs):
        (X, y, _), (Z, t, _) = draw(rng, 39), draw(rng, 500)
        lower, upper = conformal_intervals(centre, X, y, 0.9, scale=scale).predict(Z)
        means.append(((lower <= t) & (t <= upper)).mean())
    assert abs(np.mean(means) - 0.9) < 4 * np.std(means) / math.sqrt(runs)


@each(("units", "origin"), [(1e-150, 0), (1.0, 0), (1e150, 0), (1.0, 1e8), (1e-8, 1e8), (1e152, 0)])
def test_the_example_at_the_threshold_is_inside(units, origin):
    """Rounding of the score and of the ends leaves no covered target outside."""
    rng = np.random.default_rng(2)
    f = origin + units * rng.normal(size=200)
    y, s = f + units * rng.normal(size=200), rng.uniform(0.1, 3, 200)
    for scale in (None, lambda X: s):
        found = conformal_intervals(np.asarray, f, y, 0.5, scale=scale)
        lower, upper = found.predict(f)
        inside = (lower <= y) & (y <= upper)
        assert inside.sum() >= found.threshold.ranks[0] == 101
        if origin * 1e-16 < units:  # else many scores are equal
            assert inside.sum() <= 103


def test_models_of_any_library_and_their_deviations():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=900)
    parts = slice(0, 150), slice(150, 450), slice(450, 900)
    linear = LinearRegression().fit(X[parts[0]], y[parts[0]])
    ridge = KernelRidge(alpha=0.1).fit(X[parts[0]], y[parts[0]])
    for model, scale in ((linear, None), (ridge, None), (ridge, "std")):
        found = conformal_intervals(model, X[parts[1]], y[parts[1]], 0.9, scale=scale)
        lower, upper = found.predict(X[parts[2]])
        assert abs(((lower <= y[parts[2]]) & (y[parts[2]] <= upper)).mean() - 0.9) < 0.05
        assert type(model).__name__ in repr(found) and "threshold" in found._repr_html_()
        assert (scale == "std") == (np.ptp(upper - lower) > 1e-6)
    # A second model predicts the deviations.
    gaps = KernelRidge(alpha=1).fit(X[parts[0]], np.full(150, 2.0) + X[parts[0]][:, 0] ** 2)
    conformal_intervals(linear, X[parts[1]], y[parts[1]], scale=lambda X: abs(gaps.predict(X)) + 1)
    with pytest.raises(ValueError, match="the fit was to these"):
        conformal_intervals(ridge, X[parts[0]], y[parts[0]])


def test_too_few_examples_give_infinite_intervals():
    with pytest.warns(UserWarning, match="of at least 9 needed"):
        found = conformal_intervals(np.asarray, np.zeros(8), np.ones(8))
    lower, upper = found.predict(np.zeros(2))
    assert (lower == -math.inf).all() and (upper == math.inf).all()
    # A regressor without errors has intervals of rounding.
    lower, upper = conformal_intervals(np.asarray, np.ones(9), np.ones(9)).predict(np.ones(1))
    assert lower[0] < 1 < upper[0] and upper[0] - lower[0] < 1e-15


X, Y, G = draw(np.random.default_rng(0), 40)


@each(("call", "said"), [
    (lambda: conformal_intervals(Y, X, Y), "^regressor="),
    (lambda: conformal_intervals(LinearRegression, X, Y), "^regressor="),
    (lambda: conformal_intervals(lambda X: X, X, Y), "one number for each example"),
    (lambda: conformal_intervals(lambda X: centre(X) / 0, X, Y), "finite"),
    (lambda: conformal_intervals(centre, X, Y[:9]), "y"),
    (lambda: conformal_intervals(centre, X, Y * math.nan), "y contains NaN"),
    (lambda: conformal_intervals(centre, X, Y, scale="std"), "^scale="),
    (lambda: conformal_intervals(centre, X, Y, scale=2.0), "^scale="),
    (lambda: conformal_intervals(centre, X, Y, scale=lambda X: 0 * X[:, 0]), "^scale"),
    (lambda: conformal_intervals(centre, X, Y, scale=lambda X: X[:3, 1]), "^scale"),
    (lambda: conformal_intervals(centre, X, Y, 0), "^coverage="),
    (lambda: conformal_intervals(centre, X, Y, groups=G[:3]), "groups"),
    (lambda: conformal_intervals(centre, X, Y).predict(X, G), "^groups="),
    (lambda: conformal_intervals(centre, X, Y, 0.5, groups=G).predict(X, G[:3]), "^groups="),
])  # fmt: skip
def test_refusals_name_the_argument(call, said):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=said):
        call()
