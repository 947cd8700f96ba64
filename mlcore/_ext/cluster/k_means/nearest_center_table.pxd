"""Lloyd's algorithm with bounds by groups of centres."""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.cluster.k_means.lloyd_pass cimport lloyd_pass

cdef extern from "cluster/k_means/nearest_center.h" nogil:
    void lloyd_f "nearest_center_table->f.lloyd"(const lloyd_pass*, Py_ssize_t, Py_ssize_t, float*,
                                                 double*, double*, int64_t*)
    void lloyd_d "nearest_center_table->d.lloyd"(const lloyd_pass*, Py_ssize_t, Py_ssize_t, double*,
                                                 double*, double*, int64_t*)


cdef inline void lloyd(const lloyd_pass* s, Py_ssize_t start, Py_ssize_t stop, floating* values,
                       double* sums, double* counts, int64_t* changed) noexcept nogil:
    if floating is float:
        lloyd_f(s, start, stop, values, sums, counts, changed)
    else:
        lloyd_d(s, start, stop, values, sums, counts, changed)
