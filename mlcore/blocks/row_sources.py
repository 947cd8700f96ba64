"""Sources of rows: arrays and tables in memory, mapped files, HDF5 and Zarr arrays.

Each has `cut(first, last)`, which returns these rows, and `sent(first, last)`, which returns a
source of the same rows that is pickled small: a file by its name, the rest as these rows alone.
"""

import math
from mmap import mmap
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks.arrays import plain_array


class InMemory:
    """An array, CSR array, data frame or table."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def cut(self, first: int, last: int) -> Any:
        values = self.values
        if hasattr(values, "iloc"):
            return values.iloc[first:last]
        if hasattr(values, "slice"):  # of polars and pyarrow
            return values.slice(first, last - first)
        return values[first:last]

    def sent(self, first: int, last: int) -> "Alone":
        return Alone(self.cut(first, last))


class Alone:
    """Rows that have been cut."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def cut(self, first: int, last: int) -> Any:
        return self._rows

    def sent(self, first: int, last: int) -> "Alone":
        return self


class MappedFile:
    """Consecutive rows of a file, mapped anew for each block, so that no pages stay behind."""

    def __init__(self, path: str, dtype: np.dtype, shape: tuple[Any, ...], offset: int) -> None:
        self._path, self._dtype, self._shape, self._offset = path, dtype, shape, offset

    def cut(self, first: int, last: int) -> np.ndarray:
        step = self._dtype.itemsize * math.prod(self._shape[1:])
        shape, offset = (last - first, *self._shape[1:]), self._offset + first * step
        rows = np.memmap(self._path, self._dtype, "r", offset, shape)
        return rows.view(np.ndarray)

    def sent(self, first: int, last: int) -> "MappedFile":
        return self


class HDF5File:
    """A dataset of an HDF5 file, opened anew in another process."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._path, self._name = dataset, dataset.file.filename, dataset.name

    def cut(self, first: int, last: int) -> np.ndarray:
        if self._dataset is not None:
            return self._dataset[first:last]
        import h5py

        with h5py.File(self._path, "r") as file:
            return file[self._name][first:last]

    def sent(self, first: int, last: int) -> "HDF5File":
        return self

    def __getstate__(self) -> Any:
        return {**vars(self), "_dataset": None}


class ZarrArray:
    """A Zarr array, which is pickled as the place of its store."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def cut(self, first: int, last: int) -> np.ndarray:
        return np.asarray(self._array[first:last])

    def sent(self, first: int, last: int) -> "ZarrArray":
        return self


def source_of(values: Any, name: str = "X") -> Any:
    """Return the source of the rows of an array, a table, or an array in a file.

    `name` is that of the argument, for errors.
    """
    library = type(values).__module__.partition(".")[0]
    if library == "h5py":
        return HDF5File(values)
    if library == "zarr":
        return ZarrArray(values)
    mapped = _mapped(values)
    if mapped is not None:
        return mapped
    if sp.issparse(values):
        values = values.tocsr()
    elif not (hasattr(values, "shape") and hasattr(values, "dtype") or _is_table(values)):
        values = plain_array(values, name)
    return InMemory(values)


def _is_table(values):
    return hasattr(values, "iloc") or hasattr(values, "slice")


def _mapped(values):
    """Return the file that an array is mapped from, None if it is none, or not in one piece."""
    root, link = None, values
    while isinstance(link, np.ndarray):
        root = link if isinstance(link, np.memmap) else root
        link = link.base
    if root is None or not isinstance(link, mmap) or root.filename is None or root.mode == "c":
        return None
    if not values.flags.c_contiguous or values.dtype.hasobject:
        return None
    offset = root.offset + values.ctypes.data - root.ctypes.data
    return MappedFile(str(root.filename), values.dtype, values.shape, offset)
