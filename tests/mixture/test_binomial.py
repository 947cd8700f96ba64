"""Mixtures of binomial counts: textbook EM, SciPy's densities, and the two coins."""

import math
import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import gammaln, logsumexp, xlog1py, xlogy
from scipy.stats import binom

from mlcore.mixture import BernoulliMixture, BinomialMixture

TRIALS = np.array([1, 5, 20, 3])


def successes(n=200, k=3, seed=0):
    rng = np.random.default_rng([n, k, seed])
    means = rng.beta(0.8, 0.8, (k, len(TRIALS)))
    labels = rng.integers(0, k, n)
    return rng.binomial(TRIALS, means[labels]).astype(float), means, labels


def start(k, seed=0):
    rng = np.random.default_rng([k, seed])
    return {
        "n_components": k,
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "means_init": rng.uniform(0.2, 0.8, (k, len(TRIALS))),
    }


def em(X, weights, means, n_trials, *, alpha, n_steps):
    """Textbook EM, dense; NaN takes no part."""
    trials, filled = ~np.isnan(X) * n_trials, np.nan_to_num(X)
    for _ in range(n_steps):
        joint = np.log(weights) + xlogy(filled[:, None], means).sum(axis=2)
        joint += xlog1py((trials - filled)[:, None], -means).sum(axis=2)  # 0 log 0 = 0
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        weights = r.mean(axis=0)
        means = (r.T @ filled + alpha) / (r.T @ trials + 2 * alpha)
    return weights, means


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_each_step_is_that_of_textbook_em(k, alpha, holes):
    X, _, _ = successes(k=k)
    if holes:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    given = start(k)
    weights, means = em(
        X, given["weights_init"], given["means_init"], TRIALS, alpha=alpha, n_steps=6
    )
    options = {**given, "alpha": alpha, "tol": 0, "max_iter": 6, "n_trials": TRIALS}
    for data in (X, X.astype(np.float32), sp.csr_array(X)):
        model = quietly(BinomialMixture(missing="ignore", **options), data)
        assert_allclose(model.weights_, weights, rtol=0, atol=1e-10)
        assert_allclose(model.means_, means, rtol=0, atol=1e-10)
    # Rounding of the sums.
    trace = model.log_likelihood_trace_
    assert (np.diff(trace) > -1e-10 * np.abs(trace[1:])).all()


def test_densities_are_scipys_without_the_binomial_coefficients():
    X, means, _ = successes(k=2)
    means = np.clip(means, 0.01, 0.99)
    model = BinomialMixture.from_parameters([0.4, 0.6], means, TRIALS)
    coefficients = gammaln(TRIALS + 1) - gammaln(X + 1) - gammaln(TRIALS - X + 1)
    joint = [
        math.log(w) + binom.logpmf(X, TRIALS, m).sum(axis=1)
        for w, m in zip((0.4, 0.6), means, strict=True)
    ]
    expected = logsumexp(joint, axis=0) - coefficients.sum(axis=1)
    assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    assert_array_equal(model.predict(X), np.argmax(joint, axis=0))


def test_two_coins_first_step_by_hand():
    """Three tosses a round, all heads or all tails: lambda 0.3, p 0.3, q 0.6, and one step."""
    heads = np.array([[3.0], [0.0], [3.0], [0.0]])
    model = BinomialMixture(
        2,
        n_trials=3,
        alpha=0.0,
        tol=0,
        max_iter=1,
        weights_init=[0.3, 0.7],
        means_init=[[0.3], [0.6]],
    ).fit(heads)
    # Responsibilities of the first coin: lambda p^3 / (lambda p^3 + (1 - lambda) q^3), and so on.
    all_heads = 0.3 * 0.3**3 / (0.3 * 0.3**3 + 0.7 * 0.6**3)
    all_tails = 0.3 * 0.7**3 / (0.3 * 0.7**3 + 0.7 * 0.4**3)
    assert model.weights_[0] == pytest.approx((all_heads + all_tails) / 2, rel=1e-12)
    assert model.means_[0, 0] == pytest.approx(all_heads / (all_heads + all_tails), rel=1e-12)
    assert model.means_[1, 0] == pytest.approx(
        (1 - all_heads) / (2 - all_heads - all_tails), rel=1e-12
    )
    assert all_heads == pytest.approx(0.0508, abs=5e-5)
    assert all_tails == pytest.approx(0.6967, abs=5e-5)


def test_one_trial_is_a_bernoulli_mixture():
    X = (np.random.default_rng(0).random((80, 4)) < 0.4).astype(float)
    given = start(2)
    one = quietly(BinomialMixture(n_trials=1, **given), X)
    other = quietly(BernoulliMixture(**given), X)
    assert_allclose(one.means_, other.means_, atol=1e-12)


def test_huge_counts_and_recovery():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    n = 10**8
    X = rng.binomial(n, np.array([0.3, 0.6])[labels])[:, None]
    model = quietly(BinomialMixture(2, n_trials=n, random_state=0, n_init=3), X)
    means = np.sort(model.means_[:, 0])
    # Five standard errors of a proportion of about 200 n trials; a pseudo-count is nothing there.
    assert_allclose(means, [0.3, 0.6], rtol=0, atol=5 * math.sqrt(0.25 / (150 * n)))
    assert np.isfinite(model.predict_proba(X)).all()


def test_samples_and_partial_fit():
    model = BinomialMixture.from_parameters([0.5, 0.5], [[0.1] * 4, [0.9] * 4], TRIALS)
    model.random_state = 0
    X, labels = model.sample(2000)
    assert (X <= TRIALS).all()
    assert (model.predict(X) == labels).mean() > 0.99
    again = BinomialMixture(
        2, n_trials=TRIALS, weights_init=[0.5, 0.5], means_init=[[0.3] * 4, [0.7] * 4]
    )
    for block in np.array_split(X, 10):
        again.partial_fit(block)
    # Five standard errors of a proportion of about 1000 trials.
    assert_allclose(again.means_, [[0.1] * 4, [0.9] * 4], atol=5 * math.sqrt(0.09 / 900))


@pytest.mark.parametrize("n_trials", [1, 3])
def test_successes_need_not_be_whole(n_trials):
    """The steps of EM, written out."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_trials + 1, (40, 3)).astype(float)
    means = rng.uniform(0.2, 0.8, (2, 3))
    options = {"n_trials": n_trials, "alpha": 0.0, "max_iter": 1, "tol": 0}
    given = {"weights_init": [0.4, 0.6], "means_init": means}
    half = BinomialMixture(2, **options, **given).fit(X / 2)
    log = X / 2 @ np.log(means.T) + (n_trials - X / 2) @ np.log1p(-means.T) + np.log([0.4, 0.6])
    shares = np.exp(log - logsumexp(log, axis=1, keepdims=True))
    expected = shares.T @ (X / 2) / (n_trials * shares.sum(axis=0)[:, None])
    assert_allclose(half.means_, expected, rtol=1e-12)
    sparse = BinomialMixture(2, **options, **given).fit(sp.csr_array(X / 2))
    assert_allclose(sparse.means_, expected, rtol=1e-12)


REFUSED = {
    "too many": (3, [[0, 4]], "holds 4 at row 0, column 1, but .* from 0 to n_trials=3"),
    "sparse": (3, sp.csr_array([[0, 3.5]]), "holds 3.5 at row 0, column 1"),
    "more than one": (1, [[0.5, 1.0], [0.0, 1.5]], "holds 1.5 at row 1, column 1"),
    "negative": (3, [[0, -1]], "holds -1 at row 0, column 1"),
    "no trials": (0, [[0, 1]], "n_trials=0 must be an integer >= 1"),
    "shape": ([1, 2, 3], [[0, 1]], r"n_trials has shape \(3,\), .* each of 2 features"),
    "no trials given": ([], [[0, 1]], r"n_trials has shape \(0,\), .* each of 2 features"),
    "fractions": ([1, 2.5], [[0, 1]], "n_trials goes from 1 to 2.5, but must hold integers"),
}


@each("case", REFUSED)
def test_what_is_refused(case):
    n_trials, X, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        BinomialMixture(1, n_trials=n_trials).fit(X)


def test_certain_trials_are_exactly_so():
    model = BinomialMixture.from_parameters([0.25, 0.75], [[1.0, 0.5], [0.0, 1.0]], [4, 2])
    X = np.array([[4, 1], [3, 1], [0, 2], [3.5, 2], [0, 1]])
    expected = np.array([np.log(0.25) - 2 * np.log(2), -np.inf, np.log(0.75), -np.inf, -np.inf])
    for data in (X, sp.csr_array(X)):
        assert_allclose(model.score_samples(data), expected, rtol=1e-15)
        # Impossible trials: 1 and 4, 0.5 and 3.5, 4 and 1.
        assert_array_equal(model.predict(data), [0, 0, 1, 0, 1])
    whole = np.full((6, 2), [4.0, 2.0])
    sure = BinomialMixture(1, n_trials=[4, 2], alpha=0.0).fit(whole)
    assert_array_equal(sure.means_, [[1, 1]])
    assert sure.score(whole) == 0.0
