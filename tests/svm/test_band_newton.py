"""Envelopes by their definition, the minimum along a line, systems by other ways."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import minimize_scalar

from mlcore.svm.linear import band_newton
from mlcore.svm.linear.band_newton import Band, BandSystem, first_point, newton_points, point_at
from mlcore.svm.linear.linear_rows import LinearRows


def band_of(n, seed=0, eps=0.2, squared=False):
    rng = np.random.default_rng(seed)
    upper = np.full(n, np.inf) if squared else rng.uniform(0.5, 2, n)
    offset = np.zeros(n) if squared else rng.uniform(-0.4, 0.4, n)
    return Band(rng.normal(size=n), offset, rng.uniform(0.5, 3, n), -upper, upper, eps)


def envelope(band, e):
    """The maximum of ``beta e - eps |beta| - (beta - offset)² / (2 sigma)``, by a grid."""
    beta = np.linspace(np.maximum(band.lower, -9), np.minimum(band.upper, 9), 200_001)
    values = beta * e - band.eps * np.abs(beta) - (beta - band.offset) ** 2 / (2 * band.sigma)
    at = values.argmax(axis=0)
    return values.max(axis=0), np.take_along_axis(beta, at[None], axis=0)[0]


@pytest.mark.parametrize("squared", [False, True])
def test_dual_variables_maximise_the_envelope(squared):
    n = 19  # vectors of any processor, and rows beside them
    band, e = band_of(n, squared=squared), np.random.default_rng(1).normal(size=n)
    beta, inside = np.empty(n), np.empty(n, np.int8)
    value, total = band_newton._ext.evaluate(
        e, band.offset, band.sigma, band.lower, band.upper, band.eps, beta, inside
    )
    expected, at = envelope(band, e)
    assert_allclose(value, expected.sum(), rtol=1e-8)
    assert_allclose(beta, at, rtol=0, atol=2e-4)
    assert_allclose(total, beta.sum(), rtol=1e-14)
    free = (beta != 0) & (beta > band.lower) & (beta < band.upper)
    assert_array_equal(inside.astype(bool), free)


def test_plain_losses_and_brackets_are_their_sums():
    n = 19
    band, rng = band_of(n), np.random.default_rng(2)
    e, beta = rng.normal(size=n), rng.normal(size=n)
    losses = np.maximum(0, band.upper * (e - band.eps)) + np.maximum(0, band.lower * (e + band.eps))
    found = band_newton._ext.plain_gap(e, beta, band.lower, band.upper, band.eps)
    brackets = losses + band.eps * np.abs(beta) - beta * e
    assert (losses > 0).sum() > 5
    assert_allclose(found, (losses.sum(), brackets.sum()), rtol=1e-13)


@each("seed", range(8))
def test_the_minimum_along_a_line_is_exact(seed):
    n = 5003 if seed == 7 else 37 + seed  # of many rows a part shows where to begin
    band, rng = band_of(n, seed), np.random.default_rng([seed, 1])
    X = rng.normal(size=(n, 3))
    rows, theta = LinearRows(X), rng.normal(size=3)
    point = first_point(rows, band, theta, 0.3, False)
    p = -point.gradient
    t = band_newton.least_along(band, point.f, X @ p, float(theta @ p), float(p @ p))

    def value(t):
        return point_at(rows, band, theta + t * p, 0.3, point.f + t * (X @ p)).value

    best = minimize_scalar(value, bounds=(0, 10), method="bounded", options={"xatol": 1e-10})
    assert_allclose(t, best.x, rtol=1e-5)
    assert value(t) <= best.fun + 1e-12 * abs(best.fun)
    back = band_newton.least_along(band, point.f, -(X @ p), -float(theta @ p), float(p @ p))
    assert_allclose(back, -t, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
def test_the_hessian_is_updated_and_solved(form, monkeypatch):
    rng = np.random.default_rng(0)
    X = form(np.where(rng.random((300, 12)) < 0.5, rng.normal(size=(300, 12)), 0))
    rows = LinearRows.of(X, True)
    Z = np.c_[X.toarray() if sp.issparse(X) else X.astype(float), np.ones(300)]
    system, weight = BandSystem(rows), rng.uniform(0, 2, 300) * (rng.random(300) < 0.6)
    g, slope = rng.normal(size=12), 0.7
    for changed in range(0, 60, 12):
        weight = weight.copy()
        weight[changed : changed + 4] = np.where(weight[changed : changed + 4] > 0, 0, 1.5)
        H = (Z.T * weight) @ Z + np.diag(np.r_[np.ones(12), 0])
        expected = np.linalg.solve(H, -np.r_[g, slope])
        assert_allclose(np.r_[system.solve(weight, g, slope, True)], expected, rtol=1e-10)
    fixed = np.linalg.solve(H[:12, :12], -g)
    assert_allclose(system.solve(weight, g, slope, False)[0], fixed, rtol=1e-10)
    monkeypatch.setattr(band_newton, "DIRECT", 1)
    near = np.r_[BandSystem(rows).solve(weight, 1e-12 * g, 1e-12 * slope, True)]
    assert_allclose(near, 1e-12 * expected, rtol=0, atol=0.05e-12 * np.abs(expected).max())


@pytest.mark.parametrize("direct", [1000, 1])
def test_newton_steps_end_at_a_zero_of_the_gradient(direct, monkeypatch):
    monkeypatch.setattr(band_newton, "DIRECT", direct)
    rng = np.random.default_rng(0)
    rows, band = LinearRows(rng.normal(size=(200, 5))), band_of(200, squared=True)
    start = first_point(rows, band, np.zeros(5), 0.0, True)
    points = list(newton_points(BandSystem(rows), band, start, True))
    values = [point.value for point in points]
    assert (np.diff(values) <= 1e-12 * abs(values[-1])).all()
    assert points[-1].rest() < 1e-20 and abs(points[-1].total) < 1e-10


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_few_rows_of_many_features_solve_the_same_system(monkeypatch, fit_intercept):
    monkeypatch.setattr(band_newton, "DIRECT", 8)
    rng = np.random.default_rng(4)
    X, weight = rng.normal(size=(8, 11)), np.array([0.5, 0, 2, 1e3, 1, 0, 1e-3, 3])
    gradient, slope = rng.normal(size=11), 0.7
    Z = np.column_stack([X, np.ones(8)])
    H = np.diag(np.append(np.ones(11), 0.0)) + Z.T @ (weight[:, None] * Z)
    size = 12 if fit_intercept else 11
    expected = np.linalg.solve(H[:size, :size], -np.append(gradient, slope)[:size])
    for data in (X, sp.csr_array(X)):
        system = band_newton.BandSystem(LinearRows(data))
        step, shift = system.solve(weight, gradient, slope, fit_intercept)
        assert_allclose(np.append(step, shift)[:size], expected, rtol=1e-9)
        assert fit_intercept or shift == 0


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_products_of_sparse_rows_are_those_of_dense_ones(share):
    rng = np.random.default_rng(0)
    X = sp.random_array((2100, 260), density=share, format="csr", rng=rng)
    some = np.flatnonzero(rng.random(2100) < 0.8)
    for sign in (1, -1):
        weight = sign * rng.uniform(0.5, 2, len(some))
        Z = np.c_[X.toarray()[some], np.ones(len(some))]
        expected = (Z * weight[:, None]).T @ Z
        found = LinearRows(X).gram(some, weight)
        assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_factor_in_float32_solves_the_systems_of_later_bands(form, fit_intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(1200, 160))
        * (rng.random((1200, 160)) < 0.5)
        * 10.0 ** rng.uniform(-2, 2, 160)
    )
    X[:, 7] = 0
    rows = LinearRows.of(form(X), fit_intercept)
    Z = np.c_[rows.X.toarray() if rows.sparse else rows.X.astype(float), np.ones(1200)]
    system, weight = (
        BandSystem(rows, rough=True),
        rng.uniform(0, 2, 1200) * (rng.random(1200) < 0.6),
    )
    formed, grams = [], LinearRows.rough_gram

    def counted(*given):
        formed.append(grams(*given))
        return formed[-1]

    monkeypatch.setattr(LinearRows, "rough_gram", counted)
    monkeypatch.setattr(LinearRows, "gram", None)
    g, slope = 1e-12 * rng.normal(size=160), 7e-13
    size = 161 if fit_intercept else 160
    for changed in range(0, 60, 12):
        weight = weight.copy()
        weight[changed : changed + 4] = np.where(weight[changed : changed + 4] > 0, 0, 1.5)
        H = (Z.T * weight) @ Z + np.diag(np.r_[np.ones(160), 0])
        expected = np.linalg.solve(H[:size, :size], -np.r_[g, slope][:size])
        found = np.r_[system.solve(weight, g, slope, fit_intercept)][:size]
        off = found - expected  # 1e-6 of the energy is left at most, and 1e-3 of the step
        assert off @ H[:size, :size] @ off <= 1e-5 * (expected @ H[:size, :size] @ expected)
    assert len(formed) == 1
    kept = np.r_[rows.columns, 160]
    scale = 1 / np.sqrt(H.diagonal()[kept])
    found = grams(rows, np.flatnonzero(weight), weight[weight > 0], scale)
    expected = ((Z.T * weight) @ Z)[np.ix_(kept, kept)] * scale * scale[:, None]
    assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert 7 not in rows.columns or not rows.sparse


def test_a_band_for_which_no_factor_in_float32_does_is_solved_in_float64():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 160)) * 10.0 ** -np.linspace(0, 5, 160) @ rng.normal(size=(160, 160))
    rows, weight, g = LinearRows(X), np.full(400, 1e12), rng.normal(size=160)
    step = np.r_[BandSystem(rows, rough=True).solve(weight, g, 0.5, True)]
    Z = np.c_[X, np.ones(400)]
    H = (Z.T * weight) @ Z + np.diag(np.r_[np.ones(160), 0])
    left = np.linalg.norm(H @ step + np.r_[g, 0.5])
    assert left <= 1e-13 * np.linalg.norm(H) * np.linalg.norm(step)
    assert left <= 1e-3 * np.linalg.norm(g)
