"""Common subsequences with gaps of one string and some others side by side."""
from libc.stdint cimport int32_t

cdef extern from "kernels/gapped.h" nogil:
    Py_ssize_t gapped_lanes "gapped_table->lanes"
    void gapped_values "gapped_table->values"(Py_ssize_t, double, Py_ssize_t, Py_ssize_t,
                                              const int32_t*, Py_ssize_t, const double*, double*,
                                              double*)
