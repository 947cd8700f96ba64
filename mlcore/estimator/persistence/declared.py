"""Kinds and dimensions of what a file holds, declared once by each class and checked.

Each class has a table `_stored` of its fitted attributes; a subclass adds lines or replaces them.
Attributes that a model has not are not missed, but those that it has fit the table and each other.
Objects of the classes that `mlcore.checks.stored` registers have a table of all their fields.

A line is a string ``kind dimension dimension ...``, alternatives parted by ``|``:

======================  ============================================================================
kind                    what it is
======================  ============================================================================
float, int, bool        an array of float32 or float64, of int32 or int64, of bool; a number if no
                        dimension follows
float64, int64, ...     an array of this type alone
increasing              an array of floats without NaN, none less than the one before
labels                  an array of anything that classes can be called by
names                   an array of strings, of type object
rows                    samples: an array of floats by rows, CSR, or as a kernel has encoded them
csr                     a CSR matrix of floats, its columns in order in each row
size                    a whole number, which is this dimension
count, text, none, any  a whole number from 0 on, a string, None, anything
model                   a model, of the class that may follow
======================  ============================================================================

A dimension is a number or a name, which means the same size in the whole model, and at least 1;
with ``?`` it may be 0. ``c-1`` and ``f+q`` are computed; ``c'`` is the number of scores of c
classes, 1 for two; ``_`` is any size. After ``<`` stands what whole numbers are below; they are at
least 0 then.

Compound values: a tuple of lines is a tuple of such values; a list ``[dimension, line]`` a list or
tuple of so many, in which the name ``m[]`` is another in each; a dict has a line for each key, or
one for every key under ``...``. None may stand for each of them, and ``()`` for a tuple. A tuple
``("|", line, line)`` is a choice. A class is the line of its objects, whose dimensions are those of
the model; they may be None only by ``("|", "none", Class)``. What no line can say, `_check_loaded`
of the model or of the object checks.
"""

import re

import numpy as np
from scipy import sparse as sp

from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.checks.stored import declared, is_stored
from mlcore.estimator.model import Model

_TYPES = {
    "float": (np.float32, np.float64),
    "increasing": (np.float32, np.float64),
    "int": (np.int32, np.int64),
    "bool": (np.bool_,),
    **{name: (np.dtype(name).type,) for name in ("float32", "float64", "int32", "int64", "uint8")},
}
_SCALARS = {
    "float": (float, int, np.floating, np.integer),
    "int": (int, np.integer),
    "bool": (bool, np.bool_),
    "text": (str,),
}
_TERM = re.compile(r"([-+]?)([^-+]+)")


class _Unknown(Exception):
    """A dimension is computed of one that no array has given yet."""


def check_declared(model: Model) -> None:
    """Raise ValueError if the attributes of a model are not what its class declares."""
    owner, state = type(model).__name__, vars(model)
    left = {name: line for name, line in declared(type(model)).items() if name in state}
    try:
        _all_checked(state, left, {}, owner)
    except _Unknown as names:
        raise ValueError(f"{owner} lacks what gives {names} their dimensions.") from None
    model._check_loaded()


def _all_checked(values, lines, dimensions, place, item=""):
    """Return the dimensions, with those of named values, in an order in which all are known."""
    left = lines
    while left:
        waiting = {}
        for name, line in left.items():
            try:
                dimensions = _checked(values[name], line, dimensions, f"{place}.{name}", item)
            except _Unknown:
                waiting[name] = line
        if len(waiting) == len(left):
            raise _Unknown(", ".join(waiting))
        left = waiting
    return dimensions


def _checked(value, line, dimensions, place, item=""):
    """Return the dimensions, with those that `value` gives; `item` is its number in a list."""
    if isinstance(line, str):
        return _one_of(value, line, dimensions, place, item)
    if isinstance(line, type):
        return _object(value, line, dimensions, place, item)
    if isinstance(line, tuple) and line[0] == "|":
        tried = [(value, choice, dimensions, place, item) for choice in line[1:]]
        return _first_that_fits(_checked, tried)
    if value is None or (isinstance(line, tuple) and type(value) is tuple and not value):
        return dimensions
    if isinstance(line, dict):
        if type(value) is not dict or not ("..." in line or value.keys() <= line.keys()):
            raise _other(place, value, f"a dict of {', '.join(line)}")
        parts = [(key, part, line.get(key, line.get("..."))) for key, part in value.items()]
    elif isinstance(line, tuple):
        if type(value) is not tuple or len(value) != len(line):
            raise _other(place, value, f"a tuple of {len(line)}")
        parts = [(i, *pair) for i, pair in enumerate(zip(value, line, strict=True))]
    else:
        if type(value) not in (list, tuple):
            raise _other(place, value, "a list")
        dimensions = _sized(len(value), line[0], dimensions, place, item)
        parts = [(i, part, line[1]) for i, part in enumerate(value)]
    for key, part, inner in parts:
        inside = f"{item}[{key}]" if isinstance(line, list) else item
        dimensions = _checked(part, inner, dimensions, f"{place}[{key!r}]", inside)
    return dimensions


def _object(value, cls, dimensions, place, item):
    """Return the dimensions, with those of the fields of an object of this class."""
    kind = type(value)
    if not (isinstance(value, cls) and is_stored(kind)):
        raise _other(place, value, f"an object of class {cls.__name__}")
    lines = declared(kind)
    fields = {name: getattr(value, name) for name in lines}
    dimensions = _all_checked(fields, lines, dimensions, place, item)
    if hasattr(kind, "_check_loaded"):
        value._check_loaded()
    return dimensions


def _first_that_fits(check, tried):
    """Return what `check` returns for the first of some arguments that it does not refuse."""
    for arguments in tried:
        try:
            return check(*arguments)
        except ValueError as other:
            error = other
    raise error


def _one_of(value, line, dimensions, place, item):
    """Return the dimensions by the first alternative that fits."""
    tried = []
    for alternative in line.split("|"):
        words, _, bound = alternative.partition("<")
        kind, *sizes = words.split()
        if _is(value, kind, sizes):
            tried.append((value, kind, sizes, bound.strip(), dimensions, place, item))
    if not tried:
        raise _other(place, value, line)
    return _first_that_fits(_fitted, tried)


def _fitted(value, kind, sizes, bound, dimensions, place, item):
    """Return the dimensions, with those of a value of this kind."""
    if kind == "size":
        return _sized(int(value), sizes[0], dimensions, place, item)
    if kind == "model":
        return dimensions
    shape = getattr(value, "shape", ())
    if isinstance(value, EncodedSamples):
        shape = shape[:1]  # they have no columns
    for length, size in zip(shape, sizes, strict=False):
        dimensions = _sized(length, size, dimensions, place, item)
    if bound:
        _check_below(value, bound, dimensions, place, item)
    return dimensions


def _is(value, kind, sizes):
    """Return True if a value is of this kind and has as many dimensions."""
    if kind in ("any", "none"):
        return kind == "any" or value is None
    if kind == "model":
        return isinstance(value, Model) and (
            not sizes or sizes[0] in [base.__name__ for base in type(value).__mro__]
        )
    if kind in ("size", "count"):
        return _is(value, "int", ()) and value >= 0
    if kind in ("rows", "csr") and sp.issparse(value):
        fine = value.format == "csr" and value.data.dtype in _TYPES["float"]
        return fine and value.has_canonical_format
    if kind == "rows":
        by_rows = getattr(value, "flags", {"C_CONTIGUOUS": True})["C_CONTIGUOUS"]
        return isinstance(value, EncodedSamples) or (_is(value, "float", sizes) and by_rows)
    if not sizes:
        truth = isinstance(value, bool | np.bool_) and kind != "bool"
        return isinstance(value, _SCALARS[kind]) and not truth
    if not isinstance(value, np.ndarray) or value.ndim != len(sizes):
        return False
    if kind == "labels":
        return value.dtype.kind != "O" or not any(map(_is_no_label, value.flat))
    if kind == "names":
        return value.dtype.kind == "O" and all(isinstance(name, str) for name in value.flat)
    if value.dtype not in _TYPES.get(kind, ()):
        return False
    return kind != "increasing" or bool((value[:-1] <= value[1:]).all() and (value == value).all())


def _is_no_label(value):
    no_label = isinstance(value, np.ndarray | list | dict | Model | EncodedSamples)
    return no_label or is_stored(type(value))


def _sized(length, size, dimensions, place, item):
    """Return the dimensions with what this one tells, which must be of this length."""
    name = size.rstrip("?").replace("[]", item)
    terms = _TERM.findall(name)
    if len(terms) == 1 and not name.isdigit() and not length and not size.endswith("?"):
        raise ValueError(f"{place} is empty.")
    if name == "_":
        return dimensions
    unknown = [(sign, term) for sign, term in terms if _value(term, dimensions) is None]
    if len(unknown) > 1:
        raise _Unknown
    expected = _computed(name, dimensions)
    if unknown:
        ((sign, term),) = unknown
        if term.endswith("'"):
            raise _Unknown
        dimension = expected - length if sign == "-" else length - expected
        if dimension < (not size.endswith("?")):
            raise ValueError(f"{place} has {length}, too few for {name}.")
        return dimensions | {term: dimension}
    if length != expected:
        raise ValueError(f"{place} has {length} where there must be {expected} ({name}).")
    return dimensions


def _value(term, dimensions):
    """Return the size that a term stands for, None if it is not known."""
    if term.isdigit():
        return int(term)
    size = dimensions.get(term.rstrip("'"))
    return 1 if size == 2 and term.endswith("'") else size


def _computed(expression, dimensions):
    """Return the sum of the terms that are known."""
    values = [(sign, _value(term, dimensions)) for sign, term in _TERM.findall(expression)]
    return sum(-size if sign == "-" else size for sign, size in values if size is not None)


def _check_below(value, bound, dimensions, place, item):
    name, values = bound.replace("[]", item), np.asarray(value)
    if name == "_":
        name = str(np.iinfo(np.int64).max)
    if any(_value(term, dimensions) is None for _, term in _TERM.findall(name)):
        raise _Unknown
    limit = _computed(name, dimensions)
    if values.size and (values.min() < 0 or values.max() >= limit):
        raise ValueError(
            f"{place} has {values.min()} to {values.max()}, but must be from 0 to {limit - 1}."
        )


def _other(place, value, line):
    what = type(value).__name__
    if hasattr(value, "dtype"):
        what += f" of {value.dtype}, {value.shape}"
    return ValueError(f"{place} is {what}, but must be: {line}.")
