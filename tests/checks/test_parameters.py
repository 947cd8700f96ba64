"""Parameters of every type, in and out of range."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    require_random_state,
)


@each("value", [2, 2.0, np.float32(2), np.int8(2), Fraction(2)])
def test_real_numbers_of_every_type(value):
    assert as_real(value, "C", above=0) == 2 and type(as_real(value, "C")) is float


@each("value", ["2", None, True, np.True_, 2j, [2.0], np.array(2.0), Decimal(2)])
def test_what_is_no_real_number_is_a_type_error(value):
    with pytest.raises(TypeError, match="SVC: C=.* must be a finite number > 0"):
        as_real(value, "C", owner="SVC", above=0)


@each("value", [np.nan, np.inf, -np.inf, 0, -1, 1.5, 10**400])
def test_numbers_out_of_range_are_a_value_error(value):
    with pytest.raises(ValueError, match="nu=.* must be a finite number > 0 and <= 1"):
        as_real(value, "nu", above=0, at_most=1)


def test_ends_of_ranges():
    assert as_real(1, "nu", at_most=1) == 1 and as_real(0, "nu", at_least=0) == 0
    assert as_real(np.inf, "C", allow_inf=True) == np.inf
    for bounds in ({"below": 1}, {"above": 1}):
        with pytest.raises(ValueError):
            as_real(1, "nu", **bounds)
    with pytest.raises(ValueError):
        as_real(np.nan, "C", allow_inf=True)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers(value):
    assert type(as_integer(value, "degree")) is int and as_integer(value, "degree") == 3


@each("value", [3.0, "3", None, True, np.nan, [3]])
def test_what_is_no_integer_is_a_type_error(value):
    with pytest.raises(TypeError, match="degree=.* must be an integer >= 1 and <= 9"):
        as_integer(value, "degree", at_least=1, at_most=9)


@pytest.mark.parametrize("value", [0, 10, -(10**30)])
def test_integers_out_of_range(value):
    with pytest.raises(ValueError, match="degree=.* must be an integer >= 1 and <= 9"):
        as_integer(value, "degree", at_least=1, at_most=9)


def test_absurd_integers_and_values_do_not_flood_the_message():
    with pytest.raises(ValueError, match=r"max_iter=1000.*\.\.\. is too large") as caught:
        as_integer(10**300, "max_iter")
    assert len(str(caught.value)) < 200


def test_choices():
    assert as_choice("rbf", "kernel", ["rbf", "linear"]) == "rbf"
    assert type(as_choice(np.str_("rbf"), "kernel", ["rbf"])) is str
    assert as_choice(None, "kernel", ["rbf", None]) is None
    with pytest.raises(ValueError, match="SVC: kernel='rbg' must be one of 'rbf', 'linear'"):
        as_choice("rbg", "kernel", ["rbf", "linear"], owner="SVC")
    with pytest.raises(TypeError, match="kernel=3 must be one of 'rbf', 'linear'"):
        as_choice(3, "kernel", ["rbf", "linear"])
    with pytest.raises((TypeError, ValueError)):
        as_choice(True, "p", [1, 2])


def test_bools():
    assert as_bool(np.True_, "shrinking") is True
    with pytest.raises(TypeError, match="shrinking=1 must be True or False"):
        as_bool(1, "shrinking")


def test_random_states():
    draw = as_random_state(5).random(4)
    assert_array_equal(as_random_state(5).random(4), draw)
    assert_array_equal(as_random_state(np.int64(5)).random(4), draw)
    generator = np.random.default_rng(1)
    assert as_random_state(generator) is generator
    legacy = as_random_state(np.random.RandomState(3)).random(4)
    assert_array_equal(as_random_state(np.random.RandomState(3)).random(4), legacy)
    assert not np.array_equal(as_random_state(None).random(4), as_random_state(None).random(4))
    for check in (as_random_state, require_random_state):
        with pytest.raises(ValueError, match="random_state=-1"):
            check(-1)
        for bad in ("seed", 1.5, True, [1]):
            with pytest.raises(TypeError, match="random_state="):
                check(bad)
    used, untouched = np.random.RandomState(3), np.random.RandomState(3)
    require_random_state(used)
    assert used.randint(1 << 30) == untouched.randint(1 << 30)
