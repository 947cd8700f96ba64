"""A quadratic function plus weighted absolute values: sweeps over coordinates, steps in a face.

Inline, so that no call crosses a module.
"""
from libc.math cimport fabs


cdef inline double one_sweep(Py_ssize_t p, Py_ssize_t stride, const double* H,
                             const double* lasso, double* w, double* slope,
                             bint only_nonzero) noexcept nogil:
    """Minimise in each coordinate once; return the largest fall, at least.

    H (p, stride) is the Hessian, `slope` (p,) the gradient of the quadratic function at w (p,).
    """
    cdef Py_ssize_t i, j
    cdef double target, step, largest = 0
    cdef const double* row
    for j in range(p):
        if only_nonzero and w[j] == 0:
            continue
        row = H + j * stride
        target = row[j] * w[j] - slope[j]
        if fabs(target) <= lasso[j]:
            step = -w[j]
        elif row[j] > 0:
            step = (target - lasso[j] if target > 0 else target + lasso[j]) / row[j] - w[j]
        else:
            continue
        if step != 0:
            w[j] = w[j] + step if fabs(target) > lasso[j] else 0
            for i in range(p):
                slope[i] += step * row[i]
            largest = max(largest, 0.5 * row[j] * step * step)
    return largest


cdef inline Py_ssize_t shortest(Py_ssize_t m, const double* w, const double* u,
                                double* length) noexcept nogil:
    """Return the first place whose w + length u becomes 0, of lengths up to `length`, which is
    lowered to that; -1 if there is none.
    """
    cdef Py_ssize_t i, first = -1
    for i in range(m):
        if u[i] * w[i] < 0 and -w[i] / u[i] <= length[0]:
            length[0], first = -w[i] / u[i], i
    return first
