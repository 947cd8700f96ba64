"""Jackknife+ sets of discriminants against n refits, and their coverage by simulation."""

import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from mlcore.conformal import conformal_rank, jackknife_plus_sets
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

KINDS = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)


def draw(rng, n, shift=1.5):
    codes = rng.integers(0, 3, n)
    codes[:12] = np.arange(12) % 3
    X = rng.normal(size=(n, 2)) * (1 + 0.5 * codes[:, None]) + shift * np.eye(3, 2)[codes]
    return X, np.array(["ant", "bee", "cow"])[codes]


def score_of(P, score):
    if score == "least_ambiguous":
        return -P
    return np.array([[p[p >= p[j]].sum() for j in range(len(p))] for p in P])


@each("kind, score, options", [
    (kind, score, options)
    for kind in KINDS
    for score in ("least_ambiguous", "adaptive")
    for options in ({}, {"unbiased": True}, {"priors": [0.2, 0.3, 0.5]})
])  # fmt: skip
def test_sets_are_those_of_n_refits(kind, score, options):
    rng = np.random.default_rng(0)
    (X, y), (Z, _) = draw(rng, 60), draw(rng, 40)
    X, Z = X + 1e3, Z + 1e3
    model = kind(**options).fit(X, y)
    found = jackknife_plus_sets(model, X, y, 0.8, score=score)
    higher = np.zeros((40, 3), int)
    for i in range(60):
        others = np.arange(60) != i
        refit = kind(**options).fit(X[others], y[others])
        own = score_of(refit.predict_proba(X[i : i + 1]), score)
        own = own[0, np.flatnonzero(refit.classes_ == y[i])[0]]
        higher += score_of(refit.predict_proba(Z), score) > own
        if score == "least_ambiguous":
            posteriors = np.exp(found.fits.log_posteriors(Z[:5])[:, i])
            assert_allclose(posteriors, refit.predict_proba(Z[:5]), atol=1e-9)
    assert_array_equal(found.predict(Z), higher < conformal_rank(60, 0.8))


@each("kind", KINDS)
def test_coverage_by_simulation(kind):
    rng, runs = np.random.default_rng(1), 250
    covered, sizes = np.empty(runs), np.empty(runs)
    for i in range(runs):
        (X, y), (Z, z) = draw(rng, 49), draw(rng, 40)
        sets = jackknife_plus_sets(kind().fit(X, y), X, y, 0.8).predict(Z[12:])
        covered[i] = sets[np.arange(28), np.searchsorted(["ant", "bee", "cow"], z[12:])].mean()
        sizes[i] = sets.mean()
    error = covered.std() / math.sqrt(runs)
    assert covered.mean() > 0.8 + error * norm.ppf(1e-4)
    assert covered.mean() < 0.86 and sizes.mean() < 0.75


def test_few_samples_and_blocks(monkeypatch):
    X, y = draw(np.random.default_rng(2), 30)
    model = LinearDiscriminantAnalysis().fit(X, y)
    with pytest.warns(UserWarning, match="sets hold every label"):
        few = jackknife_plus_sets(model, X, y, 0.99)
    assert few.predict(X).all() and few.guaranteed_coverage == 1
    assert "hold every label" in repr(few) and "<pre>" in few._repr_html_()
    sets = jackknife_plus_sets(model, X, y, 0.7)
    assert sets.guaranteed_coverage == 0.4 and "0.4" in repr(sets)
    monkeypatch.setattr("mlcore.conformal.jackknife_sets._VALUES", 200)
    assert_array_equal(jackknife_plus_sets(model, X, y, 0.7).predict(X), sets.predict(X))


@each("kind", KINDS)
def test_samples_of_any_size_and_place(kind):
    (X, y), (Z, _) = draw(np.random.default_rng(4), 50), draw(np.random.default_rng(5), 50)
    sets = jackknife_plus_sets(kind().fit(X, y), X, y, 0.8).predict(Z)
    for scale, offset in ((2.0**400, 0), (2.0**-400, 0), (1, 1e7)):
        moved = X * scale + offset
        found = jackknife_plus_sets(kind().fit(moved, y), moved, y, 0.8)
        assert (found.predict(Z * scale + offset) == sets).mean() > 0.99


X, Y = draw(np.random.default_rng(3), 30)
LDA = LinearDiscriminantAnalysis().fit(X, Y)


@each(("call", "said"), [
    (lambda: jackknife_plus_sets(LinearDiscriminantAnalysis(), X, Y), "^model="),
    (lambda: jackknife_plus_sets(LinearDiscriminantAnalysis, X, Y), "^model="),
    (lambda: jackknife_plus_sets(object(), X, Y), "^model="),
    (lambda: jackknife_plus_sets(LDA, X[:20], Y[:20]), "samples of the fit"),
    (lambda: jackknife_plus_sets(LDA, X + 1, Y), "samples of the fit"),
    (lambda: jackknife_plus_sets(LDA, X, np.arange(30) % 3), "^y="),
    (lambda: jackknife_plus_sets(
        LinearDiscriminantAnalysis().fit(X[:, [0, 1, 1]] * [1, 1, 0], Y),
        X[:, [0, 1, 1]] * [1, 1, 0], Y), "depend on each other"),
    (lambda: jackknife_plus_sets(LDA, X, Y, 1.5), "^coverage="),
    (lambda: jackknife_plus_sets(LDA, X, Y, score="raps"), "^score="),
    (lambda: jackknife_plus_sets(LDA, X, Y).predict(X[:, :1]), "^X="),
    (lambda: jackknife_plus_sets(
        LinearDiscriminantAnalysis(shrinkage=0.5).fit(X, Y), X, Y), "regularisation"),
    (lambda: jackknife_plus_sets(
        QuadraticDiscriminantAnalysis(reg_param=0.5).fit(X, Y), X, Y), "regularisation"),
])  # fmt: skip
def test_refusals_name_the_argument(call, said):
    with pytest.raises(ValueError, match=said):
        call()
