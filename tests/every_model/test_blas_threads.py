"""BLAS has one thread in a fit and in later calls.

With more the result could hang on their number, and a thread of OpenBLAS that has done its part
spins for some 30 ms, on a processor that the loops of the next fit need.
"""

import os
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from contract import METHODS, MODELS

TASKS = Path("/proc/self/task")
SPIN = 5_000_000  # nanoseconds; an idle thread takes none

needs_times_of_threads = pytest.mark.skipif(
    not (TASKS / str(os.getpid()) / "schedstat").exists() or os.cpu_count() == 1,
    reason="the system does not tell what each thread has run, or has one processor",
)


def threads_of_blas():
    """Return the threads that large products wake, by NumPy's BLAS and by SciPy's."""
    A, before = np.ones((600, 600)), times()
    A @ A
    blas.dgemm(1.0, A, A)
    time.sleep(0.05)
    after = times()
    own = threading.get_native_id()
    return [t for t in after if t != own and after[t] - before.get(t, 0) > SPIN]


def times():
    """Return the nanoseconds that each thread has run."""
    return {
        int(task.name): int((task / "schedstat").read_text().split()[0]) for task in TASKS.iterdir()
    }


def busy(threads):
    return sum(times()[t] for t in threads)


def fall_asleep(threads):
    before = -1
    while before != busy(threads):
        before = busy(threads)
        time.sleep(0.02)


@needs_times_of_threads
def test_threads_of_blas_rest():
    woken = []
    with threadpool_limits(1, user_api="openmp"), threadpool_limits(2, user_api="blas"):
        workers = threads_of_blas()
        assert workers, "BLAS has a thread beside this one"
        fall_asleep(workers)
        for name, entry in MODELS.items():
            X = entry.draw(n_samples=400, n_features=120)
            y = entry.targets(X)
            before = busy(workers)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = entry.make().fit(X, y)
                for method in METHODS:
                    if hasattr(model, method):
                        getattr(model, method)(X)
            time.sleep(0.01)
            if busy(workers) - before >= SPIN:
                woken.append(name)
                fall_asleep(workers)
    assert not woken
