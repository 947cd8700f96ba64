"""Coordinate descent on a quadratic function plus weighted absolute values."""
from libc.math cimport fabs


def descend(const double[:, ::1] H, const double[::1] lasso, double[::1] w, double[::1] slope,
            double tol, Py_ssize_t n_sweeps, /):
    """Lower ``q(w) + sum_j lasso_j |w_j|`` by one w_j after the other, q of the Hessian H (p, p).

    `w` (p,) and the gradient `slope` (p,) of q there are updated. After a sweep over all there are
    up to `n_sweeps` over those that are not 0, until no step lowers the function by more than
    `tol`. Return the largest such fall in the first sweep.
    """
    cdef Py_ssize_t _sweep
    cdef double first, fall
    with nogil:
        first = fall = one_sweep(H, lasso, w, slope, False)
        for _sweep in range(n_sweeps):
            if fall <= tol:
                break
            fall = one_sweep(H, lasso, w, slope, True)
    return first


cdef double one_sweep(const double[:, ::1] H, const double[::1] lasso, double[::1] w,
                      double[::1] slope, bint only_nonzero) noexcept nogil:
    """Minimise in each coordinate once; return the largest fall, at least."""
    cdef Py_ssize_t i, j, p = w.shape[0]
    cdef double target, step, largest = 0
    for j in range(p):
        if only_nonzero and w[j] == 0:
            continue
        target = H[j, j] * w[j] - slope[j]
        if fabs(target) <= lasso[j]:
            step = -w[j]
        elif H[j, j] > 0:
            step = (target - lasso[j] if target > 0 else target + lasso[j]) / H[j, j] - w[j]
        else:
            continue
        if step != 0:
            w[j] = w[j] + step if fabs(target) > lasso[j] else 0
            for i in range(p):
                slope[i] += step * H[j, i]
            largest = max(largest, 0.5 * H[j, j] * step * step)
    return largest
