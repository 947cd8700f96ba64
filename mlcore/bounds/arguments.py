"""The door of the bounds: arguments inside the domain of a theorem, or a ValueError.

Every error names the argument, the value found and the range allowed. Counts are Python integers of
any size; bool is no number here, and 10.0 is the integer 10.
"""

import math
import numbers
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from mlcore.bounds.intervals import Interval


def as_count(value: Any, name: str, *, at_least: int = 0, at_most: int | None = None) -> Any:
    """Return an integer inside the range, of any size; an interval of integers as it is."""
    if isinstance(value, Interval):
        return value.inside(at_least=at_least, at_most=at_most, whole=True)
    allowed = f"an integer {_range(at_least=at_least, at_most=at_most)}"
    number = _plain(value)
    if not isinstance(number, numbers.Integral):
        whole = isinstance(number, numbers.Real) and math.isfinite(number) and number % 1 == 0
        if not whole:
            refuse(name, value, allowed)
    count = int(number)
    if count < at_least or (at_most is not None and count > at_most):
        refuse(name, value, allowed)
    return count


def as_real(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    allow_inf: bool = False,
) -> Any:
    """Return a float inside the range, infinity only where it is allowed; an interval as it is."""
    if isinstance(value, Interval):
        return value.inside(above=above, at_least=at_least, below=below, at_most=at_most)
    kind = "a number" if allow_inf else "a finite number"
    allowed = f"{kind} {_range(above, at_least, below, at_most)}".strip()
    number = _plain(value)
    if not isinstance(number, numbers.Real):
        refuse(name, value, allowed)
    try:
        real = float(number)
    except OverflowError:
        refuse(name, value, allowed)
    inside = (
        real == real
        and (allow_inf or abs(real) != math.inf)
        and (above is None or real > above)
        and (at_least is None or real >= at_least)
        and (below is None or real < below)
        and (at_most is None or real <= at_most)
    )
    return real if inside else refuse(name, value, allowed)


def as_delta(value: Any, name: str = "delta") -> float:
    """Return a probability of failure, strictly between 0 and 1."""
    return as_real(value, name, above=0, below=1)


def as_rate(value: Any, name: str) -> float:
    """Return a share of a whole, 0 and 1 included."""
    return as_real(value, name, at_least=0, at_most=1)


def as_positive(value: Any, name: str) -> float:
    """Return a finite number above 0: a radius, a margin, a norm, a deviation."""
    return as_real(value, name, above=0)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return one of `choices`, all of which the error lists."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        refuse(name, value, "one of " + ", ".join(map(repr, choices)))
    return str(value)


def as_flag(value: Any, name: str) -> bool:
    """Return a bool; 0 and 1 are none."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, value, "True or False")
    return bool(value)


def as_counts(
    value: Any, name: str, *, at_least: int = 0, at_most: np.ndarray | None = None
) -> np.ndarray:
    """Return integers, one or an array of any shape, as float64."""
    if is_single(value):
        array = np.asarray(as_float(as_count(value, name, at_least=at_least), name))
    else:
        allowed = f"integers {_range(at_least=at_least)}"
        array = _real_array(value, name, allowed)
        bad = ~np.isfinite(array) | (array < at_least)
        bad |= np.mod(array, 1, where=~bad, out=np.zeros_like(array)) != 0
        _refuse_first(bad, value, name, allowed)
    if at_most is not None:
        above = array > at_most
        if above.any():
            place = np.argmax(above)
            found, top = (np.broadcast_to(a, above.shape).flat[place] for a in (array, at_most))
            refuse(name, int(found), f"an integer {_range(at_least=at_least, at_most=int(top))}")
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
    allowed = f"{kind} {_range(above, at_least, below, at_most)}".strip()
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
    """Return the float nearest to an integer, which must have one."""
    try:
        return float(count)
    except OverflowError:
        refuse(name, count, "an integer below 2**1024")


def as_log_delta(delta: Any, log_delta: Any) -> np.ndarray:
    """Return the natural logarithm of a probability of failure, given as itself or as that."""
    if (delta is None) == (log_delta is None):
        refuse("log_delta", log_delta, "given if delta is None, and only then")
    if log_delta is not None:
        return as_reals(log_delta, "log_delta", below=0)
    return np.log(as_reals(delta, "delta", above=0, below=1))


def is_single(value: Any) -> bool:
    """Return whether a value is to be checked as one number, not as an array of them."""
    several = hasattr(value, "__len__") or hasattr(value, "__array__")
    return not several or isinstance(value, (str, bytes, np.generic))


def as_plain(array: np.ndarray) -> Any:
    """Return a Python float for one number, an array for several."""
    return float(array) if np.ndim(array) == 0 else array


def refuse(name: str, value: Any, allowed: str) -> NoReturn:
    """Raise the ValueError that names the argument, its value and what is allowed."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        shown = "an integer of thousands of digits"
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise ValueError(f"{name}={shown} must be {allowed}.")


def _plain(value):
    """The value itself, or None if it is a bool, which Python counts among the numbers."""
    return None if isinstance(value, (bool, np.bool_)) else value


def _real_array(value, name, allowed):
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        refuse(name, value, allowed)
    if array.dtype.kind == "O" and array.size:
        plain = [_plain(v) for v in array.ravel().tolist()]
        if not all(isinstance(v, numbers.Real) for v in plain):
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


def _range(above=None, at_least=None, below=None, at_most=None):
    signs = ((">", above), (">=", at_least), ("<", below), ("<=", at_most))
    return " and ".join(f"{sign} {limit}" for sign, limit in signs if limit is not None)
