"""Sets of labels against a brute force over labels, and their coverage by simulation."""

import math
import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal

from mlcore.conformal import conformal_rank, conformal_sets
from mlcore.datasets import load_digits
from mlcore.discriminant import LinearDiscriminantAnalysis

LABELS = ["ant", "bee", "cow", "dog"]


def as_given(P):
    return P


def draw(rng, n, dtype=np.float64):
    """Probabilities, labels drawn by others than these, and groups."""
    P = rng.dirichlet(np.full(4, 0.5), n).astype(dtype)
    wrong = 0.5 * P + 0.5 * rng.dirichlet(np.ones(4), n)
    codes = (rng.random(n)[:, None] > np.cumsum(wrong, axis=1)[:, :3]).sum(axis=1)
    return P, np.array(LABELS)[codes], rng.integers(0, 2, n)


def score_of(p, label, rule):
    if rule == "least_ambiguous":
        return -p[label]
    before = [j for j in range(4) if p[j] > p[label] or (p[j] == p[label] and j < label)]
    return sum(sorted((p[j] for j in before), reverse=True), 0.0) + p[label]


@each(("rule", "by", "dtype"), [(r, b, t) for r in ("least_ambiguous", "adaptive")
                                for b in ("all", "class", "group", "both")
                                for t in (np.float32, np.float64)])  # fmt: skip
def test_sets_hold_the_labels_that_brute_force_finds(rule, by, dtype):
    rng = np.random.default_rng(0)
    (P, y, g), (Q, _, h) = draw(rng, 200, dtype), draw(rng, 60, dtype)
    P[:40] = np.round(P[:40] * 2) / 2  # ties
    sets = conformal_sets(
        as_given, P, y, 0.8, score=rule, by_class=by in ("class", "both"), classes=LABELS,
        groups=g if by in ("group", "both") else None,
    )  # fmt: skip
    codes = np.searchsorted(LABELS, y)
    scores = np.array([score_of(p.astype(float), c, rule) for p, c in zip(P, codes, strict=True)])
    found = sets.predict(Q, h if by in ("group", "both") else None)
    for i, q in enumerate(Q.astype(float)):
        for label in range(4):
            own = {"all": codes >= 0, "class": codes == label, "group": g == h[i]}
            own["both"] = own["class"] & own["group"]
            own = own[by]
            k = conformal_rank(int(own.sum()), 0.8)
            assert found[i, label] == (score_of(q, label, rule) <= np.sort(scores[own])[k - 1])


@each(("rule", "by_class"), [(r, b) for r in ("least_ambiguous", "adaptive") for b in (0, 1)])
def test_coverage_by_simulation(rule, by_class):
    """Exact on average, and for each class with its own threshold."""
    rng, runs, n = np.random.default_rng(3), 150, 99
    covered = np.zeros((runs, 4))
    for i in range(runs):
        (P, y, _), (Q, z, _) = draw(rng, n), draw(rng, 400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = conformal_sets(
                as_given, P, y, 0.8, score=rule, by_class=bool(by_class), classes=LABELS
            )
        of_labels = sets.predict(Q)[np.arange(400), np.searchsorted(LABELS, z)]
        covered[i] = [of_labels[z == name].mean() for name in LABELS]
        if not by_class:
            covered[i] = of_labels.mean()
    sd = covered.std(axis=0).max() / math.sqrt(runs)
    assert (covered.mean(axis=0) > 0.8 - 4 * sd).all()
    assert (covered.mean(axis=0) < 0.8 + 4 * sd + 5 * by_class / n).all()


def test_coverage_given_the_calibration_set_fails_no_more_often_than_delta():
    rng, runs, failures = np.random.default_rng(4), 100, 0
    for _ in range(runs):
        (P, y, _), (Q, z, _) = draw(rng, 100), draw(rng, 3000)
        sets = conformal_sets(as_given, P, y, 0.8, delta=0.2, classes=LABELS)
        found = sets.predict(Q)[np.arange(3000), np.searchsorted(LABELS, z)]
        failures += found.mean() < 0.8
    assert 5 <= failures <= 0.2 * runs + 12


def test_models_of_any_library():
    sklearn = pytest.importorskip("sklearn.linear_model")
    X, y = load_digits()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    for model in (LinearDiscriminantAnalysis(), sklearn.LogisticRegression(max_iter=2000)):
        model.fit(X[:500], y[:500])
        sets = conformal_sets(model, X[500:1100], y[500:1100], 0.9)
        found = sets.predict(X[1100:])
        assert found.shape == (len(X) - 1100, 10) and sets.classes.tolist() == list(range(10))
        assert abs(found[np.arange(len(found)), y[1100:]].mean() - 0.9) < 0.04
        assert type(model).__name__ in repr(sets) and "least_ambiguous" in sets._repr_html_()
        assert "Unknown" in sets.unsure


def test_a_class_without_examples_is_in_every_set():
    rng = np.random.default_rng(0)
    P, y, _ = draw(rng, 200)
    kept = y != "cow"
    with pytest.warns(UserWarning, match=r"of at least 9 needed: cow \(0\)"):
        sets = conformal_sets(as_given, P[kept], y[kept], 0.9, by_class=True, classes=LABELS)
    found = sets.predict(P)
    assert found[:, 2].all() and not found[:, [0, 1, 3]].all(axis=0).any()
    # One example, which is too few, and one class alone.
    with pytest.warns(UserWarning, match="Too few"):
        assert conformal_sets(as_given, P[:1], y[:1], classes=LABELS).predict(P).all()
    one = conformal_sets(as_given, np.ones((20, 1)), [7] * 20, classes=[7])
    assert_array_equal(one.predict(np.ones((2, 1))), [[True], [True]])


def test_examples_of_the_fit_are_refused():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = neighbors.KNeighborsClassifier().fit(X, y)
    with pytest.raises(ValueError, match="the fit was to these"):
        conformal_sets(model, X, y)


P, Y, _ = draw(np.random.default_rng(0), 40)


def of_pairs():
    rng = np.random.default_rng(5)
    Q, y, groups = draw(rng, 400)
    return conformal_sets(
        as_given, Q, y, 0.6, by_class=True, classes=LABELS, groups=np.array(["dog", "ant"])[groups]
    )


NAN = np.where(np.arange(40)[:, None] == 3, math.nan, P)


@each(("call", "said"), [
    (lambda: conformal_sets(as_given, P, Y), "classes=None"),
    (lambda: conformal_sets(as_given, P, Y, classes=[*LABELS, "emu"]), r"shape \(40, 4\)"),
    (lambda: conformal_sets(as_given, P, Y, classes=["ant"] * 4), "all different"),
    (lambda: conformal_sets(as_given, P, np.arange(40) % 4, classes=LABELS), "^y=0"),
    (lambda: conformal_sets(as_given, P[:0], [], classes=LABELS), "^y="),
    (lambda: conformal_sets(as_given, P, Y[:9], classes=LABELS), "must be 40 labels, .* not 9"),
    (lambda: conformal_sets(as_given, NAN, Y, classes=LABELS), "probabilities of as_given"),
    (lambda: conformal_sets(as_given, 3 * P, Y, classes=LABELS), "from 0 to 1"),
    (lambda: conformal_sets(P, P, Y, classes=LABELS), "^classifier="),
    (lambda: conformal_sets(LinearDiscriminantAnalysis, P, Y), "^classifier="),
    (lambda: conformal_sets(as_given, P, Y, classes=LABELS, score="raps"), "^score="),
    (lambda: conformal_sets(as_given, P, Y, 1.5, classes=LABELS), "^coverage="),
    (lambda: conformal_sets(as_given, P, Y, 0.5, by_class=True, classes=LABELS).predict(P, Y), "g"),
    (lambda: of_pairs().predict(P), "^groups="),
    (lambda: of_pairs().predict(P, Y[:9]), "^groups="),
    (lambda: of_pairs().predict(P, ["emu"] * 40), "^groups='emu'"),
    (lambda: conformal_sets(as_given, P, Y, classes=LABELS).predict(P, Y), "^groups="),
])  # fmt: skip
def test_refusals_name_the_argument(call, said):
    with pytest.raises(ValueError, match=said):
        call()
