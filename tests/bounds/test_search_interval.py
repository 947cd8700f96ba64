"""The interval for the chosen score of a search: closed form, level by simulation, refusals."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from mlcore.bounds import hoeffding_bentkus_bound, search_interval
from mlcore.datasets import load_iris
from mlcore.svm import SVCCV


def searched(scores, best=None, name="score", sizes=None):
    """A search of these scores (n_candidates, n_folds)."""
    scores = np.asarray(scores, dtype=float)
    results = {f"split{f}_test_{name}": column for f, column in enumerate(scores.T)}
    results[f"mean_test_{name}"] = scores.mean(axis=1)
    best = int(scores.mean(axis=1).argmax()) if best is None else best
    return SimpleNamespace(cv_results_=results, best_index_=best, n_test_samples_=sizes)


def ends_of_rate(k, n, delta):
    """Ends for a rate of which k of n were seen, each of which may fail with delta."""
    lower = 1 - hoeffding_bentkus_bound((n - k) / n, n, delta)
    return lower, hoeffding_bentkus_bound(k / n, n, delta)


def test_one_fold_and_candidate_are_one_test_set():
    for wrong, n in ((0, 10), (7, 100), (50, 50)):
        found = search_interval(searched([[1 - wrong / n]], sizes=[n]), 0.1)
        assert_allclose(found, ends_of_rate(n - wrong, n, 0.05), rtol=1e-12, atol=1e-12)


def test_ends_are_means_over_folds_that_pay_for_folds_and_candidates():
    scores = np.array([[0.8, 0.9, 0.7], [0.1, 0.2, 0.3], [0.5, 0.6, 0.4], [0.2, 0.2, 0.2]])
    sizes = [10, 20, 30]
    found = search_interval(searched(scores, sizes=sizes), 0.2)
    expected = [
        ends_of_rate(round(s * n), n, 0.1 / 12) for s, n in zip(scores[0], sizes, strict=True)
    ]
    assert_allclose(found, np.mean(expected, axis=0), rtol=1e-12)
    brier = search_interval(
        searched(-2 * (1 - scores), name="neg_brier_score", sizes=sizes), 0.2,
        metric="neg_brier_score", value_range=(-2, 0),
    )  # fmt: skip
    assert_allclose(brier, 2 * np.array(found) - 2, rtol=1e-12, atol=1e-12)


def test_level_of_the_best_of_many_candidates():
    """Of guesses that are all right half of the time, the best is no better."""
    rng, n, candidates, delta, runs = np.random.default_rng(0), 200, 200, 0.2, 200
    failures = naive = 0
    for _ in range(runs):
        scores = rng.binomial(n, 0.5, size=(candidates, 1)) / n
        search = searched(scores, sizes=n)
        lower, upper = search_interval(search, delta)
        failures += not lower <= 0.5 <= upper
        alone = searched(scores[[search.best_index_]], sizes=n)
        naive += search_interval(alone, delta)[0] > 0.5
    assert binom.sf(failures - 1, runs, delta) > 1e-6
    assert naive > 0.5 * runs  # an interval that does not pay for the choice fails


def test_searches_of_both_libraries():
    X, y = load_iris()
    ours = SVCCV(Cs=[1.0, 10.0], gammas=[0.1]).fit(X, y)
    lower, upper = search_interval(ours, 0.1)
    assert lower < ours.best_score_ < upper
    theirs = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}).fit(X, y)
    assert search_interval(theirs, 0.1, n_test_samples=30)[0] > 0.7
    with pytest.raises(ValueError, match="n_test_samples=None"):
        search_interval(theirs, 0.1)
    weighted = SVCCV(Cs=[1.0], gammas=[0.1]).fit(X, y, np.ones(150))
    with pytest.raises(ValueError, match=r"n_test_samples=None.*without weights"):
        search_interval(weighted, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: search_interval(3, 0.1), "search=3 must be a fitted search"),
        (lambda s: search_interval(s, 0.0), "delta=0"),
        (lambda s: search_interval(s, 1.0), "delta=1"),
        (lambda s: search_interval(s, 0.1, metric="f1"), "metric='f1' must be one of 'score'"),
        (lambda s: search_interval(s, 0.1, value_range=(0.6, 1)), "value_range=.*around all"),
        (lambda s: search_interval(s, 0.1, value_range=1.0), "value_range=1.0 must be two"),
        (lambda s: search_interval(s, 0.1, value_range=(0, 1, 2)), "value_range=.*must be two"),
        (lambda s: search_interval(s, 0.1, value_range=(-1e308, 1e308)), "value_range="),
        (lambda s: search_interval(s, 0.1, n_test_samples=[1, 2, 3]), "one for each of 2 folds"),
        (lambda s: search_interval(s, 0.1, value_range=(1, 0)), "value_range=.*first below"),
        (
            lambda s: search_interval(s, 0.1, n_test_samples=0),
            "n_test_samples=0 must be an integer >= 1",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call(searched([[0.5, 0.75]], sizes=[4, 4]))
