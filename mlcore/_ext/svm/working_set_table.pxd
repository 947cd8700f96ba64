"""Sequential minimal optimisation inside a working set."""
from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "svm/working_set.h" nogil:
    enum:
        SPANS
    ctypedef struct smo_working_set:
        int n_spans
        int group[SPANS]
        int64_t begin[SPANS]
        int64_t end[SPANS]
        int64_t stride
        const void* K
        void* G
        void* up
        void* low
        const void* diagonal
        double* beta
        const double* lower
        const double* upper
        double epsilon
        double violation
    int64_t smo_f "working_set_table->f.smo"(smo_working_set*, double, int64_t)
    int64_t smo_d "working_set_table->d.smo"(smo_working_set*, double, int64_t)


cdef inline int64_t smo(const floating* like, smo_working_set* s, double tol,
                        int64_t max_steps) noexcept nogil:
    """`like` tells the precision."""
    if floating is float:
        return smo_f(s, tol, max_steps)
    else:
        return smo_d(s, tol, max_steps)
