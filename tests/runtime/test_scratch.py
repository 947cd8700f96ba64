"""Memory that large arrays leave to later ones: never while anything can still see it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from each import each

from mlcore.kernels import gram_matrix
from mlcore.runtime import scratch
from mlcore.runtime.scratch import scratch_array

where_memory_is_kept = pytest.mark.skipif(
    not hasattr(scratch.mmap, "MADV_FREE"), reason="this system cannot mark pages as free"
)
SHAPE = (600, 500)  # 2.4 MB of float64
SMALL = (200, 250)  # 0.4 MB


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    for kept in ("_free_large", "_free_small"):
        monkeypatch.setattr(scratch, kept, [])


@where_memory_is_kept
def test_memory_is_kept_only_when_the_last_view_is_gone():
    array = scratch_array(SHAPE, np.float64)
    array[:] = 7
    view = array[10:20, ::2]
    del array
    assert not scratch._free_large
    other = scratch_array(SHAPE, np.float64)
    other[:] = 1
    assert (view == 7).all() and not np.shares_memory(view, other)
    del view
    assert len(scratch._free_large) == 1


@where_memory_is_kept
def test_the_next_array_of_about_the_size_gets_the_memory():
    address = scratch_array(SHAPE, np.float64).__array_interface__["data"][0]
    again = scratch_array(SHAPE, np.float32)
    assert again.__array_interface__["data"][0] == address
    assert again.dtype == np.float32 and again.shape == SHAPE and again.flags.writeable


@where_memory_is_kept
def test_a_far_larger_buffer_waits_for_a_larger_array():
    scratch_array((10, *SHAPE), np.float64)
    small = scratch_array(SHAPE, np.float64)
    assert len(scratch._free_large) == 1 and small.shape == SHAPE


@each("shape", [(1,), (10, 10), (3, 7), SHAPE, (0, 4)])
@each("dtype", [np.float32, np.float64])
def test_arrays_begin_on_a_cache_line(shape, dtype):
    arrays = [scratch_array(shape, dtype) for _ in range(5)]
    for k, array in enumerate(arrays):
        array[...] = k
    for k, array in enumerate(arrays):
        assert array.shape == shape and array.dtype == dtype and (array == k).all()
        assert array.size == 0 or array.ctypes.data % 64 == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_pages_cannot_be_marked_as_free_nothing_is_kept(dtype, monkeypatch):
    monkeypatch.delattr(scratch.mmap, "MADV_FREE", raising=False)
    array = scratch_array(SHAPE, dtype)
    array[:] = 7
    assert array.shape == SHAPE and array.dtype == dtype and (array == 7).all()
    assert array.ctypes.data % 64 == 0
    del array
    assert not scratch._free_large


def test_the_smallest_arrays_are_not_kept():
    scratch_array((10, 10), np.float64)
    assert not scratch._free_large and not scratch._free_small


@where_memory_is_kept
def test_small_buffers_leave_the_large_ones_where_they_are():
    address = scratch_array(SHAPE, np.float64).__array_interface__["data"][0]
    arrays = [scratch_array(SMALL, np.float64) for _ in range(scratch._KEPT_BUFFERS + 3)]
    arrays.clear()
    assert len(scratch._free_small) == scratch._KEPT_BUFFERS
    assert sum(map(len, scratch._free_small)) < 8 << 20
    again = scratch_array(SHAPE, np.float64)
    assert again.__array_interface__["data"][0] == address


@where_memory_is_kept
@pytest.mark.ordinary_build
def test_a_second_fit_maps_no_new_memory(tmp_path):
    code = """
import resource
import numpy as np
from mlcore.svm import SVC
for n in (300, 500):
    X = np.random.default_rng(0).normal(size=(n, 4))
    y = np.arange(n) % 3
    counts = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        SVC().fit(X, y)
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    print(counts[-1])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    pages = [int(line) for line in done.stdout.split()]
    assert len(pages) == 2 and max(pages) < 50  # the values of the kernel alone fill 88 and more


@where_memory_is_kept
def test_no_more_than_some_buffers_are_kept():
    arrays = [scratch_array(SHAPE, np.float64) for _ in range(scratch._KEPT_BUFFERS + 3)]
    arrays.clear()
    assert len(scratch._free_large) == scratch._KEPT_BUFFERS


def test_gram_matrices_at_once_do_not_share_memory():
    X = np.random.default_rng(0).normal(size=(500, 4))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: gram_matrix(X, gamma=k), range(1, 13)))
    for k, K in enumerate(results, start=1):
        np.testing.assert_array_equal(K, gram_matrix(X, gamma=k))


def test_a_result_is_whole_when_python_ends(tmp_path):
    code = """
import atexit
from mlcore.runtime import scratch
kept = []
atexit.register(lambda: print(len(scratch._free_large), (kept[0] == 7).all()))
kept.append(scratch.scratch_array((600, 500), "float64"))
kept[0][:] = 7
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["0", "True"]
