"""The tightest box, its laws and its guarantee in simulation."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.bounds import rectangle_sample_size, vc_error_bound
from mlcore.pac import RectangleLearner


def test_worked_number():
    X = np.random.default_rng(0).random((176, 2))
    learner = RectangleLearner().fit(X, (X < 0.5).all(axis=1))
    bound = learner.guarantee(0.05)
    assert bound.value == pytest.approx(0.0983619315125965, rel=1e-14) and bound.value < 0.1
    assert rectangle_sample_size(0.1, 0.05) == 176
    assert (bound.delta, bound.kind, bound.sample) == (0.05, "upper", "train")
    assert float(bound) == bound.value and bound.inputs == {"k": 0, "m": 176, "d": 2}
    assert any("independent" in text for text in bound.assumptions)


@given(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_positives_stay_inside_and_nothing_smaller_holds_them(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(rng.choice([np.float32, np.float64]))
    y = rng.integers(0, 2, size=n)
    learner = RectangleLearner(positive=1).fit(X, y)
    inside = learner.predict(X) == 1
    assert inside[y == 1].all()
    assert learner.training_errors_ == np.count_nonzero(inside & (y == 0))
    for j in range(d):
        for end in (learner.lower_, learner.upper_):
            assert not y.any() or (X[y == 1, j] == end[j]).any()
    if not y.any():
        assert not inside.any() and not learner.predict(X + 100).any()
    delta = 0.2
    if learner.training_errors_:
        expected = vc_error_bound(learner.training_errors_, n, 2 * d, delta)
    else:
        expected = min(1, 2 * d * (1 - (delta / (2 * d)) ** (1 / n)))
    assert learner.guarantee(delta).value == pytest.approx(expected, rel=1e-12)


def test_the_guarantee_fails_at_most_delta_of_the_time():
    """Uniform on a square; the error of a box inside the target is a difference of areas."""
    low, high = np.array([0.1, 0.2]), np.array([0.8, 0.9])
    for m, delta in ((40, 0.3), (150, 0.2)):
        failures, values = 0, []
        for seed in range(300):
            X = np.random.default_rng([m, seed]).random((m, 2))
            y = ((low <= X) & (high >= X)).all(axis=1).astype(int)
            learner = RectangleLearner(positive=1).fit(X, y)
            sides = np.maximum(learner.upper_ - learner.lower_, 0) if y.any() else np.zeros(2)
            error = np.prod(high - low) - np.prod(sides)
            values.append(learner.guarantee(delta).value)
            failures += error > values[-1]
        assert max(values) < 1
        # More would be seen once in 1000 times if each failed with probability delta.
        assert failures <= 300 * delta + 3.1 * math.sqrt(300 * delta * (1 - delta))


def test_labels_of_one_kind_or_of_three():
    X = np.array([[0.0], [1.0]])
    for y in ([0, 0], [-1, -1], [False, False]):
        learner = RectangleLearner().fit(X, y)
        assert learner.predict([[0.5]]).tolist() == y[:1] and learner.training_errors_ == 0
    assert RectangleLearner(positive=1).fit(X, [1, 1]).predict([[0.5], [2.0]]).tolist() == [1, 0]
    learner = RectangleLearner(positive="in").fit(X, ["out", "out"])
    assert learner.predict(X).tolist() == ["out", "out"]
    low = RectangleLearner(positive="a").fit([[0], [1], [2]], ["b", "a", "b"])
    assert low.predict([[1.0], [3.0]]).tolist() == ["a", "b"]
    for y, message in (
        ([1, 1], "one class.*give positive="),
        (["a", "a"], "one class"),
    ):
        with pytest.raises(ValueError, match=message):
            RectangleLearner().fit(X, y)
    with pytest.raises(ValueError, match="has 3"):
        RectangleLearner().fit([[0], [1], [2]], [0, 1, 2])
    with pytest.raises(ValueError, match="no label for outside"):
        RectangleLearner(positive="a").fit(X, ["a", "a"])


def test_weights_and_wrong_deltas_are_refused():
    learner = RectangleLearner().fit([[0.0], [1.0]], [0, 1])
    before = pickle.dumps(learner)
    with pytest.raises(TypeError, match="sample_weight"):
        learner.fit([[0.0], [1.0]], [0, 1], sample_weight=[1, 2])
    for delta in (0, 1, -0.1, math.nan, "0.1", None):
        with pytest.raises(ValueError, match="^delta="):
            learner.guarantee(delta)
    assert pickle.dumps(learner) == before
    with pytest.raises(ValueError, match="not fitted"):
        RectangleLearner().guarantee(0.1)
