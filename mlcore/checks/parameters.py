"""Checks of hyper-parameters, which return the value as a plain Python type.

Every error names the parameter, what was found and what is allowed. A value of a wrong type raises
TypeError, or the exception `wrong_type`.
"""

import math
import numbers
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

_LARGEST_INTEGER = 2**63 - 1
_RANDOM_SOURCES = (
    np.random.Generator,
    np.random.RandomState,
    np.random.SeedSequence,
    np.random.BitGenerator,
)


def as_real(
    value: Any,
    name: str,
    *,
    owner: str = "",
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    allow_inf: bool = False,
    wrong_type: type[Exception] = TypeError,
) -> float:
    """Return `value` as a float inside the given range.

    TypeError if not a real number (bool is none); ValueError if NaN or out of range.
    """
    limits = above, at_least, below, at_most
    kind = "a number" if allow_inf else "a finite number"
    # float and int come first: isinstance takes long for an abstract type.
    if not isinstance(value, (float, int, numbers.Real)) or isinstance(value, (bool, np.bool_)):
        _refuse(wrong_type, owner, name, value, within(kind, *limits))
    try:
        number = float(value)
    except OverflowError:
        _refuse(ValueError, owner, name, value, within(kind, *limits), "is too large")
    inside = (
        number == number
        and (allow_inf or abs(number) != math.inf)
        and (above is None or number > above)
        and (at_least is None or number >= at_least)
        and (below is None or number < below)
        and (at_most is None or number <= at_most)
    )
    if not inside:
        _refuse(ValueError, owner, name, value, within(kind, *limits))
    return number


def as_integer(
    value: Any,
    name: str,
    *,
    owner: str = "",
    at_least: int | None = None,
    at_most: int | None = None,
    whole_floats: bool = False,
    any_size: bool = False,
    wrong_type: type[Exception] = TypeError,
) -> int:
    """Return `value` as an int inside the given range.

    `whole_floats` takes 3.0, `any_size` more than 2**63 - 1. TypeError for others and bools.
    """
    allowed = ("an integer", None, at_least, None, at_most)
    if isinstance(value, (bool, np.bool_)) or not (
        isinstance(value, (int, numbers.Integral))
        or (whole_floats and isinstance(value, numbers.Real) and _is_whole(value))
    ):
        _refuse(wrong_type, owner, name, value, within(*allowed))
    number = int(value)
    if not any_size and abs(number) > _LARGEST_INTEGER:
        _refuse(ValueError, owner, name, value, f"{within(*allowed)}, below 2**63", "is too large")
    if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
        _refuse(ValueError, owner, name, value, within(*allowed))
    return number


def as_choice(
    value: Any,
    name: str,
    choices: Iterable[Any],
    *,
    owner: str = "",
    wrong_type: type[Exception] = TypeError,
) -> Any:
    """Return `value` if it is one of `choices`: strings, numbers or None, but no bools.

    TypeError if no choice is of its type, else ValueError; the error lists the choices.
    """
    choices = tuple(choices)
    for choice in choices:
        # True equals 1, but is no choice of 1; numpy.str_ is a str.
        if isinstance(value, type(choice)) and not isinstance(value, bool) and value == choice:
            return choice
    allowed = "one of " + ", ".join(map(repr, choices))
    if any(isinstance(value, type(choice)) for choice in choices):
        _refuse(ValueError, owner, name, value, allowed)
    _refuse(wrong_type, owner, name, value, allowed)


def as_bool(
    value: Any, name: str, *, owner: str = "", wrong_type: type[Exception] = TypeError
) -> bool:
    """Return `value` as a bool; only bool and numpy.bool_ are taken."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(wrong_type, owner, name, value, "True or False")
    return bool(value)


def as_random_state(
    seed: Any, name: str = "random_state", *, owner: str = ""
) -> np.random.Generator:
    """Return a generator of random numbers; a Generator is returned as it is.

    None is fresh entropy; an int, SeedSequence or BitGenerator seeds; a RandomState draws a seed.
    """
    require_random_state(seed, name, owner=owner)
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(int(seed) if isinstance(seed, numbers.Integral) else seed)


def require_random_state(seed: Any, name: str = "random_state", *, owner: str = "") -> None:
    """Raise the errors of `as_random_state` without drawing anything."""
    if seed is None or isinstance(seed, _RANDOM_SOURCES):
        return
    allowed = "None, an integer >= 0, a numpy.random.Generator or RandomState"
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, numbers.Integral):
        _refuse(TypeError, owner, name, seed, allowed)
    if seed < 0:
        _refuse(ValueError, owner, name, seed, allowed)


def within(
    kind: str,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> str:
    """Return a text such as "an integer >= 1 and <= 9"."""
    limits = ((">", above), (">=", at_least), ("<", below), ("<=", at_most))
    words = (
        f"{sign} {limit if isinstance(limit, int) else f'{limit:.15g}'}"
        for sign, limit in limits
        if limit is not None
    )
    return f"{kind} {' and '.join(words)}".strip()


def refuse(name: str, value: Any, allowed: str) -> NoReturn:
    """Raise the ValueError that names an argument, its value and what is allowed."""
    _refuse(ValueError, "", name, value, allowed)


def _refuse(error, owner, name, value, allowed, note=""):
    """Raise `error`; a TypeError for a value that is no number names its type."""
    try:
        shown = repr(value)
    except ValueError:
        shown = "an integer of thousands of digits"  # more than Python prints
    except Exception:
        shown = "?"
    if len(shown) > 60:
        shown = shown[:57] + "..."
    if error is TypeError and not (
        isinstance(value, numbers.Number) and not isinstance(value, complex)
    ):
        note = f"is of type {type(value).__name__}"
    prefix = f"{owner}: " if owner else ""
    raise error(f"{prefix}{name}={shown} {note and note + ', but '}must be {allowed}.") from None


def _is_whole(value):
    return abs(value) != math.inf and value % 1 == 0
