"""The blocks of rows that a user means by an array, a list, a path or a table."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

from scipy import sparse as sp

from mlcore.blocks.parquet_blocks import parquet_blocks
from mlcore.blocks.row_blocks import row_blocks
from mlcore.blocks.sequence import Block, Blocks, Delayed, Given, library_of


def as_blocks(blocks: Any) -> Blocks:
    """Return the blocks that a user means; raise TypeError or ValueError if they are none."""
    if isinstance(blocks, Blocks):
        chosen = blocks
    elif (
        isinstance(blocks, (str, PathLike))
        or library_of(blocks) == "pyarrow"
        and hasattr(blocks, "get_fragments")
    ):
        chosen = parquet_blocks(blocks)
    elif isinstance(blocks, (list, tuple)):
        chosen = Blocks(_of_item(item, i) for i, item in enumerate(blocks))
    elif len(getattr(blocks, "shape", ())) == 2 or sp.issparse(blocks):
        chosen = row_blocks(blocks)
    else:
        hint = (
            " Blocks are read several times: give a list." if isinstance(blocks, Iterator) else ""
        )
        raise TypeError(
            f"blocks is of type {type(blocks).__name__}, but must be what row_blocks or "
            "parquet_blocks return, an array or table of two dimensions, a list of blocks, or a "
            f"path of Parquet files.{hint}"
        )
    if not len(chosen):
        raise ValueError("blocks has no block, but at least one is needed.")
    return chosen


def _of_item(item: Any, number: int) -> Block:
    name = f"item {number} of the list"
    if library_of(item) == "dask" and hasattr(item, "dask"):
        return Delayed((item,), name)
    X: Any = item[0] if isinstance(item, tuple) and item else item
    read: Callable[[], Any] | None = item if callable(item) else None
    if read is None and isinstance(X, (str, bytes, int, float)):
        raise TypeError(
            f"blocks[{number}] is of type {type(item).__name__}, but must be X, a tuple (X, y) or "
            "(X, y, sample_weight), or a callable that returns one of these."
        )
    return Given(item, name)
