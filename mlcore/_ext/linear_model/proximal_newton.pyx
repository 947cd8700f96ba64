"""Coordinate descent on a quadratic function plus weighted absolute values."""
from mlcore._ext.linear_model.lasso_steps cimport one_sweep


def descend(const double[:, ::1] H, const double[::1] lasso, double[::1] w, double[::1] slope,
            double tol, Py_ssize_t n_sweeps, /):
    """Lower ``q(w) + sum_j lasso_j |w_j|`` by one w_j after the other, q of the Hessian H (p, p).

    `w` (p,) and the gradient `slope` (p,) of q there are updated. After a sweep over all there are
    up to `n_sweeps` over those that are not 0, until no step lowers the function by more than
    `tol`. Return the largest such fall in the first sweep.
    """
    cdef Py_ssize_t _sweep, p = w.shape[0]
    cdef double first, fall
    if p == 0:
        return 0.0
    with nogil:
        first = fall = one_sweep(p, p, &H[0, 0], &lasso[0], &w[0], &slope[0], False)
        for _sweep in range(n_sweeps):
            if fall <= tol:
                break
            fall = one_sweep(p, p, &H[0, 0], &lasso[0], &w[0], &slope[0], True)
    return first
