"""Two classifiers on one set of examples, against SciPy and by exact enumeration."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, xlogy
from scipy.stats import binomtest

from mlcore.bounds import (
    certify,
    clopper_pearson,
    compare_classifiers,
    compare_models,
    error_difference_interval,
    mcnemar_test,
    mean_loss_interval,
)
from mlcore.bounds.certificates.class_rates import rates_of_classes
from mlcore.linear_model import LinearRegression
from mlcore.svm import SVC


def test_the_p_value_is_that_of_a_binomial_test():
    for b in range(0, 30, 3):
        for c in range(1, 30, 4):
            assert_allclose(mcnemar_test(b, c), binomtest(b, b + c).pvalue, rtol=1e-12)
            assert mcnemar_test(b, c) == mcnemar_test(c, b)
    assert mcnemar_test(0, 0) == 1
    assert_allclose(mcnemar_test(0, 1000), 2.0**-999, rtol=1e-12)
    assert mcnemar_test(0, 10**6) == 0


def outcomes(m):
    """All (b, c) with b + c <= m."""
    return [(b, c) for b in range(m + 1) for c in range(m + 1 - b)]


@pytest.mark.parametrize(("m", "delta"), [(1, 0.3), (7, 0.2), (25, 0.05)])
def test_the_interval_misses_no_more_often_than_delta(m, delta):
    pairs = np.array(outcomes(m))
    lower, upper = error_difference_interval(pairs[:, 0], pairs[:, 1], m, delta)
    counts = np.column_stack([pairs, m - pairs.sum(axis=1)])
    log_ways = gammaln(m + 1) - gammaln(counts + 1).sum(axis=1)
    shares = [0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.8, 1.0]
    failure = 0.0
    for p in shares:
        for q in shares:
            if p + q <= 1:
                mass = np.exp(log_ways + xlogy(counts, [p, q, max(0.0, 1 - p - q)]).sum(axis=1))
                assert abs(mass.sum() - 1) < 1e-12
                missed = (lower > p - q) | (p - q > upper)
                failure = max(failure, float(mass[missed].sum()))
    assert failure <= delta * (1 + 1e-9)
    assert failure > 0 or m == 1


def test_the_interval_agrees_with_the_test_and_with_symmetry():
    b, c = np.array(outcomes(10)[1:]).T
    lower, upper = error_difference_interval(b, c, 20, 0.1)
    assert ((-1 <= lower) & (lower <= (b - c) / 20) & ((b - c) / 20 <= upper) & (upper <= 1)).all()
    assert_array_equal((lower > 0) | (upper < 0), mcnemar_test(b, c) < 0.08)
    mirrored = error_difference_interval(c, b, 20, 0.1)
    assert_allclose((lower, upper), (-mirrored[1], -mirrored[0]), atol=1e-15)
    longer = error_difference_interval(b, c, 20, 0.01)
    assert (longer[0] <= lower).all() and (upper <= longer[1]).all()
    wide = error_difference_interval(0, 0, 50, 0.05)
    assert_allclose(wide, np.array([-1, 1]) * clopper_pearson(0, 50, 0.01)[1], rtol=1e-12)
    with pytest.raises(ValueError, match="^c=6 must be .* <= 5"):
        error_difference_interval(5, 6, 10, 0.1)


def test_ends_are_rounded_to_the_safe_side():
    """Against the products in fractions: three of 360 ends were one rounding inside of them."""
    for m, delta in ((14, 0.1), (40, 0.5), (1000, 0.05)):
        b, c = np.array(outcomes(11)[1:]).T
        found = error_difference_interval(b, c, m, delta)
        discordant, pair = (
            clopper_pearson(b + c, m, delta * 0.2),
            clopper_pearson(b, b + c, delta * 0.8),
        )
        for ends in zip(*found, *discordant, *pair, strict=True):
            lower, upper, least, most, *shares = map(Fraction, ends)
            low, high = (2 * end - 1 for end in shares)
            exact = low * (least if low > 0 else most), high * (most if high > 0 else least)
            assert lower <= exact[0] <= lower + Fraction(2) ** -51
            assert upper - Fraction(2) ** -51 <= exact[1] <= upper


def test_a_comparison_counts_its_four_kinds_of_examples():
    y = np.array(["a", "b"] * 30)
    first, second = y.copy(), y.copy()
    first[:12], second[10:14] = "c", "c"
    found = compare_classifiers(first, second, y=y)
    assert found.counts == {"both": 2, "first": 10, "second": 2, "neither": 46}
    assert found.p_value == mcnemar_test(10, 2) and found.difference == 8 / 60
    assert (found.lower, found.upper) == error_difference_interval(10, 2, 60, 0.05)
    flat = " ".join(str(found).split())
    assert flat.startswith("Unknown") and "predictions (first)" in flat and "McNemar" in flat
    assert "better" in flat and json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert pickle.loads(pickle.dumps(found)) == found
    assert max(map(len, str(found).splitlines())) <= 100
    assert "may be the better" in str(compare_classifiers(first, first, y=y)).replace("\n", " ")
    with pytest.raises(ValueError, match="delta"):
        compare_classifiers(first, second, y=y, delta=1.0)


def test_fitted_machines_and_functions_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    machine = SVC(kernel="linear").fit(X[:100], y[:100])
    worse = compare_classifiers(machine, lambda A: np.zeros(len(A), int), X[100:], y[100:])
    assert worse.names == ("SVC", "<lambda>") and worse.upper < 0
    assert "SVC is better" in " ".join(worse.summary().split())
    with pytest.raises(ValueError, match="the fit was to these"):
        compare_classifiers(y[:100], machine, X[:100], y[:100])


def test_paired_losses_are_bounded_by_their_differences():
    rng = np.random.default_rng(0)
    y = rng.uniform(2, 4, 900)
    first, second = (np.clip(y + s * rng.normal(size=900), 2, 4) for s in (0.3, 0.1))
    found = compare_models(first, second, y=y, loss="absolute", value_range=(2, 4), delta=0.1)
    losses = abs(y - first), abs(y - second)
    differences = losses[0] - losses[1]
    expected = np.array(mean_loss_interval(differences + 2, 0.1, value_range=4.0)) - 2
    assert_allclose((found.lower, found.upper), expected, rtol=1e-9)
    assert_allclose(found.mean_losses, np.mean(losses, axis=1), rtol=1e-12)
    assert_allclose(found.difference, differences.mean(), rtol=1e-9)
    assert found.lower > 0 and "predictions (second) is better" in found.summary()
    # Two separate intervals, at half of delta each, are four times as long.
    alone = [np.diff(mean_loss_interval(v, 0.05, value_range=2.0)) for v in losses]
    assert found.upper - found.lower < sum(alone)
    swapped = compare_models(second, first, y=y, loss="absolute", value_range=(2, 4), delta=0.1)
    assert_allclose((swapped.lower, swapped.upper), (-found.upper, -found.lower), rtol=1e-9)
    again = compare_models(
        first, second, y=y, loss=lambda t, p: abs(t - p), value_range=(0, 2), delta=0.1
    )
    assert (again.lower, again.upper) == (found.lower, found.upper)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain and pickle.loads(pickle.dumps(found)) == found
    assert str(found).startswith("Unknown") and max(map(len, str(found).splitlines())) <= 100
    machine = LinearRegression().fit(y[:450, None], y[:450])
    fitted = compare_models(
        machine,
        lambda X: X[:, 0] / 2 + 1,
        y[450:, None],
        y[450:],
        loss="squared",
        value_range=(2, 4),
    )
    assert fitted.names == ("LinearRegression", "<lambda>") and fitted.upper < 0
    with pytest.raises(ValueError, match="X=None must be the examples"):
        compare_models(machine, y, y=y, loss="squared", value_range=(2, 4))


def test_zero_one_losses_are_compared_as_errors_are():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=500)
    first, second = (np.where(rng.random(500) < p, (y + 1) % 3, y) for p in (0.1, 0.3))
    found = compare_models(first, second, y=y, loss=lambda t, p: t != p)
    exact = compare_classifiers(first, second, y=y)
    assert_allclose(found.difference, exact.difference, rtol=1e-12)
    # The exact interval is the shorter one, and inside.
    assert found.lower <= exact.lower and exact.upper <= found.upper


def test_rates_of_classes_are_binomial_given_labels_and_given_predictions():
    y = np.repeat(["a", "b", "c"], [50, 30, 20])
    predicted = np.where(np.arange(100) % 10 == 0, "b", y)
    found = certify(predicted, y=y, delta=0.06).classes
    assert [rates.label for rates in found] == ["a", "b", "c"]
    for rates in found:
        hits = ((y == rates.label) & (predicted == rates.label)).sum()
        assert rates.right == hits
        for total, bound in ((rates.examples, rates.recall), (rates.predicted, rates.precision)):
            # One-sided, a third of a half of delta.
            exact = binomtest(int(hits), int(total)).proportion_ci(0.98, "exact").low
            assert_allclose(bound, exact, rtol=1e-7)
        assert 0 <= rates.error - (1 - rates.recall) < 1e-15
    never = certify(np.full(100, "a"), y=y).classes
    assert never[1].precision == 0 and never[1].predicted == 0 and never[1].recall == 0
    report = str(certify(predicted, y=y))
    assert "precision" in report and "Instead of the bounds above" in report
    assert certify(predicted, y=y, role="validation", n_candidates=2, delta=0.12).classes == found
    many = certify(np.arange(50), y=np.arange(50))
    assert len(many.classes) == 50 and "and 30 classes of higher recall" in str(many)
    assert certify(predicted, y=y, role="train", n_hypotheses=2).classes == ()


def test_rates_of_classes_fail_together_no_more_often_than_delta():
    rng = np.random.default_rng(0)
    delta, runs, m, failures = 0.2, 200, 60, 0
    share, hit = np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.7, 0.4])
    for _ in range(runs):
        y = rng.choice(3, m, p=share)
        predicted = np.where(rng.random(m) < hit[y], y, (y + 1) % 3)
        named = share * hit + np.roll(share * (1 - hit), 1)
        rates = rates_of_classes(y, predicted, delta)
        failures += any(
            r.recall > hit[r.label] or r.precision > share[r.label] * hit[r.label] / named[r.label]
            for r in rates
        )
    assert rates == certify(predicted, y=y, delta=delta).classes
    assert 0 < failures <= delta * runs
    assert math.isclose(named.sum(), 1)


@each("scale", [1e-150, 1e150, 8e307])
def test_losses_of_any_size(scale):
    y = np.linspace(0, 1, 300)
    plain = compare_models(0.5 * y, y, y=y, loss="absolute", value_range=(0, 1))
    found = compare_models(
        0.5 * y * scale, y * scale, y=y * scale, loss="absolute", value_range=(0, scale)
    )
    for name in ("difference", "lower", "upper"):
        assert_allclose(getattr(found, name) / scale, getattr(plain, name), rtol=1e-12)
    with pytest.raises(ValueError, match="value_range=.*whose square is a finite float"):
        compare_models(y, y, y=y, loss="squared", value_range=(0, 1e307))
