"""Finished tiles of a Gram matrix on their way to their places. Inline, like blas.pxd."""
from cython cimport floating
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from mlcore._ext.simd.copies cimport copy, simd_copies
from mlcore._ext.simd.transpose cimport transpose

cdef struct pending:
    simd_copies waiting[2]  # a finished tile and its transpose, copied while the next is computed
    int half                # of the scratch, that the next tile takes


cdef inline pending* new_pending(int n_threads) except NULL:
    cdef pending* of_threads = <pending*> calloc(n_threads, sizeof(pending))
    if of_threads == NULL:
        raise MemoryError
    return of_threads


cdef inline void end_pending(const floating* like, pending* of_threads, int n_threads) noexcept:
    """Copy what still waits; `like` tells the precision."""
    cdef int thread
    for thread in range(n_threads):
        copy_waiting(like, of_threads[thread].waiting, True)
    free(of_threads)


cdef inline simd_copies copies(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                               Py_ssize_t columns, floating* out, Py_ssize_t out_stride,
                               const int64_t* dest) noexcept nogil:
    cdef simd_copies c
    c.rows, c.columns, c.from_stride, c.stride = rows, columns, stride, out_stride
    c.source, c.out, c.dest, c.at = tile, out, dest, 0
    return c


cdef inline void copy_waiting(const floating* like, simd_copies* waiting,
                              bint past) noexcept nogil:
    """Copy all of both; `like` tells the precision."""
    cdef int i
    for i in range(2):
        copy(like, waiting + i, past)


cdef inline void both_places(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                             Py_ssize_t columns, bint diagonal, floating* turned,
                             floating* below, floating* above, Py_ssize_t n,
                             simd_copies* waiting) noexcept nogil:
    """Let a tile and its transpose wait; of a diagonal tile the lower half counts.

    `turned` is scratch like the tile.
    """
    cdef Py_ssize_t r
    transpose(tile, stride, rows, columns, turned, stride)
    if diagonal:
        for r in range(rows):
            memcpy(turned + r * stride, tile + r * stride, (r + 1) * sizeof(floating))
    else:
        waiting[0] = copies(tile, stride, rows, columns, below, n, <int64_t*> NULL)
    waiting[1] = copies(turned, stride, columns, rows, above, n, <int64_t*> NULL)
