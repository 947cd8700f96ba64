"""Threads of compiled loops and of BLAS; work per compiled call, so that Ctrl-C is soon seen."""

import math
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, cast

from threadpoolctl import ThreadpoolController

from mlcore._ext.runtime import threads as _ext

F = TypeVar("F", bound=Callable[..., Any])  # with ParamSpec pyright finds no `self` in methods

OPERATIONS_PER_CALL = 600_000_000  # at most some tenths of a second on one thread
_WORTH = 1_000_000  # operations that pay for waking threads: some tenths of a millisecond
_forked = False
_lock, _users, _limits = threading.Lock(), 0, []


def effective_threads(work: float = math.inf) -> int:
    """Return the number of threads, at least 1, that a compiled loop of `work` operations uses.

    Follows ``OMP_NUM_THREADS`` and threadpoolctl; 1 for short work, and in a forked child, where
    GNU OpenMP would wait for threads that a fork did not copy.
    """
    return 1 if _forked or work < _WORTH else max(1, _ext.max_threads())


def items_per_call(work: float) -> int:
    """Return how many items, at least 1, one compiled call takes, so that Python soon sees Ctrl-C.

    `work` counts an item's operations: a multiply-add is one, a division or a miss about ten.
    """
    return int(max(1, OPERATIONS_PER_CALL // max(work, 1)))


def pieces(n: int, work: float) -> Iterator[tuple[int, int]]:
    """Yield the range (first, last + 1) of items of each compiled call, n items in all.

    `work` as in `items_per_call`.
    """
    step = items_per_call(work)
    for first in range(0, n, step):
        yield first, min(n, first + step)


class _Library(NamedTuple):
    """The functions of a loaded BLAS library that tell and set its number of threads."""

    n_threads: Callable[[], int]
    limit: Callable[[int], object]


@cache
def _blas() -> list[_Library]:
    """Return the loaded BLAS libraries, cached, as finding them takes milliseconds."""
    libraries = ThreadpoolController().lib_controllers
    return [_functions(library) for library in libraries if library.user_api == "blas"]


def _functions(library):
    """Return OpenBLAS's own functions: a fifth of the time of threadpoolctl's, which lets only the
    thread that first set a limit change it; here that is any, the first to enter and the last to
    leave.
    """
    symbol = getattr(library, "_get_symbol", None)
    if symbol and library.internal_api == "openblas" and library.threading_layer != "openmp":
        own = symbol("openblas_get_num_threads"), symbol("openblas_set_num_threads")
        if all(own):
            return _Library(*own)
    return _Library(lambda: library.num_threads, library.set_num_threads)


class _SingleThreadedBLAS:
    """Context manager of `single_threaded_blas`; a generator would cost twice as much."""

    def __enter__(self) -> None:
        global _users, _limits
        with _lock:
            if _users == 0:
                # Most often there is nothing to do, and asking is quicker than setting.
                limits = [(library.limit, library.n_threads()) for library in _blas()]
                _limits = [(limit, before) for limit, before in limits if before != 1]
                for limit, _ in _limits:
                    limit(1)
            _users += 1

    def __exit__(self, *_: object) -> None:
        global _users
        with _lock:
            _users -= 1
            if _users == 0:
                for limit, before in _limits:
                    limit(before)

    def __call__(self, function: F) -> F:
        @wraps(function)
        def single_threaded(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(F, single_threaded)


_single_threaded_blas = _SingleThreadedBLAS()


def single_threaded_blas() -> _SingleThreadedBLAS:
    """Limit BLAS to one thread inside the block, or in calls of the function that it decorates.

    So results do not depend on threads, and OpenBLAS's spinning threads (30 ms) take no processor.
    Uses may be nested and concurrent: the last to leave restores the limits.
    """
    return _single_threaded_blas


def _after_fork_in_child() -> None:
    global _forked, _lock, _users, _limits
    _forked = True
    # A thread of the parent, which does not exist here, may have held the lock.
    _lock, _users, _limits = threading.Lock(), 0, []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
