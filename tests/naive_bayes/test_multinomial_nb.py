"""MultinomialNB against exact fractions, scikit-learn, Manning et al. and its laws."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
import sklearn.naive_bayes
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.naive_bayes import MultinomialNB
from mlcore.row_sums import RowSums

# Chinese Beijing Shanghai Macao Tokyo Japan
DOCUMENTS = [[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]]
NEW = [3, 0, 0, 0, 1, 1]


def problem(seed, n=30, d=5, k=3):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.7, (n, d)).astype(float), rng.integers(0, k, n)


def exact_posterior(X, y, row, alpha):
    """The posterior of integers and an alpha in exact fractions."""
    X, y, alpha = X.astype(int).tolist(), y.tolist(), Fraction(alpha)
    joint = []
    for c in sorted(set(y)):
        rows = [x for x, label in zip(X, y, strict=True) if label == c]
        sums = [sum(column) for column in zip(*rows, strict=True)]
        product = Fraction(len(rows), len(y))
        for count, x in zip(sums, row, strict=True):
            product *= ((count + alpha) / (sum(sums) + alpha * len(row))) ** int(x)
        joint.append(product)
    return [float(p / sum(joint)) for p in joint]


def test_manning_chapter_13():
    model = MultinomialNB().fit(DOCUMENTS, [1, 1, 1, 0])
    joint = 3 / 4 * (3 / 7) ** 3 / 14**2, 1 / 4 * (2 / 9) ** 5
    assert_allclose(np.exp(model.predict_joint_log_proba([NEW])[0]), joint[::-1], rtol=1e-14)
    assert_allclose(model.predict_proba([NEW])[0, 1], 4782969 / 6934265, rtol=1e-14)


@each("alpha", ["1", "1/4", "1/1" + "0" * 60])
@each("seed", range(4))
def test_posteriors_are_those_of_fractions(seed, alpha):
    """The smallest alpha stands for 0, whose posteriors are the limit."""
    X, y = problem(seed)
    tiny = len(alpha) > 20
    model = MultinomialNB(alpha=0 if tiny else float(Fraction(alpha))).fit(X, y)
    found = model.predict_proba(X)
    for row, probabilities in zip(X, found, strict=True):
        # Some 20 logarithms of size below 100, each rounded.
        assert_allclose(probabilities, exact_posterior(X, y, row, alpha), rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_all_forms_of_rows_agree_with_scikit_learn(dtype, index):
    X, y = problem(7, 300, 40, 4)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    for w in (None, weight):
        peer = sklearn.naive_bayes.MultinomialNB(alpha=0.3).fit(X, y, w)
        csr = sp.csr_array(X.astype(dtype))
        csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
        for data in (X.astype(dtype), csr, csr.tocsc(), csr.tocoo()):
            model = MultinomialNB(alpha=0.3).fit(data, y, w)
            assert_allclose(model.feature_log_prob_, peer.feature_log_prob_, rtol=1e-13)
            assert_allclose(model.predict_proba(data), peer.predict_proba(X), rtol=1e-10)


def test_unsorted_and_repeated_entries_are_summed():
    X = sp.csr_array((np.array([1.0, 2, 3, 4]), np.array([1, 0, 1, 1]), np.array([0, 3, 4])))
    model = MultinomialNB().fit(X, [0, 1])
    assert_array_equal(model.feature_count_, [[2, 4], [0, 4]])


@each(
    ("change", "message"),
    [
        (lambda X: X.data.__setitem__(3, -1.0), "Negative values"),
        (lambda X: X.data.__setitem__(3, np.nan), "NaN"),
        (lambda X: X.data.__setitem__(3, np.inf), "infinity"),
        (lambda X: X.data.__setitem__(3, 1e200), "too large"),
        (lambda X: X.indices.__setitem__(3, 99), "out of range"),
        (lambda X: X.indices.__setitem__(3, -1), "out of range"),
        (lambda X: X.indptr.__setitem__(1, 10**6), "corrupt"),
        (lambda X: X.indptr.__setitem__(slice(1, 3), (9, 2)), "corrupt"),
        (lambda X: X.indptr.__setitem__(-1, X.nnz + 3), "corrupt"),
    ],
)
def test_corrupt_sparse_rows_are_named_and_change_nothing(change, message):
    X, y = problem(3)
    model = MultinomialNB().fit(X, y)
    before = model.predict_log_proba(X)
    bad = sp.csr_matrix(X + 1)
    change(bad)
    with pytest.raises(ValueError, match=message):
        model.fit(bad, y)
    assert_array_equal(model.predict_log_proba(X), before)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 29))
def test_laws(seed, cut):
    X, y = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, 30)
    whole = MultinomialNB().fit(X, y)
    # Blocks merged are the whole, bit for bit, though a block lacks classes.
    parts = MultinomialNB().partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    fitted = MultinomialNB().fit(X[:cut], y[:cut]).partial_fit(sp.csr_array(X[cut:]), y[cut:])
    seam = MultinomialNB().begin(X)
    sums = [seam.partial_statistics(X[rows], y[rows]) for rows in (slice(cut, 30), slice(cut))]
    assert isinstance(seam, RowSums)
    for model in (parts, fitted, seam.update(seam.merge(*sums))):
        assert_array_equal(model.feature_log_prob_, whole.feature_log_prob_)
        assert_array_equal(model.class_log_prior_, whole.class_log_prior_)
    # Weights are copies.
    rows = np.repeat(np.arange(30), weight)
    if len(rows):
        copies, weighted = MultinomialNB().fit(X[rows], y[rows]), MultinomialNB().fit(X, y, weight)
        assert_array_equal(weighted.feature_log_prob_, copies.feature_log_prob_)
    # Probabilities sum to 1, and an empty row has the prior.
    assert_allclose(whole.predict_proba(X).sum(axis=1), 1, rtol=1e-14)
    empty = whole.predict_log_proba(np.zeros((1, 5)))[0]
    assert_allclose(empty, whole.class_log_prior_, rtol=1e-13, atol=1e-15)
    # A declared class without rows has probability 0.
    more = MultinomialNB().partial_fit(X, y, classes=[0, 1, 2, 3])
    assert not more.predict_proba(X)[:, 3].any()
    known = np.isin([0, 1, 2, 3], whole.classes_)
    assert_allclose(more.predict_proba(X)[:, known], whole.predict_proba(X), rtol=1e-13)


def test_impossible_words():
    """Class 0 never saw word 1, class 1 never word 0: the fewest impossible words win."""
    model = MultinomialNB(alpha=0).fit([[2.0, 0, 2], [0, 3, 1]], [0, 1])
    assert_array_equal(np.isneginf(model.feature_log_prob_), [[0, 1, 0], [1, 0, 0]])
    assert_array_equal(model.predict_proba([[2.0, 1, 0], [1, 2, 5]]), [[1, 0], [0, 1]])
    assert np.isneginf(model.predict_joint_log_proba([[1.0, 1, 0]])).all()
    # Once each: the rest of the limit is (1/2 / 4) against (3/4 / 4).
    assert_allclose(model.predict_proba([[1.0, 1, 0]])[0], [0.4, 0.6], rtol=1e-14)


def test_refused_calls_leave_the_model():
    X, y = problem(1)
    model = MultinomialNB().partial_fit(X, y)
    before = dict(vars(model))
    for call, error, message in (
        (
            lambda: model.partial_fit(X, y, classes=[0, 1]),
            ValueError,
            "do not exist in the initial classes",
        ),
        (
            lambda: model.partial_fit(X, y, classes=[0, 1, 2, 1]),
            ValueError,
            "label 1 more than once",
        ),
        (lambda: model.partial_fit(X, y.astype(str)), TypeError, "one type"),
        (lambda: model.partial_fit(X[:, :2], y), ValueError, "2 features"),
        (lambda: model.set_params(class_prior=[0.5, 0.5]).fit(X, y), ValueError, "Number of"),
    ):
        with pytest.raises(error, match=message):
            call()
    model.set_params(class_prior=None)
    assert vars(model) == before
    prior = MultinomialNB(class_prior=[0.2, 0.3, 0.5]).fit(X, y)
    assert_allclose(prior.class_log_prior_, [log(0.2), log(0.3), log(0.5)], rtol=1e-15)
    flat = MultinomialNB(fit_prior=False).fit(X, y)
    assert_allclose(flat.class_log_prior_, -log(3), rtol=1e-15)


@each("alpha", [[1.0, 2.0, 0.5, 0.1], [0.0, 1.0, 0.0, 3.0], [1e-9] * 4])
@each("convert", [np.asarray, sp.csr_array])
def test_each_word_may_have_its_pseudo_count(alpha, convert):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (30, 4)) + 1.0, rng.integers(0, 3, 30)
    model = MultinomialNB(alpha=alpha).fit(convert(X), y)
    peer = sklearn.naive_bayes.MultinomialNB(alpha=np.array(alpha), force_alpha=True).fit(X, y)
    assert_allclose(model.feature_log_prob_, peer.feature_log_prob_, rtol=1e-13)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-10)
    counts = np.array([X[y == c].sum(axis=0) for c in range(3)]) + alpha
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose(np.exp(model.feature_log_prob_), shares, rtol=1e-13)


def test_words_without_a_pseudo_count_may_be_impossible():
    model = MultinomialNB(alpha=[0.0, 1.0]).fit([[0, 2], [3, 1]], [0, 1])
    assert_allclose(np.exp(model.feature_log_prob_), [[0, 1], [3 / 5, 2 / 5]], rtol=1e-15)
    assert_array_equal(model.predict_proba([[1, 0]]), [[0, 1]])
    assert_allclose(model.predict_proba([[0, 1]]), [[5 / 7, 2 / 7]], rtol=1e-14)


def test_pseudo_counts_that_are_refused():
    with pytest.raises(ValueError, match="alpha has 3 values, but X has 2 features"):
        MultinomialNB(alpha=[1.0, 1.0, 1.0]).fit([[0, 2], [3, 1]], [0, 1])
    with pytest.raises(ValueError, match="alpha"):
        MultinomialNB(alpha=[1.0, -1.0]).fit([[0, 2], [3, 1]], [0, 1])
    with pytest.raises(ValueError, match="alpha has shape"):
        MultinomialNB(alpha=[[1.0, 1.0]]).fit([[0, 2], [3, 1]], [0, 1])
