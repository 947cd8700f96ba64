"""Sparse samples: all formats agree, and corrupt ones are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone

from contract import INF, NAN, answers, case, contents, methods, only, refuses, sparse_samples

FORMATS = (
    "csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "bsr_matrix", "dia_array",
    "dok_matrix", "lil_array",
)  # fmt: skip


def test_every_sparse_format_is_as_csr_or_refused(entry):
    X = sparse_samples(entry)
    y = entry.targets(X)
    known = {}  # answers by the values that are stored, zeros among them
    for form in FORMATS:
        with case(form):
            given = getattr(sp, form)(X)
            if not entry.sparse:
                refuses(lambda A=given: entry.make().fit(A, y), TypeError, "[Ss]parse")
                continue
            csr = sp.csr_array(given)  # with the zeros that blocks store
            if contents(csr) not in known:
                known[contents(csr)] = answers(entry.make().fit(csr, y), csr)
            expected = known[contents(csr)]
            model = entry.make().fit(given, y)
            for found, same in zip(answers(model, given), expected, strict=True):
                assert_array_equal(found, same)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@only(lambda entry: entry.sparse)
def test_sparse_formats_agree_with_each_other_and_with_dense(dtype, entry):
    X = (2 * sparse_samples(entry)).astype(dtype)
    y = entry.targets(sparse_samples(entry))
    params = {"tol": 1e-5} if "tol" in entry.make().get_params() else {}
    model = entry.make().set_params(**params)
    rows, columns, dense = (
        answers(clone(model).fit(A, y), A) for A in (sp.csr_array(X), sp.csc_array(X), X)
    )
    for found, same, close in zip(rows, columns, dense, strict=True):
        assert_array_equal(found, same)
        if found.dtype.kind == "f":
            assert_allclose(found, close, atol=2e-3)
        else:
            assert (found == close).mean() > 0.95


@only(lambda entry: entry.sparse)
def test_unsorted_duplicates_and_wide_indices(entry):
    X = sp.csr_array(sparse_samples(entry))
    y = entry.targets(sparse_samples(entry))
    messy = sp.csr_array(X.shape)
    order = np.concatenate(
        [np.arange(X.indptr[i], X.indptr[i + 1])[::-1] for i in range(X.shape[0])]
    )
    messy.data = np.repeat(X.data[order] / 2, 2)
    messy.indices = np.repeat(X.indices[order], 2).astype(np.int64)
    messy.indptr = (X.indptr * 2).astype(np.int64)
    before = [array.copy() for array in (messy.data, messy.indices, messy.indptr)]
    model = entry.make().fit(messy, y)
    for found, expected in zip(
        answers(model, messy), answers(entry.make().fit(X, y), X), strict=True
    ):
        assert_array_equal(found, expected)
    for array, was in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        assert_array_equal(array, was)


def broken(what, entry):
    X = sp.csr_array(sparse_samples(entry))
    if what == "indices too large":
        X.indices[5] = 10**6
    elif what == "indices negative":
        X.indices[5] = -1
    elif what == "indptr decreasing":
        X.indptr[3] = X.indptr[-1]
    elif what == "indptr past the end":
        X.indptr[-1] = 10**9
    elif what == "indptr short":
        X.indptr = X.indptr[:-1]
    elif what == "data short":
        X.data = X.data[:-1]
    else:
        X.data[5] = {"NaN": NAN, "infinity": INF}[what]
    return X


BROKEN = {
    "indices too large": "out of range",
    "indices negative": "out of range",
    "indptr decreasing": "never decrease",
    "indptr past the end": "indptr ends at",
    "indptr short": "indptr has length",
    "data short": "lengths",
    "NaN": "contains NaN",
    "infinity": "contains infinity",
}


@only(lambda entry: entry.sparse)
def test_corrupt_sparse_input_is_refused_by_every_method(entry):
    X = sparse_samples(entry)
    y = entry.targets(X)
    model = entry.fit(X)
    for what, message in BROKEN.items():
        with case(what):
            for call in (lambda A: entry.make().fit(A, y), *methods(model)):
                refuses(lambda call=call, w=what: call(broken(w, entry)), ValueError, message)
