"""Sums of rows of K, for loops that hold no GIL."""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.kernels.gram_rows_h cimport accumulate as add_span


cdef void add_product(int64_t count, const int64_t* slots, const double* a, const floating* rows,
                      Py_ssize_t stride, Py_ssize_t first, Py_ssize_t last, double* g,
                      int n_threads) noexcept nogil
