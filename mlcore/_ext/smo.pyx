"""Hot loops of mlcore.svm.smo: pair steps inside a working set, and the gradient's update."""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t

from mlcore._ext.simd cimport simd_table, smo_working_set

cdef enum:
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


def mirror_rows(floating[:, ::1] K, const int64_t[::1] rows, int n_threads):
    """K[:, rows] = K[rows].T, for a square that is symmetric but for new rows."""
    cdef Py_ssize_t n = K.shape[0], i, r
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        for r in range(rows.shape[0]):
            K[i, rows[r]] = K[rows[r], i]


def steps(const floating[:, ::1] K, floating[::1] G, floating[::1] up, floating[::1] low,
          const floating[::1] diagonal, double[::1] beta, const double[::1] lower,
          const double[::1] upper, Py_ssize_t split, double epsilon, double tol,
          int64_t max_steps):
    """At most `max_steps` pair steps, until the violation is at most `tol`: (steps, violation).

    All vectors have the padded width; variables [0, split) are group 0, the rest group 1.
    """
    cdef smo_working_set s
    cdef int64_t made
    s.split, s.width, s.stride = split, G.shape[0], K.shape[1]
    s.K, s.G, s.up, s.low, s.diagonal = &K[0, 0], &G[0], &up[0], &low[0], &diagonal[0]
    s.beta, s.lower, s.upper = &beta[0], &lower[0], &upper[0]
    s.epsilon = epsilon
    s.violation = 0
    with nogil:
        if floating is float:
            made = simd_table().f.smo(&s, tol, max_steps)
        else:
            made = simd_table().d.smo(&s, tol, max_steps)
    return made, s.violation
