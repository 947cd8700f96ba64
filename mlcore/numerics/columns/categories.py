"""Categories of columns: numbers, strings, times, or other values that sort."""

import datetime
import math
import numbers
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_labels, label_type
from mlcore.checks.arrays import (
    column_label,
    column_names,
    columns_of,
    plain_array,
    require_exact,
)
from mlcore.checks.samples import require_matrix

UNSEEN, MISSING = -2, -1  # codes that are no place in the categories
_TIMES = datetime.date, np.datetime64
_DURATIONS = datetime.timedelta, np.timedelta64
_NO_NUMBERS = (str, bytes, *_TIMES, *_DURATIONS)
_BOOL = bool, np.bool_
_FAMILIES = numbers.Real, str, bytes, _TIMES, _DURATIONS


def as_table(X: Any) -> np.ndarray | None:
    """Return X as an array (n, d) of objects or of times if it holds strings or times, else None.

    ValueError for strings or times that are no matrix.
    """
    if sp.issparse(X):
        return None
    array = plain_array(X, "X")
    if array.dtype.kind not in "OUSTmM":
        return None
    if array.ndim != 2:
        if any(isinstance(value, _NO_NUMBERS) for value in array.astype(object).flat):
            require_matrix(array, "X", "", X)
        return None
    if array.dtype.kind in "mM":
        return array
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        array = np.array(X, dtype=object)  # NumPy has turned the number in [1, "a"] into a string
    array = array.astype(object)
    return array if any(isinstance(value, _NO_NUMBERS) for value in array.flat) else None


def require_categories(table: np.ndarray, X: Any, columns: Any, missing: bool) -> None:
    """Refuse columns whose values are no categories, or that float64 cannot tell from others.

    `table` (n, d) is checked; `X` is what the user gave. `missing` allows None and NaN.
    """
    require_exact(table, X, columns)
    for j in () if table.dtype.kind == "f" else columns:
        column = table[:, j]
        _require_column(column, _known(column), j, X, missing)


def _require_column(column, known, j, X, missing):
    if not missing and not known.all():
        raise ValueError(
            f"Input {column_label(j, X)} contains NaN "
            f"(as {column[~known].tolist()[0]!r}), which is no category: "
            'missing="ignore" takes missing values.'
        )
    if column.dtype == object:
        _require_one_kind(column[known].tolist(), j, X)


def _require_one_kind(values, j, X):
    kinds = {next((f for f in _FAMILIES if isinstance(v, f)), type(v)) for v in values}
    if len(kinds) > 1:
        names = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"{column_label(j, X)} has categories of mixed types ({', '.join(names)}): they must "
            "be of one type, all numbers or all strings."
        )


def coded_column(column: np.ndarray, name: str, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted categories of a checked column and the code of each row, (n,) intp.

    With `missing`, None, NaN and NaT have the code MISSING; errors say the `name`.
    """
    codes = np.full(len(column), MISSING, np.intp)
    known = _known(column) if missing else np.ones(len(column), bool)
    values = column[known]
    if not len(values):
        return np.empty(0), codes
    if values.dtype == object and all(isinstance(v, numbers.Real) for v in values):
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"Input {name} contains infinity, which is no category.")
    if values.dtype == object:
        values = _times(values)
    if values.dtype == object:
        categories, codes[known] = as_labels(values, len(values), name=name)
        if label_type(categories) == "str":
            categories = categories.astype(str)
    else:
        categories, codes[known] = np.unique(values, return_inverse=True)
    return categories, codes


def _times(values):
    """Return times or durations among objects as an array of their type, others as they are."""
    for kinds, convert, name in (
        (_TIMES, np.datetime64, "to_datetime64"),
        (_DURATIONS, np.timedelta64, "to_timedelta64"),
    ):
        if all(isinstance(v, kinds) and getattr(v, "tzinfo", None) is None for v in values):
            plain = (getattr(v, name)() if hasattr(v, name) else convert(v) for v in values)
            return np.array(list(plain))
    return values


def codes_in(column: np.ndarray, categories: np.ndarray, missing: bool) -> np.ndarray:
    """Return the place in known categories of each value, (n,) intp, or UNSEEN or MISSING."""
    if not len(categories):
        codes = np.full(len(column), UNSEEN, np.intp)
    elif categories.dtype.kind in "mM":
        codes = _codes_of_times(column, categories)
    elif column.dtype == object or categories.dtype.kind != "f":
        places = {value: code for code, value in enumerate(categories.tolist())}
        codes = np.array([places.get(value, UNSEEN) for value in column.tolist()], np.intp)
    else:
        codes = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
        codes[categories[codes] != column] = UNSEEN
    if missing:
        codes[~_known(column)] = MISSING
    return codes


def _codes_of_times(column, categories):
    codes, known = np.full(len(column), UNSEEN, np.intp), _known(column)
    values = column[known]
    if values.dtype == object:
        values = _times(values)
    if values.dtype.kind == categories.dtype.kind and len(values):
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        codes[known] = np.where(categories[places] == values, places, UNSEEN)
    return codes


def all_categories(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    """Return the categories of both, sorted; they must be of one type."""
    if not len(a) or not len(b):
        return a if len(a) else b
    kinds = label_type(a), label_type(b)
    if kinds[0] != kinds[1]:
        raise TypeError(f"{name} has categories of types {kinds[0]} and {kinds[1]}.")
    return np.union1d(a, b)


def _known(column):
    if column.dtype != object:
        return ~(np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column))
    return np.array(
        [
            value is not None
            and type(value).__name__ not in ("NAType", "NaTType")
            and not (isinstance(value, numbers.Real) and math.isnan(value))
            for value in column.tolist()
        ],
        bool,
    )


class CodedColumn(NamedTuple):
    """The codes of a column's rows, (n,) intp, MISSING among them, and the categories they stand
    for, which are `declared` if their list and order are the user's.
    """

    codes: np.ndarray
    categories: np.ndarray
    declared: bool


class CodedTable:
    """Rows whose columns are categories of any types, of which models take parts by their rows."""

    columns: list[CodedColumn]
    labels: list[str]  # of the columns, for errors

    def __init__(self, columns: list[CodedColumn], labels: list[str]) -> None:
        self.columns, self.labels = columns, labels

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(self.columns[0].codes)

    def __getitem__(self, rows: Any) -> Self:
        columns = [column._replace(codes=column.codes[rows]) for column in self.columns]
        return type(self)(columns, self.labels)

    def categories(self) -> list[np.ndarray]:
        """Return the categories of each column: the declared ones, else those that occur."""
        return [
            values if declared else values[np.unique(codes[codes != MISSING])]
            for codes, values, declared in self.columns
        ]

    def missing(self) -> np.ndarray:
        """Return which values are missing, (n, d) bool."""
        return np.column_stack([codes == MISSING for codes, *_ in self.columns])

    def places(self, j: int, categories: np.ndarray) -> np.ndarray:
        """Return the place in `categories` of each row of column j, or UNSEEN or MISSING."""
        codes, own, _ = self.columns[j]
        if own is categories:
            return codes
        if own.dtype.kind != categories.dtype.kind:
            own = own.astype(object)
        places = codes_in(own, categories, False) if len(own) else np.empty(0, np.intp)
        return np.append(places, MISSING)[codes]  # MISSING is the last


def coded_table(X: Any, missing: bool) -> CodedTable | None:
    """Return X as a `CodedTable` if it holds more than numbers, else None.

    Columns may be of strings, times, bool, or pandas' and polars' categorical types; `missing`
    allows None, NaN and NA.
    """
    if sp.issparse(X):
        return None
    given = columns_of(X)
    if given is None:
        table = as_table(X)
        columns = None if table is None else list(table.T)
    else:
        columns = list(map(_plain_column, given))
        if not len(X) or not any(map(_no_numbers, columns)):
            return None
    if columns is None:
        return None
    labels = _labels(X, len(columns))
    return CodedTable(
        [_coded(column, j, X, missing, labels[j]) for j, column in enumerate(columns)], labels
    )


def table_of_numbers(X: np.ndarray) -> CodedTable:
    """Return checked numbers (n, d), NaN for what is missing, as a table."""
    columns = [CodedColumn(*coded_column(x, "X", True)[::-1], False) for x in X.T]
    return CodedTable(columns, _labels(X, len(columns)))


def _labels(X, n_columns):
    names = column_names(X)
    return [
        f"column {j}{'' if names is None else f' ({names[j]!r})'} of X" for j in range(n_columns)
    ]


def _plain_column(column):
    """Return a column of a frame as an array, or with the categories that its type declares."""
    kind = getattr(column, "dtype", None)
    if getattr(kind, "name", None) == "category":  # of pandas
        codes, categories = column.cat.codes.to_numpy(), _plain_categories(column.cat)
        if categories.dtype.kind == "f":  # numbers ascend
            order = np.argsort(categories)
            codes = np.append(np.argsort(order), MISSING)[codes]
            categories = categories[order]
        return CodedColumn(codes.astype(np.intp), categories, True)
    if type(kind).__name__ == "Enum":  # of polars
        declared = np.array(kind.categories.to_list())
        codes = column.to_physical().cast(int).fill_null(MISSING).to_numpy().astype(np.intp)
        return CodedColumn(codes, declared, True)
    if hasattr(column, "to_pylist") or hasattr(column, "to_list"):
        array = np.asarray(column)
        if array.dtype.kind not in "biufmM":  # what NumPy makes of missing values differs
            lists = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
            array = np.empty(len(lists), object)
            array[:] = lists
        return array
    return np.asarray(column)


def _plain_categories(cat):
    values = np.asarray(cat.categories)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    strings = values.dtype == object and all(isinstance(value, str) for value in values)
    return values.astype(str) if strings else values


def _no_numbers(column):
    if isinstance(column, CodedColumn) or column.dtype.kind in "USTmM":
        return True
    return column.dtype == object and any(isinstance(value, _NO_NUMBERS) for value in column)


def _coded(column, j, X, missing, label):
    if isinstance(column, CodedColumn):
        known = column.codes != MISSING
        if not missing and not known.all():
            _require_column(np.full(len(known), np.nan), known, j, X, missing)
        return column
    known = _known(column)
    _require_column(column, known, j, X, missing)
    if column.dtype == object and all(isinstance(v, _BOOL) for v in column[known]) and known.any():
        codes = np.full(len(known), MISSING, np.intp)
        categories, codes[known] = np.unique(column[known].astype(bool), return_inverse=True)
    else:
        if column.dtype.kind in "iu":
            require_exact(column[:, None].astype(object), X, [0])
            column = column.astype(np.float64)
        elif column.dtype.kind == "f":
            column = column.astype(np.float64)
            if np.isinf(column).any():
                raise ValueError(f"Input {label} contains infinity, which is no category.")
        categories, codes = coded_column(column, label, True)
    return CodedColumn(codes, categories, False)
