"""Loops of mlcore.svm.smo.optimality, see optimality.pxd."""
from libc.stdint cimport int8_t


def measure(const double[::1] linear, const double[::1] lower, const double[::1] upper,
            double epsilon, const int8_t[::1] group, const double[::1] beta,
            const double[::1] product, const double[::1] multiplier, const double[::1] total,
            double rounding, double distance, /):
    """(dual, primal, gap, KKT violation); arrays (m,), `multiplier` and `total` (2,)."""
    cdef optimality found
    cdef Py_ssize_t m = beta.shape[0]
    if m == 0:
        return 0.0, 0.0, 0.0, 0.0
    with nogil:
        found = optimality_of(m, &linear[0], &lower[0], &upper[0], epsilon, &group[0], &beta[0],
                              &product[0], &multiplier[0], &total[0], rounding, distance)
    return found.dual, found.primal, found.gap, found.violation
