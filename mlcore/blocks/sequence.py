"""Blocks of rows, and the sequence of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class Block:
    """Rows that can be read, in this process or another; `name`, for messages, says where.

    If `in_memory`, they are in the memory of this process: sending the block sends them.
    """

    name: str
    in_memory: bool = False

    def load(self) -> tuple[Any, Any, Any]:
        """Return X, y and sample_weight of the rows; None for what there is not."""
        raise NotImplementedError


class Given(Block):
    """Rows that a user gives: X, a tuple, or a callable that returns either."""

    name: str
    in_memory: bool

    def __init__(self, rows: Any, name: str) -> None:
        self._rows, self.name, self.in_memory = rows, name, not callable(rows)

    def load(self) -> tuple[Any, Any, Any]:
        return _all_three(self._rows() if callable(self._rows) else self._rows)


class Delayed(Block):
    """Rows that dask computes: a chunk of each of its collections.

    These are kept while the block is, since a chunk does not hold what is persisted of it.
    """

    parts: tuple[Any, ...]
    name: str

    def __init__(
        self, parts: tuple[Any, ...], name: str, collections: tuple[Any, ...] = ()
    ) -> None:
        self.parts, self.name, self._collections = parts, name, collections

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_collections": ()}

    def load(self) -> tuple[Any, Any, Any]:
        import dask

        rows = dask.compute(*self.parts)
        return _all_three(rows[0] if len(rows) == 1 else rows)


class Blocks(Sequence[Any]):
    """Blocks of rows in their order, each read whenever it is needed: several times.

    Parameters
    ----------
    blocks : iterable of Block

    Examples
    --------
    >>> from mlcore.blocks import Blocks, row_blocks
    >>> blocks = row_blocks([[0.0], [1.0], [2.0]], [0, 1, 1], block_size=2)
    >>> isinstance(blocks, Blocks), len(blocks), blocks[1].name
    (True, 2, 'rows 2 to 2')
    >>> blocks[1].load()
    (array([[2.]]), array([1]), None)
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = list(blocks)

    def __repr__(self) -> str:
        ends = [block.name for block in (*self._blocks[:1], *self._blocks[1:][-1:])]
        return f"Blocks: {len(self)} ({' ... '.join(ends)})" if ends else "Blocks: 0"

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return Blocks(self._blocks[number])
        return self._blocks[number]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)


def _all_three(rows):
    if not isinstance(rows, tuple):
        return rows, None, None
    if not 1 <= len(rows) <= 3:
        raise ValueError(f"a tuple of {len(rows)}, but must be X, (X, y) or (X, y, weight).")
    return (*rows, None, None)[:3]


def library_of(value: Any) -> str:
    """Return the name of the package that a value's type is of."""
    return type(value).__module__.partition(".")[0]
