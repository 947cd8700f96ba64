"""The EM step of a mixture of Gaussians."""
from cython cimport floating
from libc.stdint cimport int32_t

cdef extern from "mixture/gaussian.h" nogil:
    enum:
        GAUSSIAN_FULL
        GAUSSIAN_TIED
        GAUSSIAN_DIAGONAL
        GAUSSIAN_SPHERICAL
        GAUSSIAN_ROWS
        GAUSSIAN_PIECE
        GAUSSIAN_FEW
    Py_ssize_t GAUSSIAN_LISTS(Py_ssize_t k)
    Py_ssize_t GAUSSIAN_KEPT(int kind, Py_ssize_t d)
    ctypedef struct gaussian_mixture:
        int kind
        Py_ssize_t d
        Py_ssize_t k
        const double* constants
        const void* means
        const void* factors
        const void* centres
        const void* origin
        const void* rotation
        const void* directions
    void gaussian_f "gaussian_table->f.gaussian"(const gaussian_mixture*, Py_ssize_t, Py_ssize_t,
                                                 const float*, const float*, int32_t*, float*,
                                                 double*, float*, float*)
    void gaussian_d "gaussian_table->d.gaussian"(const gaussian_mixture*, Py_ssize_t, Py_ssize_t,
                                                 const double*, const double*, int32_t*, double*,
                                                 double*, double*, double*)


cdef inline void gaussian(const gaussian_mixture* g, Py_ssize_t n, Py_ssize_t ahead,
                          const floating* X, const floating* weight, int32_t* labels,
                          floating* scratch, double* stats, floating* density,
                          floating* proba) noexcept nogil:
    if floating is float:
        gaussian_f(g, n, ahead, X, weight, labels, scratch, stats, density, proba)
    else:
        gaussian_d(g, n, ahead, X, weight, labels, scratch, stats, density, proba)
