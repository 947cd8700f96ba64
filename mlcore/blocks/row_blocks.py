"""Blocks of consecutive rows of arrays and tables, wherever these are."""

import math
from itertools import accumulate, pairwise
from typing import Any

from scipy import sparse as sp

from mlcore.blocks.row_sources import InMemory, source_of
from mlcore.blocks.sequence import Block, Blocks, Delayed, library_of
from mlcore.checks import as_integer

_BYTES = 16e6  # of a block


class Rows(Block):
    """Rows first..last of X, y and weights; sent to another process, as few bytes as can be."""

    name: str
    in_memory: bool

    def __init__(self, sources: tuple[Any, ...], first: int, last: int) -> None:
        self._sources, self._first, self._last = sources, first, last
        self.name = f"rows {first} to {last - 1}"
        self.in_memory = any(isinstance(source, InMemory) for source in sources)

    def load(self) -> tuple[Any, Any, Any]:
        X, y, weight = (
            None if source is None else source.cut(self._first, self._last)
            for source in self._sources
        )
        return X, y, weight

    def __getstate__(self) -> Any:
        sent = (
            None if source is None else source.sent(self._first, self._last)
            for source in self._sources
        )
        return {**vars(self), "_sources": tuple(sent)}


def row_blocks(
    X: Any, y: Any = None, sample_weight: Any = None, *, block_size: int | None = None
) -> Blocks:
    """Return the rows of an array or table in blocks, in their order.

    Parameters
    ----------
    X : array, memory map, CSR array, data frame, table, or an array of Zarr, HDF5 or dask
        Of shape (n_samples, n_features). A memory map goes to other processes as the name of its
        file, and is mapped anew for each block, so that none keeps its pages.
    y, sample_weight : the same, of shape (n_samples, ...), optional
    block_size : int, optional
        Rows of a block. By default as many as take 16 MB; whole chunks of Zarr and HDF5 arrays, and
        those of dask, which leave no choice.

    Returns
    -------
    blocks : Blocks
        Nothing is read yet.

    Raises
    ------
    TypeError, ValueError
        If X is no array of two dimensions, the lengths differ, or `block_size` is not positive.

    Examples
    --------
    >>> from mlcore.blocks import row_blocks
    >>> [block.name for block in row_blocks([[0.0], [1.0], [2.0]], block_size=2)]
    ['rows 0 to 1', 'rows 2 to 2']
    """
    if block_size is not None:
        as_integer(block_size, "block_size", at_least=1)
    if library_of(X) == "dask" or library_of(X).startswith("dask"):
        return _of_dask(X, y, sample_weight, block_size)
    parts = {"X": X, "y": y, "sample_weight": sample_weight}
    sources = [None if part is None else source_of(part, name) for name, part in parts.items()]
    y, sample_weight = (
        getattr(source, "values", part)
        for source, part in zip(sources[1:], (y, sample_weight), strict=True)
    )
    X = sources[0].values if hasattr(sources[0], "values") else X
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) != 2:
        raise ValueError(
            f"X has shape {shape}, but must be of two dimensions, (n_samples, n_features)."
        )
    for name, part in (("y", y), ("sample_weight", sample_weight)):
        if part is not None and not getattr(part, "shape", (0,)):
            raise ValueError(f"{name} is one value, but must have one for each of the rows of X.")
        if part is not None and _length(part) != shape[0]:
            raise ValueError(f"{name} has {_length(part)} rows, but X has {shape[0]}.")
    if not shape[0]:
        raise ValueError("X has no rows, but at least one is needed.")
    size = int(block_size) if block_size is not None else _rows_of_block(X, shape)
    return Blocks(
        Rows(tuple(sources), first, min(shape[0], first + size))
        for first in range(0, shape[0], size)
    )


def _length(part):
    return part.shape[0] if hasattr(part, "shape") else len(part)


def _rows_of_block(X, shape):
    """Return the number of rows of 16 MB, whole chunks if there are some."""
    if sp.issparse(X):
        row = 12 * X.nnz / shape[0]
    else:
        row = math.prod(shape[1:]) * getattr(getattr(X, "dtype", None), "itemsize", 8)
    size = max(1, int(_BYTES // max(1.0, row)))
    chunks = getattr(X, "chunks", None)
    if not chunks:
        return size
    return max(1, round(size / chunks[0])) * chunks[0]


def _of_dask(X, y, sample_weight, block_size):
    """Return the chunks of dask's collections as blocks, read where dask computes them."""
    if block_size is not None:
        raise ValueError("block_size: the chunks of a dask array are its blocks: use X.rechunk.")
    parts = [None if part is None else _chunks(part, X) for part in (X, y, sample_weight)]
    count = len(parts[0])
    for name, part in zip(("y", "sample_weight"), parts[1:], strict=True):
        if part is not None and len(part) != count:
            raise ValueError(f"{name} has {len(part)} chunks, but X has {count}.")
    columns = [[None] * count if part is None else part for part in parts]
    return Blocks(
        Delayed(rows, f"chunk {i}", (X, y, sample_weight))
        for i, rows in enumerate(zip(*columns, strict=True))
    )


def _chunks(part, X):
    """Return the chunks of rows as delayed values, those of an array cut as X is."""
    if hasattr(part, "npartitions") and not hasattr(part, "rechunk"):  # a data frame
        return list(part.to_delayed())
    if hasattr(part, "rechunk"):
        if part.ndim > 1:
            part = part.rechunk({1: -1})
        if part is not X and hasattr(X, "chunks") and part.chunks[0] != X.chunks[0]:
            part = part.rechunk({0: X.chunks[0]})
        return list(part.to_delayed().ravel())
    if not hasattr(X, "chunks") or any(math.isnan(size) for size in X.chunks[0]):
        raise TypeError("y and sample_weight of a dask data frame must be of dask too.")
    if _length(part) != X.shape[0]:
        raise ValueError(f"an array of {_length(part)} values beside X of {X.shape[0]} rows.")
    ends = accumulate(X.chunks[0], initial=0)
    return [part[first:last] for first, last in pairwise(ends)]
