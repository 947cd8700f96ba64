"""Cache of what the first call of a fitted model makes of its arrays, for later calls."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

Made = TypeVar("Made")
# From a model to its arrays, settings and what was made of them.
_CACHE: WeakKeyDictionary[Any, tuple] = WeakKeyDictionary()


def cached(model: Any, arrays: Sequence[Any], settings: Any, make: Callable[[], Made]) -> Made:
    """Return what `make()` made of a model's arrays (dense or CSR) and settings, called once.

    The result lives as long as the model, outside of it: no copy, pickle or saved file holds it.
    Other arrays (compared by identity) or settings replace it. The arrays become read-only.
    """
    entry = _CACHE.get(model)
    if entry is not None:
        known, before, made = entry
        same = len(known) == len(arrays) and all(map(operator.is_, known, arrays))
        if same and before == settings:
            return made
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
        for part in parts:
            if isinstance(part, np.ndarray):  # no list of objects
                part.flags.writeable = False
    made = make()
    _CACHE[model] = tuple(arrays), settings, made
    return made
