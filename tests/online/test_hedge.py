"""Hedge against its definition and its bound, on every sequence of small games."""

import copy
import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import mlcore
from mlcore.bounds import doubling_trick_regret, hedge_regret_bound
from mlcore.online import DoublingTrick, Hedge, play

LOSSES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=st.floats(0, 1)
)


def test_worked_number():
    game = play(Hedge(2, horizon=100), None, [[1, 0], [0, 1]] * 50)
    assert game.regret == pytest.approx(2.92999808682816, rel=1e-13)
    assert game.bound == pytest.approx(5.88705011257738, rel=2e-15)
    assert game.comparator_loss == 50 and game.mistakes is None
    assert game.losses.shape == (100,) and game.regret == game.losses.sum() - 50


@pytest.mark.parametrize(("n", "rounds"), [(2, 4), (3, 3)])
@pytest.mark.parametrize("known", [True, False])
def test_no_sequence_of_losses_0_and_1_passes_the_bound(n, rounds, known):
    """All sequences share their beginnings: a tree of copies."""
    outcomes = [np.array(losses) for losses in product((0, 1), repeat=n)]
    worst = []

    def go_on(learner, left):
        worst.append(learner.loss_ - learner.expert_losses_.min() - learner.bound())
        for losses in outcomes if left else ():
            go_on(copy.copy(learner).update(None, losses), left - 1)

    for losses in outcomes:
        go_on(Hedge(n, horizon=rounds if known else None).update(None, losses), rounds - 1)
    assert len(worst) > 300 and max(worst) <= 0


@given(LOSSES, st.floats(0.01, 100))
@settings(max_examples=30)
def test_weights_are_exponential_in_the_losses(losses, unit):
    T, n = losses.shape
    learner = Hedge(n, horizon=T, value_range=unit)
    eta = math.sqrt(8 * math.log(n) / T) / unit
    given, loss = losses * unit, 0.0
    for t, row in enumerate(given):
        weights = np.exp(-eta * given[:t].sum(axis=0))
        weights /= weights.sum()
        assert_allclose(learner.predict_one(), weights, rtol=1e-9)
        loss += weights @ np.minimum(row, unit)
        learner.update(None, np.minimum(row, unit))
    assert learner.loss_ == pytest.approx(loss)
    regret = learner.loss_ - learner.expert_losses_.min()
    assert regret <= learner.bound() + 1e-12 * learner.loss_
    assert learner.bound() == pytest.approx(unit * hedge_regret_bound(n, T))
    with pytest.raises(ValueError, match=f"horizon={T} rounds are over"):
        learner.update(None, given[0] * 0)
    assert learner.n_rounds_ == T


@given(LOSSES)
@settings(max_examples=30)
def test_an_unknown_horizon_is_the_doubling_trick(losses):
    T, n = losses.shape
    own = Hedge(n).fit(None, losses)
    trick = DoublingTrick(lambda T: Hedge(n, horizon=T), alpha=1.0).fit(None, losses)
    assert own.loss_ == trick.loss_ and own.n_rounds_ == trick.n_rounds_ == T
    assert_array_equal(own.predict_one(), trick.predict_one(None))
    assert own.loss_ - own.expert_losses_.min() <= own.bound() + 1e-12
    if n > 1:
        assert own.bound() == doubling_trick_regret(hedge_regret_bound(n, 1), T)
    assert trick.bound() == doubling_trick_regret(1.0, T)


def test_rounds_together_are_rounds_one_by_one(tmp_path):
    losses = np.random.default_rng(0).random((21, 4))
    whole = Hedge(4).fit(None, losses)
    blocks = Hedge(4).partial_fit(None, losses[:9]).partial_fit([None] * 12, losses[9:].tolist())
    mlcore.save(blocks, tmp_path / "hedge.npz")
    for other in (blocks, pickle.loads(pickle.dumps(whole)), mlcore.load(tmp_path / "hedge.npz")):
        assert_array_equal(other.weights_, whole.weights_)
        assert other.loss_ == pytest.approx(whole.loss_) and other.n_rounds_ == 21
        assert_array_equal(other.update(None, losses[0]).weights_, copy.copy(whole).update(
            None, losses[0]).weights_)  # fmt: skip


@pytest.mark.parametrize("begun", [False, True])
def test_refused_rounds_change_nothing(begun):
    learner = Hedge(2, value_range=3.0)
    if begun:
        learner.update(None, [1.0, 3.0])
    before = pickle.dumps(learner)
    wrong = ([1.0], [1.0, 2.0, 3.0], [0.0, math.nan], [0.0, 3.1], [-0.1, 0.0], "01", None, 3.0)
    for losses in (*wrong, [1j, 0], [[1.0, 2.0]], ["a", "b"]):
        with pytest.raises(ValueError, match="y"):
            learner.update(None, losses)
        with pytest.raises(ValueError, match="y"):
            learner.partial_fit(None, [[0.0, 0.0], losses])
    with pytest.raises(ValueError, match="^x="):
        learner.update([0.0, 0.0], [0.0, 0.0])
    assert pickle.dumps(learner) == before
    assert learner.predict_one().sum() == pytest.approx(1)


def test_wrong_parameters_are_named():
    for name, values in {
        "n_experts": (0, 1.5, "3", None, True),
        "horizon": (0, -1, 1.5, "3", True),
        "value_range": (0, -1.0, math.nan, math.inf, "1", None, True),
    }.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name}="):
                Hedge(2).set_params(**{name: value}).update(None, [0, 0])


def test_one_expert_is_followed_without_regret():
    game = play(Hedge(1), None, [[0.5], [1.0]])
    assert (game.regret, game.bound, game.losses.tolist()) == (0.0, 0.0, [0.5, 1.0])
