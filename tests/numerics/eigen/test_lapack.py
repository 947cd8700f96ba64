"""LAPACK's eigenpairs against their definition, and an interrupt while they are computed."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.numerics.eigen.lapack import eigenpairs, stoppable

INTERRUPTED = """
import _thread, threading
import numpy as np
from mlcore._ext.numerics import eigen
from mlcore.decomposition import KernelCCA, KernelPCA
from mlcore.kernel_ridge import KernelRidge

def called(*arrays, really=eigen.eigenpairs):
    threading.Timer(0.05, _thread.interrupt_main).start()
    found = really(*arrays)
    eigen.ended.append(found)
    return found

eigen.eigenpairs, eigen.ended = called, []
X = np.random.default_rng(0).normal(size=(1200, 3))
for model in (KernelPCA(kernel="rbf"), KernelCCA(kernel="rbf"), KernelRidge("loo", kernel="rbf")):
    try:
        model.fit(X, X)
    except KeyboardInterrupt:
        names = [thread.name for thread in threading.enumerate()]
        print(names.count("mlcore-eigenpairs"), flush=True)
others = [thread for thread in threading.enumerate() if thread.name == "mlcore-eigenpairs"]
for thread in others:
    thread.join()
print(len(eigen.ended) == 3)  # each came to its end, and was waited for
"""


def symmetric(n, dtype=float):
    A = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    return A + A.T


@each("dtype", [np.float32, np.float64])
@each(("n", "count"), [(1, None), (9, None), (9, 2), (310, None), (310, 7)])
def test_eigenpairs(n, count, dtype):
    A = symmetric(n, dtype)
    before = A.copy()
    values, vectors = eigenpairs(A, count)
    eps = np.finfo(dtype).eps
    assert_array_equal(A, before)
    assert values.dtype == vectors.dtype == dtype
    expected = np.linalg.eigvalsh(A.astype(float))[-(count or n) :]
    size = n * eps * np.abs(expected).max()
    assert_allclose(values, expected, atol=size)
    assert_allclose(A @ vectors, vectors * values, atol=size)
    assert_allclose(vectors.T @ vectors, np.eye(count or n), atol=n * eps)


def test_the_lower_half_is_read_and_a_copy_spared():
    A = symmetric(20)
    values, vectors = eigenpairs(A.copy())
    lower = np.tril(A)
    again, same = eigenpairs(lower, overwrite=True)
    assert_array_equal(again, values)
    assert_array_equal(same, vectors)
    assert np.shares_memory(same, lower)
    A.flags.writeable = False
    assert_array_equal(eigenpairs(A, overwrite=True)[0], values)
    assert_array_equal(eigenpairs(np.asfortranarray(A).T[::-1, ::-1])[0].size, 20)


def test_of_equal_eigenvalues_fewer_may_be_found():
    values, vectors = eigenpairs(np.eye(400), 5)
    assert_array_equal(values, 1.0)
    assert vectors.shape == (400, len(values))


def test_what_happens_in_the_thread_is_seen_outside():
    def fails():
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        stoppable(fails)
    assert stoppable(lambda: threading.current_thread().name) == "mlcore-eigenpairs"
    names = []
    other = threading.Thread(
        target=lambda: names.append(stoppable(lambda: threading.current_thread().name)), name="mine"
    )
    other.start()
    other.join()
    assert names == ["mine"]  # Ctrl-C is seen by the main thread alone


def test_ctrl_c_does_not_wait_for_lapack():
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    *counts, ended = done.stdout.split()  # of those at work when the main thread was free
    assert len(counts) == 3 and "0" not in counts and ended == "True", done.stderr
