"""Sums of the logistic pass over rows of which many values are equal."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from mlcore.linear_model.logistic.logistic_pass import LogisticRows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "n_classes"), [(1, 50, 2), (127, 60, 2), (700, 104, 3)])
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
