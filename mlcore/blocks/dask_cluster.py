"""Workers of a dask cluster: rows stay where they are, and their sums are merged there."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import uuid4

from dask import delayed, is_dask_collection
from distributed import KilledWorker

from mlcore.blocks.block_error import BlockError
from mlcore.blocks.rounds import Workers, merged_in_tree, merged_unless_none, result_of
from mlcore.blocks.sequence import Delayed


class DaskCluster(Workers):
    """A client of dask.distributed, for which a round is one graph of blocks and merges.

    The parameters are a task too, sent once; what is lost with a worker, dask computes again.
    """

    def __init__(self, client: Any) -> None:
        if client.asynchronous:
            raise TypeError("executor is an asynchronous Client, but must be a synchronous one.")
        self._client, self._blocks, self._sources = client, None, []

    def results(self, task: Callable[..., Any], blocks: Any) -> Iterator[Any]:
        shared, parts = self._parts(task, blocks)
        ahead = 2 * max(1, sum(self._client.nthreads().values()))
        waiting, following = deque(), 0
        try:
            for _ in parts:
                while following < len(parts) and len(waiting) < ahead:
                    waiting.append(self._client.compute(parts[following]))
                    following += 1
                yield self._gathered(waiting[0], blocks)
                waiting.popleft()
        finally:
            _release([shared, *waiting])

    def total(self, task: Any, blocks: Any) -> Any:
        shared, parts = self._parts(task, blocks)
        name, count = f"{task.name}-merge-{uuid4().hex}", iter(range(len(parts)))
        while len(parts) > 1:
            # Each task merges a subtree of the tree, which has eight times fewer of them.
            parts = [
                delayed(_merged)(shared, *parts[i : i + 8], dask_key_name=(name, next(count)))
                for i in range(0, len(parts), 8)
            ]
        root = self._client.compute(parts[0])
        try:
            return self._gathered(root, blocks)
        finally:
            _release([shared, root])

    def _parts(self, task, blocks):
        """Return the future of the task with its parameters, and the lazy results of the blocks."""
        if self._blocks is not blocks:
            self._blocks, self._sources = blocks, [self._source(block) for block in blocks]
        name, run = task.name, uuid4().hex
        shared = self._client.submit(_same, task, key=f"{name}-parameters-{run}")
        parts = [
            delayed(function)(shared, number, *source, dask_key_name=(f"{name}-{run}", number))
            for number, (function, *source) in enumerate(self._sources)
        ]
        return shared, parts

    def _source(self, block):
        """Return a function and arguments for a task; what is in this process is sent once."""
        if isinstance(block, Delayed):
            return _result_of_parts, block.name, *(self._kept(part) for part in block.parts)
        return _result, self._kept(block) if block.in_memory else block

    def _kept(self, value):
        if value is None or is_dask_collection(value):
            return value
        # As a task, which dask can repeat when a worker is lost; scattered data it could not.
        return self._client.submit(_same, value, key=f"block-{uuid4().hex}")

    @staticmethod
    def _gathered(future, blocks):
        try:
            return future.result()
        except KilledWorker as error:
            if not isinstance(error.task, tuple) or "-merge-" in error.task[0]:
                raise
            number = error.task[1]
            raise BlockError(
                f"block {number} ({blocks[number].name}), or one beside it: its worker died "
                f"{error.allowed_failures + 1} times, for want of memory perhaps: use smaller "
                f"blocks. dask says: {error}",
                number,
            ) from error


def _release(futures):
    """Let go of results, and of the tasks that nobody waits for any more."""
    for future in futures:
        future.release()


def _same(value):
    return value


def _result(task, number, block):
    return result_of(task, block, number)


def _result_of_parts(task, number, name, *parts):
    return result_of(task, Delayed(parts, name), number)


def _merged(task, *parts):
    return merged_in_tree(parts, partial(merged_unless_none, task.merge))
