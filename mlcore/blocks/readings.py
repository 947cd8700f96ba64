"""Readings of the blocks: each must find the rows that the first one found."""

import marshal
import numbers
import zlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.blocks.block_error import BlockError
from mlcore.blocks.rounds import Workers, n_rows_of
from mlcore.blocks.sample import n_features_of, rows_of
from mlcore.checks.arrays import column_names

_GLANCE = 64  # rows of a block that every reading looks at
_VALUES = 1 << 18  # converted at a time
_PLAIN = {str, bytes, int, float, bool, type(None)}


class Shape(NamedTuple):
    """The form of the first block, which all have; `n_features` is None if samples are no rows.

    `y_columns` is the shape of y beyond the rows, `labels` the type of a classifier's labels.
    """

    n_features: int | None
    y: bool
    sample_weight: bool
    y_columns: tuple[int, ...]
    labels: str | None


class Readings:
    """The rounds of a fit, each of which reads all blocks.

    `first` is X, y and weights of the first block with rows; `labels` says that y holds labels, of
    one type. With `whole` the first reading computes `digests` (n_blocks,) uint64, 0 for no rows,
    and compares those of a checkpoint.
    """

    def __init__(
        self, workers: Workers, blocks: Any, first: tuple[Any, ...], *, labels: bool, whole: bool
    ) -> None:
        self.digests: np.ndarray | None = None
        self._workers, self._blocks = workers, blocks
        X, y, weight = first
        width = n_features_of(X) if len(getattr(X, "shape", ())) == 2 else None
        kind = _label_type(y) if labels and y is not None else None
        self._shape = Shape(width, y is not None, weight is not None, _y_columns(y), kind)
        self._whole, self._glances = whole, None

    def total(self, task: Any) -> Any:
        """Return the results of the task for all blocks, merged.

        BlockError for a block unread, or of other form or rows; ValueError if none has rows.
        """
        outcome = self._workers.total(_Watched(task, self._shape, self._whole), self._blocks)
        if outcome is None:
            raise ValueError(f"blocks: none of the {len(self._blocks)} has any rows.")
        seen, result = outcome
        glances, digests = np.zeros((2, len(self._blocks)), np.uint64)
        glances[seen[:, 0].astype(np.intp)] = seen[:, 1]
        digests[seen[:, 0].astype(np.intp)] = seen[:, 2]
        number = _first_change(self._glances, glances)
        if number is not None:
            raise BlockError(
                f"block {number} ({self._blocks[number].name}) gave other rows than in the reading "
                "before: a fit reads blocks several times, and needs the same rows each time.",
                number,
            )
        if self._whole:
            number = _first_change(self.digests, digests)
            if number is not None:
                raise ValueError(
                    f"checkpoint: it is of other data, as block {number} "
                    f"({self._blocks[number].name}) shows: give another path, or remove the file "
                    "to begin anew."
                )
            self.digests = digests
        self._glances, self._whole = glances, False
        return result

    def finish(self) -> None:
        """Compute the digests that a checkpoint keeps, if no reading has."""
        if self._whole:
            self.total(_Nothing())


class _Watched:
    """A task with the digests of the rows that it is given: (number, of some rows, of all)."""

    def __init__(self, task: Any, shape: Shape, whole: bool) -> None:
        self.name, self._task, self._shape, self._whole = task.name, task, shape, whole

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        _require_shape(self._shape, X, y, sample_weight)
        rows = X, y, sample_weight
        n = n_rows_of(X)
        glanced = rows
        if n > _GLANCE:
            places = np.linspace(0, n - 1, _GLANCE).astype(np.intp)
            glanced = tuple(
                part if part is None or _length(part) is None else rows_of(part, places)
                for part in rows
            )
        glance = digest(*glanced) ^ n
        whole = digest(*rows) if self._whole else 0
        return np.array([[number, glance, whole]], np.uint64), self._task(number, *rows)

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            total = self._task.merge(a[1], b[1])
        except (TypeError, ValueError) as error:
            first, number, last = int(a[0][0, 0]), int(b[0][0, 0]), int(b[0][-1, 0])
            raise BlockError(f"blocks {first} to {last} differ: {error}", number) from error
        return np.concatenate([a[0], b[0]]), total


class _Nothing:
    """The task that asks for nothing but the rows."""

    name = "check"

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> int:
        return 0

    def merge(self, a: int, b: int) -> int:
        return 0


def digest(X: Any, y: Any = None, sample_weight: Any = None) -> int:
    """Return a checksum of the rows of a block, a CRC, equal for one in 2^32 of other blocks.

    It is the same for all layouts and types from which a fit computes the same: integers and
    float64, but not float32, nor bool labels. Names of columns count.
    """
    names = column_names(X)
    names = None if names is None else [str(name) for name in names]
    crc = zlib.crc32(repr((n_rows_of(X), n_features_of(X), names)).encode())
    for part, to_float in ((X, True), (y, False), (sample_weight, True)):
        crc = _of_part(part, to_float, crc)
    return crc


def _require_shape(shape, X, y, sample_weight):
    """Refuse a block of another form than the first, in words that say both."""
    n = n_rows_of(X)
    if shape.n_features is not None and len(getattr(X, "shape", (n, 1))) != 2:
        raise ValueError(
            f"X has shape {tuple(X.shape)}, but must be of two dimensions, (n_samples, n_features)."
        )
    if shape.n_features not in (None, n_features_of(X)):
        raise ValueError(
            f"X has {n_features_of(X)} features, but the first block has {shape.n_features}."
        )
    parts = ("y", y, shape.y), ("sample_weight", sample_weight, shape.sample_weight)
    for name, part, wanted in parts:
        if (part is not None) != wanted:
            have, first = ("no ", "one") if wanted else ("", "none")
            raise ValueError(f"it has {have}{name}, but the first block has {first}.")
        if part is not None and _length(part) not in (None, n):
            raise ValueError(f"{name} has {_length(part)} rows, but X has {n}.")
    if _y_columns(y) != shape.y_columns:
        of_first = f"(n_samples, {', '.join(map(str, shape.y_columns))})".replace(", )", ",)")
        raise ValueError(f"y has shape {tuple(y.shape)}, but that of the first block {of_first}.")
    if shape.labels is not None and _label_type(y) != shape.labels:
        raise ValueError(
            f"y has labels of type {_label_type(y)}, but those of the first block are of type "
            f"{shape.labels}."
        )


def _y_columns(y):
    """Return the shape beyond the rows, of one column that of a vector."""
    more = tuple(getattr(y, "shape", ()))[1:]
    return () if more == (1,) else more


def _label_type(y):
    """Return the name of the type of labels that are not checked yet."""
    array = _as_array(y)
    kind = array.dtype.kind
    if kind in "biufc" or not array.size:
        return "number"
    value = array.ravel()[0]
    if kind in "US" or isinstance(value, str):
        return "str"
    number = isinstance(value, (numbers.Number, np.bool_))
    return "number" if number else type(value).__name__


def _length(part):
    """Return the number of rows, None of a number that stands for all."""
    shape = getattr(part, "shape", None)
    if shape is None:
        return len(part) if hasattr(part, "__len__") else None
    return int(shape[0]) if len(shape) else None


def _first_change(before, now):
    """Return the number of the first block whose digests differ, None if there is none."""
    if before is None:
        return None
    changed = np.flatnonzero(before != now)
    return int(changed[0]) if len(changed) else None


def _of_part(part, to_float, crc):
    if part is None:
        return zlib.crc32(b"none", crc)
    if sp.issparse(part):
        csr = part.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()  # its arrays may be the user's
            csr.sum_duplicates()
        crc = _of_array(csr.data, to_float, crc)
        for places in (csr.indices, csr.indptr):
            crc = _of_array(places, False, crc)
        return crc
    for column in _columns(part):
        crc = _of_array(_as_array(column), to_float, crc)
    return crc


def _columns(part):
    """Return the columns of a table of several types, otherwise the whole in a list."""
    if hasattr(part, "iloc") and getattr(part, "ndim", 1) == 2:
        types = set(part.dtypes)
        if len(types) == 1 and isinstance(next(iter(types)), np.dtype):
            return [part]
        return [part.iloc[:, j] for j in range(part.shape[1])]
    if hasattr(part, "get_columns"):  # of polars
        return part.get_columns()
    if hasattr(part, "column_names"):  # of pyarrow
        return part.columns
    return [part]


def _as_array(values):
    """Return an array, of objects where NumPy makes none of the values."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        texts = np.empty(len(values), dtype=object)
        texts[:] = [_text(value) for value in values]
        return texts


def _of_array(array, to_float, crc):
    kind = array.dtype.kind
    if kind in "mM":
        crc = zlib.crc32(array.dtype.name.encode(), crc)
        array, kind, to_float = array.astype(np.int64), "i", False
    if kind not in "biuf":
        return _of_objects(array.ravel().tolist(), crc)
    if kind == "f" or to_float:
        single = kind == "f" and array.dtype.itemsize == 4 and to_float
        dtype = np.dtype("<f4" if single else "<f8")
    else:
        dtype = np.dtype("<u8" if array.dtype == np.uint64 else "<i8")
    of = "bool" if kind == "b" and not to_float else dtype.str  # labels keep their type
    crc = zlib.crc32(of.encode(), crc)
    step = max(1, _VALUES * len(array) // max(1, array.size))
    if array.dtype == dtype and array.flags.c_contiguous:
        step = max(1, len(array))
    with np.errstate(all="ignore"):
        for first in range(0, len(array), step):
            rows = np.ascontiguousarray(array[first : first + step], dtype)
            crc = zlib.crc32(rows.reshape(-1).view(np.uint8), crc)
    return crc


def _of_objects(values, crc):
    if set(map(type, values)) <= _PLAIN:
        return zlib.crc32(marshal.dumps(values, 2), crc)  # a version without references
    return zlib.crc32("\0".join(map(_text, values)).encode("utf-8", "replace"), crc)


def _text(value):
    """Return text that is the same for equal values, in any process."""
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if isinstance(value, np.ndarray):
        return _text(value.tolist())
    named = type(value).__repr__ is object.__repr__  # which shows an address
    return type(value).__name__ if named else repr(value)
