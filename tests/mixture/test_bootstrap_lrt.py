"""bootstrap_lrt: the statistic of mclust, p by its definition, level and power by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.datasets import load_iris
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
    bootstrap_lrt,
)
from mlcore.mixture.bootstrap_lrt import _drawn_like, _split


def test_statistic_of_iris_is_that_of_mclust():
    X = load_iris()[0]
    model = GaussianMixture(1, tol=1e-10, max_iter=2000, reg_covar=0.0)
    test = bootstrap_lrt(X, model, n_bootstrap=2, random_state=0)
    assert_allclose(test.statistic, 331.119851395, rtol=1e-6)
    assert test.samples.shape == (2,) and test.n_failed == 0
    assert test.p_value == (1 + (test.samples >= test.statistic).sum()) / 3 == 1 / 3


def test_level_and_power():
    """Under one class p is uniform on 1/10, ..., 1; two classes are found."""
    rng = np.random.default_rng(0)
    values = []
    for seed in range(10):
        X = (rng.random((60, 4)) < [0.3, 0.5, 0.6, 0.4]).astype(float)
        model = BernoulliMixture(1, alpha=0.0, tol=1e-5)
        values.append(bootstrap_lrt(X, model, n_bootstrap=9, random_state=seed).p_value)
    assert 0.24 < np.mean(values) < 0.86  # 0.55 and 3.4 standard errors
    assert np.mean(np.array(values) <= 0.1) < 0.5
    z = rng.integers(0, 2, (100, 1))
    X = (rng.random((100, 6)) < 0.2 + 0.6 * z).astype(float)
    found = bootstrap_lrt(X, BernoulliMixture(1), n_bootstrap=19, random_state=0)
    assert found.p_value == 0.05 and found.statistic > 2 * found.samples.max()


def test_samples_end_as_soon_as_p_is_too_large():
    X = np.random.default_rng(1).normal(size=(80, 1))
    model = GaussianMixture(1, tol=1e-4)
    whole = bootstrap_lrt(X, model, n_bootstrap=39, random_state=3)
    early = bootstrap_lrt(X, model, n_bootstrap=39, random_state=3, alpha=0.05)
    assert whole.p_value > 0.1
    n = len(early.samples)
    assert n < 39 and (early.samples >= early.statistic).sum() == 2
    assert early.samples[-1] >= early.statistic and early.p_value == 2 / n > 0.05
    assert_array_equal(early.samples, whole.samples[:n])


@pytest.mark.filterwarnings("ignore:.*rows without a known value:UserWarning")
def test_samples_have_the_holes_words_and_kinds_of_the_data():
    rng = np.random.default_rng(2)
    order_free = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    model = GaussianMixture(2, covariance_type="diag", missing="ignore", random_state=0).fit(X)
    assert_array_equal(np.isnan(_drawn_like(X, model, order_free)), np.isnan(X))
    words = rng.poisson(3, (40, 5)).astype(float)
    drawn = _drawn_like(words, MultinomialMixture(2, random_state=0).fit(words), order_free)
    assert_array_equal(drawn.sum(axis=1), words.sum(axis=1))
    answers = np.array([["yes", "a"], ["no", None], ["no", "b"], ["yes", "b"]] * 9, dtype=object)
    model = CategoricalMixture(2, missing="ignore", random_state=0).fit(answers)
    drawn = _drawn_like(answers, model, order_free)
    assert set(drawn[:, 0]) <= {"yes", "no"}
    assert_array_equal(drawn[:, 1] == None, answers[:, 1] == None)  # noqa: E711
    test = bootstrap_lrt(answers, CategoricalMixture(1, missing="ignore"), n_bootstrap=2)
    assert 0 < test.p_value <= 1
    counts = rng.binomial(9, 0.4, (60, 2)).astype(float)
    assert bootstrap_lrt(counts, BinomialMixture(1, n_trials=9), n_bootstrap=3).p_value > 0.2


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_split_component_is_no_worse(kind):
    rng = np.random.default_rng(4)
    X = np.vstack(
        [rng.normal(0, 1, (60, 2)), rng.normal(6, 1, (60, 2)), rng.normal(-6, 1, (30, 2))]
    )
    smaller = GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-8, max_iter=999)
    smaller.fit(X)
    larger = _split(X, smaller, rng)
    assert larger.n_components == 3 and larger.score(X) > smaller.score(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_bootstrap": 0}, "n_bootstrap=0"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"random_state": "x"}, "random_state"),
        ({"mixture": PLSA(2)}, "mixture is PLSA"),
        ({"mixture": GaussianMixture}, "mixture is <class"),
        ({"mixture": GaussianMixture(2, means_init=[[0.0], [1.0]])}, "means_init .* is given"),
        ({"mixture": GaussianMixture(0)}, "n_components=0"),
        ({"X": [[0.0], [np.nan]]}, "NaN"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    arguments = {"X": [[0.0], [1.0], [3.0]], "mixture": GaussianMixture(1)} | arguments
    with pytest.raises((TypeError, ValueError), match=message):
        bootstrap_lrt(arguments.pop("X"), arguments.pop("mixture"), **arguments)
