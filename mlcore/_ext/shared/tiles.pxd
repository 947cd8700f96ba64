"""Copies of finished tiles of a symmetric matrix to both of their places. Inline."""
from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from mlcore._ext.shared.copies_h cimport copy
from mlcore._ext.shared.transpose_h cimport transpose


cdef inline void copy_to_both_places(const floating* tile, Py_ssize_t stride, Py_ssize_t rows,
                                     Py_ssize_t columns, bint diagonal, floating* transposed,
                                     floating* below, floating* above, Py_ssize_t n,
                                     bint past) noexcept nogil:
    """Copy a tile and its transpose; of a diagonal tile, the lower half and its mirror image.

    `transposed` is scratch like the tile; `past` writes past the caches.
    """
    cdef Py_ssize_t r
    transpose(tile, stride, rows, columns, transposed, stride)
    if diagonal:
        for r in range(rows):
            memcpy(transposed + r * stride, tile + r * stride, (r + 1) * sizeof(floating))
    else:
        copy(rows, columns, tile, stride, below, n, <int64_t*> NULL, past)
    copy(columns, rows, transposed, stride, above, n, <int64_t*> NULL, past)
