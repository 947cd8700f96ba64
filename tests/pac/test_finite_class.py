"""The choice among finitely many hypotheses, and Occam's bound in simulation."""

import math

import numpy as np
import pytest

from mlcore.bounds import occam_bound
from mlcore.pac import FiniteClassLearner

THRESHOLDS = [lambda X, t=t: np.asarray(X)[:, 0] > t / 8 for t in range(9)]


def test_the_fewest_errors_then_the_prior_then_the_order():
    X, y = [[0.2], [0.5], [0.6]], [0, 1, 1]
    ties = [2, 3]  # thresholds of 2/8 and 3/8 have no error
    learner = FiniteClassLearner(THRESHOLDS).fit(X, y)
    assert learner.best_ == ties[0] and learner.training_errors_ == 0
    assert learner.errors_.tolist() == [1, 1, 0, 0, 1, 2, 2, 2, 2]
    prior = np.log(np.full(9, 0.1))
    prior[3] = math.log(0.2)
    weighted = FiniteClassLearner(THRESHOLDS, log_prior=prior).fit(X, y)
    assert weighted.best_ == 3 and weighted.log_prior_ == math.log(0.2)
    bound = weighted.guarantee(0.05)
    assert bound.value == occam_bound(0, 3, 0.05, log_prior=math.log(0.2))
    assert bound.value == pytest.approx(1 - (0.05 * 0.2) ** (1 / 3))
    assert learner.guarantee(0.05).value == occam_bound(0, 3, 0.05, log_prior=-math.log(9))
    assert learner.score(X, [False, True, True]) == 1


def test_samples_and_labels_may_be_of_any_kind():
    longer = [lambda words, n=n: ["long" if len(w) > n else "short" for w in words] for n in (2, 4)]
    learner = FiniteClassLearner(longer).fit(["a", "abc", "abcdef"], ["short", "short", "long"])
    assert learner.best_ == 1 and learner.n_samples_ == 3
    assert learner.predict(["abcdefg"]).tolist() == ["long"]


def test_the_guarantee_fails_at_most_delta_of_the_time():
    delta, m, failures, values = 0.25, 60, 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.random((m, 1))
        y = (X[:, 0] > 0.5) ^ (rng.random(m) < 0.2)
        learner = FiniteClassLearner(THRESHOLDS).fit(X, y)
        error = 0.2 + 0.6 * abs(learner.best_ / 8 - 0.5)
        values.append(learner.guarantee(delta).value)
        failures += error > values[-1]
    assert max(values) < 0.6
    assert failures <= 200 * delta + 3.1 * math.sqrt(200 * delta * (1 - delta))


def test_what_is_no_class_or_no_prior_is_refused():
    X, y = [[0.2], [0.5]], [0, 1]
    for hypotheses in ([], 3, None, [3], THRESHOLDS[0]):
        with pytest.raises(TypeError, match="^hypotheses="):
            FiniteClassLearner(hypotheses).fit(X, y)
    for prior in ([0.0], np.zeros(9), np.full(9, math.nan), np.full(9, math.inf)):
        with pytest.raises(ValueError, match="^log_prior"):
            FiniteClassLearner(THRESHOLDS, log_prior=prior).fit(X, y)
    for wrong in (lambda X: 1, lambda X: [[0, 1]], lambda X: [0]):
        with pytest.raises(ValueError, match=r"^hypotheses\[1\] returned shape"):
            FiniteClassLearner([THRESHOLDS[0], wrong]).fit(X, y)
    for wrong in (lambda X: ["0", "1"], lambda X: [math.nan, 1.0], lambda X: [[0], [1, 2]]):
        with pytest.raises(ValueError, match=r"hypotheses\[1\] returned"):
            FiniteClassLearner([THRESHOLDS[0], wrong]).fit(X, y)
    for labels in (None, [0.5, 1.0], [0, math.nan]):
        with pytest.raises((TypeError, ValueError), match="y"):
            FiniteClassLearner(THRESHOLDS).fit(X, labels)
    with pytest.raises(ValueError, match="not fitted"):
        FiniteClassLearner(THRESHOLDS).predict(X)
