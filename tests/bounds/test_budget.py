"""Reports: shares that sum to delta, SciPy's numbers at each share, failures together."""

import json
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.stats import beta, multinomial

from mlcore.bounds import (
    Bound,
    auc_interval,
    certify,
    classification_statements,
    clopper_pearson,
    compare_classifiers,
    f1_interval,
    report,
)
from mlcore.conformal import conformal_threshold
from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression

Y = np.repeat([0, 1, 0, 1], [60, 30, 6, 4])
GUESSES = np.repeat([0, 1, 1, 0], [60, 30, 6, 4])


def interval(k, m, delta):
    return beta.ppf(delta / 2, k, m - k + 1), beta.ppf(1 - delta / 2, k + 1, m - k)


def whole(delta):
    return 0.0, 1.0


def test_numbers_at_their_shares():
    shares = {"error": 5, "recall": 2, "precision": 2, "F1": 1}
    found = report(classification_statements(Y, GUESSES), delta=0.1, shares=shares)
    assert [s.name for s in found.statements] == list(shares)
    assert_allclose([s.delta for s in found.statements], [0.05, 0.02, 0.02, 0.01], rtol=1e-15)
    for name, k, m, delta in (
        ("error", 10, 100, 0.05), ("recall", 30, 34, 0.02), ("precision", 30, 36, 0.02),
    ):  # fmt: skip
        assert_allclose([found[name].lower, found[name].upper], interval(k, m, delta), rtol=1e-9)
        assert found[name].estimate == k / m
    ends = [2 * j / (1 + j) for j in interval(30, 40, 0.01)]
    assert_allclose([found["F1"].lower, found["F1"].upper], ends, rtol=1e-9)
    assert_allclose(found["F1"].estimate, 60 / 70, rtol=1e-15)
    with pytest.raises(KeyError):
        found["AUC"]


@each("seed", range(20))
def test_shares_never_exceed_delta(seed):
    rng = np.random.default_rng(seed)
    n, delta = int(rng.integers(1, 30)), float(rng.choice([0.05, 0.1, 1 / 3, 1e-300, 1e-9]))
    weights = {str(i): 10.0 ** rng.uniform(-3, 3) for i in range(n)}
    charged = []

    def spent(part):
        charged.append(part)
        return 0.0, 1.0

    for shares in (weights, None):
        charged.clear()
        report(dict.fromkeys(weights, spent), delta=delta, shares=shares)
        assert Fraction(delta) * (1 - Fraction(1, 10**12)) <= sum(map(Fraction, charged)) <= delta
        wanted = np.array(list(weights.values())) if shares else np.ones(n)
        assert_allclose(charged, delta * wanted / wanted.sum(), rtol=1e-12)


def test_all_hold_together():
    """The exact probability that any fails, over all confusion matrices of eight examples."""
    m, delta = 8, 0.45
    matrices = [
        (a, b, c, m - a - b - c)
        for a in range(m + 1) for b in range(m + 1 - a) for c in range(m + 1 - a - b)
    ]  # fmt: skip
    names = ("error", "recall", "precision", "F1")
    ends = []
    for counts in matrices:
        truth, named = (np.repeat(column, counts) for column in ([1, 1, 0, 0], [1, 0, 1, 0]))
        statements = classification_statements(truth, named, positive=1 if counts[3] < m else 0)
        found = report(statements, delta=delta)
        ends.append([(found[n].lower, found[n].upper) for n in names])
    ends[0] = [(ends[0][0]), *[(0, 1)] * 3]  # nothing positive at all
    ends, worst = np.array(ends), 0.0
    for rates in np.random.default_rng(0).dirichlet([1, 0.5, 0.5, 1], 300):
        hit, missed, false, _ = rates
        truths = [
            missed + false, hit / (hit + missed), hit / (hit + false),
            2 * hit / (2 * hit + missed + false),
        ]  # fmt: skip
        failed = ((truths < ends[:, :, 0]) | (truths > ends[:, :, 1])).any(axis=1)
        worst = max(worst, multinomial(m, rates / rates.sum()).pmf(matrices)[failed].sum())
    assert 0.25 * delta < worst <= delta


def test_auc_and_the_positive_class():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=100) + Y
    statements = classification_statements(Y, GUESSES, scores=scores)
    found = report({"AUC": statements["AUC"]}, delta=0.1)["AUC"]
    assert (found.lower, found.upper) == auc_interval(scores[Y == 1], scores[Y == 0], 0.1)
    signs = np.sign(scores[Y == 1][:, None] - scores[Y == 0])
    assert_allclose(found.estimate, (1 + signs.mean()) / 2, rtol=1e-14)
    # Of three classes one is positive, or only the error is known.
    three = np.array(list("abcab"))
    assert list(classification_statements(three, three)) == ["error"]
    chosen = classification_statements(three, np.array(list("abbab")), positive="b")
    assert chosen["recall"][0] == 1
    assert chosen["precision"][0] == 2 / 3
    # Rates without examples have no value and no information.
    found = report(classification_statements([0, 0, 0], [0, 0, 0], positive=0) | {"x": whole})
    assert found["recall"].estimate == 1
    found = report(classification_statements([1, 1, 1], [0, 0, 0]))
    assert (found["recall"].estimate, found["recall"].lower) == (0, 0)
    assert (found["precision"].estimate, found["precision"].upper) == (None, 1)
    nothing = report(classification_statements([0, 0, 2], [0, 1, 0], positive=2))["precision"]
    assert (nothing.estimate, nothing.lower, nothing.upper) == (None, 0, 1)


def test_a_conformal_threshold_is_charged_its_share():
    threshold = conformal_threshold(np.arange(1, 100), 0.9)
    found = report({"coverage": threshold, "x": whole}, delta=0.1)["coverage"]
    assert_allclose(found.lower, beta.ppf(0.05, 90, 10), rtol=1e-9)
    assert found.upper == 1
    groups = np.repeat(["a", "b"], [99, 199])
    threshold = conformal_threshold(np.arange(298), 0.9, groups=groups)
    found = report({"coverage": threshold}, delta=0.1)["coverage"]
    least = min(beta.ppf(0.05, 90, 10), beta.ppf(0.05, 180, 20))
    assert_allclose(found.lower, least, rtol=1e-9)


def test_a_gap_is_certain():
    X, y = load_iris()
    model = LogisticRegression().fit(X[::2], y[::2])
    gap = model.verify(X[::2], y[::2])
    statements = classification_statements(y[1::2], model.predict(X[1::2]))
    found = report(statements | {"gap of the fit": gap}, delta=0.05)
    assert found["gap of the fit"].upper == gap.duality_gap
    assert found["gap of the fit"].delta == 0
    assert found["error"].delta == 0.05
    assert "Certain, without examples: gap of the fit." in found.summary()
    alone = report({"gap": gap})
    assert "assumes" not in alone.summary()


def test_certificates_bounds_and_comparisons():
    y, guesses = Y, GUESSES
    found = report(
        {
            "certificate": lambda delta: certify(guesses, y=y, delta=delta),
            "comparison": lambda delta: compare_classifiers(guesses, 0 * y, y=y, delta=delta),
            "upper": lambda delta: Bound("b", 0.2, delta, "upper", "test", {}, (), ""),
            "lower": lambda delta: Bound("b", 0.2, delta, "lower", "test", {}, (), ""),
            "loss": lambda delta: certify(
                guesses, y=y, delta=delta, loss=lambda a, b: 3.0 * (a != b), value_range=(0, 4)
            ),
        },
        delta=0.2,
    )
    part = found["upper"].delta
    ends = [found["certificate"].lower, found["certificate"].upper]
    assert_allclose(ends, interval(10, 100, part), rtol=1e-9)
    assert found["certificate"].estimate == 0.1
    other = compare_classifiers(guesses, 0 * y, y=y, delta=part)
    assert (found["comparison"].lower, found["comparison"].upper) == (other.lower, other.upper)
    assert (found["upper"].lower, found["upper"].upper) == (0, 0.2)
    assert (found["lower"].lower, found["lower"].upper) == (0.2, 1)
    assert_allclose(found["loss"].estimate, 0.3, rtol=1e-12)
    assert 0 < found["loss"].lower < 0.3 < found["loss"].upper < 1.5


def test_doubts_come_first():
    X, y = load_iris()
    model = LogisticRegression().fit(X, y)
    found = report({"error": lambda delta: certify(model, X, y, delta=delta)})
    certificate = certify(model, X, y)
    assert certificate.unsure is not None
    assert found.summary().startswith(f"error: {certificate.unsure}")


def test_texts_frames_and_dicts():
    statements = {
        "<b>": (0.3, lambda delta: (2e-5, 0.123456)),
        "x": lambda delta: (-math.inf, 1e-7),
    }
    found = report(statements, delta=0.05)
    lines = repr(found).split("\n")
    assert lines[1].split() == ["<b>", "0.3", "2e-05", "0.12346", "0.025"]
    assert lines[2].split() == ["x", "-inf", "1e-07", "0.025"]
    assert "with probability at least 0.95" in found.summary().lower()
    html = found._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["<b>", "upper"] == 0.123456
    assert math.isnan(frame.loc["x", "estimate"])
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["statements"][0]["estimate"] == 0.3
    # Small ends are rounded to the safe side, too.
    small = report({"s": lambda delta: (1.239e-6, 1.231e-6 * 2)})
    assert repr(small).split("\n")[1].split()[1:3] == ["1.23e-06", "2.47e-06"]


@each(
    "call, message",
    [
        (lambda: report({}), "statements={} must be"),
        (lambda: report([whole]), "statements="),
        (lambda: report({1: whole}), "statements=1 must be"),
        (lambda: report({"a": 0.5}), r"statements\['a'\]=0.5 must be"),
        (lambda: report({"a": float}), r"statements\['a'\]="),
        (lambda: report({"a": lambda delta: 0.5}), r"statements\['a'\]=0.5 must be"),
        (lambda: report({"a": lambda delta: (1, 0)}), r"statements\['a'\]=\(1, 0\) must be"),
        (lambda: report({"a": lambda delta: (math.nan, 0)}), r"statements\['a'\] at delta=nan"),
        (lambda: report({"a": (math.nan, whole)}), r"statements\['a'\]\[0\]=nan"),
        (lambda: report({"a": whole}, delta=0), "delta=0 must be"),
        (lambda: report({"a": whole}, shares={"b": 1}), r"shares=\['b'\] must be"),
        (lambda: report({"a": whole}, shares={"a": 0}), r"shares\['a'\]=0 must be"),
        (lambda: report({"a": whole}, shares=[1]), r"shares=\[1\] must be"),
        (lambda: report({"a": lambda delta: certify([0, 1], y=[0, 1])}, delta=0.01), "charged"),
        (
            lambda: report({"a": lambda d: certify([0, 1], y=[0, 1], delta=d * (1 + 2.0**-50))}),
            "charged",
        ),
        (
            lambda: report({"a": lambda d: Bound("b", 0.1, None, "heuristic", "test", {}, (), "")}),
            "charged",
        ),
        (
            lambda: report({"a": lambda d: Bound("b", 0.1, d, "expected", "test", {}, (), "")}),
            "'expected' must be",
        ),
        (lambda: classification_statements([0, 1], [0]), "predicted"),
        (lambda: classification_statements([0, 1], [0, 1], positive=2), "positive=2 must be"),
        (
            lambda: classification_statements([0, 1, 2], [0, 1, 2], scores=[1, 2, 3]),
            "positive=None",
        ),
        (lambda: classification_statements([0, 0], [0, 1], scores=[1, 2]), "y=.*both classes"),
        (lambda: classification_statements([0, 1], [0, 1], scores=[1]), "scores=.*2 examples"),
        (
            lambda: classification_statements([0, 1], [0, 1], scores=[1, math.nan]),
            r"scores\[1\]=nan",
        ),
        (lambda: classification_statements([0, 1], LogisticRegression()), "predicted"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_partial_calculators_take_their_delta():
    found = report(
        {"error": partial(clopper_pearson, 30, 1000), "F1": partial(f1_interval, 80, 10, 10)},
        delta=0.1,
    )
    assert (found["F1"].lower, found["F1"].upper) == f1_interval(80, 10, 10, 0.05)
