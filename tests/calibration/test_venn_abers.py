"""Venn-Abers intervals against two isotonic fits for each new example, and their calibration."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from mlcore.calibration import VennAbersCalibrator


def by_two_fits(scores, y, new):
    return [
        IsotonicRegression().fit(np.append(scores, new), np.append(y, label)).predict([new])[0]
        for label in (0, 1)
    ]


@each("seed", range(40))
def test_intervals_are_those_of_two_isotonic_fits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    # With ties and without, and sometimes separable.
    scores = rng.normal(size=n) if seed % 3 == 0 else rng.integers(0, 1 + seed % 9, n).astype(float)
    y = rng.integers(0, 2, n) if seed % 5 else (scores > np.median(scores)).astype(int)
    y[:2] = 0, 1
    new = np.concatenate([scores[:9], scores[:9] + 0.3, [scores.min() - 1, scores.max() + 1]])
    calibrator = VennAbersCalibrator().fit(scores, y)
    low, high = calibrator.predict_interval(new)
    expected = np.array([by_two_fits(scores, y, s) for s in new])
    assert_allclose(np.column_stack([low, high]), expected, rtol=0, atol=1e-12)
    assert (low <= high).all()
    merged = calibrator.predict_proba(new)
    assert_allclose(merged[:, 1], high / (1 - low + high), rtol=1e-15)
    assert_allclose(merged.sum(axis=1), 1, rtol=1e-15)


def test_the_interval_of_the_true_label_is_calibrated():
    """P(y = 1 | p_y) = p_y: over the values of p_y above 1/2 the frequency is their mean."""
    rng = np.random.default_rng(0)
    hits, expected, number = 0, 0.0, 0
    for _ in range(2500):
        scores = rng.integers(0, 3, 13).astype(float)
        y = rng.random(13) < 0.2 + 0.3 * scores
        if y[:-1].all() or not y[:-1].any():
            continue
        ends = VennAbersCalibrator().fit(scores[:-1], y[:-1]).predict_interval(scores[-1:])
        own = ends[int(y[-1])][0]
        if own > 0.5:
            hits, expected, number = hits + int(y[-1]), expected + own, number + 1
    mean = expected / number
    assert 1e-4 < binom.cdf(hits, number, mean) < 1 - 1e-4
    # Power: 1.1 times the mean would be refused.
    assert binom.cdf(hits, number, min(1.1 * mean, 1)) < 1e-4


def test_each_class_is_against_the_rest():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 30)
    scores = rng.normal(size=(90, 3)) + 2 * np.eye(3)[np.repeat([0, 1, 2], 30)]
    calibrator = VennAbersCalibrator().fit(scores, y)
    low, high = calibrator.predict_interval(scores[::7])
    P = calibrator.predict_proba(scores[::7])
    for k, label in enumerate("abc"):
        one = VennAbersCalibrator().fit(scores[:, k], y == label)
        assert_array_equal(np.array(one.predict_interval(scores[::7, k])), [low[:, k], high[:, k]])
    merged = high / (1 - low + high)
    assert_allclose(P, merged / merged.sum(axis=1, keepdims=True), rtol=1e-14)


def test_many_examples_and_extreme_scores():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=100_000)
    y = rng.random(len(scores)) < 1 / (1 + np.exp(-scores))
    grid = np.linspace(-2, 2, 9)
    low, high = VennAbersCalibrator().fit(scores, y).predict_interval(grid)
    assert_allclose(low, 1 / (1 + np.exp(-grid)), atol=0.04)
    assert (high - low < 0.01).all()
    for scale in (1e150, 1e-150):
        other = VennAbersCalibrator().fit(scores * scale, y).predict_interval(grid * scale)
        assert_array_equal(np.array(other), [low, high])
    extreme = VennAbersCalibrator().fit([-1.7e308, 1.7e308], [0, 1])
    assert_array_equal(np.array(extreme.predict_interval([0.0])), [[0.0], [1.0]])


def test_weights_are_refused():
    with pytest.raises(ValueError, match="sample_weight.*exchangeable"):
        VennAbersCalibrator().fit([0.0, 1.0], [0, 1], [1.0, 2.0])
