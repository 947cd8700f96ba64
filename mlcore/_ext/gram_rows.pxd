"""Sums of rows of K, for loops that hold no GIL."""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.simd cimport simd_table


cdef inline void add_span(Py_ssize_t count, const int64_t* slots, const double* a,
                          const floating* rows, Py_ssize_t stride, Py_ssize_t first,
                          Py_ssize_t last, double* g) noexcept nogil:
    """g[first:last] += sum_r a[r] rows[slots[r], first:last]."""
    if floating is float:
        simd_table().f.accumulate(count, slots, a, rows, stride, first, last, g)
    else:
        simd_table().d.accumulate(count, slots, a, rows, stride, first, last, g)


cdef void add_product(int64_t count, const int64_t* slots, const double* a, const floating* rows,
                      Py_ssize_t stride, Py_ssize_t first, Py_ssize_t last, double* g,
                      int n_threads) noexcept nogil
