"""Hot loops of mlcore.cluster.scaling.scaled_kernel.

Updates of rows and columns in one reading of a matrix.

Panels of PANEL_ROWS rows are divided among threads. A panel sets its rows, and adds the sums of its
columns to its own row of `columns` (panels, m), which the caller sums in the order of the panels:
the same bytes for any number of threads. Calls take panels first..last, so that Python sees signals
between them. K is (n, m); vectors of rows (n,), of columns (m,).
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from mlcore._ext.cluster.scaling_h cimport shorten as shorten_row
from mlcore._ext.cluster.scaled_kernel_h cimport SCALED_KERNEL_SOLVE, SCALED_KERNEL_WEIGHT
from mlcore._ext.cluster.scaled_kernel_h cimport both_sides as both_sides_of_rows
from mlcore._ext.cluster.scaled_kernel_h cimport both_sides_short as both_sides_of_short_rows
from mlcore._ext.cluster.scaled_kernel_h cimport log_rows as solve_log_rows
from mlcore._ext.cluster.scaled_kernel_h cimport SCALED_KERNEL_EVIDENCE as EVIDENCE
from mlcore._ext.cluster.scaled_kernel_h cimport evidence, narrow_row, scaled_row
from mlcore._ext.shared.copies_h cimport copy

cdef enum:
    ROWS = 256
    AT_ONCE = EVIDENCE
    CACHES = 1 << 24  # bytes; a larger result is written by non-temporal stores

PANEL_ROWS = ROWS
EVIDENCE_ROWS = AT_ONCE
SOLVE, WEIGHT = SCALED_KERNEL_SOLVE, SCALED_KERNEL_WEIGHT


def both_sides(int mode, const floating[:, ::1] K, const double[::1] x, const double[::1] targets,
               double power, double[::1] totals, double[::1] factors, double[:, ::1] columns,
               Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Set totals = K x, factors by the mode, and columns = K' factors by panels."""
    cdef Py_ssize_t n = K.shape[0], m = K.shape[1], p, top
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        top = p * ROWS
        memset(&columns[p, 0], 0, m * sizeof(columns[0, 0]))
        both_sides_of_rows(mode, min(ROWS, n - top), m, &K[top, 0], m, &x[0], &targets[top], power,
                           &totals[top], &factors[top], &columns[p, 0])


def both_sides_short(int mode, const uint16_t[:, ::1] K, const float[::1] x,
                     const double[::1] targets, double power, double[::1] totals,
                     double[::1] factors, float[:, ::1] columns, Py_ssize_t first, Py_ssize_t last,
                     int n_threads, /):
    """Do the same for a matrix in 16 bits, in single precision."""
    cdef Py_ssize_t n = K.shape[0], m = K.shape[1], p, top
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        top = p * ROWS
        memset(&columns[p, 0], 0, m * sizeof(columns[0, 0]))
        both_sides_of_short_rows(mode, min(ROWS, n - top), m, &K[top, 0], m, &x[0], &targets[top],
                                 power, &totals[top], &factors[top], &columns[p, 0])


def log_rows(const floating[:, ::1] L, double scale, double shift, const double[::1] b,
             const double[::1] log_targets, double power, double[::1] a, double[:, ::1] columns,
             double[:, ::1] scratch, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Set a = power (log_targets - log sum exp(l + b)), and sums of exp(l + a + b), by columns.

    The logarithms l are scale (L - shift). `scratch` is (n_threads, m).
    """
    cdef Py_ssize_t n = L.shape[0], m = L.shape[1], p, top
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        top = p * ROWS
        memset(&columns[p, 0], 0, m * sizeof(columns[0, 0]))
        solve_log_rows(min(ROWS, n - top), m, &L[top, 0], m, scale, shift, &b[0], &log_targets[top],
                       power, &a[top], &scratch[threadid(), 0], &columns[p, 0])


def shorten(bint logs, const floating[:, ::1] K, double scale, double shift,
            const double[::1] a, const double[::1] b, const double[::1] ones, uint16_t[:, ::1] out,
            double[:, ::1] scratch, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Write a_i K_ij b_j, with `logs` exp(l + a + b), in 16 bits; of about 1 at most.

    l is as for `log_rows`, of K. `ones` is (m,), `scratch` (n_threads, m).
    """
    cdef Py_ssize_t n = K.shape[0], m = K.shape[1], p, i
    cdef double unused
    cdef double* row
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        row = &scratch[threadid(), 0]
        for i in range(p * ROWS, min((p + 1) * ROWS, n)):
            if logs:
                unused = 0
                scaled_row(True, m, &K[i, 0], scale, shift, a[i], &b[0], row, &unused)
                shorten_row(m, row, 1.0, &ones[0], &out[i, 0])
            else:
                shorten_row(m, &K[i, 0], a[i], &b[0], &out[i, 0])


def scaled(bint logs, const floating[:, ::1] K, double scale, double shift,
           const double[::1] a, const double[::1] b, const double[::1] y, const double[::1] targets,
           double[::1] totals, double[::1] x, double[::1] largest, double[::1] logarithms,
           double[:, :, ::1] columns, floating[:, ::1] out, double[:, ::1] scratch,
           floating[:, ::1] narrow, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Write P = a_i K_ij b_j, with `logs` exp(l + a + b), unless out is (0, 0), and sums.

    These are P's row `totals`, x = (targets - totals - P y) / totals, the `largest` of each row, by
    panels sum P log K, and the `columns` (panels, 2, m) of P and of P' x. `scratch` is (n_threads,
    EVIDENCE_ROWS m), `narrow` (n_threads, m).
    """
    cdef Py_ssize_t n = K.shape[0], m = K.shape[1], p, i, strip, top, rows
    cdef bint past = n * m * sizeof(floating) > CACHES
    cdef double* block
    cdef floating* short_row
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        memset(&columns[p, 0, 0], 0, 2 * m * sizeof(double))
        logarithms[p] = 0
        block = &scratch[threadid(), 0]
        short_row = &narrow[threadid(), 0]
        for strip in range(ROWS // AT_ONCE):
            top = p * ROWS + strip * AT_ONCE
            rows = min(AT_ONCE, n - top)
            if rows <= 0:
                break
            for i in range(rows):
                scaled_row(logs, m, &K[top + i, 0], scale, shift, a[top + i], &b[0],
                           block + i * m, &logarithms[p])
                if out.shape[0]:
                    if floating is double:
                        short_row = block + i * m
                    else:
                        narrow_row(m, block + i * m, short_row)
                    copy(1, m, short_row, m, &out[top + i, 0], m, <int64_t*> NULL, past)
            evidence(rows, m, block, &y[0], &targets[top], &totals[top], &x[top], &largest[top],
                     &columns[p, 0, 0], &columns[p, 1, 0])
