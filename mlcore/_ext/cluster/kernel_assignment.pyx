"""Hot loops of mlcore.cluster.kernel_k_means.kernel_assignment.

Sums of rows of K by cluster, and the nearest means.

Row j of `sums` (k, n) is the sum over cluster j of w_s K[s]. As K is symmetric, its element i is
the inner product of sample i with the sum of the cluster in feature space. Elements have one
writer and fixed orders of addition, so the thread count never changes a bit.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.kernels.gram_rows cimport add_span

cdef enum:
    WIDEST = 8192  # columns that are added at once: 64 KiB of sums stay in the L2 cache
    NARROWEST = 512
    PART = 256  # samples: their least values so far stay in cache


def add_rows(const floating[:, ::1] rows, const int64_t[::1] slots, const double[::1] factors,
             const int64_t[::1] starts, double[:, ::1] sums, Py_ssize_t n, int n_threads, /):
    """sums[j, :n] += factors[t] rows[slots[t], :n] for t from starts[j] to starts[j + 1]."""
    cdef Py_ssize_t k = starts.shape[0] - 1, span, j
    # Long runs are read fastest; two for each thread balance the load.
    cdef Py_ssize_t width = n if n_threads == 1 else (n // (2 * n_threads) + 8) // 8 * 8
    width = max(<Py_ssize_t> NARROWEST, min(width, <Py_ssize_t> WIDEST))
    if slots.shape[0] == 0:
        return
    for span in prange((n + width - 1) // width, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        for j in range(k):
            if starts[j] < starts[j + 1]:
                add_span(starts[j + 1] - starts[j], &slots[starts[j]], &factors[starts[j]],
                         &rows[0, 0], rows.shape[1], span * width, min(n, (span + 1) * width),
                         &sums[j, 0])


def nearest(const double[:, ::1] sums, const double[::1] scales,
            const double[::1] squared_norms, int32_t[::1] labels, int n_threads, /):
    """labels[i] = the first j of least squared_norms[j] - scales[j] sums[j, i]."""
    cdef Py_ssize_t n = labels.shape[0], part
    for part in prange((n + PART - 1) // PART, nogil=True, num_threads=n_threads,
                       schedule="static"):
        nearest_part(sums.shape[0], min(n - part * PART, <Py_ssize_t> PART), &scales[0],
                     &squared_norms[0], &sums[0, part * PART], sums.shape[1], &labels[part * PART])


cdef inline void nearest_part(Py_ssize_t k, Py_ssize_t count, const double* scales,
                              const double* squared_norms, const double* sums,
                              Py_ssize_t stride, int32_t* labels) noexcept nogil:
    cdef double least[PART]
    cdef double value
    cdef Py_ssize_t i, j
    for i in range(count):
        least[i] = INFINITY
        labels[i] = 0
    for j in range(k):
        for i in range(count):
            value = squared_norms[j] - scales[j] * sums[j * stride + i]
            if value < least[i]:
                least[i] = value
                labels[i] = <int32_t> j
