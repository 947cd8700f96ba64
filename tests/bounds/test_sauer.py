"""The growth function: exact integers, and their logarithms at any size."""

import itertools
import math

import mpmath
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import log_sauer_bound, sauer_bound


@given(st.integers(0, 300), st.integers(0, 320))
def test_it_is_a_sum_of_binomial_coefficients(m, d):
    assert sauer_bound(m, d) == sum(math.comb(m, i) for i in range(min(m, d) + 1))


@pytest.mark.parametrize(("m", "d"), [(8, 2), (6, 4)])
def test_half_the_intervals_reach_it(m, d):
    """Unions of at most d / 2 intervals on m points: as many labellings as the bound allows."""
    labellings = [
        bits
        for bits in itertools.product([0, 1], repeat=m)
        if sum(1 for a, b in itertools.pairwise((0, *bits)) if (a, b) == (0, 1)) <= d // 2
    ]
    assert len(labellings) == sauer_bound(m, d)


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_its_logarithm(m, d):
    with mpmath.workdps(50):
        exact = mpmath.log(sauer_bound(m, d))
        assert exact <= log_sauer_bound(m, d) <= exact * (1 + mpmath.mpf("4e-14"))


@each(
    ("m", "share"),
    [
        *itertools.product([2001, 5000], [0.01, 0.3, 0.49, 0.5, 0.51, 0.7, 1.0]),
        (30_000, 0.3),
        (30_000, 0.5),
    ],
)
def test_its_logarithm_in_classes_of_large_dimension(m, share):
    d = min(int(share * m), m - 1)
    with mpmath.workdps(50):
        exact = mpmath.log(sauer_bound(m, d))
        assert exact <= log_sauer_bound(m, d) <= exact * (1 + mpmath.mpf("4e-14"))


def test_huge_samples():
    assert_allclose(log_sauer_bound(10**6, 100), 1017.80683009148, rtol=1e-13)
    assert_allclose(log_sauer_bound(10**400, 1), 400 * math.log(10), rtol=1e-15)
    half = log_sauer_bound(10**15, 10**15 // 2)
    assert_allclose(half, (10**15 - 1) * math.log(2), rtol=1e-14)
    assert log_sauer_bound(7, 0) == 0 and log_sauer_bound(0, 3) == 0


@given(st.integers(1, 10**12), st.integers(1, 10**6))
def test_the_polynomial_form_is_above(m, d):
    if d <= m:
        with mpmath.workdps(50):
            exact = d * (1 + mpmath.log(mpmath.mpf(m) / d))
            poly = log_sauer_bound(m, d, method="poly")
            assert exact <= poly <= exact * (1 + mpmath.mpf("4e-16"))
        assert log_sauer_bound(m, d) <= poly * (1 + 1e-13)
    else:
        with pytest.raises(ValueError, match="vc_dimension="):
            log_sauer_bound(m, d, method="poly")


@given(st.integers(1, 10**15), st.integers(1, 10**5), st.integers(1, 10**5))
def test_it_grows_with_points_and_dimension(m, d, more):
    value = log_sauer_bound(m, d) * (1 - 1e-13)
    assert log_sauer_bound(m + more, d) >= value and log_sauer_bound(m, d + more) >= value


LARGE = [2001, 2**63, 10**200, 2**1022]


@each("m", [2**1023, 10**400])
@each("d", LARGE)
def test_more_points_than_a_float_counts(m, d):
    """Between the largest term and its product with a geometric series; 2^m beyond the middle."""
    with mpmath.workdps(900):
        term = mpmath.loggamma(m + 1) - mpmath.loggamma(d + 1) - mpmath.loggamma(m - d + 1)
        series = mpmath.log(mpmath.mpf(m - d + 1) / (m - 2 * d + 1)) if 2 * d < m else 0
        most = min(m * mpmath.log(2), term + series) if series else m * mpmath.log(2)
        found = log_sauer_bound(m, d)
        if most > mpmath.mpf(1.7976931348623157e308):
            assert found == math.inf
        else:
            assert term <= found <= most * (1 + mpmath.mpf(2) ** -46)
