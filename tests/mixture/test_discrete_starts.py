"""Default starts of the discrete mixtures: how often fits miss clusters that exist, and laws."""

import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    MultinomialMixture,
    seeds,
)
from mlcore.mixture.discrete import components

N, D, K = 400, 24, 5


def clusters(seed=0):
    """Labels, and probabilities of features by cluster."""
    rng = np.random.default_rng(seed)
    return rng, rng.permutation(np.arange(N) % K), rng.beta(0.5, 0.5, (K, D))


def bernoulli():
    rng, labels, p = clusters()
    return BernoulliMixture, {}, rng.binomial(1, p[labels]).astype(float), labels, "means_init"


def binomial():
    rng, labels, p = clusters()
    X = rng.binomial(3, p[labels]).astype(float)
    return BinomialMixture, {"n_trials": 3}, X, labels, "means_init"


def categorical():
    rng, labels, _ = clusters()
    p = rng.dirichlet(np.full(3, 0.7), (K, D)).cumsum(axis=2)
    X = (rng.random((N, D, 1)) > p[labels]).sum(axis=2).clip(0, 2).astype(float)
    return CategoricalMixture, {}, X, labels, "probabilities_init"


def multinomial():
    rng, labels, _ = clusters()
    p = rng.dirichlet(np.full(D, 0.3), K)
    X = rng.multinomial(30, p[labels]).astype(float)
    return MultinomialMixture, {}, X, labels, "means_init"


MODELS = [bernoulli, binomial, categorical, multinomial]


def of_labels(name, X, labels):
    """Parameters of the true clusters, smoothed."""
    if name == "probabilities_init":
        member = (labels == np.arange(K)[:, None]).astype(float)
        counts = [member @ (x[:, None] == np.arange(3)) + 0.5 for x in X.T]
        return [c / c.sum(axis=1, keepdims=True) for c in counts]
    means = np.array([X[labels == j].mean(axis=0) for j in range(K)])
    if X.max() == 3 or X.max() == 1:
        return np.clip(means / X.max(), 0.01, 0.99)
    return (means + 0.01) / (means + 0.01).sum(axis=1, keepdims=True)


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("case", MODELS)
def test_clusters_that_are_there_are_found_from_nearly_every_seed(case):
    make, options, X, labels, name = case()
    truth = quietly(make(K, **options, **{name: of_labels(name, X, labels)}), X).score(X)
    ends = [quietly(make(K, random_state=seed, **options), X).score(X) for seed in range(20)]
    assert (np.array(ends) < truth - 0.005).sum() <= 2


@pytest.mark.parametrize("case", MODELS)
def test_neither_order_nor_weights_in_place_of_copies_change_a_start(case):
    make, options, X, _, _ = case()
    X, times = X[:150], np.arange(150) % 3
    model = make(K, random_state=1, max_iter=3, **options)
    first = quietly(model, X).score(X)
    shuffled = np.random.default_rng(0).permutation(X)
    assert_allclose(quietly(model, shuffled).score(X), first, rtol=1e-9)
    weighted = quietly(model, X, sample_weight=times).score(X)
    assert_allclose(quietly(model, X.repeat(times, axis=0)).score(X), weighted, rtol=1e-9)


@pytest.mark.parametrize("case", MODELS)
def test_a_given_start_draws_nothing(case, monkeypatch):
    make, options, X, labels, name = case()
    monkeypatch.setattr(components, "distinct", lambda *_: pytest.fail("rows are drawn"))
    quietly(make(K, **options, **{name: of_labels(name, X, labels)}), X)


def test_equal_rows_are_drawn_as_one():
    key = np.array([3.0, 1.0, 3.0, 2.0])
    places, weight = seeds.distinct(key, None, 10, np.random.default_rng(0))
    assert_array_equal(key[places], [1, 2, 3])
    assert_array_equal(weight, [1, 1, 2])
    places, weight = seeds.distinct(
        np.arange(1000.0), np.arange(1000.0), 100, np.random.default_rng(0)
    )
    assert len(places) == len(set(places.tolist())) <= 100
    assert weight.sum() == pytest.approx(np.arange(1000).sum())
    # Rows are drawn by their weights: the mean place is 2/3 of all, within five standard errors.
    assert abs(np.average(places, weights=weight) - 666) < 5 * 236 / 10


@pytest.mark.parametrize("case", MODELS)
def test_several_starts_of_which_none_takes_a_step(case):
    make, options, X, _, _ = case()
    fits = [make(K, n_init=n, max_iter=0, random_state=0, **options).fit(X) for n in (1, 2)]
    assert fits[1].n_iter_ == 0 and not fits[1].converged_
    assert fits[1].score(X) == fits[0].score(X)  # the first of equals


@each("seed", range(5))
def test_rows_far_from_each_other_are_drawn_alike_by_distances_and_by_rows(seed):
    rng = np.random.default_rng(seed)
    Z, weight, k = rng.normal(size=(60, 7)), rng.random(60), 1 + 3 * seed
    again = seeds.far_rows_again(Z, weight, k, 3, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    assert_array_equal(again, [seeds.far_rows(Z, weight, k, rng) for _ in range(3)])


def test_rows_without_distances_are_all_drawn():
    found = seeds.far_rows_again(np.full((4, 2), 0.1), np.ones(4), 3, 5, np.random.default_rng(0))
    assert found.shape == (5, 3) and set(found.ravel()) <= set(range(4))
