"""Hypotheses kept from rounds on independent examples, and how often their risk bounds fail."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from mlcore.bounds import online_to_batch_bound
from mlcore.linear_model import KernelPerceptron, Perceptron
from mlcore.online import Halving, Hedge, OnlineGradientDescent, OnlineToBatch, WeightedMajority

H = (np.arange(8) >= np.arange(9)[:, None]).astype(int)  # thresholds on 8 points


def drawn(seed, n=60):
    rng = np.random.default_rng(seed)
    return rng.integers(8, size=n)


def test_the_bound_on_the_mean_risk_fails_at_most_delta_of_the_time():
    """Thresholds on 8 points are experts, and a tenth of the labels of one is flipped."""
    failures, bounds = 0, []
    for seed in range(30):
        X, rng = drawn(seed, 100), np.random.default_rng([seed, 1])
        y = H[4, X] ^ (rng.random(100) < 0.1)
        learner = WeightedMajority(9)
        model = OnlineToBatch(learner, selection="random", random_state=seed).fit(H[:, X].T, y)
        bounds.append(model.risk_bound(0.3))
        alone, risks = WeightedMajority(9), []
        for x, label in zip(X, y, strict=True):
            weights = alone.weights_ if risks else np.ones(9)
            told = weights @ H >= weights.sum() / 2
            risks.append(np.where(told != H[4], 0.9, 0.1).mean())
            alone.update(H[:, x], label)
        failures += np.mean(risks) > bounds[-1]
    # If each failed with probability 0.3, more than 15 of 30 would once in 100 times.
    assert failures <= 15 and max(bounds) < 0.6


def test_the_bound_on_the_selected_risk_holds():
    for seed in range(2):
        X = drawn(seed, 180)
        model = OnlineToBatch(Halving(H), selection="suffix", delta=0.3).fit(X, H[4, X])
        risk = np.mean(model.predict(range(8)) != H[4])
        assert risk <= model.risk_bound(0.3) < 0.7


def test_the_hypothesis_of_the_least_suffix_is_found():
    X = drawn(0)
    y = H[3, X]
    model = OnlineToBatch(Halving(H), selection="suffix", delta=0.1).fit(X, y)
    learner, values = Halving(H), []
    for t in range(60):
        errors = np.mean(learner.predict(X[t:]) != y[t:])
        values.append((errors + math.sqrt(math.log(4 * 60 / 0.1) / (2 * (60 - t))), t))
        learner.update(X[t], y[t])
    assert_array_equal(
        model.predict(np.arange(8)),
        Halving(H).partial_fit(X[: min(values)[1]], y[: min(values)[1]]).predict(np.arange(8))
        if min(values)[1] else Halving(H).predict(np.arange(8)),
    )  # fmt: skip
    mistakes = learner.mistakes_
    assert model.losses_.sum() == mistakes
    assert model.risk_bound(0.1) == online_to_batch_bound(mistakes, 60, 0.1, method="select")
    assert model.risk_bound() == model.risk_bound(0.1)
    with pytest.raises(ValueError, match="^delta="):
        model.risk_bound(0.05)


def test_the_choice_of_the_suffix_matters():
    """The last labels contradict all others, and the chosen hypothesis is not the last one."""
    X = np.concatenate([drawn(0), np.full(6, 2)])
    y = np.concatenate([H[3, X[:60]], np.ones(6, dtype=int)])
    points, learner, values, answers = H[:, X].T, WeightedMajority(9, beta=0.1), [], []
    model = OnlineToBatch(learner, selection="suffix", delta=0.1).fit(points, y)
    for t in range(66):
        errors = np.mean(learner.predict(points[t:]) != y[t:])
        values.append(errors + math.sqrt(math.log(4 * 66 / 0.1) / (2 * (66 - t))))
        answers.append(learner.predict(H.T))
        learner.update(points[t], y[t])
    best, worst = np.argmin(values), np.argmax(values)
    assert getattr(model.hypothesis_, "n_rounds_", 0) == best
    assert_array_equal(model.predict(H.T), answers[best])
    assert (answers[best] != answers[worst]).any()


def test_the_mean_vector_of_convex_losses():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2)) / math.sqrt(2)
    y = np.where(X @ [1.0, -1.0] > 0, 1, -1)
    learner = OnlineGradientDescent(loss="hinge", radius=5.0, horizon=400)
    model = OnlineToBatch(learner).fit(X, y)
    alone = OnlineGradientDescent(loss="hinge", radius=5.0, horizon=400).fit(X, y)
    assert_array_equal(model.hypothesis_.coef_, alone.mean_coef_)
    assert model.losses_.sum() == pytest.approx(alone.loss_)
    fresh = rng.uniform(-1, 1, size=(4000, 2)) / math.sqrt(2)
    truth = np.where(fresh @ [1.0, -1.0] > 0, 1, -1)
    risk = np.maximum(0, 1 - truth * model.predict(fresh)).mean()
    bound = model.risk_bound(0.05, value_range=6.0)
    assert (
        risk <= bound == pytest.approx(alone.loss_ / 400 + 6 * math.sqrt(math.log(1 / 0.05) / 800))
    )
    for wrong in (None, 0.0, 0.5, "1"):
        with pytest.raises(ValueError, match="^value_range="):
            model.risk_bound(0.05, value_range=wrong)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_perceptrons_begin_with_the_first_example(form, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0.2, "b", "a")
    how = {"kernel": "linear"} if kind is KernelPerceptron else {}
    model = OnlineToBatch(kind(**how), selection="suffix").fit(form(X), y)
    whole = kind(**how).partial_fit(form(X), y)
    assert model.n_rounds_ == 79 and abs(model.losses_.sum() - whole.mistakes_) <= 1
    assert np.mean(model.predict(form(X)) != y) < 0.2
    assert 0 < model.risk_bound(0.05) <= 1


def test_what_does_not_fit_is_refused():
    X = drawn(0)
    for learner in (Halving, 3, Hedge.__init__):
        with pytest.raises(ValueError, match="^learner="):
            OnlineToBatch(learner, selection="random").fit(X, X % 2)
    for selection in ("average", "last", None):
        with pytest.raises(ValueError, match="^selection="):
            OnlineToBatch(Halving(H), selection=selection).fit(X, H[2, X])
    with pytest.raises(ValueError, match="^selection='suffix'"):
        OnlineToBatch(OnlineGradientDescent(horizon=1), selection="suffix").fit([[1.0]], [1])
    with pytest.raises(ValueError, match="^delta="):
        OnlineToBatch(Halving(H), selection="random", delta=0.0).fit(X, H[2, X])
    with pytest.raises(ValueError, match="at least 2"):
        OnlineToBatch(Perceptron(), selection="random").fit([[1.0]], [1])
    with pytest.raises(ValueError, match="not fitted"):
        OnlineToBatch(Halving(H), selection="random").predict([0])
