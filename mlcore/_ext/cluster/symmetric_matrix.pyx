"""Hot loops of mlcore.cluster.doubly_stochastic.symmetric_matrix.

Passes over a symmetric matrix that read one triangle.

Panels of PANEL_ROWS rows, up to the diagonal, are divided among threads. A panel adds to its own
`rows` (n,) and, mirrored, to its own row of `columns` (panels, n); these are summed in the order of
the panels: the same bytes for any number of threads. Calls take panels first..last, so that Python
sees signals between them.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport uint16_t

from mlcore._ext.cluster.scaling_h cimport mirrored
from mlcore._ext.cluster.scaling_h cimport rescale as rescale_tile
from mlcore._ext.cluster.scaling_h cimport shorten as shorten_row
from mlcore._ext.cluster.symmetric_matrix_h cimport SYMMETRIC_ACTIVE as ACTIVE_MODE
from mlcore._ext.cluster.symmetric_matrix_h cimport SYMMETRIC_POSITIVE as POSITIVE_MODE
from mlcore._ext.cluster.symmetric_matrix_h cimport SYMMETRIC_PRODUCT as PRODUCT_MODE
from mlcore._ext.cluster.symmetric_matrix_h cimport symmetric as symmetric_panel
from mlcore._ext.cluster.symmetric_matrix_h cimport symmetric_short as symmetric_panel_short
from mlcore._ext.shared.transpose_h cimport transpose
from mlcore._ext.shared.tiles cimport copy_to_both_places

cdef enum:
    ROWS = 256
    TILE = 128
    STRIP = 16
    CACHES = 1 << 24  # bytes; a larger result is written by non-temporal stores

PANEL_ROWS, TILE_SIDE = ROWS, TILE
PRODUCT, POSITIVE, ACTIVE = PRODUCT_MODE, POSITIVE_MODE, ACTIVE_MODE


def compare(const floating[:, ::1] K, double close, double[::1] rows, double[:, ::1] columns,
            double[:, ::1] extremes, floating[:, :, ::1] scratch, Py_ssize_t first,
            Py_ssize_t last, int n_threads, /):
    """Compute row sums, and for each panel its excess asymmetry and its least entry.

    `extremes` is (panels, 2), `scratch` (n_threads, ROWS, TILE + 16).
    """
    cdef Py_ssize_t n = K.shape[0], stride = scratch.shape[2], at, p, top, left, height, width
    cdef Py_ssize_t tile_at, strip, depth
    cdef const floating* source
    cdef floating* transposed
    for at in prange(last - first, nogil=True, num_threads=n_threads, schedule="dynamic"):
        p = last - 1 - at  # the longest first
        top = p * ROWS
        height = min(ROWS, n - top)
        transposed = &scratch[threadid(), 0, 0]
        for tile_at in range((top + height + TILE - 1) // TILE):
            left = tile_at * TILE
            width = min(TILE, top + height - left)
            # Some rows at once: memory is read ahead along rows only.
            for strip in range((width + STRIP - 1) // STRIP):
                source = &K[left + strip * STRIP, top]
                depth = min(STRIP, width - strip * STRIP)
                transpose(source, n, depth, height, transposed + strip * STRIP, stride)
            mirrored(height, width, top - left, &K[top, left], n, transposed, stride, close,
                     &rows[top], &columns[p, left], &extremes[p, 0])


def symmetric(int mode, const floating[:, ::1] K, const double[::1] x, const double[::1] u,
              double[::1] rows, double[:, ::1] columns, double[::1] squares, Py_ssize_t first,
              Py_ssize_t last, int n_threads, /):
    """Compute the sums of panels first..last in a mode; `u` is not read for a product."""
    cdef Py_ssize_t n = K.shape[0], at, p, top, bottom
    for at in prange(last - first, nogil=True, num_threads=n_threads, schedule="dynamic"):
        p = last - 1 - at
        top = p * ROWS
        bottom = min(top + ROWS, n)
        symmetric_panel(mode, top, bottom, &K[0, 0], n, &x[0], &u[0], &rows[top], &columns[p, 0],
                        &squares[p])


def symmetric_short(const uint16_t[:, ::1] K, const float[::1] x, float[::1] rows,
                    float[:, ::1] columns, float[::1] squares, Py_ssize_t first,
                    Py_ssize_t last, int n_threads, /):
    """Compute the product with a matrix in 16 bits, in single precision."""
    cdef Py_ssize_t n = K.shape[0], at, p, top
    for at in prange(last - first, nogil=True, num_threads=n_threads, schedule="dynamic"):
        p = last - 1 - at
        top = p * ROWS
        symmetric_panel_short(PRODUCT_MODE, top, min(top + ROWS, n), &K[0, 0], n, &x[0],
                              &x[0], &rows[top], &columns[p, 0], &squares[p])


def gather(const floating[::1] rows, const floating[:, ::1] columns, double[::1] sums, /):
    """Set sums to rows plus the columns of all panels, added in the order of the panels."""
    cdef Py_ssize_t n = rows.shape[0], p, j
    with nogil:
        for j in range(n):
            sums[j] = rows[j]
        for p in range(columns.shape[0]):
            for j in range(min((p + 1) * ROWS, n)):
                sums[j] += columns[p, j]


def shorten(const floating[:, ::1] K, const double[::1] x, uint16_t[:, ::1] out,
            Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Write the lower triangle of x_i K_ij x_j, values of at most about 1, in 16 bits."""
    cdef Py_ssize_t n = K.shape[0], at, top, i
    for at in prange(last - first, nogil=True, num_threads=n_threads, schedule="dynamic"):
        top = (last - 1 - at) * ROWS
        for i in range(top, min(top + ROWS, n)):
            shorten_row(i + 1, &K[i, 0], x[i], &x[0], &out[i, 0])


def rescale(bint shift, const floating[:, ::1] K, const double[::1] x, floating[:, ::1] out,
            floating[:, :, ::1] scratch, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Set out to x_i K_ij x_j, or max(0, K_ij + x_i + x_j), from the lower triangle and mirrored.

    Bands first..last of TILE rows; `out` may be K. `scratch` is (n_threads, 2 TILE, TILE + 16).
    """
    cdef Py_ssize_t n = K.shape[0], stride = scratch.shape[2], at, top, left, rows, columns
    cdef Py_ssize_t bands = (n + TILE - 1) // TILE
    cdef bint past = n * n * sizeof(floating) > CACHES
    cdef floating* tile
    # Row by row: writes are contiguous, and touch new pages in order.
    for at in prange(first * bands, last * bands, nogil=True, num_threads=n_threads,
                     schedule="dynamic"):
        top = at // bands * TILE
        left = at % bands * TILE
        if left > top:
            continue
        tile = &scratch[threadid(), 0, 0]
        rows = min(TILE, n - top)
        columns = min(TILE, n - left)
        rescale_tile(shift, rows, columns, &K[top, left], n, &x[top], &x[left], tile, stride)
        copy_to_both_places(tile, stride, rows, columns, top == left, tile + TILE * stride,
                            &out[top, left], &out[left, top], n, past)
