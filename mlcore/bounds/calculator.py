"""Decorator that lets calculators take arrays and warns of a delta above 1/2."""

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from mlcore.bounds.arguments import is_single, refuse
from mlcore.bounds.intervals import Interval, Undecided
from mlcore.checks.errors import warn

_P = ParamSpec("_P")
_FAILURES = ("delta", "mc_delta")  # arguments that are probabilities of failure
_DIMENSION = "vc_dimension"
_PACKAGE = "mlcore."
_AT_ONCE = 16  # entries from which intervals are faster
_BLOCK = 4096  # entries whose intervals fit in the cache


def calculator(
    *names: str, whole: bool = False, elementwise: bool = False
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]:
    """Let a function of numbers take arrays, which broadcast, as its arguments `names`.

    Keywords collected by ``**`` count as named. `whole` is for functions that take arrays
    themselves; `elementwise` for formulas that can be computed on intervals.
    """

    def decorate(function):
        parameters = inspect.signature(function).parameters
        collects = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

        @functools.wraps(function)
        def over_arrays(*args, **kwargs):
            # Find the arguments that are arrays.
            if "d" in kwargs and _DIMENSION in names and _DIMENSION not in kwargs:
                kwargs[_DIMENSION] = kwargs.pop("d")
            arguments = dict(zip(parameters, args, strict=False)) | kwargs
            several = {
                name: value
                for name, value in arguments.items()
                if (name in names or (collects and name not in parameters)) and not is_single(value)
            }
            # Numbers alone take one call, arrays one for each entry or block.
            if not several:
                result = function(*args, **kwargs)
            else:
                inspect.signature(function).bind(*args, **kwargs)
                arrays, shape = _broadcast(several)
                if whole or shape == ():
                    result = function(**(arguments | (several if whole else _at((), arrays))))
                else:
                    result = None
                    if elementwise and math.prod(shape) >= _AT_ONCE:
                        result = _at_once(function, arguments, arrays, shape)
                    if result is None:
                        result = _each(function, arguments, arrays, shape)
            # Only calls of users are warned.
            if not _called_by_mlcore(sys._getframe(1)):
                for name in _FAILURES:
                    if name in parameters and arguments.get(name) is not None:
                        warn_of_confidence(arguments[name], name)
            return result

        return over_arrays

    return decorate


def warn_of_confidence(delta: Any, name: str = "delta") -> None:
    """Warn of a probability of failure, already checked, that is more than a half."""
    largest = float(np.max(delta, initial=0.0))
    if largest > 0.5:
        warn(
            "UserWarning",
            f"{name}={largest:g} is the probability that the bound fails, and more than a half: if "
            f"a confidence of {largest:g} is meant, give {name}={1 - largest:.6g}.",
        )


def _called_by_mlcore(frame):
    return frame.f_globals.get("__name__", "").startswith(_PACKAGE)


def _broadcast(several):
    """Return the arguments as arrays, and the shape that they broadcast to."""
    arrays = {}
    for name, value in several.items():
        try:
            arrays[name] = np.asarray(value)
        except ValueError:  # ragged
            refuse(name, value, "a number or an array of numbers")
    try:
        return arrays, np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = " and ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{shapes} must have shapes that broadcast.") from None


def _at(place, arrays):
    """Return the entries of all arrays at an index of the common shape, as numbers."""
    return {name: _entry(array[_own(place, array)]) for name, array in arrays.items()}


def _own(place, array):
    """Return an index of the common shape as an index of an array that broadcasts to it."""
    last = place[len(place) - array.ndim :]
    return tuple(i if n > 1 else 0 for i, n in zip(last, array.shape, strict=True))


def _entry(value):
    plain = isinstance(value, (np.bool_, np.integer, np.floating))
    return value.item() if plain and value.itemsize <= 8 else value


def _at_once(function, arguments, arrays, shape):
    """Return all entries, computed one by one where intervals do not decide; None if none do."""
    flat = {name: np.broadcast_to(array, shape).ravel() for name, array in arrays.items()}
    results = []
    for start in range(0, math.prod(shape), _BLOCK):
        block = {name: array[start : start + _BLOCK] for name, array in flat.items()}
        try:
            with np.errstate(all="ignore"):
                computed = function(
                    **(arguments | {name: Interval.of(array) for name, array in block.items()})
                )
        except Undecided:
            return None
        values, left = computed.tolist(), np.flatnonzero(np.isnan(computed)).tolist()
        for i in left or [0]:  # at least one, for the type
            entries = {name: _entry(array[i]) for name, array in block.items()}
            values[i] = function(**(arguments | entries))
        whole = isinstance(values[i], int)
        results += map(int, values) if whole else values
    return _gathered(results, shape)


def _each(function, arguments, arrays, shape):
    results = []
    for place in np.ndindex(shape):
        try:
            results.append(function(**(arguments | _at(place, arrays))))
        except ValueError as error:
            for name, array in arrays.items():
                if str(error).startswith(f"{name}="):
                    where = ", ".join(map(str, _own(place, array)))
                    raise ValueError(f"{name}[{where}]{str(error)[len(name) :]}") from None
            raise
    if function.__annotations__["return"] == tuple[Any, Any]:
        return tuple(_gathered([pair[end] for pair in results], shape) for end in (0, 1))
    return _gathered(results, shape)


def _gathered(results, shape):
    """Return integers as int64, or as objects if one is too large, other results as float64."""
    whole = results and all(isinstance(result, int) for result in results)
    try:
        array = np.array(results, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        array = np.array(results, dtype=object)
    return array.reshape(shape)
