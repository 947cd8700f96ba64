"""Hot loops of mlcore.cluster.k_medoids.dissimilarities.

Distances between few samples, extremes of a matrix.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs

from mlcore._ext.cluster.distances_h cimport differences
from mlcore._ext.shared.transpose_h cimport transpose

cdef enum:
    TILE = 64
    BATCH = 8  # rows whose transposes are written side by side
    LONGEST_VECTOR = 8  # doubles

PADDING = LONGEST_VECTOR


def distances(const floating[:, ::1] columns, bint squared, floating[:, ::1] D, /):
    """D[i, j] = |x_i - x_j|, or its square, from differences; return the largest.

    `columns` (d, n + PADDING) are the samples. Squares are added up in double precision.
    """
    cdef Py_ssize_t n = D.shape[0], block, first, last, i, j
    cdef double most = 0
    with nogil:
        for block in range((n + BATCH - 1) // BATCH):
            first = block * BATCH
            last = min(n, first + BATCH)
            most = max(most, differences(first, last, n, columns.shape[0], &columns[0, 0],
                                         columns.shape[1], squared, &D[0, 0]))
            for i in range(first, last):
                for j in range(first, i):
                    D[i, j] = D[j, i]
            for j in range(last, n):
                for i in range(first, last):
                    D[j, i] = D[i, j]
    return most


def extremes(const floating[:, ::1] D, Py_ssize_t first, Py_ssize_t last, double[:, ::1] found,
             int n_threads, /):
    """found[tile] = least and largest value, and largest |D[i, j] - D[j, i]|, of tiles first..last.

    A tile has TILE rows up to the diagonal and their transpose.
    """
    cdef Py_ssize_t n = D.shape[0], tile, other
    for tile in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        found[tile, 0], found[tile, 1], found[tile, 2] = INFINITY, -INFINITY, 0
        for other in range(tile + 1):
            tile_extremes(&D[0, 0], n, tile * TILE, other * TILE, &found[tile, 0])


TILE_SIDE = TILE


cdef void tile_extremes(const floating* D, Py_ssize_t n, Py_ssize_t top, Py_ssize_t left,
                        double* found) noexcept nogil:
    cdef floating transposed[TILE * TILE]
    cdef floating low[8]
    cdef floating high[8]
    cdef floating asymmetry[8]
    cdef floating a, b
    cdef Py_ssize_t rows = min(TILE, n - top), columns = min(TILE, n - left), i, j, lane
    cdef const floating* row
    transpose(D + left * n + top, n, columns, rows, transposed, TILE)
    for lane in range(8):
        low[lane], high[lane], asymmetry[lane] = D[top * n + left], D[top * n + left], 0
    for i in range(rows):
        row = D + (top + i) * n + left
        for j in range(0, columns - 7, 8):
            for lane in range(8):
                a, b = row[j + lane], transposed[i * TILE + j + lane]
                low[lane] = a if a < low[lane] else low[lane]
                low[lane] = b if b < low[lane] else low[lane]
                high[lane] = a if a > high[lane] else high[lane]
                high[lane] = b if b > high[lane] else high[lane]
                a = a - b if a > b else b - a
                asymmetry[lane] = a if a > asymmetry[lane] else asymmetry[lane]
        for j in range(columns // 8 * 8, columns):
            a, b = row[j], transposed[i * TILE + j]
            low[0] = min(low[0], min(a, b))
            high[0] = max(high[0], max(a, b))
            asymmetry[0] = max(asymmetry[0], <floating> fabs(a - b))
    for lane in range(8):
        found[0] = min(found[0], low[lane])
        found[1] = max(found[1], high[lane])
        found[2] = max(found[2], asymmetry[lane])
