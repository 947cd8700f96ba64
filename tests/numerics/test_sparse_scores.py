"""Scores of sparse rows under a table against matrix products and SciPy's softmax."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import softmax as scipy_softmax
from threadpoolctl import threadpool_limits

from mlcore.numerics.scores.sparse_scores import EntryScores, sparse_scores

EPS = np.finfo(float).eps
KINDS = ("value", "count", "above", "binary")


def csr(rows, columns, values, shape, index=np.int32):
    """CSR of these entries in their order within each row, duplicates kept, read-only."""
    order = np.argsort(rows, kind="stable")
    X = sp.csr_array(shape, dtype=values.dtype)
    X.data, X.indices = values[order], columns[order].astype(index)
    X.indptr = np.searchsorted(rows[order], np.arange(shape[0] + 1)).astype(index)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def counted(X, kind, threshold):
    """What counts of dense rows."""
    return (X > threshold).astype(float) if kind == "above" else X.astype(float)


TYPES = (np.float32, np.int32), (np.float64, np.int64), (np.int64, np.int32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "index", "k"),
    [(*TYPES[i % 3], k) for i, k in enumerate((1, 2, 4, 5, 20, 31, 32, 33, 70, 1, 32))]
    + [(np.float32, np.int64, 2100)],
)
def test_scores_are_a_product_in_any_order_of_columns(kind, dtype, index, k):
    # Rows of no entry, of more than are checked at once, and more than one byte can number.
    n, d = 1300, 70 if k > 100 else 700
    rng = np.random.default_rng([KINDS.index(kind), k])
    m = 6000
    rows = np.append(rng.integers(0, n - 100, m), np.full(2000, 1234))
    columns = rng.integers(0, d, len(rows))
    if kind == "binary":  # each entry once with a 1; the others of its column are explicit zeros
        _, first = np.unique(rows * d + columns, return_index=True)
        values = np.zeros(len(rows), dtype)
        values[first] = 1
    else:
        values = rng.integers(-2 if kind == "value" else 0, 4, len(rows)).astype(dtype)
    X = csr(rows, columns, values, (n, d), index)
    dense = X.toarray()
    weights, start = rng.normal(size=(k, d)), rng.normal(size=k)
    scores = EntryScores.of(weights, start, kind, 2.5 if kind == "above" else 0.0)
    expected = counted(dense, kind, 2.5) @ weights.T + start
    found = sparse_scores(X, scores, checked=False)
    size = 4 * EPS * np.abs(dense).sum(axis=1).max() * np.abs(weights).max()
    assert_allclose(found, expected, rtol=0, atol=20 * size)
    probabilities = sparse_scores(X, scores, softmax=True, checked=False)
    assert_allclose(probabilities, scipy_softmax(expected, axis=1), rtol=100 * size, atol=1e-300)
    assert_allclose(probabilities.sum(axis=1), 1, rtol=(k + 4) * EPS)


@each("gap", [0.0, 1e-3, 30.0, 700.0, 740.0, 760.0, np.inf])
def test_probabilities_of_any_size(gap):
    X = sp.csr_array(np.ones((1, 1)))
    found = sparse_scores(X, EntryScores.of(np.zeros((2, 1)), np.array([0, -gap]), "value"),
                          softmax=True)  # fmt: skip
    expected = np.array([1, np.exp(-gap)]) / (1 + np.exp(-gap))
    assert_allclose(found[0], expected, rtol=4 * EPS * max(1, min(gap, 800)), atol=2.0**-1022)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_duplicates_count_as_their_sum(data):
    kind = data.draw(st.sampled_from(KINDS))
    n, d, k = (data.draw(st.integers(1, 6)) for _ in range(3))
    m = data.draw(st.integers(0, 40))
    least, most = (-3 if kind == "value" else 0), (1 if kind == "binary" else 3)
    entry = st.tuples(st.integers(0, n - 1), st.integers(0, d - 1), st.integers(least, most))
    entries = np.array(data.draw(st.lists(entry, min_size=m, max_size=m)), int).reshape(-1, 3)
    X = csr(entries[:, 0], entries[:, 1], entries[:, 2].astype(float), (n, d))
    weights = np.arange(1.0, k * d + 1).reshape(k, d)
    scores = EntryScores.of(weights, np.zeros(k), kind, 2.0)
    dense = X.toarray()
    found = sparse_scores(X, scores, checked=False)
    if kind == "binary" and dense.max(initial=0) > 1:
        assert found is None
    else:
        assert_array_equal(found, counted(dense, kind, 2.0) @ weights.T)


@each("kind", KINDS)
@each("place", [0, 700, 1999])
def test_what_is_refused(kind, place):
    X = sp.csr_array(np.ones((2000, 11)))
    scores = EntryScores.of(np.ones((3, 11)), np.zeros(3), kind)

    def refused(array, index, value):
        other = X.copy()
        getattr(other, array)[index] = value
        return sparse_scores(other, scores, checked=False) is None

    at = int(X.indptr[place]) + 4
    assert not refused("data", at, 0.0)
    assert refused("data", at, -1.0) == (kind in ("count", "binary"))
    assert refused("data", at, 0.5) == (kind == "binary")
    for value in (np.nan, np.inf, -np.inf, 1e160):
        assert refused("data", at, value)
    for column in (-1, 11, 2**31 - 1):
        assert refused("indices", at, column)
    assert refused("indptr", place + 1, len(X.data) + 1)
    assert refused("indptr", place + 1, -1)
    integers = X.astype(np.int64)
    integers.data[at] = -1
    assert (sparse_scores(integers, scores, checked=False) is None) == (kind in KINDS[1::2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_sum_of_squares_overflows_unseen(dtype):
    # Each value has a square in range, but not those of the row, which the checks refuse.
    X = sp.csr_array(np.full((1, 40), 0.4 * np.sqrt(np.finfo(dtype).max), dtype))
    assert sparse_scores(X, EntryScores.of(np.ones((2, 40)), np.zeros(2), "value"),
                         checked=False) is None  # fmt: skip


def example():
    """Scores that are the same for any number of threads and, up to rounding, instruction set."""
    rng = np.random.default_rng(3)
    X = sp.random_array((20_000, 300), density=0.1, format="csr", rng=rng)
    return X, EntryScores.of(rng.normal(size=(7, 300)), rng.normal(size=7), "above", 0.5)


@pytest.mark.parametrize("softmax", [False, True])
def test_threads_change_no_bit(softmax):
    X, scores = example()
    found = set()
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found.add(sparse_scores(X, scores, softmax=softmax, checked=False).tobytes())
    assert len(found) == 1
