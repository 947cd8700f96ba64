"""Binary features as groups of bits."""
from cython cimport floating
from libc.stdint cimport int64_t, uint8_t

cdef extern from "mixture/sparse_rows.h" nogil:
    enum:
        BIT_GROUP
    int64_t bits_f "sparse_rows_table->f.bits"(Py_ssize_t, const float*, const uint8_t*, float,
                                               uint8_t*, int64_t*, int*)
    int64_t bits_d "sparse_rows_table->d.bits"(Py_ssize_t, const double*, const uint8_t*, double,
                                               uint8_t*, int64_t*, int*)


cdef inline int64_t bits(Py_ssize_t d, const floating* x, const uint8_t* mode, floating threshold,
                         uint8_t* codes, int64_t* missing, int* others) noexcept nogil:
    if floating is float:
        return bits_f(d, x, mode, threshold, codes, missing, others)
    else:
        return bits_d(d, x, mode, threshold, codes, missing, others)
