"""Threads of compiled loops, the length of one call between two looks at Ctrl-C, and BLAS."""

import math
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

from mlcore._ext import threads as _ext

OPERATIONS_PER_CALL = 600_000_000  # at most some tenths of a second on one thread
_WORTH = 1_000_000  # operations: some tenths of a millisecond
_forked = False
_lock, _users, _limits = threading.Lock(), 0, []


def effective_threads(work: float = math.inf) -> int:
    """Threads that a compiled loop uses now.

    Follows ``OMP_NUM_THREADS`` and threadpoolctl's limits. In a forked child it is 1: GNU OpenMP
    waits for ever on threads that a fork did not copy.

    Parameters
    ----------
    work : float
        Elementary operations of the loop. Where they take less time than threads need to wake, on a
        busy machine far less, the answer is 1.

    Returns
    -------
    n_threads : int, at least 1
    """
    return 1 if _forked or work < _WORTH else max(1, _ext.max_threads())


def items_per_call(work: float) -> int:
    """Return how many items one compiled call takes, so that Python soon looks for Ctrl-C again.

    Parameters
    ----------
    work : float
        Elementary operations of an item: a multiply-add in a vector is one, a step that waits for
        memory, a division or a logarithm about ten.

    Returns
    -------
    n_items : int, at least 1
    """
    return int(max(1, OPERATIONS_PER_CALL // max(work, 1)))


def pieces(n: int, work: float) -> Iterator[tuple[int, int]]:
    """Yield the first item and the one past the last of each compiled call over n items.

    `work` as in `items_per_call`.
    """
    step = items_per_call(work)
    for first in range(0, n, step):
        yield first, min(n, first + step)


@cache
def _blas() -> list:
    """The loaded BLAS libraries; finding them takes milliseconds, so once."""
    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


def _limit(library, n_threads: int) -> None:
    # From threadpoolctl 3.8 on only the thread that set a limit first is heard; the limit is the
    # process's, and here whoever enters first and leaves last must be.
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(n_threads)
    release(force=True)


class _SingleThreadedBLAS:
    """What `single_threaded_blas` returns: a class, as a generator would cost as much again."""

    def __enter__(self) -> None:
        global _users, _limits
        with _lock:
            if _users == 0:
                # Most often there is nothing to do, and asking is quicker than setting.
                found = [(library, library.num_threads) for library in _blas()]
                _limits = [(library, before) for library, before in found if before != 1]
                for library, _ in _limits:
                    _limit(library, 1)
            _users += 1

    def __exit__(self, *_: object) -> None:
        global _users
        with _lock:
            _users -= 1
            if _users == 0:
                for library, before in _limits:
                    _limit(library, before)


_single_threaded_blas = _SingleThreadedBLAS()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Hold BLAS to one thread inside the block, because the caller's own threads call it.

    Nested and concurrent uses count: the last to leave restores the limits.
    """
    return _single_threaded_blas


def _after_fork_in_child() -> None:
    global _forked, _lock, _users, _limits
    _forked = True
    # Another thread of the parent may have held the lock; it does not exist here.
    _lock, _users, _limits = threading.Lock(), 0, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
