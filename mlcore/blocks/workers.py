"""Workers: this thread, futures of threads or processes, joblib."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from mlcore.blocks.block_error import BlockError
from mlcore.blocks.rounds import Pickled, Workers, read, result_of
from mlcore.checks.errors import warn
from mlcore.runtime.threads import effective_threads

_DEATHS = 3  # of workers at one block, after which it is not tried again


def workers_of(executor: Any) -> Workers:
    """Return the workers that an executor stands for, or raise TypeError."""
    if executor is None:
        return ThisThread()
    module = type(executor).__module__.partition(".")[0]
    if module == "distributed" and hasattr(executor, "scatter"):
        from mlcore.blocks.dask_cluster import DaskCluster

        return DaskCluster(executor)
    if module == "joblib" and callable(executor):
        return Joblib(executor)
    if isinstance(executor, Executor) or callable(executor):
        return Futures(executor)
    raise TypeError(
        f"executor={executor!r} is of type {type(executor).__name__}, but must be None, an "
        "executor of concurrent.futures, a callable that makes one, a joblib.Parallel or a "
        "dask.distributed.Client."
    )


class ThisThread(Workers):
    """The calling thread computes, while another one reads the next block."""

    def results(self, task: Callable[..., Any], blocks: Any) -> Iterator[Any]:
        with ThreadPoolExecutor(1) as reader:
            waiting = deque()
            for number, block in enumerate(blocks):
                waiting.append((number, block, reader.submit(read, block, number)))
                if len(waiting) > 1:
                    yield self._first(task, waiting)
            while waiting:
                yield self._first(task, waiting)

    @staticmethod
    def _first(task, waiting):
        number, block, rows = waiting.popleft()
        return result_of(task, block, number, rows.result())


class Futures(Workers):
    """An executor of concurrent.futures, or a callable that makes one.

    It is made anew when a worker dies; for a user's own, the caller computes the rest.
    """

    def __init__(self, executor: Executor | Callable[[], Executor]) -> None:
        self._make = None if isinstance(executor, Executor) else executor
        self._executor = executor if self._make is None else self._made()

    def results(self, task: Callable[..., Any], blocks: Any) -> Iterator[Any]:
        n_workers = max(1, getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)
        n_threads = max(1, (os.cpu_count() or 1) // n_workers)
        sent = task if isinstance(self._executor, ThreadPoolExecutor) else Pickled(task)
        waiting, following, deaths = deque(), 0, 0
        try:
            for number in range(len(blocks)):
                while True:
                    try:
                        # Two blocks wait for each worker; results come in order.
                        while following < len(blocks) and len(waiting) < 2 * n_workers:
                            job = sent, blocks[following], following, n_threads
                            waiting.append(self._executor.submit(_with_threads, *job))
                            following += 1
                        result = waiting[0].result()
                        break
                    except BrokenExecutor as error:
                        # A worker died: new ones begin at the first block without a result.
                        deaths += 1
                        if self._make is None:
                            yield from self._without(error, task, blocks, number)
                            return
                        if deaths == _DEATHS:
                            raise _of_deaths(error, blocks, number, len(waiting)) from error
                        self._executor.shutdown(wait=True, cancel_futures=True)
                        self._executor = self._made()
                        waiting, following = deque(), number
                waiting.popleft()
                deaths = 0
                yield result
        finally:
            for future in waiting:
                future.cancel()

    def _made(self):
        executor = self._make()
        if not isinstance(executor, Executor):
            raise TypeError(
                f"executor() returned a {type(executor).__name__}, but must return an executor of "
                "concurrent.futures."
            )
        return executor

    @staticmethod
    def _without(error, task, blocks, first):
        warn(
            "RuntimeWarning",
            f"executor: a worker died ({error}). Blocks from number {first} on are computed in "
            "this process; give a callable that makes the executor to have it made anew.",
        )
        for number in range(first, len(blocks)):
            yield result_of(task, blocks[number], number)

    def __exit__(self, *_: object) -> None:
        if self._make is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)


class Joblib(Workers):
    """A joblib.Parallel, whatever its backend is."""

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel

    def results(self, task: Callable[..., Any], blocks: Any) -> Iterator[Any]:
        sent, n_workers = Pickled(task), self._parallel._effective_n_jobs()
        n_threads = max(1, (os.cpu_count() or 1) // n_workers)
        for first in range(0, len(blocks), 2 * n_workers):  # so that few results wait
            numbers = range(first, min(len(blocks), first + 2 * n_workers))
            jobs = [(_with_threads, (sent, blocks[i], i, n_threads), {}) for i in numbers]
            for death in range(1, _DEATHS + 1):
                try:
                    results = list(self._parallel(jobs))
                    break
                except BrokenExecutor as error:  # joblib starts other workers at the next call
                    if death == _DEATHS:
                        raise _of_deaths(error, blocks, first, len(jobs)) from error
            yield from results


def _of_deaths(error, blocks, number, count):
    return BlockError(
        f"block {number} ({blocks[number].name}), or one of the {count - 1} that follow: a worker "
        f"died {_DEATHS} times, for want of memory perhaps: use smaller blocks or fewer workers. "
        f"The executor says: {error}",
        number,
    )


def _with_threads(task, block, number, n_threads):
    """Return the result for a block, on so many threads of a compiled loop."""
    n_threads = min(n_threads, effective_threads())
    with _openmp().limit(limits=n_threads, user_api="openmp"):
        return result_of(task, block, number)


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController()
