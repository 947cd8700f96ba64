"""Metrics of a certificate: scikit-learn's values, the calculators' ends, one delta for all."""

import json
import pickle

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn import metrics as peer
from sklearn.linear_model import LogisticRegression

from mlcore.bayes import RiskClassifier
from mlcore.bounds import (
    auc_interval,
    certify,
    clopper_pearson,
    f1_interval,
    jaccard_interval,
    mean_loss_interval,
    r2_interval,
)
from mlcore.svm import SVC

OF_CLASSES = ["f1", "jaccard", "recall", "precision", "auc"]


def samples(n=400, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.array(["a", "b", "c"])[(X[:, 0] + rng.normal(size=n) > 0.7) * (n_classes - 1)]


def test_metrics_of_two_classes_are_those_of_scikit_learn_and_of_the_calculators():
    X, y = samples()
    y = np.where(y == "a", "a", "b")
    for model in (SVC(), LogisticRegression()):
        model.fit(X[:200], y[:200])
        predicted, scores = model.predict(X[200:]), model.decision_function(X[200:])
        for positive in ("a", "b", None):
            label = positive or "b"
            found = certify(
                model,
                X[200:],
                y[200:],
                metrics=["error", *OF_CLASSES],
                positive=positive,
                delta=0.06,
            )
            rows = {row.name: row for row in found.metrics}
            true, named, other = (
                y[200:] == label,
                predicted == label,
                scores * (-1) ** (label == "a"),
            )
            estimates = {
                "error": 1 - peer.accuracy_score(y[200:], predicted),
                "f1": peer.f1_score(true, named),
                "jaccard": peer.jaccard_score(true, named),
                "recall": peer.recall_score(true, named),
                "precision": peer.precision_score(true, named),
                "auc": peer.roc_auc_score(true, other),
            }
            assert list(rows) == list(estimates)
            tp, fp, fn = (int(v.sum()) for v in (true & named, named & ~true, true & ~named))
            ends = {
                "error": clopper_pearson(int((predicted != y[200:]).sum()), 200, 0.01),
                "f1": f1_interval(tp, fp, fn, 0.01),
                "jaccard": jaccard_interval(tp, fp, fn, 0.01),
                "recall": clopper_pearson(tp, tp + fn, 0.01),
                "precision": clopper_pearson(tp, tp + fp, 0.01),
                "auc": auc_interval(other[true], other[~true], 0.01),
            }
            for name, row in rows.items():
                assert row.label == (None if name == "error" else label)
                assert_allclose(row.estimate, estimates[name], rtol=1e-12)
                assert_allclose((row.lower, row.upper), ends[name], rtol=1e-12)
                assert row.lower <= row.estimate <= row.upper and row.delta <= 0.01


def test_metrics_of_several_classes_share_delta():
    X, y = samples(n_classes=3)
    y[::7] = "b"
    model = LogisticRegression().fit(X[:200], y[:200])
    found = certify(model, X[200:], y[200:], metrics=OF_CLASSES).metrics
    assert [(row.name, row.label) for row in found] == [(n, c) for n in OF_CLASSES for c in "abc"]
    assert all(0.05 / 15 * (1 - 1e-15) <= row.delta <= 0.05 / 15 for row in found)
    scores = model.decision_function(X[200:])
    for i, label in enumerate("abc"):
        row = found[12 + i]
        assert_allclose(row.estimate, peer.roc_auc_score(y[200:] == label, scores[:, i]))
    half = certify(
        model, X[200:], y[200:], metrics=["f1"], role="validation", n_candidates=2, delta=0.2
    )
    assert_allclose(half.metrics[0].delta, 0.1 / 3)


@each("names", [["mae"], ["r2", "mse", "mae"]])
def test_metrics_of_numbers(names):
    rng = np.random.default_rng(0)
    y = rng.uniform(5, 7, 300)
    predicted = np.clip(y + 0.1 * rng.normal(size=300), 5, 7)
    found = certify(predicted, y=y, loss="absolute", value_range=(5, 7), metrics=names, delta=0.3)
    delta, errors = 0.3 / len(names), abs(y - predicted)
    expected = {
        "mae": (errors.mean(), mean_loss_interval(errors, delta, value_range=2.0)),
        "mse": (errors @ errors / 300, mean_loss_interval(errors**2, delta, value_range=4.0)),
        "r2": (peer.r2_score(y, predicted), r2_interval(y, predicted, delta, value_range=(5, 7))),
    }
    assert [row.name for row in found.metrics] == names
    for row in found.metrics:
        assert_allclose(row.estimate, expected[row.name][0], rtol=1e-9)
        assert_allclose((row.lower, row.upper), expected[row.name][1], rtol=1e-9)


def test_what_abstains_is_judged_where_it_answers():
    X, y = samples()
    y = np.where(y == "a", "no", "yes")
    loss = [[0, 1, 0.2], [1, 0, 0.2]]
    model = RiskClassifier(LogisticRegression(), loss, ["no", "yes", "ask"]).fit(X[:200], y[:200])
    found = certify(model, X[200:], y[200:], reject="ask")
    predicted = model.predict(X[200:])
    answered = predicted != "ask"
    k, m = int((predicted != y[200:])[answered].sum()), int(answered.sum())
    assert 0 < m < 200 and found.inputs == {"k": k, "m": m, "rejected": 200 - m}
    coverage, error = found.metrics
    assert (coverage.estimate, error.estimate) == (m / 200, k / m)
    assert (coverage.lower, coverage.upper) == clopper_pearson(m, 200, 0.025)
    assert (error.lower, error.upper) == clopper_pearson(k, m, 0.025)
    same = certify(predicted[answered], y=y[200:][answered])
    assert [bound.value for bound in found.bounds] == [bound.value for bound in same.bounds]
    assert found.classes == same.classes and found.interval[0].value == same.interval[0].value
    flat = " ".join(str(found).split())
    assert "true error where it answers" in flat and f"on {m} fresh examples, of 200" in flat
    assert found.required(0.5) == same.required(0.5)
    # Labels of two types, as lists have them.
    mixed = [label if label == "ask" else int(label == "yes") for label in predicted.tolist()]
    counted = certify(np.array(mixed, dtype=object), y=(y[200:] == "yes").astype(int), reject="ask")
    assert counted.inputs == found.inputs
    assert certify(predicted, y=y[200:], reject="never").inputs["rejected"] == 0


def test_all_intervals_fail_together_no_more_often_than_delta():
    """Exact binomial test of the failures; those with half the slack are too many."""
    delta, runs, m, failed = 0.2, 100, 60, np.zeros(2, dtype=int)
    rng = np.random.default_rng(0)
    share, hit, ask = 0.4, np.array([0.8, 0.6]), 0.3
    joint = np.array([[1 - share], [share]]) * np.column_stack([hit, 1 - hit])
    tn, fp, tp, fn = joint.ravel()
    truth = {
        "coverage": 1 - ask,
        "error": fp + fn,
        "recall": hit[1],
        "precision": tp / (tp + fp),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "jaccard": tp / (tp + fp + fn),
    }
    for _ in range(runs):
        y = (rng.random(m) < share).astype(int)
        predicted = np.where(rng.random(m) < hit[y], y, 1 - y)
        predicted[rng.random(m) < ask] = -1
        rows = certify(predicted, y=y, reject=-1, metrics=list(truth), positive=1, delta=delta)
        for i, slack in enumerate((1, 0.5)):
            failed[i] += any(
                not row.estimate + slack * (row.lower - row.estimate)
                <= truth[row.name]
                <= row.estimate + slack * (row.upper - row.estimate)
                for row in rows.metrics
            )
    assert binomtest(int(failed[0]), runs, delta, alternative="greater").pvalue > 0.01
    assert binomtest(int(failed[1]), runs, 1.5 * delta, alternative="greater").pvalue < 1e-3


def test_metrics_are_shown_escaped_plain_and_in_a_frame():
    y = np.array(["<b>", "other"] * 40)
    predicted = np.where(np.arange(80) % 9 == 0, "other", y)
    found = certify(predicted, y=y, metrics=["f1", "recall"], positive="<b>")
    text, page = str(found), found._repr_html_()
    assert max(map(len, text.splitlines())) <= 100 and "Instead of all other bounds" in text
    assert "<b>" not in page and "&lt;b&gt;" in page
    for row in found.metrics:
        shown = next(line for line in text.splitlines() if line.split()[:1] == [row.name]).split()
        assert row.lower - 1.1e-5 <= float(shown[3]) <= row.lower
        assert row.upper <= float(shown[4]) <= row.upper + 1.1e-5
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain and plain["metrics"][0]["label"] == "<b>"
    assert pickle.loads(pickle.dumps(found)) == found
    frame = found.to_frame()
    assert frame.loc["f1", "at least"] == found.metrics[0].lower
    assert frame.loc["binomial test-set bound", "at most"] == found.best.value
    assert len(frame) == len(found.bounds) + 2


def test_undefined_metrics_say_nothing():
    found = certify(
        [0] * 9, y=[0] * 9, metrics=["recall", "precision", "f1", "jaccard"], positive=0
    )
    assert all(row.estimate == 1 for row in found.metrics)
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    found = certify(model, [[0.0]] * 9, [0] * 9, metrics=["recall", "precision", "f1", "auc"])
    assert {(row.estimate, row.lower, row.upper, row.m) for row in found.metrics} == {
        (None, 0, 1, 0)
    }
    constant = certify([1.0] * 9, y=[1] * 9, loss="squared", value_range=(0, 2), metrics=["r2"])
    assert constant.metrics[0].estimate is None and constant.metrics[0].lower == -np.inf


Y, P = np.array([0, 1] * 20), np.array([0, 1, 1, 1] * 10)


@each(
    "given, match",
    [
        ({"metrics": ["f2"]}, "metrics='f2' must be a list of different names of auc, error, f1"),
        ({"metrics": "f1"}, "metrics='f1' must be a list"),
        ({"metrics": []}, r"metrics=\[\] must be a list"),
        ({"metrics": ["f1", "f1"]}, "metrics=.* must be a list of different names"),
        ({"metrics": ["r2"]}, "metrics='r2' must be .* of mae, mse and r2 with loss=\"absolute\""),
        ({"metrics": ["coverage"]}, "metrics='coverage' must be .* coverage with reject="),
        (
            {"metrics": ["auc"]},
            "metrics='auc' must be of a classifier with classes_ .*auc_interval",
        ),
        ({"metrics": ["error"], "positive": 1}, "positive=1 must be None without a metric of a cl"),
        ({"metrics": ["f1"], "positive": 7}, "positive=7 must be one of the 2 classes"),
        ({"metrics": ["f1"], "y": Y + P}, "positive=None must be one of the classes: predictions"),
        ({"metrics": ["f1"], "role": "train", "n_hypotheses": 2}, 'None for role="train"'),
        (
            {"metrics": ["mae"], "loss": lambda y, p: y != p},
            "metrics=.* None with a loss other than",
        ),
        (
            {"metrics": ["f1"], "loss": "squared", "value_range": (0, 1)},
            "metrics='f1' must be a list of different names of mae, mse, r2",
        ),
        ({"reject": 1}, "reject=1 must be no label of y"),
        ({"reject": -1, "estimator": Y * 0 - 1}, "reject=-1 must be not all predictions"),
        ({"reject": [1]}, r"reject=\[1\] must be the one prediction"),
        (
            {"reject": -1, "loss": "squared", "value_range": (0, 1)},
            "reject=-1 must be None with a l",
        ),
        (
            {"reject": -1, "role": "train", "n_hypotheses": 2},
            'reject=-1 must be None for role="train"',
        ),
    ],
)
def test_refusals(given, match):
    with pytest.raises(ValueError, match=match):
        certify(**({"estimator": P, "y": Y} | given))
