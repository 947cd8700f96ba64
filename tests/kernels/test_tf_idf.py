"""Weights of words against their definition, scikit-learn's, printed numbers, and their laws."""

import itertools
import math

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer as PeerTransformer
from threadpoolctl import threadpool_limits

from mlcore.checks import samples
from mlcore.estimator.model import NotFittedError
from mlcore.kernels import TfidfTransformer, gram_matrix
from mlcore.naive_bayes import MultinomialNB
from mlcore.row_sums import RowSums

PRINTED = [[3, 0, 1], [2, 0, 0], [3, 0, 0], [4, 0, 0], [3, 2, 0], [3, 0, 2]]


def words(n, d, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, size=(n, d)) * rng.integers(1, 400, size=(n, d)) ** (seed % 2)
    X[rng.random(n) < 0.1] = 0
    return X.astype(dtype)


def by_definition(X, norm, idf, sublinear, weights=None):
    """Plain Python, in the order of the formulas."""
    weights = [1.0] * len(X) if weights is None else list(weights)
    n, found = sum(weights), []
    df = [
        sum(w for w, x in zip(weights, column, strict=True) if x > 0)
        for column in zip(*X, strict=True)
    ]
    for row in X:
        v = []
        for x, f in zip(row, df, strict=True):
            weight = {
                "smooth": math.log((1 + n) / (1 + f)) + 1,
                "plain": math.log(n / max(f, 1)) + 1,
                "textbook": math.log(n / max(f, 1)),
                None: 1.0,
            }[idf]
            v.append((1 + math.log(x) if sublinear and x else x) * weight)
        size = {None: 1.0, "l1": sum(map(abs, v)), "l2": math.sqrt(sum(a * a for a in v))}[norm]
        found.append([a / size if size else 0.0 for a in v])
    return np.array(found)


@pytest.mark.parametrize(
    ("idf", "row"),
    [("smooth", [0.85151335, 0, 0.52433293]), ("plain", [0.81940995, 0, 0.57320793])],
)
def test_printed_numbers(idf, row):
    found = TfidfTransformer(idf=idf).fit_transform(PRINTED)[0]
    assert_array_equal(found.round(8), row)


@each("sublinear", [False, True])
@each("idf", ["smooth", "plain", "textbook", None])
@each("norm", ["l2", "l1", None])
def test_rows_are_their_definition(norm, idf, sublinear):
    model = TfidfTransformer(norm=norm, idf=idf, sublinear=sublinear)
    for seed in range(3):
        counts = words(14 + seed, 17, seed)
        weights = np.random.default_rng(seed).integers(1, 4, len(counts)) if seed == 2 else None
        expected = by_definition(counts.tolist(), norm, idf, sublinear, weights)
        forms = (np.asarray, sp.csr_array, sp.csc_matrix)
        for dtype, form in itertools.product((np.float32, np.float64), forms):
            X = form(counts.astype(dtype))
            found = model.fit(X, sample_weight=weights).transform(X)
            assert sp.issparse(found) == sp.issparse(X) and found.dtype == dtype
            # A weight, a product, a norm of 17 squares and a quotient round: 12 eps bounds them.
            found = found.toarray() if sp.issparse(found) else found
            assert_allclose(found, expected, rtol=12 * np.finfo(dtype).eps, err_msg=form.__name__)


@each("sublinear", [False, True])
@each("norm", ["l2", "l1", None])
def test_scikit_learns_rows(norm, sublinear):
    X = sp.csr_array(words(300, 40, 0))
    for ours, theirs in (
        ({}, {}),
        ({"idf": "plain"}, {"smooth_idf": False}),
        ({"idf": None}, {"use_idf": False}),
    ):
        found = TfidfTransformer(norm=norm, sublinear=sublinear, **ours).fit(X)
        peer = PeerTransformer(norm=norm, sublinear_tf=sublinear, **theirs).fit(X)
        assert_allclose(found.transform(X).data, peer.transform(X).data, rtol=1e-15)
        if "use_idf" not in theirs:
            assert_allclose(found.idf_, peer.idf_, rtol=1e-15)


@each("sublinear", [False, True])
@each("size", [1e-310, 1e-200, 1e-100, 1.0, 1e100, 1e150])
def test_rows_of_any_size_have_norm_1(size, sublinear):
    X = words(20, 9, 1) * size
    rows = TfidfTransformer(sublinear=sublinear).fit(X).transform(X)
    some = X.any(axis=1)
    # A subnormal count of few bits is what it is; its row is divided by what it then is.
    assert_allclose(np.linalg.norm(rows[some], axis=1), 1, rtol=1e-14)
    assert not rows[~some].any()


def test_weights_are_copies_and_zeros_absence():
    X = words(40, 8, 3)
    weights = np.random.default_rng(3).integers(0, 3, len(X))
    weighted = TfidfTransformer().fit(X, sample_weight=weights)
    copies = TfidfTransformer().fit(np.repeat(X, weights, axis=0))
    assert_array_equal(weighted.idf_, copies.idf_)
    assert weighted.total_weight_ == weights.sum()
    assert_array_equal(weighted.document_frequency_, weights @ (X > 0))


def test_blocks_give_what_the_whole_gives():
    X = sp.csr_array(words(50, 8, 4))
    whole = TfidfTransformer().fit(X)
    parts = TfidfTransformer()
    for first in (0, 20, 35):
        parts.partial_fit(X[first : {0: 20, 20: 35, 35: 50}[first]])
    merged = TfidfTransformer().begin(X[:1])
    assert isinstance(merged, RowSums)
    with pytest.raises(NotFittedError, match="it has begun"):
        merged.transform(X)
    a, b = merged.partial_statistics(X[:33]), merged.partial_statistics(X[33:])
    merged.update(merged.merge(a, b))
    for model in (parts, merged):
        assert_array_equal(model.idf_, whole.idf_)
        assert_array_equal(model.transform(X).data, whole.transform(X).data)


def test_stored_zeros_do_not_count_and_unsorted_duplicates_are_summed():
    X = words(12, 5, 0)
    full = sp.csr_array((X.ravel(), np.tile(np.arange(5), 12), np.arange(13) * 5), shape=X.shape)
    model = TfidfTransformer(sublinear=True).fit(full)
    assert_array_equal(model.document_frequency_, (X > 0).sum(axis=0))
    dense = TfidfTransformer(sublinear=True).fit_transform(X)
    assert_array_equal(model.transform(full).toarray(), dense)
    halves = sp.csr_array(
        (np.repeat(X.ravel()[::-1] / 2, 2), np.repeat(np.tile(np.arange(5)[::-1], 12), 2),
         np.arange(13) * 10), shape=X.shape,
    )  # fmt: skip
    again = TfidfTransformer(sublinear=True).fit_transform(halves)
    assert_array_equal(again.toarray(), dense[::-1])


def test_the_input_is_shared_with_nothing():
    X = sp.csr_array(words(12, 5, 0))
    before = X.copy()
    found = TfidfTransformer().fit_transform(X)
    for part in (found.data, found.indices, found.indptr):
        part[:] = 0
    assert (X != before).nnz == 0


def test_the_linear_kernel_is_the_cosine():
    X = sp.csr_array(words(40, 12, 5))
    found = gram_matrix(TfidfTransformer().fit_transform(X), kernel="linear")
    expected = gram_matrix(TfidfTransformer(norm=None).fit_transform(X), kernel="cosine")
    some = np.flatnonzero(np.diff(X.indptr))
    assert_allclose(found[np.ix_(some, some)], expected[np.ix_(some, some)], atol=1e-15)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_counts_are_refused(form):
    X = words(12, 5, 0)
    X[3, 2] = -1
    with pytest.raises(ValueError, match=r"Negative values .*\(least: -1\)"):
        TfidfTransformer().fit(form(X))
    model = TfidfTransformer().fit(form(np.abs(X)))
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(form(X))


def test_sparse_rows_are_no_frame():
    X = sp.csr_array(words(12, 5, 0))
    model = TfidfTransformer().fit(X).set_output(transform="pandas")
    with pytest.raises(ValueError, match="sparse rows"):
        model.transform(X)
    assert list(model.transform(X.toarray()).columns) == [f"x{j}" for j in range(5)]


def test_words_weighed_by_a_fit_are_weighed_alike_in_another_model():
    X = words(60, 10, 0)
    y = np.arange(60) % 2
    weighed = TfidfTransformer().fit_transform(X)
    assert MultinomialNB().fit(weighed, y).predict(weighed).shape == (60,)


# All pairs of the three.
@pytest.mark.parametrize(
    ("dtype", "index", "options"),
    [
        (np.float32, np.int32, {}),
        (np.float32, np.int64, {"norm": "l1", "sublinear": True}),
        (np.float64, np.int32, {"norm": "l1", "sublinear": True}),
        (np.float64, np.int64, {}),
    ],
)
def test_columns_in_any_order_without_a_copy(dtype, index, options, monkeypatch):
    X = sp.csr_array(np.random.default_rng(0).poisson(0.1, (300, 4500)).astype(dtype))
    expected = TfidfTransformer(**options).fit(X)
    names = np.random.default_rng(1).permutation(4500)
    other = sp.csr_array(X.shape, dtype=dtype)
    other.data, other.indices = X.data, names[X.indices].astype(index)
    other.indptr = X.indptr.astype(index)
    for part in (other.data, other.indices, other.indptr):
        part.flags.writeable = False
    assert not other.has_sorted_indices

    def refuse(*args, **kwargs):
        raise AssertionError("rows were put in order")

    monkeypatch.setattr(samples, "as_canonical_csr", refuse)
    found = set()
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = TfidfTransformer(**options).fit(other)
            weighted = model.transform(other)
            found.add(weighted.data.tobytes() + weighted.indices.tobytes())
    assert len(found) == 1
    assert_array_equal(model.idf_[names], expected.idf_)
    parts = weighted.data, weighted.indices, weighted.indptr
    assert sp.csr_array(parts, shape=X.shape).has_canonical_format
    # Norms are summed in float64, in another order.
    rtol = 8 * np.finfo(dtype).eps + 500 * np.finfo(float).eps
    assert_allclose(weighted.toarray()[:, names], expected.transform(X).toarray(), rtol=rtol)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_each_word_of_a_document_counts_once(rows):
    X = sp.csr_array((len(rows), 6))
    X.data = np.array([count for row in rows for _, count in row], float)
    X.indices = np.array([word for row in rows for word, _ in row], np.int32)
    X.indptr = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    weight = np.arange(1.0, len(rows) + 1)
    model = TfidfTransformer().fit(X, sample_weight=weight)
    assert_array_equal(model.document_frequency_, weight @ (X.toarray() > 0))
    expected = model.transform(X.toarray())
    assert_allclose(model.transform(X).toarray(), expected, rtol=1e-14)
