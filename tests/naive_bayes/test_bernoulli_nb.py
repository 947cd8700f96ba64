"""BernoulliNB against exact fractions, scikit-learn, Manning et al., with missing values."""

from fractions import Fraction

import numpy as np
import pytest
import sklearn.naive_bayes
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.naive_bayes import BernoulliNB

# Manning et al.: Chinese, Beijing, Shanghai, Macao, Tokyo, Japan.
DOCUMENTS = [[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]]
NEW = [3, 0, 0, 0, 1, 1]


def problem(seed, n=30, d=5, k=3, missing=0.0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.4).astype(float)
    X[rng.random((n, d)) < missing] = np.nan
    return X, rng.integers(0, k, n)


def exact_posterior(X, y, row, alpha):
    """The posterior in exact fractions; NaN is in no sum and no product."""
    alpha, joint = Fraction(alpha), []
    for c in sorted(set(y.tolist())):
        rows = X[y == c]
        product = Fraction(len(rows), len(y))
        for column, x in zip(rows.T, row, strict=True):
            if np.isnan(x):
                continue
            known = column[~np.isnan(column)]
            total = len(known) + 2 * alpha
            product *= (int((known == x).sum()) + alpha) / total
        joint.append(product)
    return [float(p / sum(joint)) for p in joint]


def test_manning_chapter_13():
    model = BernoulliNB().fit(DOCUMENTS, [1, 1, 1, 0])
    assert_allclose(model.predict_proba([NEW])[0, 1], 59049 / 309049, rtol=1e-14)


@each("alpha", ["1", "1/4", "1/1" + "0" * 60])
@each("missing", [0.0, 0.3, 0.9])
@each("seed", range(2))
def test_posteriors_are_those_of_fractions(seed, missing, alpha):
    """The smallest alpha stands for 0, whose posteriors are the limit."""
    X, y = problem(seed, missing=missing)
    tiny = len(alpha) > 20
    model = BernoulliNB(alpha=0 if tiny else float(Fraction(alpha)), missing="ignore").fit(X, y)
    expected = [exact_posterior(X, y, row, alpha) for row in X]
    assert_allclose(model.predict_proba(X), expected, rtol=1e-12, atol=1e-30)
    sparse = BernoulliNB(**model.get_params()).fit(sp.csr_array(X), y)
    assert_allclose(sparse.predict_proba(sp.csr_array(X)), expected, rtol=1e-12, atol=1e-30)


@each("dtype", [np.float32, np.float64])
@each("binarize", [0.0, 0.5, None])
def test_all_forms_of_rows_agree_with_scikit_learn(dtype, binarize):
    X, y = problem(7, 300, 40, 4)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    data = X if binarize is None else X * np.random.default_rng(2).normal(size=X.shape)
    for w in (None, weight):
        peer = sklearn.naive_bayes.BernoulliNB(alpha=0.3, binarize=binarize).fit(data, y, w)
        csr = sp.csr_array(data.astype(dtype))
        for rows in (data.astype(dtype), csr, csr.tocsc()):
            model = BernoulliNB(alpha=0.3, binarize=binarize).fit(rows, y, w)
            assert_allclose(model.feature_log_prob_, peer.feature_log_prob_, rtol=1e-13)
            assert_allclose(model.predict_proba(rows), peer.predict_proba(data), rtol=1e-10)


def test_values_and_thresholds_that_are_refused():
    X, y = problem(0)
    for data in (X + 1, sp.csr_array(X * 2)):
        with pytest.raises(ValueError, match="all values are 0 or 1"):
            BernoulliNB(binarize=None).fit(data, y)
    with pytest.raises(ValueError, match="binarize=-1 makes ones of the zeros"):
        BernoulliNB(binarize=-1).fit(sp.csr_array(X), y)
    assert_array_equal(BernoulliNB(binarize=-1).fit(X, y).feature_count_[:, 0], np.bincount(y))
    with pytest.raises(ValueError, match="NaN"):
        BernoulliNB().fit(np.where(X, np.nan, 0), y)
    # Entries of one place are added before they are compared.
    twice = sp.csr_array((np.array([1.0, 1, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    assert_array_equal(BernoulliNB().fit(twice, [0, 1]).feature_count_, np.eye(2))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 29), st.sampled_from([0.0, 0.4]))
def test_laws(seed, cut, missing):
    X, y = problem(seed, missing=missing)
    weight = np.random.default_rng(seed).integers(0, 3, 30)
    whole = BernoulliNB(missing="ignore").fit(X, y)
    parts = BernoulliNB(missing="ignore").partial_fit(X[:cut], y[:cut])
    assert_array_equal(
        parts.partial_fit(X[cut:], y[cut:]).feature_log_prob_, whole.feature_log_prob_
    )
    rows = np.repeat(np.arange(30), weight)
    if len(rows):
        copies = BernoulliNB(missing="ignore").fit(X[rows], y[rows])
        weighted = BernoulliNB(missing="ignore").fit(X, y, weight)
        assert_array_equal(weighted.feature_log_prob_, copies.feature_log_prob_)
    # A row of missing values has the prior; a feature that is equal in all classes says nothing.
    nothing = whole.predict_log_proba(np.full((1, 5), np.nan))[0]
    assert_allclose(nothing, whole.class_log_prior_, rtol=1e-13, atol=1e-15)
    if missing == 0:
        known = np.array([[0.0], [1.0]] * len(whole.classes_))
        labels = np.repeat(whole.classes_, 2)
        flat = BernoulliNB().fit(known, labels).predict_proba([[0.0], [1.0]])
        assert_allclose(flat, 1 / len(whole.classes_), rtol=1e-14)


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_each_feature_may_have_its_pseudo_count(missing):
    X = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
    y, alpha = np.array([0, 0, 1, 1]), np.array([0.5, 2.0, 0.0])
    model = BernoulliNB(alpha=alpha, missing=missing).fit(X, y)
    ones = np.array([X[y == c].sum(axis=0) for c in (0, 1)])
    shares = (ones + alpha) / (2 + 2 * alpha)
    assert_allclose(np.exp(model.feature_log_prob_), shares, rtol=1e-14)
    assert_array_equal(shares[0, 2], 1)
    row = np.array([[1, 0, 0]])  # impossible in class 0
    assert_array_equal(model.predict_proba(row), [[0, 1]])
    with pytest.raises(ValueError, match="alpha has 3 values, but X has 2 features"):
        BernoulliNB(alpha=alpha).fit(X[:, :2], y)
