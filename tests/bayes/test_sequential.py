"""Sequential posteriors: worked numbers, products of likelihoods in any order, refusals."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.bayes import SequentialBayes, posterior


def test_the_coin():
    coin = SequentialBayes([0.75, 0.25]).update([0.5, 0.6])
    assert f"{coin.probabilities[0]:.4f}" == "0.7143"
    assert f"{coin.update([0.5, 0.6]).probabilities[0]:.4f}" == "0.6757"
    assert coin.n_updates == 2
    assert_allclose(coin.log_evidence, math.log(0.75 * 0.25 + 0.25 * 0.36), rtol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_updates_are_one_update_by_the_product_in_any_order(seed):
    rng = np.random.default_rng(seed)
    prior, likelihoods = rng.dirichlet(np.ones(4)), rng.random((6, 4))
    forward, backward = SequentialBayes(prior), SequentialBayes(prior)
    for row in likelihoods:
        forward.update(row)
    for row in likelihoods[::-1]:
        backward.update(np.log(row), log=True)
    expected = posterior(prior, likelihoods.prod(axis=0))
    assert_allclose(forward.probabilities, expected, rtol=1e-13)
    assert_allclose(backward.probabilities, expected, rtol=1e-13)
    assert_allclose(forward.log_evidence, np.log(prior @ likelihoods.prod(axis=0)), rtol=1e-12)


def test_thousands_of_observations_do_not_underflow():
    learner = SequentialBayes([0.5, 0.5])
    for _ in range(3000):
        learner.update([1e-3, 0.999e-3])
    ratio = 3000 * math.log(0.999)
    assert_allclose(learner.probabilities[1], 1 / (1 + math.exp(-ratio)), rtol=1e-11)


def test_refused_observations_change_nothing():
    learner = SequentialBayes([0.0, 1.0]).update([0.3, 0.2])
    before = vars(learner).copy()
    for bad in ([1.0, 0.0], [math.nan, 1.0], [-1.0, 1.0], [1.0], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="impossible|NaN|negative|2 hypotheses"):
            learner.update(bad)
    assert vars(learner) == before
    assert_array_equal(learner.probabilities, [0, 1])
    for prior in ([0.0, 0.0], [[1.0]], [-1.0, 2.0]):
        with pytest.raises(ValueError, match="zeros|shape|negative"):
            SequentialBayes(prior)
