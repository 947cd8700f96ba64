"""Loops of mlcore.svm.smo.feasible_start: sums of multipliers within their bounds."""
from libc.stdint cimport int8_t, int64_t


def balance_to_zero(double[::1] beta, const double[::1] lower, const double[::1] upper,
                    double excess, /):
    """Bring the sum of `beta` from `excess` to 0, see feasible_start.pxd; arrays (m,)."""
    if beta.shape[0] > 0:
        with nogil:
            balance(beta.shape[0], &beta[0], &lower[0], &upper[0], excess)


def fill_to_sums(const int64_t[::1] order, const int8_t[::1] group, const double[::1] lower,
                 const double[::1] upper, const double[::1] total, double[::1] beta, /):
    """Set beta to its bound in `order` until each group has its sum; the rest stays."""
    cdef double left[2]
    cdef Py_ssize_t r, t
    cdef int8_t g
    left[0] = total[0]
    left[1] = total[1] if total.shape[0] > 1 else 0
    with nogil:
        for r in range(order.shape[0]):
            t = order[r]
            g = group[t]
            beta[t] = min(left[g], upper[t]) if left[g] > 0 else max(left[g], lower[t])
            left[g] -= beta[t]
