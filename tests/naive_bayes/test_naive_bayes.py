"""Naive Bayes of sparse rows in any order: one reading, no copies in order, the same model."""

import numpy as np
import pytest
import sklearn.naive_bayes
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.checks import samples
from mlcore.naive_bayes import BernoulliNB, MultinomialNB

MODELS = [
    (MultinomialNB(), sklearn.naive_bayes.MultinomialNB()),
    (MultinomialNB(alpha=0.1), sklearn.naive_bayes.MultinomialNB(alpha=0.1)),
    (BernoulliNB(), sklearn.naive_bayes.BernoulliNB()),
    (BernoulliNB(binarize=1.0), sklearn.naive_bayes.BernoulliNB(binarize=1.0)),
]  # fmt: skip


def counts(n=400, d=60, seed=0):
    rng = np.random.default_rng(seed)
    rates = rng.exponential(0.5, (3, d))
    y = rng.integers(0, 3, n)
    return rng.poisson(rates[y]), y


def entries_in_any_order(X, dtype, index, seed=1):
    """Read-only CSR in random order, entries above 1 in two parts, with explicit zeros."""
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    parts = [
        (rows, columns, np.minimum(values, 1)),
        (rows[values > 1], columns[values > 1], values[values > 1] - 1),
        (np.arange(len(X)), rng.integers(0, X.shape[1], len(X)), np.zeros(len(X))),
    ]
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((rng.random(len(rows)), rows))
    out = sp.csr_array(X.shape, dtype=dtype)
    out.data, out.indices = values[order].astype(dtype), columns[order].astype(index)
    out.indptr = np.searchsorted(rows[order], np.arange(len(X) + 1)).astype(index)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


@pytest.fixture
def no_copies(monkeypatch):
    """The check that sorts and sums entries must not be asked."""

    def refuse(*args, **kwargs):
        raise AssertionError("rows were put in order")

    monkeypatch.setattr(samples, "as_canonical_csr", refuse)


@pytest.mark.parametrize(("model", "peer"), MODELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_in_any_order_without_copies(model, peer, dtype, index, no_copies):
    X, y = counts()
    rows = entries_in_any_order(X, dtype, index)
    assert not rows.has_sorted_indices
    before = [part.tobytes() for part in (rows.data, rows.indices, rows.indptr)]
    model.fit(rows, y)
    peer.fit(X, y)
    assert_array_equal(model.feature_count_, peer.feature_count_)
    assert_allclose(model.predict_proba(rows), peer.predict_proba(X), rtol=1e-10)
    assert_allclose(
        model.predict_log_proba(rows), peer.predict_log_proba(X), rtol=1e-10, atol=1e-12
    )
    assert_allclose(
        model.predict_joint_log_proba(rows), peer.predict_joint_log_proba(X), rtol=1e-12
    )
    assert_array_equal(model.predict(rows), peer.predict(X))
    in_order = sp.csr_array(X.astype(dtype))
    assert_array_equal(model.predict_proba(rows), model.predict_proba(in_order))
    first = entries_in_any_order(X[:150], dtype, index)
    rest = entries_in_any_order(X[150:], dtype, index, seed=2)
    parts = type(model)(**model.get_params())
    parts.partial_fit(first, y[:150], classes=[0, 1, 2]).partial_fit(rest, y[150:])
    assert_array_equal(parts.feature_log_prob_, model.feature_log_prob_)
    assert [part.tobytes() for part in (rows.data, rows.indices, rows.indptr)] == before


@pytest.mark.parametrize(("model", "peer"), MODELS, ids=str)
def test_sparse_and_dense_rows_agree(model, peer):
    X, y = counts(seed=4)
    model.fit(X.astype(float), y)
    for dtype in (np.float32, np.float64, np.int64, np.int32, bool):
        rows = X.astype(dtype)
        expected = model.predict_proba(rows.astype(float))
        for form in (sp.csr_array, sp.csc_array, sp.csr_matrix):
            assert_allclose(model.predict_proba(form(rows)), expected, rtol=1e-10)


@each("model", [MultinomialNB(), BernoulliNB(), BernoulliNB(binarize=None)])
@each("value", [np.nan, np.inf, -np.inf, 1e200])
def test_values_that_are_no_numbers_are_refused(model, value):
    X, y = (counts()[0] > 0).astype(float), counts()[1]
    model.fit(sp.csr_array(X), y)
    rows = sp.csr_array(X)
    rows.data[-3] = value
    for call in (model.predict_proba, model.predict, model.predict_log_proba,
                 model.predict_joint_log_proba, lambda rows: model.fit(rows, y)):  # fmt: skip
        with pytest.raises(ValueError, match="NaN|infinity|too large"):
            call(rows)


def test_negative_parts_of_counts_and_negative_counts():
    X, y = counts()
    model = MultinomialNB().fit(X, y)
    rows = sp.csr_array(X.shape, dtype=float)
    rows.data, rows.indices = np.array([3.0, -1.0]), np.array([5, 5], np.int32)
    rows.indptr = np.append(0, np.full(len(X), 2)).astype(np.int32)
    assert_allclose(model.predict_proba(rows), model.predict_proba(rows.toarray()), rtol=1e-12)
    rows.data[1] = -4.0
    for array in (rows, rows.astype(np.int64)):
        with pytest.raises(ValueError, match="Negative values"):
            model.predict_proba(array)


def test_parts_of_ones():
    X, y = counts()
    X = np.minimum(X, 1)
    model = BernoulliNB(binarize=None).fit(X, y)
    halves = sp.csr_array((1, 60), dtype=float)
    halves.data, halves.indices = np.array([0.5, 1.0, 0.5]), np.array([7, 3, 7], np.int32)
    halves.indptr = np.array([0, 3], np.int32)
    assert_allclose(model.predict_proba(halves), model.predict_proba(halves.toarray()), rtol=1e-12)
    halves.data[2] = 1.0
    with pytest.raises(ValueError, match="0 or 1"):
        model.predict_proba(halves)


def test_a_later_fit_and_a_changed_threshold_have_tables_of_their_own():
    X, y = counts()
    rows = sp.csr_array(X.astype(float))
    model = BernoulliNB().fit(rows, y)
    changes = (
        lambda: model.set_params(binarize=2.0),
        lambda: model.partial_fit(rows[:50], y[:50]),
        lambda: model.fit(rows[::2], y[::2]),
    )
    for change in changes:
        model.predict_proba(rows)
        change()
        assert_allclose(model.predict_proba(rows), model.predict_proba(X.astype(float)), rtol=1e-10)


def test_a_class_without_rows_has_probability_zero():
    X, y = counts()
    rows = sp.csr_array(X.astype(float))
    model = MultinomialNB().partial_fit(rows, y, classes=[0, 1, 2, 3])
    assert_array_equal(model.predict_proba(rows)[:, 3], 0)
    assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-14)


def test_threads_change_no_bit():
    X, y = counts(n=5000)
    rows, found = entries_in_any_order(X, np.float64, np.int32), set()
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = BernoulliNB().fit(rows, y)
            found.add(model.feature_log_prob_.tobytes() + model.predict_proba(rows).tobytes())
    assert len(found) == 1
