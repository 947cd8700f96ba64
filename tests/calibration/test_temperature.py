"""Temperatures against SciPy's minimiser, and their duality gap."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from mlcore.calibration import TemperatureCalibrator


def problem(seed, n=200, k=4):
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n, k))
    P = np.exp(log_softmax(logits / rng.uniform(0.7, 3), axis=1))
    y = (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    y[:k] = range(k)
    return logits, np.minimum(y, k - 1), rng.random(n) + 0.1


@each("seed, k", [(seed, k) for seed in range(10) for k in (2, 3, 7)])
def test_the_temperature_is_the_minimum_and_the_gap_is_above_its_distance(seed, k):
    logits, y, weight = problem(seed, k=k)

    def loss(beta):
        return -float(weight @ log_softmax(beta * logits, axis=1)[np.arange(len(y)), y])

    calibrator = TemperatureCalibrator().fit(logits, y, weight)
    best = minimize_scalar(loss, bounds=(1e-3, 20), method="bounded", options={"xatol": 1e-10})
    assert_allclose(calibrator.temperature_, 1 / best.x, rtol=1e-5)
    assert_allclose(calibrator.objective_, best.fun, rtol=1e-10)
    assert abs(calibrator.duality_gap_) < 1e-8
    expected = np.exp(log_softmax(logits * best.x, axis=1))
    assert_allclose(calibrator.predict_proba(logits), expected, atol=1e-5)


def test_the_gap_sees_a_fit_that_ended_early(monkeypatch):
    from mlcore.calibration import temperature

    logits, y, weight = problem(0)
    true = TemperatureCalibrator().fit(logits, y, weight).objective_
    monkeypatch.setattr(temperature, "_root", lambda problem: (4.0, 0))
    with pytest.warns(UserWarning, match="gap"):
        early = TemperatureCalibrator().fit(logits, y, weight)
    assert early.objective_ > true + 1e-3
    assert early.duality_gap_ >= early.objective_ - true


def test_scores_of_any_size_and_place():
    logits, y, _ = problem(3)
    plain = TemperatureCalibrator().fit(logits, y)
    for scale, offset, tol in ((1e150, 0, 1e-12), (1e-150, 0, 1e-12), (1, 1e8, 1e-6)):
        moved = logits * scale + offset
        other = TemperatureCalibrator().fit(moved, y)
        assert_allclose(other.temperature_, plain.temperature_ * scale, rtol=max(tol, 1e-12))
        assert_allclose(other.predict_proba(moved), plain.predict_proba(logits), atol=tol)


def test_one_logit_of_two_classes_is_two_columns():
    logits, y, _ = problem(4, k=2)
    both = TemperatureCalibrator().fit(logits, y)
    one = TemperatureCalibrator().fit(logits[:, 1] - logits[:, 0], y)
    assert_allclose(one.temperature_, both.temperature_, rtol=1e-12)
    P = one.predict_proba(logits[:, 1] - logits[:, 0])
    assert_allclose(P, both.predict_proba(logits), rtol=1e-12)


def test_scores_without_news_and_without_errors():
    y = np.array([0, 1, 2] * 5)
    with pytest.warns(UserWarning, match="infinite"):
        wrong = TemperatureCalibrator().fit(-np.eye(3)[y], y)
    assert wrong.temperature_ == np.inf and wrong.duality_gap_ == pytest.approx(0, abs=1e-12)
    assert_allclose(wrong.predict_proba(np.eye(3)), 1 / 3)
    same = TemperatureCalibrator().fit(np.zeros((15, 3)), y)
    assert_allclose(same.predict_proba(np.eye(3)), 1 / 3)
    with pytest.raises(ValueError, match="scores.*temperature of these would be 0"):
        TemperatureCalibrator().fit(np.eye(3)[y], y)


def test_logits_far_beyond_the_others():
    logits, y, _ = problem(5, n=400)
    plain = TemperatureCalibrator().fit(logits, y)
    # A row that is right, with logits of 1e300, changes nothing.
    far = np.vstack([logits, [1e300, 0, 0, 0]])
    beyond = TemperatureCalibrator().fit(far, np.append(y, 0))
    assert beyond.n_iter_ < 60
    assert_allclose(beyond.temperature_, plain.temperature_, rtol=1e-9)
    # The probabilities are those of the fit also where the temperature overflows.
    huge = np.array([[1.7e308, 0.0]] * 10 + [[0.0, 1.7e308]] * 10)
    half = TemperatureCalibrator().fit(huge, [0] * 6 + [1] * 4 + [1] * 6 + [0] * 4)
    assert_allclose(half.predict_proba(huge[:1]), [[0.6, 0.4]], rtol=1e-12)
    assert_allclose(half.objective_, -12 * np.log(0.6) - 8 * np.log(0.4), rtol=1e-12)
    tiny = TemperatureCalibrator().fit(logits * 1e-300, y)
    assert_allclose(tiny.predict_proba([[1e308, -1e308, 0, 0]]), [[1, 0, 0, 0]])
