"""Eigenpairs of symmetric matrices by LAPACK, and calls of it that do not delay Ctrl-C."""

import math
import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy import linalg

from mlcore._ext.numerics import eigen as _ext
from mlcore.runtime.threads import OPERATIONS_PER_CALL, single_threaded_blas

_SHORT = 300  # rows of a matrix decomposed in some hundredths of a second
_BLOCK = 70  # columns of workspace that let LAPACK work in blocks
_SECONDS = 0.05  # between looks for Ctrl-C

T = TypeVar("T")


def stoppable(work: Callable[[], T], operations: float = math.inf) -> T:
    """Return ``work()``, run in a thread so that the main thread sees Ctrl-C.

    It cannot be stopped, and its result is discarded: it must not write to others' arrays. Work of
    few `operations` is done at once: to start a thread takes some tenths of a millisecond.
    """
    if operations <= OPERATIONS_PER_CALL:
        with single_threaded_blas():
            return work()
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            with single_threaded_blas():  # also after the caller has left
                outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="mlcore-eigenpairs").start()
    # An interrupted join makes Python 3.11 take the thread for ended, and exit while it runs.
    while not done.wait(_SECONDS):
        pass
    if failure:
        raise failure[0]
    return outcome[0]


def eigenpairs(
    A: np.ndarray, count: int | None = None, *, overwrite: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of A, ascending, and orthonormal eigenvectors in columns.

    A is symmetric; the lower half is read. With `count` only so many of the largest, or fewer where
    many are equal. All by divide and conquer, in 2 n² values of workspace; few by MRRR (Dhillon,
    Parlett, Vömel, ACM TOMS 32, 2006). LAPACK gets the upper half by columns: nine tenths of the
    time in float32.
    """
    n = len(A)
    private = overwrite and A.flags.c_contiguous and A.flags.writeable
    A = A if private else np.array(A, order="C")
    few = 0 if count is None else count
    length, indices = (1 + 6 * n + 2 * n * n, 3 + 5 * n) if few == 0 else (_BLOCK * n, 10 * n)
    values, vectors = np.empty(n, A.dtype), np.empty((few, n), A.dtype)
    support, work = np.empty(2 * few, np.intc), np.empty(length, A.dtype)
    arrays = A, values, vectors, support, work, np.empty(indices, np.intc)
    info, n_pairs = stoppable(lambda: _ext.eigenpairs(*arrays)) if n > _SHORT else _short(arrays)
    if info != 0:
        raise linalg.LinAlgError(f"LAPACK found no eigenvectors: info={info}.")
    if few == 0:
        return values, A.T
    return values[:n_pairs], _orthonormalised(vectors[:n_pairs]).T


@single_threaded_blas()
def _orthonormalised(V):
    """Return the rows of V, which are nearly orthonormal, after a step of Newton's method."""
    G = V @ V.T
    G.flat[:: len(G) + 1] -= 1
    return V - (G / 2) @ V


def _short(arrays):
    with single_threaded_blas():
        return _ext.eigenpairs(*arrays)
