"""Scores of sparse rows under linear functions against dense products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.linear_model import LogisticRegression
from mlcore.numerics.scores.linear_scores import linear_scores


# Of each k, all pairs of types of numbers, of tables and numbers of rows.
@pytest.mark.parametrize(
    ("dtype", "n", "sparsified"),
    [
        (np.float32, 1, False), (np.float64, 1, True), (np.float32, 500, True),
        (np.float64, 500, False), (np.float32, 4000, False), (np.float64, 4000, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_scores_of_sparse_rows(dtype, k, n, sparsified):
    rng = np.random.default_rng([k, n])
    X = sp.random_array((n, 300), density=0.05, format="csr", rng=rng, dtype=dtype)
    coef, intercept = rng.normal(size=(k, 300)).astype(dtype), rng.normal(size=k).astype(dtype)
    expected = X.toarray().astype(float) @ coef.T.astype(float) + intercept
    found = []
    for n_threads in (1, 3):
        with threadpool_limits(n_threads):
            found.append(linear_scores(X, sp.csr_array(coef) if sparsified else coef, intercept))
    assert found[0].dtype == dtype
    assert_array_equal(*found)
    assert_allclose(found[0], expected, atol=100 * np.finfo(dtype).eps)


def test_logistic_regression_takes_rows_in_any_order():
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 80), density=0.2, format="csr", rng=rng)
    y = rng.integers(0, 3, 400)
    model = LogisticRegression().fit(X, y)
    other = sp.csr_array(X.shape)
    order = np.lexsort((rng.random(X.nnz), np.repeat(np.arange(400), np.diff(X.indptr))))
    other.data, other.indices, other.indptr = X.data[order], X.indices[order], X.indptr
    assert not other.has_sorted_indices
    assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    assert_allclose(model.predict_proba(other), model.predict_proba(X.toarray()), rtol=1e-12)
