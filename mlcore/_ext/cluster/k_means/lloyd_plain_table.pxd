"""Lloyd's algorithm by comparison with every centre."""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.cluster.k_means.lloyd_pass cimport lloyd_pass

cdef extern from "cluster/k_means/lloyd_plain.h" nogil:
    void lloyd_plain_f "lloyd_plain_table->f.lloyd_plain"(const lloyd_pass*, Py_ssize_t, Py_ssize_t,
                                                          float*, double*, double*, int64_t*,
                                                          float*)
    void lloyd_plain_d "lloyd_plain_table->d.lloyd_plain"(const lloyd_pass*, Py_ssize_t, Py_ssize_t,
                                                          double*, double*, double*, int64_t*,
                                                          float*)
    void own_distances_f "lloyd_plain_table->f.own_distances"(
        Py_ssize_t, Py_ssize_t, const float*, const float*, const int32_t*, double*)
    void own_distances_d "lloyd_plain_table->d.own_distances"(
        Py_ssize_t, Py_ssize_t, const double*, const double*, const int32_t*, double*)


cdef inline void lloyd_plain(const lloyd_pass* s, Py_ssize_t start, Py_ssize_t stop,
                             floating* scratch, double* sums, double* counts, int64_t* tally,
                             float* longest) noexcept nogil:
    if floating is float:
        lloyd_plain_f(s, start, stop, scratch, sums, counts, tally, longest)
    else:
        lloyd_plain_d(s, start, stop, scratch, sums, counts, tally, longest)


cdef inline void own_distances(Py_ssize_t d, Py_ssize_t n, const floating* X,
                               const floating* centers, const int32_t* labels,
                               double* out) noexcept nogil:
    if floating is float:
        own_distances_f(d, n, X, centers, labels, out)
    else:
        own_distances_d(d, n, X, centers, labels, out)
