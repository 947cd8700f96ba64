"""The link from decision values to probabilities against a general optimiser, and its laws."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, logit

from mlcore.svm.probability.link import Link, apply_link, fit_link, on_scale_of


def ramps(f, knots):
    """The part of each piece between the middle knot and f: the definition, piece by piece."""
    ends = np.array([-np.inf, *knots, np.inf])
    columns = [
        np.clip(f, low, high) - np.clip(knots[1], low, high)
        for low, high in zip(ends, ends[1:], strict=False)
    ]
    return np.stack(columns, axis=1)


def noisy(seed, n=400):
    rng = np.random.default_rng(seed)
    f, w = rng.normal(size=n) - 0.5, rng.integers(0, 3, n).astype(float)
    signs = np.where(rng.random(n) < expit(np.where(f > 0, 3, 1) * f - 1), 1.0, -1.0)
    return f, signs, w


def softened(signs, w):
    n_plus, n_minus = w[signs > 0].sum(), w[signs < 0].sum()
    return np.where(signs > 0, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


@each("seed", range(5))
def test_the_penalised_likelihood_is_the_greatest(seed):
    f, signs, w = noisy(seed)
    t = softened(signs, w)
    found = fit_link(f, signs, w)
    R = ramps(f, found.knots)

    def nll(z):
        return w @ (np.logaddexp(0, z) - t * z)

    line = minimize(lambda c: nll(c[0] + c[1] * f), [0.0, 1.0], method="BFGS").x

    def loss(c):
        return nll(c[0] + R @ c[1:]) + 4 * (np.diff(c[1:]) ** 2).sum() / line[1] ** 2

    best = minimize(loss, [0.0, 1, 1, 1, 1], method="L-BFGS-B", tol=1e-14,
                    bounds=[(None, None)] + [(1e-6, None)] * 4)  # fmt: skip
    c = np.array([found.offset, *found.slopes])
    assert loss(c) <= best.fun + 1e-7
    assert_allclose(c, best.x, atol=2e-3)
    new = np.linspace(-4, 4, 50)
    expected = expit(found.offset + ramps(new, found.knots) @ found.slopes)
    assert_allclose(apply_link(new, found, anchored=False), expected, rtol=1e-12)


@each("seed", range(5))
def test_weights_are_copies_in_any_order(seed):
    f, signs, w = noisy(seed)
    copies = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(f)), w.astype(int)))
    kept = w > 0
    ours = fit_link(f[kept], signs[kept], w[kept])
    theirs = fit_link(f[copies], signs[copies], np.ones(len(copies)))
    assert_array_equal(ours.knots, theirs.knots)
    assert_allclose([ours.offset, *ours.slopes], [theirs.offset, *theirs.slopes], rtol=1e-7)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(unit):
    f, signs, w = noisy(0)
    p = apply_link(f, fit_link(f, signs, w), anchored=True)
    assert_allclose(apply_link(unit * f, fit_link(unit * f, signs, w), anchored=True), p, rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_separable_one_sided_contrary_and_equal_values(scale):
    f = scale * np.array([-2.0, -1.0, 1.0, 2.0])
    ones = np.ones(4)
    for values, signs in [
        (f, np.sign(f)),
        (f, -np.sign(f)),
        (np.abs(f), np.array([1.0, -1, 1, 1])),
    ]:
        link = fit_link(values, signs, ones)
        assert (link.slopes > 0).all() and np.isfinite(link.slopes).all()
        assert (np.diff(apply_link(f, link, anchored=True)) > 0).all()
    equal = fit_link(np.full(4, scale), np.array([1.0, -1, -1, -1]), ones)
    t = softened(np.array([1.0, -1, -1, -1]), ones)
    assert_allclose(equal.offset, logit(t.mean()))


@each("seed", range(5))
def test_anchored_links_are_increasing_and_above_one_half_where_f_is_positive(seed):
    rng = np.random.default_rng(seed)
    link = Link(rng.normal(), rng.exponential(size=4), np.sort(rng.normal(size=3)))
    f = np.sort(rng.normal(size=300))
    free, held = (apply_link(f, link, anchored=anchored) for anchored in (False, True))
    assert (np.diff(free) > 0).all() and (np.diff(held) > 0).all()
    assert_array_equal(held > 0.5, f > 0)
    same = (free > 0.5) == (f > 0)
    away = np.abs(free - 0.5) > 0.01
    assert_allclose(held[same & away], free[same & away])
    assert apply_link(np.zeros(1), link, anchored=True) <= 0.5


@each("unit", [1e-9, 1e-5, 1e-2])
@each("anchored", [False, True])
def test_values_all_but_constant_far_from_0_get_the_share_of_positives(unit, anchored):
    rng = np.random.default_rng(0)
    f = -1 + unit * rng.normal(size=2000)
    signs = np.where(np.arange(2000) % 16 == 0, 1.0, -1.0)  # nothing to do with f
    p = apply_link(f, fit_link(f, signs, np.ones(2000)), anchored=anchored)
    # The slope of a line that labels do not follow has deviation 1 / sqrt(n p (1 - p)) in units of
    # the values': three of those, at values up to three from the middle.
    assert_allclose(logit(p), logit(1 / 16), rtol=0, atol=9 / np.sqrt(2000 / 16 * 15 / 16))


@pytest.mark.parametrize(("stretch", "shift"), [(1e-6, -1.0), (300.0, 0.0), (1.0, 3.0)])
def test_values_far_from_those_of_the_fit_are_put_on_their_scale(stretch, shift):
    rng = np.random.default_rng(0)
    values, w = rng.normal(size=200), rng.integers(0, 3, 200).astype(float)
    found = on_scale_of(values, shift + stretch * values, w)
    assert_allclose(found, values, rtol=1e-9, atol=1e-9)
    others = shift + stretch * rng.normal(size=200)
    found = on_scale_of(values, others, w)
    copies = np.repeat(np.arange(200), w.astype(int))
    assert_allclose(found[copies].mean(), values[copies].mean(), atol=1e-9)
    assert_allclose(found[copies].std(), values[copies].std(), rtol=1e-9)
    assert_array_equal(np.argsort(found), np.argsort(others))


def test_values_near_those_of_the_fit_stay_and_constant_ones_are_not_stretched():
    rng = np.random.default_rng(0)
    values, ones = rng.normal(size=200), np.ones(200)
    others = 0.2 + 1.7 * values
    assert on_scale_of(values, others, ones) is others
    found = on_scale_of(values, np.full(200, 7.0) + 1e-15 * rng.normal(size=200), ones)
    assert_allclose(found, values.mean(), atol=1e-13)


def test_without_samples_the_logit_is_the_decision_value():
    none = np.zeros(0)
    f = np.linspace(-3, 3, 7)
    assert_allclose(apply_link(f, fit_link(none, none, none), anchored=True), expit(f))
