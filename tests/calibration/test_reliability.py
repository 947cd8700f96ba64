"""Reliability by bins against scikit-learn, closed forms and simulations of the level."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binom
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from mlcore.bounds import mean_loss_interval
from mlcore.calibration import reliability


@each("seed, strategy", [(s, name) for s in range(10) for name in ("uniform", "quantile")])
def test_frequencies_are_scikit_learns_and_intervals_exact(seed, strategy):
    rng = np.random.default_rng(seed)
    p = rng.random(200) ** 2
    y = rng.random(200) < p
    found = reliability(y, p, n_bins=7, strategy=strategy, delta=0.1)
    frequency, predicted = calibration_curve(y, p, n_bins=7, strategy=strategy)
    assert_allclose(found.frequency, frequency, rtol=1e-14)
    assert_allclose(found.predicted, predicted, rtol=1e-12)
    k, m = found.positives, found.sizes
    share = 0.1 / len(m) / 2
    low = np.where(k == 0, 0, beta.ppf(share, np.maximum(k, 1), m - k + 1))
    high = np.where(k == m, 1, beta.ppf(1 - share, k + 1, np.maximum(m - k, 1)))
    assert_allclose(found.lower, np.minimum(low, np.maximum(k - 1, 0) / m), rtol=1e-9)
    assert_allclose(found.upper, np.maximum(high, np.minimum(k + 1, m) / m), rtol=1e-9)
    # The error of the calibration, by its definition, and its extremes over the corners.
    error = found.calibration_error[0]
    assert_allclose(error.value, (m / 200 * abs(frequency - predicted)).sum(), rtol=1e-12)
    within = np.clip(predicted, found.lower, found.upper)
    assert_allclose(error.lower, (m / 200 * abs(within - predicted)).sum(), atol=1e-12)
    ends = np.maximum(abs(found.lower - predicted), abs(found.upper - predicted))
    assert_allclose(error.upper, (m / 200 * ends).sum(), rtol=1e-12)


def test_losses_are_scikit_learns():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 300)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    found = reliability(y, P, clip=1e-3)
    assert_allclose(found.brier.value, brier_score_loss(y, P, scale_by_half=False), rtol=1e-12)
    clipped = -np.log(np.maximum(P[range(300), np.searchsorted(["a", "b", "c"], y)], 1e-3))
    assert_allclose(found.log_loss.value, clipped.mean(), rtol=1e-12)
    interval = mean_loss_interval(clipped, 0.05, value_range=-np.log(1e-3) * (1 + 1e-12))
    assert_allclose(found.log_loss[1:], interval, rtol=1e-9)
    binary = reliability(y == "c", P[:, 2])
    assert_allclose(binary.brier.value, brier_score_loss(y == "c", P[:, 2]), rtol=1e-12)
    assert_allclose(binary.brier[1:], mean_loss_interval((P[:, 2] - (y == "c")) ** 2, 0.05))
    assert_allclose(binary.log_loss.value, log_loss(y == "c", P[:, 2]), rtol=1e-12)
    assert binary.log_loss[1:] == (0, np.inf)
    assert reliability([0, 1], [1.0, 0.5]).log_loss.value == np.inf
    # Each class has the bins that it has by itself, at its share of delta.
    assert_array_equal(found.frequency[found.curve == 2], binary.frequency)
    both = reliability(y == "c", np.column_stack([1 - P[:, 2], P[:, 2]]))
    assert_array_equal(both.predicted, binary.predicted)


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_intervals_fail_no_more_often_than_delta(spread):
    """Also where the labels of a bin have probabilities of their own, and bins are quantiles."""
    rng = np.random.default_rng(1)
    runs, delta, failures = 1500, 0.2, 0
    for _ in range(runs):
        p = rng.random(60)
        true = np.clip(0.1 + 0.6 * p + rng.choice([-spread, spread], 60), 0, 1)
        y = rng.random(60) < true
        found = reliability(y, p, n_bins=3, strategy="quantile", delta=delta, classes=[0, 1])
        bins = np.repeat(range(3), found.sizes)
        frequency = np.bincount(bins, weights=true[np.argsort(p)]) / found.sizes
        good = ((found.lower <= frequency) & (frequency <= found.upper)).all()
        error = float(found.sizes @ abs(frequency - found.predicted)) / 60
        low, high = found.calibration_error[0][1:]
        assert not good or low <= error <= high
        failures += not good
    assert binom.sf(failures - 1, runs, delta) > 1e-3
    if spread == 0:  # intervals that were a third shorter would fail too often
        assert failures > 0.02 * runs


def test_absent_classes_tables_and_frames():
    found = reliability([0, 0, 1], np.full((3, 3), 1 / 3), n_bins=2, classes=[0, 1, 2])
    assert found.classes == (0, 1, 2) and found.positives.tolist() == [2, 1, 0]
    assert "calibration error" in repr(found) and "<table>" in found._repr_html_()
    assert len(found.to_frame()) == 3
    sure = reliability([1, 1], [1.0, 1.0], classes=[0, 1])
    assert sure.calibration_error[0].value == 0 and sure.upper[0] == 1
    assert "observed" in repr(sure)


@each(
    "y, p, options, name",
    [
        ([0, 1], [0.5, 1.5], {}, "probabilities"),
        ([0, 1], [0.5, np.nan], {}, "probabilities"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "y"),
        ([0, 0], [0.1, 0.2], {}, "y"),
        ([0, 1], [0.1], {}, "y"),
        ([0, 1], [[0.5, 0.6], [0.5, 0.5]], {}, "probabilities"),
        ([0, 1], [[0.5], [0.5]], {}, "probabilities"),
        ([0, 3], [0.1, 0.2], {"classes": [0, 1]}, "y"),
        ([0, 1], [0.1, 0.2], {"classes": [0, 1, 2]}, "classes"),
        ([0, 1], [0.1, 0.2], {"n_bins": 0}, "n_bins"),
        ([0, 1], [0.1, 0.2], {"strategy": "other"}, "strategy"),
        ([0, 1], [0.1, 0.2], {"delta": 0}, "delta"),
        ([0, 1], [0.1, 0.2], {"clip": 0.6}, "clip"),
    ],
)
def test_refusals(y, p, options, name):
    with pytest.raises(ValueError, match=name):
        reliability(y, p, **options)
