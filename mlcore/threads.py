"""Threads: how many a loop may use, and BLAS held to one beneath them."""

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from mlcore._ext import threads as _ext

_WORTH = 1_000_000  # operations: some tenths of a millisecond
_forked = False
_lock, _users, _limiter = threading.Lock(), 0, None


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


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: milliseconds, so once


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, because the caller's own threads call it.

    Nested and concurrent uses count: the last to leave restores the limits.
    """
    global _users, _limiter
    with _lock:
        if _users == 0:
            _limiter = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limiter.restore_original_limits()
                _limiter = None


def _after_fork_in_child() -> None:
    global _forked, _lock, _users, _limiter
    _forked = True
    # Another thread of the parent may have held the lock; it does not exist here.
    _lock, _users, _limiter = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
