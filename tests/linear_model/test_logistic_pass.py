"""Sums of the logistic pass over rows of which many values are equal."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import logsumexp, softmax

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective, hessian_of
from mlcore.linear_model.logistic.steps.hessian_products import Products


@each("dtype", [np.float32, np.float64])
@each(("n", "d", "n_classes"), [(1, 50, 2), (127, 60, 2), (700, 104, 3)])
def test_columns_of_zeros_and_ones_leave_out_products_of_zero(n, d, n_classes, dtype):
    """No bit of the sums changes, and they are those of their definition."""
    rng = np.random.default_rng(d)
    X = (rng.random((n, d)) < 0.1).astype(dtype)
    X[:, :3] = rng.normal(size=(n, 3)) + 5
    X[:, 7] = -2.0
    codes, weight = rng.integers(0, n_classes, size=n), rng.integers(0, 3, size=n) + 0.5
    c = 1 if n_classes == 2 else n_classes
    rows = LogisticRows(X, codes, weight, None, c, True)
    assert rows._skip and (rows.shift[8:] == 0).all() or n == 1
    theta = rng.normal(size=(c, d + 1)) / 5
    found = rows.sums(theta, hessian=True)
    rows._skip = False
    expected = rows.sums(theta, hessian=True)
    assert found.loss == expected.loss
    assert_array_equal(found.gradient, expected.gradient)
    assert_array_equal(found.hessian, expected.hessian)

    B = np.c_[(X.astype(np.float64) - rows.shift) * rows.scale, np.ones(n)]
    scores = B @ theta.T
    p = softmax(np.c_[np.zeros(n), scores] if c == 1 else scores, axis=1)
    wrong = p - np.eye(n_classes)[codes]
    gradient = ((wrong[:, 1:] if c == 1 else wrong) * weight[:, None]).T @ B
    # Sums of n products whose factors err by the rounding of scores, sums of d + 1 themselves.
    assert_allclose(found.gradient, gradient, rtol=0, atol=1e-15 * n * d * np.abs(B).max())
    pairs = [(0, 1)] if c == 1 else [(0, 1), (0, 2), (1, 2)]
    for (a, b), block in zip(pairs, found.hessian, strict=True):
        exact = (B * (weight * p[:, a] * p[:, b])[:, None]).T @ B
        assert_allclose(block, exact, rtol=0, atol=1e-15 * n * d * np.abs(B).max() ** 2)


@each("d", [0, 3, 20, 90])
def test_sums_of_dense_rows_are_those_of_their_definition(d):
    """For numbers of classes that fill vectors, or leave one to seven beside them."""
    n = 131
    for c in (3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 41):
        rng = np.random.default_rng(c)
        X, offset = rng.normal(size=(n, d)), rng.normal(size=(n, c))
        codes, weight = rng.integers(0, c, size=n), rng.random(n) + 0.5
        rows = LogisticRows(X, codes, weight, offset, c, True)
        theta = rng.normal(size=(c, d + 1))
        scores = np.empty((n, c))
        found = rows.sums(theta, scores=scores)
        B = np.c_[(X - rows.shift) * rows.scale, np.ones(n)]
        exact = offset + B @ theta.T
        size = np.abs(offset) + np.abs(B) @ np.abs(theta).T
        assert (np.abs(scores - exact) <= (d + 3) * 2.3e-16 * size).all()
        p, own = softmax(exact, axis=1), np.arange(n)
        loss = weight @ (logsumexp(exact, axis=1) - exact[own, codes])
        assert_allclose(found.loss, loss, rtol=1e-13)
        p[own, codes] -= 1
        gradient = (p * weight[:, None]).T @ B
        atol = 4e-16 * (n + d) * np.abs(B).max() * size.max()
        assert_allclose(found.gradient, gradient, rtol=0, atol=atol)
        ranked = np.where(np.eye(c, dtype=bool)[codes], -np.inf, exact).max(axis=1)
        assert found.n_wrong == (ranked >= exact[own, codes]).sum()


@pytest.mark.parametrize("offsets", [False, True])
def test_without_columns_the_hessian_is_of_probabilities_alone(offsets):
    rng = np.random.default_rng(0)
    n, c = 900, 40  # more than are formed at a time
    offset = rng.normal(size=(n, c)) if offsets else None
    codes, weight = rng.integers(0, c, size=n), rng.random(n)
    rows, theta = LogisticRows(np.empty((n, 0)), codes, weight, offset, c, True), rng.random((c, 1))
    p = softmax((offset if offsets else np.zeros((n, c))) + theta.T, axis=1)
    exact = np.diag(weight @ p) - (p * weight[:, None]).T @ p
    found = hessian_of(Objective(rows, 0.0).at(theta, hessian=True), np.zeros(1))
    assert_allclose(found, exact / weight.sum(), rtol=0, atol=1e-15 * n)


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_and_products_of_sparse_rows_are_those_of_their_definition(dtype, integer):
    """For all numbers of classes that fill vectors, or leave one to seven beside them."""
    n, d = 90, 60
    for c in (1, 2, 3, 4, 5, 7, 8, 10, 15, 20, 23, 41):
        rng = np.random.default_rng(c)
        dense = np.where(rng.random((n, d)) < 0.12, rng.normal(size=(n, d)), 0).astype(dtype)
        dense[[0, 40]] = 0
        X = sp.csr_array(dense)
        X.indices, X.indptr = X.indices.astype(integer), X.indptr.astype(integer)
        codes, weight = rng.integers(0, max(2, c), size=n), rng.random(n) + 0.5
        rows = LogisticRows(X, codes, weight, None, c, True)
        assert sp.issparse(rows.X) and rows.X.indices.dtype == integer
        theta, v = rng.normal(size=(2, c, d + 1)) / 3
        found, objective = rows.sums(theta), Objective(rows, 0.1)
        B = np.c_[dense.astype(np.float64) * rows.scale, np.ones(n)]
        scores = np.c_[np.zeros(n), B @ theta.T] if c == 1 else B @ theta.T
        p, at = softmax(scores, axis=1), np.arange(n)
        wrong = p - np.eye(max(2, c))[codes]
        p, wrong = (p[:, 1:], wrong[:, 1:]) if c == 1 else (p, wrong)
        loss = np.logaddexp.reduce(scores, axis=1) - scores[at, codes]
        assert_allclose(found.loss, weight @ loss, rtol=1e-13)
        assert_allclose(found.gradient, (wrong * weight[:, None]).T @ B, rtol=0, atol=1e-12)

        products = Products(objective, objective.at(theta))
        Z, s = B @ v.T, weight[:, None] / weight.sum()
        curved = p * (1 - p) * Z if c == 1 else p * (Z - (p * Z).sum(axis=1, keepdims=True))
        expected = (s * curved).T @ B + products.penalty * v
        assert_allclose(products(v), expected, rtol=0, atol=1e-14)
        expected = (s * p * (1 - p)).T @ B**2 + products.penalty
        assert_allclose(products.squares(), expected, rtol=1e-12)
