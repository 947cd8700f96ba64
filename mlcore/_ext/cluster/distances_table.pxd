"""Distances from products and from differences, and their sums."""
from cython cimport floating

cdef extern from "cluster/distances.h" nogil:
    Py_ssize_t distances_f "distances_table->f.distances"(Py_ssize_t, float, const float*, float,
                                                          bint, float*)
    Py_ssize_t distances_d "distances_table->d.distances"(Py_ssize_t, double, const double*, double,
                                                          bint, double*)
    void add_f "distances_table->f.add"(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t,
                                        const double*, const double*, Py_ssize_t, double*, double*)
    void add_d "distances_table->d.add"(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t,
                                        const double*, const double*, Py_ssize_t, double*, double*)
    double differences_f "distances_table->f.differences"(Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                          Py_ssize_t, const float*, Py_ssize_t,
                                                          bint, float*)
    double differences_d "distances_table->d.differences"(Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                                          Py_ssize_t, const double*, Py_ssize_t,
                                                          bint, double*)
    double squared_distance "distances_table->squared_distance"(
        Py_ssize_t, const double*, const double*)


cdef inline Py_ssize_t distances(Py_ssize_t n, floating x_norm, const floating* y_norms,
                                 floating near, bint squared, floating* row) noexcept nogil:
    if floating is float:
        return distances_f(n, x_norm, y_norms, near, squared, row)
    else:
        return distances_d(n, x_norm, y_norms, near, squared, row)


cdef inline void add(Py_ssize_t rows, Py_ssize_t columns, const floating* tile, Py_ssize_t stride,
                     const double* row_weights, const double* column_weights, Py_ssize_t k,
                     double* row_sums, double* column_sums) noexcept nogil:
    if floating is float:
        add_f(rows, columns, tile, stride, row_weights, column_weights, k, row_sums, column_sums)
    else:
        add_d(rows, columns, tile, stride, row_weights, column_weights, k, row_sums, column_sums)


cdef inline double differences(Py_ssize_t first, Py_ssize_t last, Py_ssize_t n, Py_ssize_t d,
                               const floating* columns, Py_ssize_t stride, bint squared,
                               floating* out) noexcept nogil:
    if floating is float:
        return differences_f(first, last, n, d, columns, stride, squared, out)
    else:
        return differences_d(first, last, n, d, columns, stride, squared, out)
