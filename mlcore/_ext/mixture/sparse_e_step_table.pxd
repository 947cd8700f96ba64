"""EM over rows as lists of entries."""
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "mixture/sparse_e_step.h" nogil:
    enum:
        MIX_BATCH
    ctypedef struct row_assignment:
        pass
    ctypedef struct sparse_rows:
        Py_ssize_t n_components
        Py_ssize_t stride
        Py_ssize_t length
        const int64_t* indptr
        const int32_t* columns
        const double* values
        const double* weights
        const double* start
        const double* table
        uint64_t* near
        double* bounds
        double start_rise
        const double* rises
        const double* row_totals
        int32_t* hard
        Py_ssize_t hard_sums
        const double* start_impossible
        const double* impossible
    double expect "sparse_e_step_table->expect"(const sparse_rows*, Py_ssize_t, Py_ssize_t, double*,
                                                double*, double*, double*, double*)
    double responsibilities "sparse_e_step_table->responsibilities"(
        const sparse_rows*, Py_ssize_t, Py_ssize_t, double*, row_assignment*, double*)
    void add_rows "sparse_e_step_table->add_rows"(const sparse_rows*, Py_ssize_t, Py_ssize_t,
                                                  const double*, const row_assignment*, Py_ssize_t,
                                                  Py_ssize_t, double*)
    void fill_rows "sparse_e_step_table->fill_rows"(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                    const double*, Py_ssize_t, const double*, int,
                                                    double*, double*)
    void smooth_rows "sparse_e_step_table->smooth_rows"(Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                        Py_ssize_t, const double*, Py_ssize_t,
                                                        const double*, double, const double*,
                                                        Py_ssize_t, double*)
    void advance_rows "sparse_e_step_table->advance_rows"(Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                          Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                          double, const double*, double*, double*,
                                                          double*, double*)
