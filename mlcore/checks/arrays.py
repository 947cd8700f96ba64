"""Conversion of any array-like to a plain array of finite real numbers, and its columns' names."""

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from scipy import sparse as sp

from mlcore._ext.checks import arrays as _ext
from mlcore.checks.errors import warn
from mlcore.runtime.memory import require_memory

_REFUSED = (str, bytes, np.datetime64, np.timedelta64, np.ndarray)
MISSING = ("NoneType", "NAType", "NaTType")
_SHOWN = 5  # names of columns in a message
_EXACT = 2**53  # integers up to it have a float64 of their own


class _Array(Protocol):
    """An object that NumPy makes an array."""

    def __array__(self) -> Any: ...


# Array-likes of numbers, for parameters that take names too: numpy's `ArrayLike` has strings in it.
Numbers = _Array | Sequence[float | _Array | Sequence[float | _Array]]


def plain_array(values: Any, name: str) -> np.ndarray:
    """Return `values` as a NumPy array of any type and shape.

    TypeError for what is no array, sparse too; ValueError for ragged nesting and masked values.
    """
    # Containers that NumPy would take, but not as a dense array of the values.
    if sp.issparse(values):
        raise TypeError(f"{name} is sparse ({type(values).__name__}), but must be a dense array.")
    if not isinstance(values, np.ndarray) and hasattr(values, "__array_namespace__"):
        raise TypeError(
            f"{name} is of type {_type_name(values)}, but must be a NumPy array, "
            "a data frame or nested lists."
        )
    require_unmasked(values, name)
    # The array; tables of mixed types are put together column by column.
    try:
        array = np.asarray(values) if not _converts_badly(values) else _by_columns(values)
    except ValueError as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ValueError(
                f"{name} is ragged: its rows have different lengths, or mix numbers and lists."
            ) from None
        raise
    except TypeError:  # columns of a table that have no type in common
        if columns_of(values) is None:
            raise
        array = _by_columns(values)
    # NumPy wraps any single object in an array of no dimensions.
    if array.ndim == 0 and array.dtype.kind in "OUST":
        raise TypeError(
            f"{name} is of type {_type_name(values)}, but must be an array, "
            "a data frame or nested lists."
        )
    return array


def require_unmasked(values: Any, name: str) -> None:
    """Refuse masked values, of which NumPy would make the numbers below the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked values, which count as missing: "
            "fill or drop them first (NaN is not accepted either)."
        )


def _converts_badly(values):
    """Return True for a table of which NumPy would make other numbers: polars of its times, pandas
    of missing integer categories.
    """
    if hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2:
        return any(getattr(type_, "name", None) == "category" for type_ in values.dtypes)
    types = getattr(values, "dtypes", None) if hasattr(values, "get_columns") else None
    return isinstance(types, list) and any(type_.is_temporal() for type_ in types)


def _by_columns(table):
    """Return the cells of a table as an array of objects."""
    columns = columns_of(table)
    array = np.empty((len(table), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        array[:, j] = np.fromiter(np.asarray(column), object, len(table))  # no time becomes an int
    return array


def columns_of(table: Any) -> list[Any] | None:
    """Return the columns of a data frame or table, None if it is none."""
    if hasattr(table, "iloc") and getattr(table, "ndim", 1) == 2:
        return [table.iloc[:, j] for j in range(table.shape[1])]
    if hasattr(table, "get_columns"):  # of polars
        return list(table.get_columns())
    return list(table.columns) if hasattr(table, "column_names") else None  # of pyarrow


def column_label(j: int, table: Any = None, name: str = "X") -> str:
    """Return the words for a column: its place, and its name and type in a table that has them."""
    names = column_names(table)
    if names is None or len(names) <= j:
        return f"{name}[:, {j}]"
    columns = columns_of(table)
    column = None if columns is None else columns[j]
    of_type = getattr(column, "dtype", getattr(column, "type", None))
    return f"{name}[:, {j}] (column {names[j]!r}{'' if of_type is None else f' of type {of_type}'})"


def real_array(values: Any, name: str, *, missing: bool = False) -> np.ndarray:
    """Return `values` as an array of bool, integer or float type, objects converted to float64.

    TypeError for what is no number; ValueError for complex numbers, None, NA and NaT (NaN if
    `missing`), and integers beyond float64.
    """
    array = plain_array(values, name)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{name} is of type {array.dtype}.")
    if array.dtype.kind == "O":
        return _floats_from_objects(array, name, missing, values)
    if array.dtype.kind not in "biuf":
        if column_names(values) is not None:
            raise TypeError(f"{column_label(0, values, name)} must hold real numbers.")
        raise TypeError(f"{name} is of type {array.dtype}, but must hold real numbers.")
    return array


def require_exact(table: np.ndarray, X: Any, columns: Any) -> None:
    """Refuse integers that float64 cannot tell from others, in `columns` that are categories.

    `table` (n, d), float32, float64 or object, is what the checks made of `X`, which the user gave.
    """
    if table.dtype.kind == "f":
        flat = np.ascontiguousarray(table).reshape(-1)
        if _ext.sum_of_squares(flat) < _EXACT**2:  # NaN is not
            return
    elif table.dtype != object:
        return
    for j in columns:
        column = table[:, j]
        if column.dtype == object or (np.abs(column) >= _EXACT).any():
            for value in _as_given(X, j) if column.dtype != object else column.tolist():
                whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
                if whole and abs(int(value)) > _EXACT and int(float(value)) != int(value):
                    raise ValueError(
                        f"{column_label(j, X)} has the category {value}, which float64 cannot tell "
                        "from the integers beside it: make strings of these categories."
                    )


def _as_given(X, j):
    """Return the values of a column, as integers where the table has a type for these."""
    columns = columns_of(X)
    if columns is not None and hasattr(columns[j], "to_pylist"):  # of pyarrow, with nulls
        return columns[j].to_pylist()
    values = plain_array(X, "X")[:, j] if columns is None else columns[j]
    return values.to_list() if hasattr(values, "to_list") else values.tolist()


def as_floats(array: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """Return an array of native float32 or float64 in C order, aligned; copied only if needed."""
    dtype = np.dtype(dtype)
    flags = array.flags
    if not (array.dtype == dtype and flags.c_contiguous and flags.aligned):
        rows = array.shape[0] if array.ndim else 1
        require_memory(
            rows,
            array.size // max(rows, 1),
            dtype.itemsize,
            what=f"a C-contiguous {dtype} copy of the data",
            instead=f"pass fewer rows, or C-contiguous {dtype} to begin with",
        )
        with np.errstate(all="ignore"):  # require_finite finds overflow
            array = np.require(array, dtype, ["C", "A"])
    return array


def require_finite(
    array: np.ndarray, name: str, owner: str, original: np.ndarray | None = None, table: Any = None
) -> None:
    """Refuse NaN, infinity, and rows whose squared norms come near overflow, with ValueError.

    `array` is C-contiguous; `original` is the one before conversion, `table` the user's, which may
    name columns. The limit, a quarter of the largest float, keeps squared distances finite; one
    pass over memory.
    """
    limit = np.finfo(array.dtype).max / 4
    if _ext.sum_of_squares(array.reshape(-1)) <= limit:
        return
    with np.errstate(all="ignore"):
        rows = array if array.ndim == 2 else array[:, None]
        norms = np.einsum("ij,ij->i", rows, rows)
        fine = norms <= limit
        if fine.all():
            return
    row = int(np.argmin(fine))
    refuse_row(rows[row], name, owner, row, original, table=table)


def refuse_row(
    values: Any,
    name: str,
    owner: str,
    row: int,
    original: Any = None,
    columns: np.ndarray | None = None,
    table: np.ndarray | None = None,
) -> None:
    """Raise the ValueError for the first bad value of a row.

    `columns` has the column of each value of a sparse row; `table` may know their names.
    """
    source = values if original is None else np.atleast_1d(original[row])
    nan, infinite = np.isnan(source), np.isinf(source)
    bad = nan | infinite
    if not bad.any():
        bad = ~np.isfinite(values)
        if not bad.any():
            bad = np.arange(len(values)) == np.argmax(np.abs(values))
    place = int(np.argmax(bad))
    if nan[place]:
        what = "contains NaN"
    elif infinite[place]:
        what = "contains infinity"
    else:
        what = (
            f"contains a value whose square overflows {values.dtype}, {source[place]!s}, "
            "which is too large"
        )
    column = place if columns is None else int(columns[place])
    where = f"{name}[{row}]" if name != "X" else f"row {row}, column {column}"
    names = column_names(table)
    if names is not None and column < len(names):
        where += f", {names[column]!r}"
    limit = np.sqrt(np.finfo(values.dtype).max) / 2
    raise ValueError(
        f"Input {name} {what} (at {where}). {owner or 'mlcore'} takes finite values only, "
        f"of magnitude below {limit:.0e} in {values.dtype} along a row: rescale or clean the data."
    )


def _floats_from_objects(array, name, missing, table):
    flat = array.ravel().tolist()
    kinds = dict.fromkeys(map(type, flat))
    absent = {kind for kind in kinds if kind.__name__ in MISSING}
    if absent:
        marks = np.array([type(value) in absent for value in flat]).reshape(array.shape)
        if not missing:
            place = tuple(np.argwhere(marks)[0].tolist())
            raise ValueError(
                f"Input {name} contains missing values ({type(array[place]).__name__}), which "
                f"count as NaN: only finite numbers are accepted. The first is at "
                f"{_place(place, name, table)}."
            )
        array = np.where(marks, np.nan, array)
    for kind in kinds:
        if kind in absent:
            continue
        if issubclass(kind, numbers.Complex) and not issubclass(kind, numbers.Real):
            raise ValueError(f"Complex data not supported\n{name} holds {kind.__name__}.")
        real = issubclass(kind, (numbers.Real, Decimal)) or hasattr(kind, "__float__")
        if not real or issubclass(kind, _REFUSED):
            place = np.unravel_index([type(v) for v in flat].index(kind), array.shape)
            # scikit-learn's checks look for "argument must be ... string ... number".
            raise TypeError(
                f"{_place(tuple(map(int, place)), name, table)} is of type {kind.__name__}: each "
                "value of the argument must be no string or other object but a real number."
            )
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise ValueError(f"{name} holds an integer that is too large for float64.") from None


def _place(place, name, table):
    """Return the words for one value, such as ``X[3, 1] (column 'age' of type str)``."""
    where = f"{name}[{', '.join(map(str, place))}]"
    if len(place) != 2 or column_names(table) is None:
        return where
    return where + column_label(place[1], table, name).removeprefix(f"{name}[:, {place[1]}]")


def _type_name(values):
    return f"{type(values).__module__}.{type(values).__qualname__}".removeprefix("builtins.")


def column_names(X: Any) -> np.ndarray | None:
    """Return the column names of a data frame or table as an object array, None if it has none.

    TypeError if some of the names are strings and others are not.
    """
    columns = getattr(X, "column_names", None)
    if not isinstance(columns, list):  # the names of pyarrow tables, whose `columns` are values
        columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = np.asarray(columns, dtype=object)
    if names.ndim != 1:
        return None
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        # The wording, here and below, is what scikit-learn's own tools and tests look for.
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {sorted({type(name).__qualname__ for name in names})} as feature name / "
            "column name types. If you want feature names to be stored and validated, you must "
            "convert them all to strings, by using X.columns = X.columns.astype(str) for example. "
            "Otherwise you can remove feature / column names from your input data, or convert "
            "them all to a non-string data type."
        )
    return names if len(names) and all(text) else None


def check_column_names(names: np.ndarray | None, seen: np.ndarray | None, owner: str) -> None:
    """Compare the column names of new data with those `seen` in fit; ValueError if they differ.

    Names on one side only are a warning.
    """
    if names is None and seen is None:
        return
    if seen is None:
        warn("UserWarning", f"X has feature names, but {owner} was fitted without feature names")
        return
    if names is None:
        warn(
            "UserWarning",
            f"X does not have valid feature names, but {owner} was fitted with feature names",
        )
        return
    if len(names) == len(seen) and (names == seen).all():
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(seen)), sorted(set(seen) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names):
    lines = "".join(f"- {name}\n" for name in names[:_SHOWN])
    return lines + ("- ...\n" if len(names) > _SHOWN else "")
