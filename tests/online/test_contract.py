"""What all online learners keep: parameters, rounds one by one or together, refusals, files."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import mlcore
from contract import contents, fitted
from mlcore import online
from mlcore.online import Halving, StandardOptimalAlgorithm, WeightedMajority, Winnow

H = np.random.default_rng(0).integers(0, 2, size=(12, 6))
POINTS = np.random.default_rng(1).integers(0, 6, size=20)
ADVICE = np.random.default_rng(2).integers(0, 2, size=(20, 5))
TABLES = ("01", None, 3, [0, 1], [], [[]], [[0, 2]], [[-1, 0]], [[math.nan]], [[0], [0, 1]])
# How to make each learner, rounds of its game, points that it refuses, and its wrong parameters.
LEARNERS = {
    "Halving": (
        lambda: Halving(H),
        (POINTS, H[1, POINTS]),
        (-1, 6, 0.5, True, "1", None, math.nan),
        {"H": TABLES},
    ),
    "StandardOptimalAlgorithm": (
        lambda: StandardOptimalAlgorithm(H),
        (POINTS, H[1, POINTS]),
        (-1, 6, 0.5, True, "1", None, math.nan),
        {"H": TABLES},
    ),
    "WeightedMajority": (
        lambda: WeightedMajority(5, beta=0.3),
        (ADVICE, ADVICE[:, 0] ^ (np.arange(20) % 7 == 0)),
        ([0, 1, 1], [0, 1, 1, 0, 2], [math.nan] * 5, "01101", [], None, 3),
        {
            "n_experts": (0, -1, 1.5, "3", None, True, math.inf),
            "beta": (0, 1, -0.5, math.nan, "0.5", None, True),
            "randomized": (None, "yes", 2),
            "random_state": (-1, 1.5, "3", True),
        },
    ),
    "WeightedMajority-randomized": (
        lambda: WeightedMajority(5, randomized=True, random_state=2),
        (ADVICE, ADVICE[:, 0] ^ (np.arange(20) % 7 == 0)),
        ([0, 1, 1], [0, 1, 1, 0, 2], [math.nan] * 5, "01101", [], None, 3),
        {
            "n_experts": (0, -1, 1.5, "3", None, True, math.inf),
            "beta": (0, 1, -0.5, math.nan, "0.5", None, True),
            "randomized": (None, "yes", 2),
            "random_state": (-1, 1.5, "3", True),
        },
    ),
    "Winnow": (
        lambda: Winnow(5),
        (ADVICE, ADVICE[:, 0] | ADVICE[:, 3]),
        ([0, 1, 1], [0, 1, 1, 0, 2], [math.nan] * 5, "01101", [], None, 3),
        {"n_features": (0, -1, 1.5, "3", None, True, math.inf)},
    ),
}
# Learners of numbers and losses, and what plays with learners, have tests of their own.
OTHERS = {
    "DoublingTrick", "Game", "Hedge", "OnlineGradientDescent", "OnlineToBatch", "WidrowHoff",
    "play",
}  # fmt: skip


@pytest.fixture(params=LEARNERS)
def case(request):
    make, (X, y), wrong, parameters = LEARNERS[request.param]
    return make, X, y, wrong, parameters


def state(learner):
    return contents(vars(learner))


def refused(message, call, *given):
    with pytest.raises(ValueError, match=message):
        call(*given)


def test_every_learner_is_here():
    assert {name.partition("-")[0] for name in LEARNERS} | OTHERS == set(online.__all__)
    assert online is mlcore.online


def test_rounds_one_by_one_in_blocks_and_together_are_the_same(case):
    make, X, y, *_ = case
    alone, mistakes = make(), 0
    for x, label in zip(X, y, strict=True):
        mistakes += alone.predict_one(x) != label
        assert alone.update(x, label) is alone
        assert alone.mistakes_ == mistakes
    whole = make().fit(X, y)
    blocks = make().partial_fit(X[:7], y[:7]).partial_fit(X[7:].tolist(), y[7:].tolist())
    for learner in (whole, blocks, make().partial_fit(X, y), whole.fit(X, y)):
        assert state(learner) == state(alone)
    assert alone.n_rounds_ == len(y) and 0 < alone.mistakes_ < len(y)


def test_predictions_change_nothing_and_need_no_round(case):
    make, X, y, *_ = case
    for learner in (make(), make().fit(X[:9], y[:9])):
        before = state(learner)
        found = learner.predict(X)
        assert found.dtype == np.int64 and found.shape == (len(X),)
        assert found.tolist() == [learner.predict_one(x) for x in X]
        assert state(learner) == before
    assert not fitted(make())


def test_frames_and_series_are_taken(case):
    make, X, y, *_ = case
    frame = pd.DataFrame(X) if X.ndim == 2 else pd.Series(X)
    learner = make().fit(frame, pd.Series(y))
    assert state(learner) == state(make().fit(X, y))
    assert_array_equal(learner.predict(frame), learner.predict(X))


@pytest.mark.parametrize("rounds", [0, 20])
def test_wrong_input_is_named_and_changes_nothing(rounds, case):
    make, X, y, wrong, _ = case
    learner = make().fit(X, y) if rounds else make()
    before = state(learner)
    for x in wrong:
        several = [*X[:2].tolist(), x]
        refused(r"\b[xX]\b", learner.predict_one, x)
        refused(r"\b[xX]\b", learner.update, x, 0)
        refused(r"\bX\b", learner.predict, several)
        refused(r"\bX\b", learner.partial_fit, several, y[:3])
        refused(r"\bX\b", learner.fit, several, y[:3])
    for label in (2, -1, 0.5, "1", None, math.nan, [1]):
        refused("^y=", learner.update, X[0], label)
        refused(r"^y\[1\]=", learner.partial_fit, X[:2], [y[0], label])
    for labels in (y[:2], [], 1, "01", None):
        refused(r"\by\b", learner.fit, X, labels)
    for points in ([], 3, "01", None, 0.5):
        refused(r"\bX\b", learner.predict, points)
    assert state(learner) == before


def test_wrong_parameters_are_named(case):
    make, X, y, _, parameters = case
    assert set(parameters) == set(make().get_params())
    for name, values in parameters.items():
        for value in values:
            learner = make().set_params(**{name: value})
            refused(rf"\b{name}\b", learner.predict, X)
            refused(rf"\b{name}\b", learner.fit, X, y)
            refused(rf"\b{name}\b", learner.update, X[0], y[0])
            assert not fitted(learner)


def test_parameters_are_kept_untouched_and_cloned(case):
    make, X, y, *_ = case
    learner = make().fit(X, y)
    again = clone(learner)
    assert contents(again.get_params()) == contents(learner.get_params())
    assert repr(again) == repr(learner) and repr(learner).startswith(type(learner).__name__ + "(")
    assert not fitted(again) and state(again.fit(X, y)) == state(learner)
    with pytest.raises(ValueError, match="Invalid parameter 'none'"):
        learner.set_params(none=1)
    table = H.tolist()
    assert (
        Halving(table).H is table and repr(WeightedMajority(3)) == "WeightedMajority(n_experts=3)"
    )


@pytest.mark.parametrize("rounds", [0, 9])
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy", "save"])
def test_copies_play_on_alike(how, rounds, case, tmp_path):
    make, X, y, *_ = case
    learner = make()
    if rounds:
        learner.partial_fit(X[:rounds], y[:rounds])
    if how == "save":
        mlcore.save(learner, tmp_path / "learner.npz")
        again = mlcore.load(tmp_path / "learner.npz")
    elif how == "pickle":
        again = pickle.loads(pickle.dumps(learner))
    else:
        again = getattr(copy, how)(learner)
    before = state(learner)
    assert type(again) is type(learner) and state(again) == before
    again.partial_fit(X[rounds:], y[rounds:])
    assert state(learner) == before
    assert state(again) == state(learner.partial_fit(X[rounds:], y[rounds:]))


def test_attributes_are_declared_and_documented(case):
    make, X, y, *_ = case
    learner = make().fit(X, y)
    kinds = type(learner).__mro__
    annotated = {name for kind in kinds for name in vars(kind).get("__annotations__", ())}
    for name in fitted(learner):
        assert name in annotated
        assert name.startswith("_") or name in type(learner).__doc__
