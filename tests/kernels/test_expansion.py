"""Sums of kernel values against vectors laid out once."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

from mlcore.kernels import gram_matrix
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.vector_kernels import KERNELS, as_kernel


def kernel_sums(X, V, A, kernel, **parameters):
    """Sums by one expansion; of rows of kernel values, V is all columns."""
    kernel = as_kernel(kernel, **parameters)
    return Expansion(np.arange(len(A)) if kernel.precomputed else V, kernel).sums(X, A)


def samples(n, d, seed=0, dtype=np.float64):
    """Values of at least 0, as the chi2 kernel needs them, of sizes near 1."""
    return np.random.default_rng([n, d, seed]).exponential(size=(n, d)).astype(dtype)


@each("dtype", [np.float32, np.float64])
@each("kernel", KERNELS)
@each("layout", [np.asarray, sparse.csr_array])
def test_kernel_sums_are_the_matrix_times_the_weights(layout, kernel, dtype):
    X, V = layout(samples(90, 4, 0, dtype)), layout(samples(41, 4, 1, dtype))
    A = np.random.default_rng(0).normal(size=(41, 3))
    parameters = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    K = gram_matrix(X, V, kernel=kernel, **parameters).astype(np.float64)
    sums = kernel_sums(X, V, A, kernel, **parameters)
    assert sums.dtype == np.float64
    assert_allclose(sums, K @ A, rtol=0, atol=1e-12 * abs(K).max() * abs(A).sum())


def test_kernel_sums_go_by_blocks_of_every_kind(monkeypatch):
    X, V = samples(2600, 3), samples(1000, 3, 1)
    A = np.random.default_rng(0).normal(size=(1000, 1))
    K = gram_matrix(X, V, kernel="rbf", gamma=1.0)
    asked = []

    def rbf(P, Q):
        asked.append(len(P))
        return gram_matrix(P, Q, kernel="rbf", gamma=1.0)

    for kernel, left, right in (("rbf", X, V), (rbf, X, V), ("precomputed", K, None)):
        assert_allclose(kernel_sums(left, right, A, kernel), K @ A, rtol=0, atol=1e-10)
    assert asked == [1000, 1000, 600]


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", lambda A, B: A @ B.T])
def test_kernel_sums_of_nothing_are_zero(kernel):
    X = np.empty((5, 0)) if isinstance(kernel, str) and kernel == "precomputed" else samples(5, 2)
    assert_array_equal(kernel_sums(X, np.empty((0, 2)), np.empty((0, 2)), kernel), np.zeros((5, 2)))
    X = np.empty((0, 3)) if isinstance(kernel, str) and kernel == "precomputed" else X[:0]
    assert kernel_sums(X, samples(3, 2), np.ones((3, 2)), kernel).shape == (0, 2)


def test_kernel_sums_are_the_same_bytes_for_any_number_of_threads():
    X, V = samples(60, 8), samples(30_000, 8, 1)
    for columns in (1, 4):
        A = np.random.default_rng(0).normal(size=(30_000, columns))
        results = []
        for threads in (1, 2, 7):
            with threadpool_limits(threads):
                results.append(kernel_sums(X, V, A, "rbf", gamma=0.1).tobytes())
        assert results[0] == results[1] == results[2]
