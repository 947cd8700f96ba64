"""Candidates for centres of k-means."""
from cython cimport floating

cdef extern from "numerics/greedy_seeds.h" nogil:
    void seed_f "greedy_seeds_table->f.seed"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*,
                                             const float*, const double*, float*, float*, double*)
    void seed_d "greedy_seeds_table->d.seed"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                                             const double*, const double*, double*, double*,
                                             double*)


cdef inline void seed(Py_ssize_t d, Py_ssize_t n, Py_ssize_t n_candidates, const floating* X,
                      const floating* candidates, const double* weights, floating* nearest,
                      floating* panel, double* potentials) noexcept nogil:
    if floating is float:
        seed_f(d, n, n_candidates, X, candidates, weights, nearest, panel, potentials)
    else:
        seed_d(d, n, n_candidates, X, candidates, weights, nearest, panel, potentials)
