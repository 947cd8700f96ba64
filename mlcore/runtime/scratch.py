"""Reuse of the memory of large work arrays by later calls.

New memory is dear: the system clears every page on its first use, and a virtual machine may have to
ask its host for each, which can take longer than the fit. So buffers of work arrays and Gram
matrices from 256 KB up are kept, a bounded number, marked as free: the system takes their pages
back when it needs them. Those below 1 MB have a list of their own, so that they do not push out the
larger ones.
"""

import mmap
import weakref
from math import prod
from typing import Any

import numpy as np

_LEAST = 256 << 10  # bytes: smaller arrays come from the allocator, which keeps their pages
_LARGE = 1 << 20
_KEPT_BYTES = 256 << 20  # of one buffer; pages beyond are given back at once
_KEPT_BUFFERS = 8  # in each of the two lists
_SLACK = 4  # largest ratio of a buffer's size to that of the array that it serves
_LINE = 64  # bytes of a cache line
# append and pop are atomic: any thread, and the garbage collector, may call them
_free_large: list[Any] = []
_free_small: list[Any] = []


class _Memory:
    """Base of one array and its views, collected when none of them is left."""

    def __init__(self, array: np.ndarray):
        self.__array_interface__ = array.__array_interface__
        self._array = array


def scratch_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array that begins on a cache line: a vector across two costs twice.

    Large memory is reused once the array and its views are gone. Name the array before it is passed
    to a loop: the call itself frees what has no name, and a Ctrl-C raised then is lost.
    """
    count = prod(shape)
    size = max(1, count) * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MADV_FREE") or size < _LEAST:
        raw = np.empty(size + _LINE, dtype=np.uint8)
        start = -raw.__array_interface__["data"][0] % _LINE
        return np.ndarray(shape, dtype, raw, start)
    # Rounded up, by less than a quarter, so that arrays of about the same size share one buffer.
    step = 1 << size.bit_length() - 3
    whole = -(-size // step) * step
    free = _free_large if whole >= _LARGE else _free_small
    buffer = _taken(free, size)
    if buffer is None:
        try:
            buffer = mmap.mmap(-1, whole, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no {size} bytes of work memory: {error}") from error
        if hasattr(mmap, "MADV_HUGEPAGE"):
            buffer.madvise(mmap.MADV_HUGEPAGE)
    memory = _Memory(np.frombuffer(buffer, dtype, count).reshape(shape))
    # Not when Python exits: an array that still exists may be read until then.
    weakref.finalize(memory, _give_back, free, buffer).atexit = False
    return np.asarray(memory)


def _taken(free, size):
    """Take the smallest buffer that fits out of the list; None if there is none."""
    candidates = []
    while free:
        try:
            candidates.append(free.pop())
        except IndexError:  # another thread was quicker
            break
    candidates.sort(key=len)
    fits = (k for k, buffer in enumerate(candidates) if size <= len(buffer) <= _SLACK * size)
    place = next(fits, None)
    buffer = None if place is None else candidates.pop(place)
    free.extend(candidates)
    return buffer


def _give_back(free, buffer):
    kept = min(len(buffer), _KEPT_BYTES)
    buffer.madvise(mmap.MADV_FREE, 0, kept)
    if len(buffer) > kept:
        buffer.madvise(mmap.MADV_DONTNEED, kept, len(buffer) - kept)
    free.append(buffer)
    del free[:-_KEPT_BUFFERS]  # the oldest; unmapped when their last view is gone
