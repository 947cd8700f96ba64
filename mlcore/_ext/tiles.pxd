"""Copies of finished tiles of a matrix to their places. Inline, for other modules."""
from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from mlcore._ext.simd.copies cimport copy, simd_copies
from mlcore._ext.simd.transpose cimport transpose

cdef struct pending:
    simd_copies waiting[2]  # a finished tile and its transpose, copied while the next is computed
    int half                # of the scratch, 0 or 1: where the next tile goes


cdef inline void copy_pending(const floating* like, pending* of_threads,
                              Py_ssize_t n_threads) noexcept nogil:
    """Copy the pending tiles of all threads; `like` tells the precision."""
    cdef Py_ssize_t thread
    for thread in range(n_threads):
        copy_waiting(like, of_threads[thread].waiting, True)


cdef inline simd_copies copies(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                               Py_ssize_t columns, floating* out, Py_ssize_t out_stride,
                               const int64_t* dest) noexcept nogil:
    cdef simd_copies c
    c.rows, c.columns, c.from_stride, c.stride = rows, columns, stride, out_stride
    c.source, c.out, c.dest, c.at = tile, out, dest, 0
    return c


cdef inline void copy_waiting(const floating* like, simd_copies* waiting,
                              bint past) noexcept nogil:
    """Finish both pending copies; `like` tells the precision."""
    cdef int i
    for i in range(2):
        copy(like, waiting + i, past)


cdef inline void copy_tile(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                           Py_ssize_t columns, floating* out, Py_ssize_t out_stride,
                           const int64_t* dest, bint past) noexcept nogil:
    """Copy a tile to the rows `dest` of `out`; `past` writes past the caches."""
    cdef simd_copies c = copies(tile, stride, rows, columns, out, out_stride, dest)
    copy(tile, &c, past)


cdef inline void copy_to_both_places(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                                     Py_ssize_t columns, bint diagonal, floating* transposed,
                                     floating* below, floating* above, Py_ssize_t n,
                                     bint past) noexcept nogil:
    """Copy a tile and its transpose at once; arguments as of `both_places`."""
    cdef simd_copies waiting[2]
    waiting[0] = copies(tile, stride, 0, 0, below, n, <int64_t*> NULL)
    both_places(tile, stride, rows, columns, diagonal, transposed, below, above, n, waiting)
    copy_waiting(tile, waiting, past)


cdef inline void both_places(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                             Py_ssize_t columns, bint diagonal, floating* transposed,
                             floating* below, floating* above, Py_ssize_t n,
                             simd_copies* waiting) noexcept nogil:
    """Queue a tile and its transpose; of a diagonal tile, the lower half and its mirror image.

    `transposed` is scratch like the tile.
    """
    cdef Py_ssize_t r
    transpose(tile, stride, rows, columns, transposed, stride)
    if diagonal:
        for r in range(rows):
            memcpy(transposed + r * stride, tile + r * stride, (r + 1) * sizeof(floating))
    else:
        waiting[0] = copies(tile, stride, rows, columns, below, n, <int64_t*> NULL)
    waiting[1] = copies(transposed, stride, columns, rows, above, n, <int64_t*> NULL)
