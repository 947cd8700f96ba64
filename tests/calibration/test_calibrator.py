"""What all calibrators take and refuse."""

import pickle

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from mlcore.calibration import (
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)

KINDS = (IsotonicCalibrator, PlattCalibrator, TemperatureCalibrator, VennAbersCalibrator)
SCORES = np.array([-2.0, -1.0, 0.5, 0.0, 1.0, 2.0])
Y = np.array(["no", "no", "no", "yes", "yes", "yes"])


@each("kind", KINDS)
def test_labels_columns_and_copies(kind):
    calibrator = kind().fit(SCORES, Y)
    P = calibrator.predict_proba(SCORES)
    assert calibrator.classes_.tolist() == ["no", "yes"] and P.shape == (6, 2)
    assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert (np.diff(P[np.argsort(SCORES), 1]) >= 0).all()
    assert_array_equal(pickle.loads(pickle.dumps(calibrator)).predict_proba(SCORES), P)
    frozen = SCORES[::-1].copy()[::-1]
    frozen.flags.writeable = False
    assert_array_equal(kind().fit(frozen, Y).predict_proba(frozen), P)
    assert calibrator.predict_proba(np.empty(0)).shape == (0, 2)
    order = np.array([5, 3, 0, 4, 1, 2])
    assert_allclose(kind().fit(SCORES[order], Y[order]).predict_proba(SCORES), P, rtol=1e-12)
    assert repr(calibrator) == f"{kind.__name__}()"


@each(
    "scores, y, names",
    [
        (SCORES, ["a"] * 6, "class"),
        (SCORES[:5], Y, "y"),
        (np.where(SCORES > 1, np.nan, SCORES), Y, "scores"),
        (np.where(SCORES > 1, np.inf, SCORES), Y, "scores"),
        (np.zeros((6, 3)), Y, "scores"),
        (SCORES, [0, 1, 2, 0, 1, 2], "scores"),
        (np.zeros((6, 2)), [0, 1, 2, 0, 1, 2], "scores"),
        (np.zeros((6, 3, 1)), [0, 1, 2, 0, 1, 2], "scores"),
        (np.empty(0), [], "scores"),
        ("text", Y, "scores"),
        (1.0, ["a"], "scores"),
    ],
)
def test_refusals(scores, y, names):
    for kind in KINDS:
        with pytest.raises(ValueError, match=names):
            kind().fit(scores, y)


def test_refusals_of_new_scores_and_weights():
    for kind in KINDS:
        with pytest.raises(ValueError, match="not fitted"):
            kind().predict_proba(SCORES)
        with pytest.raises(ValueError, match="scores"):
            kind().fit(SCORES, Y).predict_proba(np.zeros((2, 3)))
        if kind is not VennAbersCalibrator:
            for weight in ([-1.0] * 6, [1.0] * 5, [0, 0, 0, 1, 1, 1], [np.nan] * 6):
                with pytest.raises(ValueError, match="sample_weight|Sample weights|weights"):
                    kind().fit(SCORES, Y, weight)
    with pytest.raises(ValueError, match="two classes"):
        PlattCalibrator().fit(np.zeros((6, 2)), Y)


@each(
    "kind, method, tol",
    [
        (IsotonicCalibrator, "isotonic", 1e-12),
        (PlattCalibrator, "sigmoid", 1e-3),
        (TemperatureCalibrator, "temperature", 1e-4),
    ],
)
def test_classifiers_are_calibrated_as_by_scikit_learn(kind, method, tol):
    """Several classes, each against the rest or all at once, from decision values."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 100)
    X = rng.normal(size=(300, 2)) + 2 * np.eye(3, 2)[np.repeat(range(3), 100)]
    order = rng.permutation(300)
    fresh, new = order[100:200], order[200:]
    model = LogisticRegression(C=100).fit(X[order[:100]], y[order[:100]])
    peer = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X[fresh], y[fresh])
    calibrator = kind().fit(model.decision_function(X[fresh]), y[fresh])
    found = calibrator.predict_proba(model.decision_function(X[new]))
    assert_allclose(found, peer.predict_proba(X[new]), rtol=0, atol=tol)
