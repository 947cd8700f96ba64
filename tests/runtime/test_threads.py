"""How many threads loops may use, after a fork too, and BLAS held to one beneath them."""

import inspect
import os
import subprocess
import sys
import threading
import time
from typing import TypeVar, get_type_hints

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mlcore.runtime.threads import effective_threads, items_per_call, pieces, single_threaded_blas

LOADS_OPENMP = """
import mlcore._ext.runtime.threads
from threadpoolctl import threadpool_info
print(any(pool["user_api"] == "openmp" for pool in threadpool_info()))
"""


def built_with_openmp():
    """Asked of a new process: in this one other packages may have loaded it."""
    command = [sys.executable, "-c", LOADS_OPENMP]
    return subprocess.check_output(command, cwd=os.sep, text=True).strip() == "True"


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
with_openmp = pytest.mark.skipif(
    not built_with_openmp(), reason="a build without OpenMP has one thread"
)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def limits_are_left_as_they_were():
    before = blas_threads()
    yield
    assert blas_threads() == before


# ---- effective_threads


@with_openmp
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_follows_threadpoolctl(limit):
    before = effective_threads()
    with threadpool_limits(limit, user_api="openmp"):
        assert effective_threads() == limit
    assert effective_threads() == before


@with_openmp
@pytest.mark.parametrize("limit", [1, 3])
def test_follows_the_environment(limit, tmp_path):
    code = "from mlcore.runtime.threads import effective_threads; print(effective_threads())"
    environment = os.environ | {"OMP_NUM_THREADS": str(limit)}
    command = [sys.executable, "-c", code]
    said = subprocess.check_output(command, env=environment, cwd=tmp_path, text=True)
    assert int(said) == limit


@with_openmp
def test_little_work_is_done_by_one_thread():
    with threadpool_limits(4, user_api="openmp"):
        assert effective_threads(1000) == 1
        assert effective_threads(0) == 1
        assert effective_threads(1e12) == effective_threads() == 4


@with_openmp
def test_limits_of_another_thread_do_not_matter_here():
    """OpenMP's limit belongs to the thread that set it."""
    before, seen = effective_threads(), []

    def elsewhere():
        with threadpool_limits(before + 2, user_api="openmp"):
            seen.append(effective_threads())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before + 2] and effective_threads() == before


# ---- pieces


@pytest.mark.parametrize("work", [0, 0.5, 3, 7, 999, 1001, 10**9, 1e300])
@pytest.mark.parametrize("n", [0, 1, 7, 1000, 1001])
def test_pieces_cover_all_items_once_and_are_no_longer_than_a_call(n, work, monkeypatch):
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 1000)
    found = list(pieces(n, work))
    assert [i for first, last in found for i in range(first, last)] == list(range(n))
    for first, last in found:
        assert last - first == 1 or (last - first) * work <= 1000
        assert last == n or (last - first + 1) * max(work, 1) > 1000
        assert last - first <= items_per_call(work)


# ---- after a fork


AFTER_FORK = """
import os, signal
import numpy as np
from threadpoolctl import threadpool_limits
from mlcore.kernels import gram_matrix
from mlcore.runtime.threads import effective_threads, single_threaded_blas

X = np.random.default_rng(0).normal(size=(1500, 100))
with threadpool_limits(2):
    before = gram_matrix(X)  # the threads exist now, and the fork does not copy them
    with single_threaded_blas():  # nor does it copy who holds BLAS
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # where it waits for ever
            right = effective_threads() == 1 and np.array_equal(gram_matrix(X), before)
            os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert np.array_equal(gram_matrix(X), before)
"""


@needs_fork
def test_a_forked_child_has_one_thread_and_computes_the_same(tmp_path):
    subprocess.run([sys.executable, "-W", "ignore", "-c", AFTER_FORK], check=True, cwd=tmp_path)


HELD_LOCK = """
import os, signal, threading
from mlcore.runtime import threads

with threads._lock:  # as another thread may hold it at the moment of the fork
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with threads.single_threaded_blas():
            os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@needs_fork
def test_a_fork_at_any_moment_leaves_no_lock(tmp_path):
    subprocess.run([sys.executable, "-W", "ignore", "-c", HELD_LOCK], check=True, cwd=tmp_path)


# ---- single_threaded_blas


@pytest.mark.thread_unsafe
def test_blas_has_one_thread_inside_and_its_own_after():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert before
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


@pytest.mark.thread_unsafe
def test_nested_uses_restore_at_the_last_end():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas():
            with single_threaded_blas():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


@pytest.mark.thread_unsafe
def test_an_exception_restores_too():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(RuntimeError):
            with single_threaded_blas():
                raise RuntimeError
        assert blas_threads() == before


@pytest.mark.thread_unsafe
def test_of_uses_at_once_the_last_to_leave_restores():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        entered, leave = threading.Barrier(2), threading.Event()

        def elsewhere():
            with single_threaded_blas():
                entered.wait(30)
                leave.wait(30)

        thread = threading.Thread(target=elsewhere)
        with single_threaded_blas():
            thread.start()
            entered.wait(30)
        assert set(blas_threads()) == {1}  # the other is still inside
        leave.set()
        thread.join()
        assert blas_threads() == before


@pytest.mark.thread_unsafe
def test_many_uses_at_once():
    with threadpool_limits(2, user_api="blas"):
        before, seen, stop = blas_threads(), set(), threading.Event()

        def elsewhere(seed):
            rng = np.random.default_rng(seed)
            while not stop.is_set():
                with single_threaded_blas():
                    time.sleep(1e-3 * rng.random())
                    seen.add(max(blas_threads()))

        threads = [threading.Thread(target=elsewhere, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        stop.set()
        for thread in threads:
            thread.join()
        assert seen == {1}
        assert blas_threads() == before


def test_the_effective_threads_stay():
    before = effective_threads()
    with single_threaded_blas():
        assert effective_threads() == before


def test_decorated_methods_keep_their_types():
    """One type in and out: pyright finds no `self` in what Callable[P, T] makes of a method."""
    hints = get_type_hints(type(single_threaded_blas()).__call__)
    assert isinstance(hints["function"], TypeVar)
    assert hints["function"] is hints["return"]

    @single_threaded_blas()
    def fit(self, X: float) -> float:
        """Return it."""
        return X

    assert (fit.__name__, fit.__doc__) == ("fit", "Return it.")
    assert list(inspect.signature(fit).parameters) == ["self", "X"]
    assert fit(None, 2.0) == 2.0
