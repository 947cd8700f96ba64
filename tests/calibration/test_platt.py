"""Platt's sigmoid against SciPy's minimiser, and its duality gap."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from mlcore.calibration import PlattCalibrator


def cross_entropy(at, scores, y, weight):
    n_positive, n_negative = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    z = at[0] * scores + at[1]
    return float(weight @ (np.logaddexp(0, z) - target * z))


@each("seed", range(30))
def test_the_sigmoid_is_the_minimum_and_the_gap_is_above_its_distance(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    scores = rng.normal(size=n) * 2 + 1
    y = (rng.random(n) < expit((-1 if seed % 4 == 0 else 1.5) * scores)).astype(int)
    y[:2] = 0, 1
    weight = np.ones(n) if seed % 2 else rng.random(n) + 0.1
    calibrator = PlattCalibrator().fit(scores, y, weight)
    (fit,) = calibrator.links_
    best = minimize(
        cross_entropy, [0.0, 0.0], (scores, y, weight), method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )  # fmt: skip
    assert_allclose(fit.objective, best.fun, rtol=1e-9)
    assert abs(fit.duality_gap) < 1e-9 * max(1, fit.objective)
    assert fit.objective - fit.duality_gap <= best.fun + 1e-9
    expected = expit(best.x[0] * scores + best.x[1])
    assert_allclose(calibrator.predict_proba(scores)[:, 1], expected, atol=1e-4)


def test_the_gap_sees_a_fit_that_ended_early(monkeypatch):
    from mlcore.calibration import platt

    scores = np.linspace(-3, 3, 40)
    y = scores > 0.3
    true = PlattCalibrator().fit(scores, y).links_[0].objective
    monkeypatch.setattr(platt, "_MAX_ITER", 4)
    with pytest.warns(UserWarning, match="gap"):
        (fit,) = PlattCalibrator().fit(scores, y).links_
    assert fit.n_iter == 4 and fit.objective > true
    assert fit.duality_gap >= fit.objective - true - 1e-12


def test_scores_of_any_size_and_place():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300)
    y = rng.random(300) < expit(2 * scores)
    P = PlattCalibrator().fit(scores, y).predict_proba(scores)
    for scale, offset, tol in ((1e150, 0, 1e-12), (1e-150, 0, 1e-12), (1, 1e8, 1e-6)):
        moved = scores * scale + offset
        assert_allclose(PlattCalibrator().fit(moved, y).predict_proba(moved), P, atol=tol)
    as_float32 = scores.astype(np.float32)
    assert_allclose(PlattCalibrator().fit(as_float32, y).predict_proba(as_float32), P, atol=1e-6)
    # Constant scores: the mean of the softened labels, for every score.
    P = (
        PlattCalibrator()
        .fit(np.full(30, 1e8 + 0.1), [0] * 10 + [1] * 20)
        .predict_proba([0.0, 1e300])
    )
    assert_allclose(P[:, 1], (20 * 21 / 22 + 10 / 12) / 30, rtol=1e-12)


def test_each_class_is_against_the_rest():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], 30)
    scores = rng.normal(size=(90, 3)) + 2 * np.eye(3)[codes]
    P = PlattCalibrator().fit(scores, codes).predict_proba(scores)
    single = [PlattCalibrator().fit(scores[:, k], codes == k) for k in range(3)]
    raw = np.column_stack([c.predict_proba(scores[:, k])[:, 1] for k, c in enumerate(single)])
    assert_allclose(P, raw / raw.sum(axis=1, keepdims=True), rtol=1e-12)
