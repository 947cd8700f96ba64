"""Results as short tables: a line for each field, and of a long array its shape and range."""

from typing import Any

import numpy as np

_SHORT = 8  # entries of a list, and columns of a table, that are printed
_ENTRIES = 64  # of a table
_WIDTH = 72


def fields_as_table(result: Any) -> str:
    """Return a named tuple, or an object's public attributes, as a table for `__repr__`.

    A line for each field: ``losses  float64 of shape (100,), from 0.141506 to 0.5``.
    """
    fields = result._asdict() if isinstance(result, tuple) else vars(result)
    fields = {name: value for name, value in fields.items() if not name.startswith("_")}
    width = max(map(len, fields), default=0)
    lines = [type(result).__name__]
    for name, value in fields.items():
        first, *more = _lines(value)
        lines.append(f"  {name:{width}}  {first}".rstrip())
        lines += [" " * (width + 4) + line for line in more]
    return "\n".join(lines)


def _lines(value):
    if isinstance(value, np.ndarray):
        return _lines_of_array(value)
    if isinstance(value, float):
        return [f"{value:.6g}"]
    if isinstance(value, (dict, list, tuple)) and len(value) > _SHORT:
        return [f"{type(value).__name__} of {len(value)} entries"]
    first, *more = repr(value).split("\n")
    return [first if len(first) <= _WIDTH and not more else first[: _WIDTH - 4] + " ..."]


def _lines_of_array(array):
    table = array.ndim == 2 and array.shape[1] <= _SHORT and array.size <= _ENTRIES
    if array.size <= _SHORT or table:
        return np.array2string(array, precision=6, max_line_width=_WIDTH).split("\n")
    text = f"{array.dtype} of shape {array.shape}"
    if array.dtype.kind == "b":
        return [f"{text}, {np.count_nonzero(array)} of {array.size} true"]
    if array.dtype.kind not in "iuf" or not array.size:
        return [text]
    known = array[~np.isnan(array)]
    if not known.size:
        return [f"{text}, all NaN"]
    return [f"{text}, from {known.min():.6g} to {known.max():.6g}"]
