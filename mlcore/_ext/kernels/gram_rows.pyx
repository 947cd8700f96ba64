"""Hot loop of mlcore.kernels.gram_rows: sums of rows of K with weights."""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t

cdef enum:
    SPAN = 2048  # of the gradient: 16 KiB of doubles, half of a small first-level cache


def accumulate(const int64_t[::1] slots, const double[::1] a, const floating[:, ::1] rows,
               double[::1] g, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """g[first:last] += sum_r a[r] rows[slots[r], first:last], in the order of r on any threads."""
    if slots.shape[0] > 0:
        with nogil:
            add_product(slots.shape[0], &slots[0], &a[0], &rows[0, 0], rows.shape[1], first, last,
                        &g[0], n_threads)


cdef void add_product(int64_t count, const int64_t* slots, const double* a, const floating* rows,
                      Py_ssize_t stride, Py_ssize_t first, Py_ssize_t last, double* g,
                      int n_threads) noexcept nogil:
    cdef Py_ssize_t span
    if n_threads == 1:
        add_span(count, slots, a, rows, stride, first, last, g)
        return
    for span in prange((last - first + SPAN - 1) // SPAN, num_threads=n_threads,
                       schedule="static"):
        add_span(count, slots, a, rows, stride, first + span * SPAN,
                 min(last, first + (span + 1) * SPAN), g)
