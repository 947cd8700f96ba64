"""Descent on a small problem, and principal submatrices of K, for other loops."""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.svm.descent cimport descent


cdef void fill_submatrix(const floating* K, Py_ssize_t stride, Py_ssize_t count,
                         const int64_t* chosen, Py_ssize_t padded,
                         floating* submatrix) noexcept nogil
cdef void begin(descent* d, bint face_first, double wait) noexcept nogil
cdef void run(descent* d, const floating* K) noexcept nogil
