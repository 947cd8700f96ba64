"""Checks of hyper-parameters: each returns the value in the type its user computes with.

Every error names the parameter, what was found and what is allowed.
"""

import numbers
from collections.abc import Iterable
from typing import Any

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
) -> float:
    """Return `value` as a float inside the given range.

    Raises
    ------
    TypeError
        If `value` is not a real number; bool counts as none.
    ValueError
        If it is NaN, out of range, or infinite without `allow_inf`.
    """
    bounds = above, at_least, below, at_most
    # What is common comes first, as abstract types take a while to be asked.
    if not isinstance(value, (float, int, numbers.Real)) or isinstance(value, (bool, np.bool_)):
        raise TypeError(_sentence(owner, name, value, _real_range(*bounds, allow_inf)))
    try:
        number = float(value)
    except OverflowError:
        allowed = _real_range(*bounds, allow_inf)
        raise ValueError(_sentence(owner, name, value, allowed, "is too large")) from None
    inside = (
        number == number
        and (allow_inf or abs(number) != float("inf"))
        and (above is None or number > above)
        and (at_least is None or number >= at_least)
        and (below is None or number < below)
        and (at_most is None or number <= at_most)
    )
    if not inside:
        raise ValueError(_sentence(owner, name, value, _real_range(*bounds, allow_inf)))
    return number


def as_integer(
    value: Any,
    name: str,
    *,
    owner: str = "",
    at_least: int | None = None,
    at_most: int | None = None,
) -> int:
    """Return `value` as an int inside the given range, never above 2**63 - 1.

    Raises
    ------
    TypeError
        If `value` is not an integer; bool and floats such as 3.0 count as none.
    ValueError
        If it is out of range.
    """
    if not isinstance(value, (int, numbers.Integral)) or isinstance(value, (bool, np.bool_)):
        raise TypeError(_sentence(owner, name, value, _integer_range(at_least, at_most)))
    number = int(value)
    if abs(number) > _LARGEST_INTEGER:
        allowed = f"{_integer_range(at_least, at_most)}, below 2**63"
        raise ValueError(_sentence(owner, name, value, allowed, "is too large"))
    if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
        raise ValueError(_sentence(owner, name, value, _integer_range(at_least, at_most)))
    return number


def as_choice(value: Any, name: str, choices: Iterable[Any], *, owner: str = "") -> Any:
    """Return `value` if it is one of `choices`, which the error lists.

    Choices are strings, numbers or None, but no bools.

    Raises
    ------
    TypeError
        If `value` is of another type than every choice.
    ValueError
        If it is none of them.
    """
    choices = tuple(choices)
    for choice in choices:
        # True equals 1, but is no choice of 1; numpy.str_ is a str.
        if isinstance(value, type(choice)) and not isinstance(value, bool) and value == choice:
            return choice
    allowed = "one of " + ", ".join(map(repr, choices))
    if any(isinstance(value, type(choice)) for choice in choices):
        raise ValueError(_sentence(owner, name, value, allowed, found=""))
    raise TypeError(_sentence(owner, name, value, allowed))


def as_bool(value: Any, name: str, *, owner: str = "") -> bool:
    """Return `value` as a bool; only bool and numpy.bool_ are taken, else TypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(_sentence(owner, name, value, "True or False"))
    return bool(value)


def as_random_state(
    seed: Any, name: str = "random_state", *, owner: str = ""
) -> np.random.Generator:
    """Return a generator of random numbers.

    Parameters
    ----------
    seed : None, int, numpy.random.Generator, SeedSequence, BitGenerator or RandomState
        None is fresh entropy; an int gives the same numbers every time; a Generator is used, and
        so advanced, as it is; a RandomState is asked for a seed, and so advanced too.

    Raises
    ------
    TypeError, ValueError
        For anything else, and for a negative int.
    """
    require_random_state(seed, name, owner=owner)
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(int(seed) if isinstance(seed, numbers.Integral) else seed)


def require_random_state(seed: Any, name: str = "random_state", *, owner: str = "") -> None:
    """Raise as `as_random_state` does, and draw nothing."""
    if seed is None or isinstance(seed, _RANDOM_SOURCES):
        return
    allowed = "None, an integer >= 0, a numpy.random.Generator or RandomState"
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, numbers.Integral):
        raise TypeError(_sentence(owner, name, seed, allowed))
    if seed < 0:
        raise ValueError(_sentence(owner, name, seed, allowed))


def _integer_range(at_least, at_most):
    bounds = [f">= {at_least}" if at_least is not None else None]
    bounds += [f"<= {at_most}" if at_most is not None else None]
    return " ".join(["an integer", " and ".join(b for b in bounds if b)]).strip()


def _real_range(above, at_least, below, at_most, allow_inf):
    bounds = [
        f"{sign} {bound:g}"
        for sign, bound in ((">", above), (">=", at_least), ("<", below), ("<=", at_most))
        if bound is not None
    ]
    kind = "a number" if allow_inf else "a finite number"
    return " ".join([kind, " and ".join(bounds)]).strip()


def _sentence(owner, name, value, allowed, found=None):
    try:
        shown = repr(value)
    except Exception:  # a value that cannot even be printed is still named by its type
        shown = "?"
    if len(shown) > 60:
        shown = shown[:57] + "..."
    if found is None:
        found = f"is of type {type(value).__name__}"
        if isinstance(value, numbers.Number) and not isinstance(value, complex):
            found = ""
    prefix = f"{owner}: " if owner else ""
    return f"{prefix}{name}={shown} {found and found + ', but '}must be {allowed}."
