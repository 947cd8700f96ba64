"""A round: a task done for every block, by any workers, and the results merged as a fixed tree."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mlcore.blocks.block_error import BlockError
from mlcore.row_sums import RowSums


class Sums:
    """The task of a step: the sums over the rows of a block, under the parameters now."""

    name: str
    model: RowSums

    def __init__(self, model: RowSums, name: str = "sums") -> None:
        self.model, self.name = model.for_workers(), name

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Any:
        return self.model.partial_statistics(X, y, sample_weight)

    def merge(self, a: Any, b: Any) -> Any:
        return self.model.merge(a, b)


class Calls:
    """The task of `predict_blocks`: what a method returns for the rows of a block."""

    model: Any
    method: str
    name: str

    def __init__(self, model: Any, method: str) -> None:
        self.model, self.method, self.name = model, method, method

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Any:
        return getattr(self.model, self.method)(X)


def result_of(
    task: Callable[..., Any], block: Any, number: int, rows: tuple[Any, ...] | None = None
) -> Any:
    """Return ``task(number, X, y, sample_weight)`` for a block, None for one without rows.

    `rows` are those read before. BlockError names a block that is unread or refused by the task.
    """
    X, y, weight = read(block, number) if rows is None else rows
    if n_rows_of(X) == 0:
        return None
    try:
        return task(number, X, y, weight)
    except (MemoryError, BlockError):
        raise
    except Exception as error:
        raise BlockError(f"block {number} ({block.name}): {error}", number) from error


def read(block: Any, number: int) -> tuple[Any, ...]:
    """Return X, y and weights of a block."""
    try:
        X, y, weight = block.load()
    except (MemoryError, BlockError):
        raise
    except Exception as error:
        raise BlockError(
            f"block {number} ({block.name}) cannot be read: {type(error).__name__}: {error}", number
        ) from error
    if isinstance(X, (str, bytes)) or not (getattr(X, "shape", ()) or hasattr(X, "__len__")):
        raise BlockError(
            f"block {number} ({block.name}): X is of type {type(X).__name__}, but must be an "
            "array, a sparse matrix, a table or a list of rows.",
            number,
        )
    return _as_matrix(X), y, weight


def _as_matrix(X):
    """Return lists of numbers as an array; what is none, such as a list of strings, as it is."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # of different lengths
        return X
    return array if array.dtype.kind in "biufc" and array.ndim > 1 else X


def n_rows_of(X: Any) -> int:
    """Return the number of rows of what a block holds."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def merged_in_tree(parts: Iterable[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Return the parts merged, neighbours first, ``(((a b) (c d)) e)``; None of none.

    Their number alone decides the tree; of n parts at most log2(n) + 1 are held.
    """
    waiting: list[tuple[int, Any]] = []  # of 2^level parts each
    for part in parts:
        level = 0
        while waiting and waiting[-1][0] == level:
            part, level = merge(waiting.pop()[1], part), level + 1
        waiting.append((level, part))
    total = waiting.pop()[1] if waiting else None
    while waiting:
        total = merge(waiting.pop()[1], total)
    return total


def merged_unless_none(merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return the results of two blocks merged; None is that of a block without rows."""
    if a is None or b is None:
        return b if a is None else a
    return merge(a, b)


class Pickled:
    """A task that is pickled once for all blocks, and read once by each process in turn."""

    def __init__(self, task: Callable[..., Any]) -> None:
        self._bytes = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)

    def __call__(self, *rows: Any) -> Any:
        global _latest
        if _latest[0] != self._bytes:
            _latest = self._bytes, pickle.loads(self._bytes)
        return _latest[1](*rows)


_latest: tuple[bytes, Any] = b"", None


class Workers:
    """Base of workers, which compute the results of tasks for all blocks.

    Used as a context; leaving it ends what it has started itself.
    """

    def results(self, task: Callable[..., Any], blocks: Any) -> Iterator[Any]:
        """Yield the results of the task for all blocks, in their order."""
        raise NotImplementedError

    def total(self, task: Any, blocks: Any) -> Any:
        """Return the results of all blocks, merged as a fixed tree by `task.merge`.

        None without any row.
        """
        results = self.results(task, blocks)
        try:
            return merged_in_tree(results, partial(merged_unless_none, task.merge))
        finally:
            results.close()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        return None
