"""Polynomial features: a column for each monomial; what is refused."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mlcore.kernels import polynomial_features


def test_one_column_per_monomial():
    assert_allclose(polynomial_features([[3.0, 5.0]], 2, 0.0), [[9, np.sqrt(2) * 15, 25]])
    assert polynomial_features(np.ones((2, 3)), 4, 0.0).shape == (2, 15)  # C(3 + 4 - 1, 4)
    assert polynomial_features(np.ones((2, 3)), 4, 1.0).shape == (2, 35)  # C(3 + 4, 4)
    assert_array_equal(polynomial_features(np.zeros((2, 3)), 0, 0.0), [[1], [1]])
    X = np.ones((2, 3), np.float32)
    assert polynomial_features(X, 2).dtype == np.float32
    assert_array_equal(X, 1)


@each(
    ("arguments", "error", "message"),
    [
        ({"degree": -1}, ValueError, "degree"),
        ({"degree": 1.5}, (ValueError, TypeError), "degree"),
        ({"degree": 2, "coef0": -1.0}, ValueError, "coef0"),
        ({"degree": 2, "X": sparse.csr_array(np.eye(2))}, TypeError, "[Ss]parse"),
        ({"degree": 10**6}, MemoryError, "polynomial feature map of 1 x 500001500001 needs"),
        ({"degree": 10**9}, MemoryError, "use gram_matrix"),
    ],
)
def test_feature_maps_that_cannot_be(arguments, error, message):
    with pytest.raises(error, match=message):
        polynomial_features(**{"X": [[1.0, 2.0]]} | arguments)
