"""Scores, losses and gradients of logistic regression."""

cdef extern from "linear_model/logistic_pass.h" nogil:
    void copy_f "logistic_pass_table->copy_f"(Py_ssize_t, const float*, const double*,
                                              const double*, double*)
    void copy_d "logistic_pass_table->copy_d"(Py_ssize_t, const double*, const double*,
                                              const double*, double*)
    void scores "logistic_pass_table->scores"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                                              const double*, double*)
    void gradient "logistic_pass_table->gradient"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                                                  const double*, double*)
    void moments "logistic_pass_table->moments"(Py_ssize_t, Py_ssize_t, const double*,
                                                const double*, double*, double*)
    double binary "logistic_pass_table->binary"(Py_ssize_t, bint, const double*, const double*,
                                                const double*, double*, double*, Py_ssize_t*)
    void exponentials "logistic_pass_table->exponentials"(Py_ssize_t, double*)
