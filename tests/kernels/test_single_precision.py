"""Products in float32 against the same in float64, within the bound of sums in float32."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.kernels.single_precision import centered_single


def centred(K, means, mean, scale):
    return scale[:, None] * (K - means - means[:, None] + mean) * scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rounded_matrix_is_the_centred_one_to_float32(dtype):
    for n, m in [(1, 1), (70, 8), (1030, 24), *((77, 8 * w - w % 3) for w in range(1, 10))]:
        with case(n, m):
            check_rounded(n, m, dtype)


def check_rounded(n, m, dtype):
    generator = np.random.default_rng(n)
    A = generator.normal(size=(n, n))
    K = (A + A.T).astype(dtype)
    means, scale = generator.normal(size=n), generator.random(n) + 0.5
    V = generator.normal(size=(n, m))
    with threadpool_limits(1, user_api="openmp"):
        alone = centered_single(K, means, 0.3, scale) @ V
    S = centered_single(K, means, 0.3, scale)
    exact = centred(K.astype(np.float64), means, 0.3, scale)
    assert_allclose(S.K, exact, rtol=1e-6, atol=1e-14)
    bound = (n + 3) * np.finfo(np.float32).eps * (np.abs(exact) @ np.abs(V))
    assert np.all(np.abs(S @ V - exact @ V) <= bound)
    assert_array_equal(S @ V, alone)


def test_numbers_that_are_slow_in_float32_are_left_out():
    S = centered_single(np.full((9, 9), 1e-35), np.zeros(9), 0.0, np.ones(9))
    assert_array_equal(S.K, 0.0)
