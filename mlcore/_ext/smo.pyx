"""Hot loops of mlcore.svm.smo: rows and squares of K, and the gradient's update."""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memmove

from mlcore._ext.simd cimport simd_table

cdef enum:
    LINE = 16
    SPAN = 2048  # of the gradient: 16 KiB of doubles, half of a small first-level cache


def accumulate(const int64_t[::1] slots, const double[::1] a, const floating[:, ::1] rows,
               double[::1] g, Py_ssize_t first, Py_ssize_t last, int n_threads):
    """g[first:last] += sum_r a[r] rows[slots[r], first:last], whatever the threads in one order."""
    cdef Py_ssize_t span
    if slots.shape[0] == 0:
        return
    for span in prange((last - first + SPAN - 1) // SPAN, nogil=True, num_threads=n_threads,
                       schedule="static"):
        if floating is float:
            simd_table().f.accumulate(
                slots.shape[0], &slots[0], &a[0], &rows[0, 0], rows.shape[1],
                first + span * SPAN, min(last, first + (span + 1) * SPAN), &g[0])
        else:
            simd_table().d.accumulate(
                slots.shape[0], &slots[0], &a[0], &rows[0, 0], rows.shape[1],
                first + span * SPAN, min(last, first + (span + 1) * SPAN), &g[0])


def gather(const floating[:, ::1] rows, const int64_t[::1] slots, const int64_t[::1] columns,
           floating[:, ::1] K, const int64_t[::1] dest, const int64_t[::1] places, int n_threads):
    """K[dest[r], places[c]] = rows[slots[r], columns[c]]; runs in both are copied whole."""
    cdef Py_ssize_t m = columns.shape[0], r
    if m == 0 or slots.shape[0] == 0:
        return
    for r in prange(slots.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        gather_row(&rows[slots[r], 0], &columns[0], m, &K[dest[r], 0], &places[0])


cdef inline void gather_row(const floating* source, const int64_t* columns, Py_ssize_t m,
                            floating* to, const int64_t* places) noexcept nogil:
    cdef Py_ssize_t c = 0, run, last
    while c < m:
        run = 1
        while (c + run < m and columns[c + run] == columns[c] + run
               and places[c + run] == places[c] + run):
            run += 1
        if run > 8:
            memmove(to + places[c], source + columns[c], run * sizeof(floating))
            c += run
        else:
            last = c + run
            while c < last:
                to[places[c]] = source[columns[c]]
                c += 1


def mirror_rows(floating[:, ::1] K, const int64_t[::1] rows, const int64_t[::1] others,
                int n_threads):
    """K[others, rows] = K[rows, others].T, both ascending."""
    cdef Py_ssize_t m = others.shape[0], tile, r, i
    if m == 0 or rows.shape[0] == 0:
        return
    for tile in prange((m + LINE - 1) // LINE, nogil=True, num_threads=n_threads,
                       schedule="static"):
        for r in range(rows.shape[0]):  # about a cache line of each new row, over LINE rows
            for i in range(tile * LINE, min(m, tile * LINE + LINE)):
                K[others[i], rows[r]] = K[rows[r], others[i]]
