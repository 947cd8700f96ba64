"""Values of scikit-learn's parameters that mean the same in mlcore."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np


class Rule(NamedTuple):
    """Values of a parameter with which mlcore fits; others are left to scikit-learn.

    `passed` is False for a parameter that changes the way to the result, not the result, and for
    one that the replacement uses itself.
    """

    words: str
    allows: Callable[[Any], bool]
    passed: bool = True


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_bool(value: Any) -> bool:
    """Return True for True and False, Python's or NumPy's."""
    return isinstance(value, bool | np.bool_)


def one_of(*values: Any, passed: bool = True) -> Rule:
    """Return the rule of a parameter that must be one of these values."""

    def allows(value: Any) -> bool:
        alike = (type(value) is type(other) and value == other for other in values)
        return isinstance(value, str | bool | int | float | None) and any(alike)

    return Rule(" or ".join(map(repr, values)), allows, passed)


def any_seed() -> Rule:
    """Return the rule of `random_state`."""
    kinds = Integral | np.random.RandomState | None
    return Rule("any", lambda value: isinstance(value, kinds), passed=False)


FREE = Rule("any: the result does not depend on it", lambda value: True, passed=False)
TRUTH = Rule("True or False", is_bool)
SILENT = Rule("False or 0", lambda value: not isinstance(value, str) and not value, passed=False)
POSITIVE = Rule("a number above 0", lambda value: _is_real(value) and value > 0)
NOT_NEGATIVE = Rule("a number, at least 0", lambda value: _is_real(value) and value >= 0)
FINITE = Rule("a number", _is_real)
COUNT = Rule("an integer, at least 1", lambda value: _is_integer(value) and value >= 1)
NONE = one_of(None, passed=False)
