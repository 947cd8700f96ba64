"""What later calls of a fitted model share: made of its arrays in the first of them."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

Made = TypeVar("Made")
_KEPT: WeakKeyDictionary[Any, tuple] = (
    WeakKeyDictionary()
)  # model -> arrays, settings, what is made


def kept(model: Any, arrays: Sequence[Any], settings: Any, make: Callable[[], Made]) -> Made:
    """Return what `make` has made of a model's arrays (dense or CSR) and settings.

    It lives as long as the model, beside it: no copy, pickle or saved file holds it. Other arrays
    or settings make a new one; to change the values of these is refused by NumPy from now on.
    """
    if model in _KEPT:
        known, before, made = _KEPT[model]
        same = len(known) == len(arrays) and all(map(operator.is_, known, arrays))
        if same and before == settings:
            return made
    for array in arrays:
        parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
        for part in parts:
            if isinstance(part, np.ndarray):  # no list of objects
                part.flags.writeable = False
    made = make()
    _KEPT[model] = tuple(arrays), settings, made
    return made
