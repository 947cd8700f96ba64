"""What the page for users of scikit-learn calls "the same" is compared."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn import decomposition as peer_decomposition
from sklearn import discriminant_analysis as peer_discriminant
from sklearn import kernel_ridge as peer_ridge
from sklearn.datasets import load_wine

from mlcore.decomposition import PCA, KernelPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidge

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "coming_from_scikit_learn.md").read_text(encoding="utf-8")
FAMILIES = ("decomposition", "discriminant", "kernel_ridge")
X, Y = load_wine(return_X_y=True)
EVERY = slice(None, None, 2)
PRIORS = [0.2, 0.3, 0.5]


def rows_of(family):
    """The mlcore name and the remark of each row that claims the same results."""
    side_by_side = PAGE.split("## Side by side")[1].split("\n## ")[0]
    part = side_by_side.split(f"**`mlcore.{family}`**")[1].split("\n| **")[0]
    rows = [line.split(" | ") for line in part.splitlines()[1:] if line.startswith("| `")]
    return {re.search(r"`(\w+)`", row[1])[1]: row[-1] for row in rows if "the same" in row[-1]}


def assert_equal_columns(found, expected, rtol):
    """Up to the signs of the columns."""
    expected = expected * np.sign((found * expected).sum(axis=0))
    assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def the_same_components():
    peer = peer_decomposition.PCA(3).fit(X)
    model = PCA(3).fit(X)
    assert_equal_columns(model.components_.T, peer.components_.T, 1e-8)
    assert_equal_columns(model.transform(X), peer.transform(X), 1e-8)
    assert_allclose(model.explained_variance_, peer.explained_variance_, rtol=1e-9)
    assert_allclose(model.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(model.score(X), peer.score(X), rtol=1e-9)


def the_same_kernel_components():
    how = {"kernel": "rbf", "gamma": 1e-5}
    peer = peer_decomposition.KernelPCA(3, **how).fit(X[EVERY])
    model = KernelPCA(3, **how).fit(X[EVERY])
    assert_equal_columns(model.transform(X), peer.transform(X), 1e-6)
    assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-9)


def the_same_posteriors_of_lda():
    for priors in (None, PRIORS):
        peer = peer_discriminant.LinearDiscriminantAnalysis(priors=priors).fit(X[EVERY], Y[EVERY])
        model = LinearDiscriminantAnalysis(priors=priors).fit(X[EVERY], Y[EVERY])
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-9)
        ratios = peer.explained_variance_ratio_
        assert_allclose(model.explained_variance_ratio_, ratios, rtol=1e-9)
        assert_equal_columns(model.transform(X), peer.transform(X), 1e-8)


def the_same_posteriors_of_qda():
    """Equal with `unbiased=False` since scikit-learn 1.9, before it as by default."""
    by_n = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
    for how in ({}, {"priors": PRIORS}, {"reg_param": 0.1}):
        peer = peer_discriminant.QuadraticDiscriminantAnalysis(**how).fit(X, Y).predict_proba(X)
        found = [
            QuadraticDiscriminantAnalysis(unbiased=unbiased, **how).fit(X, Y).predict_proba(X)
            for unbiased in (not by_n, by_n)
        ]
        assert_allclose(found[0], peer, atol=1e-9)
        assert np.abs(found[1] - peer).max() > 1e-6


def the_same_function():
    y = X[:, 0] + Y
    for how in ({"alpha": 0.5}, {"kernel": "rbf", "gamma": 1e-4, "alpha": 0.1}):
        peer = peer_ridge.KernelRidge(**how).fit(X[EVERY], y[EVERY], sample_weight=1.0 + Y[EVERY])
        model = KernelRidge(**how).fit(X[EVERY], y[EVERY], sample_weight=1.0 + Y[EVERY])
        assert_allclose(model.predict(X), peer.predict(X), rtol=1e-6)


COMPARISONS = {
    "PCA": the_same_components,
    "KernelPCA": the_same_kernel_components,
    "LinearDiscriminantAnalysis": the_same_posteriors_of_lda,
    "QuadraticDiscriminantAnalysis": the_same_posteriors_of_qda,
    "KernelRidge": the_same_function,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_what_is_the_same_is_equal(name):
    COMPARISONS[name]()


def test_every_row_that_says_so_is_compared():
    said = {name for family in FAMILIES for name in rows_of(family)}
    assert said == set(COMPARISONS)
    assert "`unbiased=False`" in rows_of("discriminant")["QuadraticDiscriminantAnalysis"]
