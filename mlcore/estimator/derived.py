"""Cache of values derived from a fitted model's arrays, for later calls."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

Made = TypeVar("Made")
# model -> (arrays, settings, the value made from them)
_CACHE: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def cached(model: Any, arrays: Sequence[Any], settings: Any, make: Callable[[], Made]) -> Made:
    """Return `make()`, computed once for the same settings and arrays, which become read-only.

    It lives as long as the model, but outside of it: no copy, pickle or saved file holds it.
    """
    entry = _CACHE.get(model)
    if entry is not None:
        known, before, made = entry
        same = len(known) == len(arrays) and all(map(operator.is_, known, arrays))
        if same and (before is settings or before == settings):
            return made
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
        for part in parts:
            if isinstance(part, np.ndarray):  # not a list of objects
                part.flags.writeable = False
    made = make()
    _CACHE[model] = tuple(arrays), settings, made
    return made
