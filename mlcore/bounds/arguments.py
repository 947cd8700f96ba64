"""Validation of arguments of the bounds: inside the domain of the theorem, or a ValueError.

Every error names the argument, the value found and the range allowed. Counts are Python integers of
any size; bool is no number here, and 10.0 is the integer 10.
"""

import functools
import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from mlcore.bounds.intervals import Interval
from mlcore.checks import parameters
from mlcore.checks.arrays import require_unmasked
from mlcore.checks.parameters import refuse, within

Number = float | np.integer | np.floating | Fraction  # for which calculators return numbers
as_choice = functools.partial(parameters.as_choice, wrong_type=ValueError)
as_bool = functools.partial(parameters.as_bool, wrong_type=ValueError)


def as_count(value: Any, name: str, *, at_least: int = 0, at_most: int | None = None) -> Any:
    """Return an integer of any size inside the range; an `Interval` is checked and returned."""
    if isinstance(value, Interval):
        return value.inside(at_least=at_least, at_most=at_most, whole=True)
    return parameters.as_integer(
        value,
        name,
        at_least=at_least,
        at_most=at_most,
        whole_floats=True,
        any_size=True,
        wrong_type=ValueError,
    )


def as_real(value: Any, name: str, *, allow_inf: bool = False, **limits: Any) -> Any:
    """Return a float inside the range; an `Interval` is checked and returned."""
    if isinstance(value, Interval):
        return value.inside(**limits)
    return parameters.as_real(value, name, allow_inf=allow_inf, wrong_type=ValueError, **limits)


def as_delta(value: Any, name: str = "delta") -> float:
    """Return a probability of failure, strictly between 0 and 1."""
    return as_real(value, name, above=0, below=1)


def as_rate(value: Any, name: str) -> float:
    """Return a rate, from 0 to 1."""
    return as_real(value, name, at_least=0, at_most=1)


def as_positive(value: Any, name: str) -> float:
    """Return a finite number above 0, such as a radius, a margin or a norm."""
    return as_real(value, name, above=0)


def as_range(value: Any, name: str) -> tuple[float, float]:
    """Return two finite numbers, the first below the second, whose difference is finite."""
    allowed = "two finite numbers, the first below the second"
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        refuse(name, value, allowed)
    low, high = (as_real(end, name) for end in value)
    if not low < high or math.isinf(high - low):
        refuse(name, value, allowed)
    return low, high


def as_counts(
    value: Any, name: str, *, at_least: int = 0, at_most: np.ndarray | None = None
) -> np.ndarray:
    """Return integers inside the range, one or an array of any shape, as float64."""
    if is_single(value):
        array = np.asarray(as_float(as_count(value, name, at_least=at_least), name))
    else:
        allowed = within("integers", at_least=at_least)
        array = _real_array(value, name, allowed)
        bad = ~np.isfinite(array) | (array < at_least)
        bad |= np.mod(array, 1, where=~bad, out=np.zeros_like(array)) != 0
        _refuse_first(bad, value, name, allowed)
    if at_most is not None:
        above = array > at_most
        if above.any():
            place = np.argmax(above)
            wrong, top = (np.broadcast_to(a, above.shape).flat[place] for a in (array, at_most))
            refuse(name, int(wrong), within("an integer", at_least=at_least, at_most=int(top)))
    return array


def as_reals(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    allow_inf: bool = False,
) -> np.ndarray:
    """Return numbers inside the range, one or an array of any shape, as float64."""
    limits = {"above": above, "at_least": at_least, "below": below, "at_most": at_most}
    if is_single(value):
        return np.asarray(as_real(value, name, **limits, allow_inf=allow_inf))
    kind = "numbers" if allow_inf else "finite numbers"
    allowed = within(kind, above, at_least, below, at_most)
    array = _real_array(value, name, allowed)
    bad = np.isnan(array) if allow_inf else ~np.isfinite(array)
    if above is not None:
        bad |= array <= above
    if at_least is not None:
        bad |= array < at_least
    if below is not None:
        bad |= array >= below
    if at_most is not None:
        bad |= array > at_most
    _refuse_first(bad, value, name, allowed)
    return array


def as_float(count: int, name: str) -> float:
    """Return the float nearest to an integer, which must be below 2**1024."""
    try:
        return float(count)
    except OverflowError:
        refuse(name, count, "an integer below 2**1024")


def as_log_delta(delta: Any, log_delta: Any) -> np.ndarray:
    """Return the natural logarithm of a probability of failure from either of the arguments."""
    if (delta is None) == (log_delta is None):
        refuse("log_delta", log_delta, "given if delta is None, and only then")
    if log_delta is not None:
        return as_reals(log_delta, "log_delta", below=0)
    return np.log(as_reals(delta, "delta", above=0, below=1))


def is_single(value: Any) -> bool:
    """Return True if a value is to be checked as one number, not as an array."""
    several = hasattr(value, "__len__") or hasattr(value, "__array__")
    return not several or isinstance(value, (str, bytes, np.generic))


def length_of(value: Any) -> int:
    """Return the number of rows of a sequence or an array, 0 for what has none."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape[0] if shape else 0
    return len(value) if hasattr(value, "__len__") else 0


def as_plain(array: np.ndarray) -> Any:
    """Return a Python float for one number, an array for several."""
    return float(array) if np.ndim(array) == 0 else array


def _real_array(value, name, allowed):
    require_unmasked(value, name)
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        refuse(name, value, allowed)
    if array.dtype.kind == "O" and array.size:
        entries = array.ravel().tolist()
        if not all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in entries):
            refuse(name, value, allowed)
    elif array.dtype.kind not in "iuf":
        refuse(name, value, allowed)
    try:
        return array.astype(np.float64)
    except OverflowError:
        refuse(name, value, allowed)


def _refuse_first(bad, value, name, allowed):
    if bad.any():
        place = np.unravel_index(np.argmax(bad), bad.shape)
        where = f"[{', '.join(map(str, map(int, place)))}]" if place else ""
        refuse(name + where, np.asarray(value, dtype=object)[place], allowed)
