"""Draws of rows in proportion to their masses: weights, times how far the rows are from seeds.

Inline, for other modules.
"""
from cython cimport floating
from libc.stdint cimport int32_t


cdef inline Py_ssize_t accumulate(const int32_t[::1] order, const double* weights,
                                  const floating* nearest, double[::1] sums) noexcept nogil:
    """Running sums of the masses along the order; the place of the last that is not 0, or -1."""
    cdef Py_ssize_t t, last = -1
    cdef double total = 0, mass
    for t in range(order.shape[0]):
        mass = weights[order[t]] if weights != NULL else 1
        if nearest != NULL:
            mass = mass * nearest[order[t]]
        if mass > 0:
            last = t
        total += mass
        sums[t] = total
    return last


cdef inline Py_ssize_t place(const double[::1] sums, Py_ssize_t last,
                             double target) noexcept nogil:
    """The first place whose sum exceeds `target`, or the last."""
    cdef Py_ssize_t low = 0, high = last, middle
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low
