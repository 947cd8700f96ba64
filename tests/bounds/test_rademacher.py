"""The empirical complexity against its definition, and the bounds above it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from mlcore.bounds import (
    empirical_rademacher,
    kernel_rademacher_bound,
    linear_l1_rademacher_bound,
    massart_bound,
)

CLASSES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 7)), elements=st.floats(-9, 9)
)


def defined(H):
    m = H.shape[1]
    return sum(max(H @ signs) for signs in itertools.product((-1, 1), repeat=m)) / 2**m / m


@given(CLASSES)
def test_all_signs_against_the_definition(H):
    assert_allclose(empirical_rademacher(H), defined(H), rtol=1e-12, atol=1e-13)


@given(CLASSES)
def test_massart_is_above(H):
    radius = float(np.linalg.norm(H, axis=1).max())
    bound = massart_bound(len(H), H.shape[1], radius) if radius > 0 else 0.0
    assert empirical_rademacher(H) <= bound + 1e-12


def test_all_patterns_have_complexity_one():
    cube = np.array(list(itertools.product((-1, 1), repeat=13)))
    assert empirical_rademacher(cube) == 1
    assert empirical_rademacher(cube[:1]) == 0
    assert empirical_rademacher(np.vstack([np.ones(24), -np.ones(24)])) == pytest.approx(
        math.comb(24, 12) / 2**24, rel=1e-13
    )


def test_draws_are_within_their_half_width_nearly_always():
    H = np.sign(np.random.default_rng(0).normal(size=(30, 12)))
    exact = empirical_rademacher(H)
    off = 0
    for seed in range(100):
        mean, half_width = empirical_rademacher(H, n_draws=50, random_state=seed)
        off += abs(mean - exact) > half_width
    assert off <= 5
    assert half_width == pytest.approx(math.sqrt(2 * math.log(40) / (12 * 50)), rel=1e-12)
    again = empirical_rademacher(H, n_draws=50, random_state=99)
    assert again == (mean, half_width) and type(mean) is type(half_width) is float
    many = np.sign(np.random.default_rng(1).normal(size=(5, 25)))
    mean, half_width = empirical_rademacher(many, random_state=0)
    assert 0 < mean < massart_bound(5, 25) and half_width < 0.006


def test_linear_classes_are_below_their_bounds():
    X = np.random.default_rng(2).normal(size=(10, 4))
    extreme = 1.5 * np.vstack([X.T, -X.T])
    assert empirical_rademacher(extreme) <= linear_l1_rademacher_bound(
        float(np.abs(X).max()), 10, 1.5, 4
    )
    # The supremum over a ball at given signs is a norm, so its mean is that of directions.
    signs = np.array(list(itertools.product((-1, 1), repeat=10)))
    complexity = 2.0 * np.linalg.norm(signs @ X, axis=1).mean() / 10
    assert complexity <= kernel_rademacher_bound(float((X * X).sum()), 10, 2.0)


def test_what_is_no_class_is_refused():
    for wrong in ([[1.0, math.nan]], [[1.0, math.inf]], [1.0, 2.0], []):
        with pytest.raises(ValueError, match="H"):
            empirical_rademacher(wrong)
    for wrong in (0, 1.5, True, -1):
        with pytest.raises(ValueError, match="n_draws"):
            empirical_rademacher([[1.0]], n_draws=wrong)
