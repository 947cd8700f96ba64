"""Isotonic calibration against scikit-learn's isotonic regression."""

import numpy as np
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import IsotonicRegression

from mlcore.calibration import IsotonicCalibrator


@each("seed", range(40))
def test_isotonic_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    scores = rng.normal(size=n) if seed % 2 else rng.integers(0, 8, n).astype(float)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    weight = None if seed % 3 else rng.random(n) + 0.01
    new = np.concatenate([scores, scores + 0.3, [-9.0, 9.0]])
    calibrator = IsotonicCalibrator().fit(scores, y, weight)
    peer = IsotonicRegression(out_of_bounds="clip").fit(scores, y, sample_weight=weight)
    assert_allclose(calibrator.predict_proba(new)[:, 1], peer.predict(new), rtol=0, atol=1e-12)


def test_weights_are_copies_and_zero_is_absence():
    scores, y = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1, 0])
    weighted = IsotonicCalibrator().fit(scores, y, [1, 2, 1, 3, 0])
    copied = IsotonicCalibrator().fit(np.repeat(scores[:4], [1, 2, 1, 3]), [0, 1, 1, 0, 1, 1, 1])
    assert_allclose(weighted.predict_proba(scores), copied.predict_proba(scores), rtol=1e-15)


def test_scores_of_any_size():
    y = np.array([0, 1, 0, 1, 1])
    scores = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    new = np.linspace(-3, 3, 31)
    plain = IsotonicCalibrator().fit(scores, y).predict_proba(new)
    for scale in (2.0**500, 2.0**-500):
        other = IsotonicCalibrator().fit(scores * scale, y).predict_proba(new * scale)
        assert_array_equal(other, plain)
    P = IsotonicCalibrator().fit([-1.7e308, 1.7e308], [0, 1]).predict_proba([-1.7e308, 0, 1.7e308])
    assert_allclose(P[:, 1], [0, 0.5, 1])
    tiny = IsotonicCalibrator().fit([0.0, 5e-324], [0, 1]).predict_proba([0.0, 5e-324, 1.0])
    assert_array_equal(tiny[:, 1], [0, 1, 1])
    one = IsotonicCalibrator().fit([3.0, 3.0, 3.0], [0, 1, 1]).predict_proba([-1.0, 3.0, 4.0])
    assert_allclose(one[:, 1], 2 / 3)


def test_a_row_that_no_class_fits_is_shared():
    scores = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    P = IsotonicCalibrator().fit(scores, [0, 1, 2, 0, 1, 2]).predict_proba([[0, 0, 0], [1, 0, 0]])
    assert_allclose(P, [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]])
