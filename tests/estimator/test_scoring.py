"""Scores by name beside scikit-learn's scorers, and the choice of a candidate by them."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from mlcore.estimator.scoring import labels, values
from mlcore.estimator.scoring.scorers import LABEL_SCORES, VALUE_SCORES, HeldOut, as_scoring
from mlcore.estimator.scoring.search import Plan, ScoreTable, chosen, ranks

ONLY_HERE = {"max_error"}  # its name in scikit-learn before 1.6


class Answering(ClassifierMixin, BaseEstimator):
    """A model of scikit-learn that answers what it was given."""

    def __init__(self, classes, predicted, decisions, probabilities):
        self.classes_, self.predicted = classes, predicted
        self.decisions, self.probabilities = decisions, probabilities

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.classes_[self.predicted]

    def decision_function(self, X):
        return self.decisions

    def predict_proba(self, X):
        return self.probabilities


class Predicting(RegressorMixin, BaseEstimator):
    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return self.predicted


def held_out_labels(k, seed, weighted):
    rng = np.random.default_rng([k, seed])
    n = 40
    codes = rng.integers(0, k, n)
    codes[:k] = np.arange(k)
    predicted = np.where(rng.random(n) < 0.6, codes, rng.integers(0, k, n))
    if seed == 1:
        predicted[:] = 0
    scores = rng.normal(size=(n, k)).round(1) + (codes[:, None] == np.arange(k))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    decisions = scores[:, 1] - scores[:, 0] if k == 2 else scores
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    classes = np.array([-1, 1]) if k == 2 else np.arange(k)
    answers = {
        "predict": lambda: predicted,
        "decision_function": lambda: decisions,
        "predict_proba": lambda: probabilities,
    }
    model = Answering(classes, predicted, decisions, probabilities)
    X = np.zeros((n, 1))
    options = {"sample_weight": weight} if weighted else {}
    held_out = HeldOut(codes, weight, answers, lambda: (model, X, classes[codes], options), k)
    return held_out, model, X, classes[codes], options


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@each("weighted", [False, True])
@each("seed", range(3))
@each("k", [2, 3, 5])
@each("name", LABEL_SCORES)
def test_scores_of_labels_are_scikit_learns(name, k, seed, weighted):
    if k > 2 and name in (*labels.BINARY, "roc_auc"):
        return
    if weighted and k > 2 and name.startswith("roc_auc_ovo"):
        return  # scikit-learn refuses weights
    held_out, model, X, y, options = held_out_labels(k, seed, weighted)
    expected = get_scorer(name)(model, X, y, **options)
    assert_allclose(held_out.score(name), expected, rtol=1e-12, atol=1e-15)
    assert_allclose(held_out.score(get_scorer(name)), expected, rtol=1e-15)


def test_weights_of_pairs_of_classes_are_copies():
    held_out, model, X, y, options = held_out_labels(4, 0, True)
    copies = np.repeat(np.arange(len(y)), options["sample_weight"].astype(int))
    for name in ("roc_auc_ovo", "roc_auc_ovo_weighted"):
        copied = Answering(
            model.classes_, model.predicted[copies], model.decisions[copies],
            model.probabilities[copies],
        )  # fmt: skip
        expected = get_scorer(name)(copied, X[copies], y[copies])
        assert_allclose(held_out.score(name), expected, rtol=1e-13)


@each("weighted", [False, True])
@each("n_targets", [0, 1, 3])
@each("name", [name for name in VALUE_SCORES if name not in ONLY_HERE])
def test_scores_of_values_are_scikit_learns(name, n_targets, weighted):
    of_one = name.endswith(("max_error", "deviance"))
    if of_one and n_targets > 1 or (name == "neg_max_error" and weighted):
        return  # scikit-learn has them of one target, and the largest error without weights
    rng = np.random.default_rng([n_targets, weighted])
    for n, constant in ((2, False), (9, False), (30, False), (12, True)):
        shape = (n, n_targets) if n_targets else n
        y = np.full(shape, 2.0) if constant else rng.gamma(2.0, size=shape) + 0.1
        p = y * rng.gamma(4.0, 0.25, size=shape)
        if n == 30:
            y = y.round()  # zeros, and errors that are equal
            if name == "neg_mean_gamma_deviance":
                y = y + 1
        weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
        options = {"sample_weight": weight} if weighted else {}
        expected = get_scorer(name)(Predicting(p), y, y, **options)
        held_out = HeldOut(y, weight, {"predict": lambda p=p: p}, lambda: None)
        assert_allclose(held_out.score(name), expected, rtol=1e-11, atol=1e-14)


def test_names_are_scikit_learns():
    names = {*LABEL_SCORES, *VALUE_SCORES}
    assert names - {*get_scorer_names()} == ONLY_HERE
    held_out = HeldOut(np.r_[1.0, 5.0], np.ones(2), {"predict": lambda: np.r_[2.0, 2.0]}, None)
    assert held_out.score("max_error") == held_out.score("neg_max_error") == -3


def test_scores_of_extreme_weights_and_values():
    held_out, *_ = held_out_labels(3, 0, True)
    for unit in (1e-150, 1e150, 1e300):
        other, *_ = held_out_labels(3, 0, True)
        scaled = HeldOut(other.y, other.weight * unit, other._answers, None, 3)
        for name in ("accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"):
            assert_allclose(scaled.score(name), held_out.score(name), rtol=1e-13)
    y, p = np.r_[1.0, 2, 4], np.r_[1.5, 2, 3]
    for name, power in (
        ("r2", 0), ("explained_variance", 0), ("neg_root_mean_squared_error", 1),
    ):  # fmt: skip
        expected = values.score(name, y, p, np.ones(3))
        for unit in (1e-200, 1e200):
            found = values.score(name, y * unit, p * unit, np.ones(3))
            assert_allclose(found, expected * unit**power, rtol=1e-13)


def test_undefined_scores_are_nan():
    one_class = HeldOut(
        np.zeros(4, int), np.ones(4), {"decision_function": lambda: np.arange(4.0)}, None, 2
    )
    assert np.isnan(one_class.score("roc_auc"))
    assert one_class.score("average_precision") == 0
    single = HeldOut(np.ones(1), np.ones(1), {"predict": lambda: np.ones(1)}, None)
    assert np.isnan(single.score("r2"))
    with pytest.raises(ValueError, match="scoring='r2' is NaN on the samples"):
        as_scoring("r2", VALUE_SCORES, "raise", "Search").of(single)
    assert np.isnan(as_scoring("r2", VALUE_SCORES, np.nan, "Search").of(single)["score"])


@each("returned", [{}, {3: 1.0}, None, "a"])
def test_functions_return_numbers(returned):
    held_out = HeldOut(np.ones(2), np.ones(2), {}, lambda: (None, None, np.ones(2), {}))
    with pytest.raises(TypeError, match=r"Search: .*scoring return"):
        as_scoring(lambda *_: returned, VALUE_SCORES, "raise", "Search").of(held_out)


def test_error_score_replaces_a_score_that_fails():
    y = np.array([-2.0, 1.0])
    held_out = HeldOut(y, np.ones(2), {"predict": lambda: y}, None)
    scores = {"a": "neg_mean_squared_log_error", "b": "r2"}
    with pytest.raises(ValueError, match="above -1"):
        as_scoring(scores, VALUE_SCORES, "raise", "Search").of(held_out)
    with pytest.warns(UserWarning, match=r"Search: scoring failed: ValueError.*error_score=-9"):
        found = as_scoring(scores, VALUE_SCORES, -9, "Search").of(held_out)
    assert found == {"a": -9.0, "b": 1.0}


@each(
    ("scoring", "error", "message"),
    [
        ("none such", ValueError, "scoring='none such' .* 'r2'"),
        ([], ValueError, "at least one"),
        ({}, ValueError, "at least one"),
        (["r2", "r2"], ValueError, "twice"),
        ([["r2"]], TypeError, r"scoring=\['r2'\]"),
        ([len], ValueError, "need names"),
        ({3: "r2"}, TypeError, "key 3"),
        ({"a": 3}, TypeError, "scoring=3"),
        (None, TypeError, "scoring=None"),
    ],
)
def test_wrong_scores_are_named(scoring, error, message):
    with pytest.raises(error, match=message):
        as_scoring(scoring, VALUE_SCORES, "raise", "Search")


def test_names_of_several_scores():
    for scoring in (
        ["r2", "max_error"],
        ("r2", "max_error"),
        {"r2": "r2", "max_error": "max_error"},
    ):
        found = as_scoring(scoring, VALUE_SCORES, "raise", "Search")
        assert list(found.scorers) == ["r2", "max_error"] and found.several
    assert list(as_scoring({"r2", "max_error"}, VALUE_SCORES, "raise", "S").scorers) == [
        "max_error", "r2",
    ]  # fmt: skip


def test_choice_of_the_best_and_of_the_simplest_that_is_nearly_best():
    # Means 0.5, 0.8, 0.79, 0.75; a standard error of the best is 0.1 / sqrt(2).
    scores = np.array([[0.5, 0.5], [0.9, 0.7], [0.8, 0.78], [0.75, 0.75], [np.nan, 1.0]])
    cost = np.array([1.0, 10.0, 5.0, 2.0, 0.1])
    assert chosen(scores, "best", [cost]) == 1
    assert chosen(scores, "one_standard_error", [cost]) == 3
    width = np.array([0.0, 1.0, 0.5, 2.0, 0.0])
    assert chosen(scores, "one_standard_error", [width, cost]) == 2
    among = np.array([False, True, False, False, False])
    assert chosen(scores, "one_standard_error", [cost], lambda best: among) == 1
    assert chosen(scores[:, :1], "one_standard_error", [cost]) == 1  # one fold has no such error
    for unit in (1e-200, 1e200):  # whose squares are no floats
        assert chosen(scores * unit, "one_standard_error", [cost]) == 3
    assert_array_equal(ranks(np.array([0.5, np.nan, 0.7, 0.5])), [2, 4, 1, 2])


def test_a_function_may_return_several_scores_and_choose():
    def both(model, X, y, **options):
        return {"a": float(X), "b": -float(X)}

    scoring = as_scoring(both, VALUE_SCORES, "raise", "Search")
    table = ScoreTable(3, 2, scoring)
    for candidate in range(3):
        for f in range(2):
            model = (None, candidate + 0.1 * f, 0, {})
            table.add(candidate, f, HeldOut(np.ones(1), np.ones(1), {}, lambda model=model: model))
    params = [{"C": float(c)} for c in range(3)]
    for refit, expected in (("a", 2), ("b", 0), (lambda results: 1, 1), (False, 2)):
        index, found = Plan(scoring, refit, "best").select(table, params, ())
        assert index == found["best_index_"] == expected
        assert found["best_params_"] == {"C": float(expected)}
    assert_allclose(found["cv_results_"]["mean_test_b"], [-0.05, -1.05, -2.05])
    assert_array_equal(found["cv_results_"]["rank_test_b"], [1, 2, 3])
    for refit in (True, "c"):
        with pytest.raises(ValueError, match="must name the score"):
            Plan(scoring, refit, "best").select(table, params, ())
    with pytest.raises(ValueError, match="refit returned 7"):
        Plan(scoring, lambda results: 7, "best").select(table, params, ())
