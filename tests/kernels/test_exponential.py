"""The vectorised exponential of the kernels, 2^x for x <= 0, against multiple precision.

A Laplacian kernel with gamma = ln 2 has the value 2^-|x| of x and 0, and no rounding before it:
gamma log2(e) is 1. Two zeros for each x keep `Packed` from moving the origin.
"""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mlcore.kernels import gram_matrix

DTYPES = [np.float32, np.float64]
LN_2 = 0.6931471805599453
ULPS = 1.2  # what the loop promises; 2 would do for the kernels


def power_of_two(x):
    return np.ascontiguousarray(kernel_values(x)[0, 2 * len(x) :])


def kernel_values(x, out=None):
    columns = np.concatenate([np.zeros(2 * len(x), x.dtype), x])[:, None]
    origin = np.zeros((1, 1), x.dtype)
    return gram_matrix(origin, columns, kernel="laplacian", gamma=LN_2, out=out)


def exact(x):
    with mpmath.workprec(100):
        return [mpmath.power(2, mpmath.mpf(v)) for v in x.tolist()]


def worst_ulps(y, x):
    """The largest distance from the exact powers, in units of the last place there."""
    info, worst = np.finfo(y.dtype), 0.0
    with mpmath.workprec(100):
        for value, truth in zip(y.tolist(), exact(x), strict=True):
            exponent = max(int(mpmath.frexp(truth)[1]) - 1, info.minexp)
            unit = mpmath.ldexp(1, exponent - info.nmant)
            worst = max(worst, float(abs(mpmath.mpf(value) - truth) / unit))
    return worst


def normal_range(info, rng):
    return rng.uniform(info.minexp, 0, 400)


def near_zero(info, rng):
    return -(10.0 ** rng.uniform(-12, 0, 200))


def around_halves(info, rng):
    """Where the reduced argument is largest, and changes its sign."""
    halves = np.arange(info.minexp, 0) + 0.5
    halves = halves.astype(info.dtype)
    halves = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, -np.inf)])
    return rng.choice(halves, min(400, len(halves)), replace=False)


SAMPLES = [normal_range, near_zero, around_halves]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sample", SAMPLES)
def test_within_its_ulps_of_multiple_precision(sample, dtype):
    x = sample(np.finfo(dtype), np.random.default_rng(0)).astype(dtype)
    assert worst_ulps(power_of_two(x), x) <= ULPS


@pytest.mark.parametrize("dtype", DTYPES)
def test_within_its_ulps_of_a_wider_type_at_very_many_points(dtype):
    wider = np.float64 if dtype == np.float32 else np.longdouble
    if np.finfo(wider).nmant < np.finfo(dtype).nmant + 8:
        pytest.skip("long double is no wider than double here")
    info = np.finfo(dtype)
    x = np.random.default_rng(1).uniform(info.minexp, 0, 300_000).astype(dtype)
    truth = np.exp2(x.astype(wider))
    unit = np.maximum(np.spacing(truth.astype(dtype)), info.smallest_subnormal).astype(wider)
    assert (np.abs(power_of_two(x) - truth) / unit).max() <= ULPS


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_powers_are_exact(dtype):
    info = np.finfo(dtype)
    whole = np.arange(info.minexp, 1)
    assert_array_equal(power_of_two(whole.astype(dtype)), np.ldexp(dtype(1), whole))


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_below_the_normal_numbers(dtype):
    info = np.finfo(dtype)
    x = np.random.default_rng(0).uniform(info.minexp - info.nmant - 2, info.minexp, 400)
    assert not power_of_two(np.nextafter(x.astype(dtype), dtype(-np.inf))).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    info = np.finfo(dtype)
    below = np.nextafter(dtype(info.minexp), dtype(-np.inf))
    x = np.array([0.0, -0.0, -info.smallest_subnormal, -info.tiny, below])
    assert_array_equal(power_of_two(x.astype(dtype)), np.array([1] * 4 + [0], dtype))
    for far in (-1e15, -0.4 * float(np.sqrt(info.max))):
        assert_array_equal(power_of_two(np.array([far], dtype)), [0])
    ends = np.array([[0.4], [-0.4]]) * np.sqrt(float(info.max))
    assert_array_equal(gram_matrix(ends.astype(dtype), gamma=1e10), np.eye(2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_never_above_one_and_never_falling_by_more_than_rounding(dtype):
    x = np.sort(-np.random.default_rng(2).exponential(5, 50_000)).astype(dtype)
    y = power_of_two(x)
    assert y.max() <= 1 and y.min() > 0
    assert (np.diff(y.astype(np.float64)) >= -2 * np.spacing(y[1:])).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length_and_alignment(dtype):
    """The tail that fills no vector, from any address."""
    x = -np.random.default_rng(3).exponential(5, 200).astype(dtype)
    whole = power_of_two(x)
    for n in range(1, 70):
        y = np.full(300, np.nan, dtype)
        kernel_values(x[n : 2 * n], y[3 : 3 + 3 * n].reshape(1, -1))
        assert_array_equal(y[3 + 2 * n : 3 + 3 * n], whole[n : 2 * n])
        assert np.isnan(y[:3]).all() and np.isnan(y[3 + 3 * n :]).all()


def check_all(dtype):
    """All of the above, for another process."""
    for sample in SAMPLES:
        test_within_its_ulps_of_multiple_precision(sample, dtype)
    if np.finfo(np.longdouble).nmant >= np.finfo(np.float64).nmant + 8:
        test_within_its_ulps_of_a_wider_type_at_very_many_points(dtype)
    test_whole_powers_are_exact(dtype)
    test_zero_below_the_normal_numbers(dtype)
    test_special_values(dtype)
    test_never_above_one_and_never_falling_by_more_than_rounding(dtype)
    test_every_length_and_alignment(dtype)
