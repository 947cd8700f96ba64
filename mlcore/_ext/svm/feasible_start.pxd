"""Multipliers brought to a sum of 0 within their bounds. Inline, for other modules."""
from libc.math cimport fabs


cdef inline void balance(Py_ssize_t m, double* beta, const double* lower, const double* upper,
                         double excess) noexcept nogil:
    """Bring the sum of `beta` from `excess` to 0.

    Variables of the sign of the excess move towards 0, free ones first: those at a bound are often
    right.
    """
    cdef Py_ssize_t t
    cdef int turn
    cdef double step
    for turn in range(2):
        for t in range(m):
            if excess * beta[t] > 0 and (turn == 1 or lower[t] < beta[t] < upper[t]):
                step = min(fabs(beta[t]), fabs(excess)) * (1.0 if excess > 0 else -1.0)
                beta[t] -= step
                excess -= step
