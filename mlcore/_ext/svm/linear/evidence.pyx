"""Hot loops of mlcore.svm.linear.evidence for squared losses: one pass over the rows each.

Sums are in eight parts, of which the bounds of rounding know. A NaN stays in sums and largest
values. All arrays are (n,): scores f, targets y, ±1 if they are `of_classes`, costs, and dual
variables beta.
"""
from libc.math cimport copysign, fabs, sqrt

cdef enum:
    PARTS = 8

cdef double ULP = 2.0**-53


def own_duals(const double[::1] f, const double[::1] y, const double[::1] cost, double eps,
              bint of_classes, double b, const double[::1] beta, double[::1] own, /):
    """Set `own` to the dual variables that follow from residuals ``y - f - b``.

    Return the largest of them, and the largest difference from beta, as absolute values.
    """
    cdef Py_ssize_t i
    cdef double most = 0, off = 0
    with nogil:
        for i in range(f.shape[0]):
            own[i] = 2 * cost[i] * excess(y[i] - f[i] - b, y[i], eps, of_classes)
            most = larger(most, fabs(own[i]))
            off = larger(off, fabs(beta[i] - own[i]))
    return most, off


def brackets(const double[::1] f, const double[::1] y, const double[::1] cost, double eps,
             bint of_classes, double b, const double[::1] beta, const double[::1] squares,
             double share, double far, /):
    """Return sums and largest values of residuals ``e = y - f - b``, each off by up to ``ULP
    (share |x| + 4 (|f| + |b| + |y|) + far)``, where `squares` are those of rows.

    These are the sums of the losses, of the brackets with these errors and of ``|beta|``, and the
    largest violation and ``|e|``.
    """
    cdef Py_ssize_t i, k
    cdef double e, r, off, error, bracket, violation = 0, largest = 0
    cdef double[PARTS] losses, gaps, sizes
    with nogil:
        for k in range(PARTS):
            losses[k] = gaps[k] = sizes[k] = 0
        for i in range(f.shape[0]):
            k = i % PARTS
            e = y[i] - f[i] - b
            r = excess(e, y[i], eps, of_classes)
            off = fabs(r - beta[i] / (2 * cost[i] if cost[i] > 0 else 1))
            error = ULP * (share * sqrt(squares[i]) + 4 * (fabs(f[i]) + fabs(b) + fabs(y[i])) + far)
            bracket = cost[i] * (off + error) * (off + error)
            if beta[i] != 0:
                bracket += beta[i] * (r - e) + eps * fabs(beta[i])
            losses[k] += cost[i] * r * r
            gaps[k] += bracket
            sizes[k] += fabs(beta[i])
            violation = larger(violation, off)
            largest = larger(largest, fabs(e))
        for k in range(1, PARTS):
            losses[0] += losses[k]
            gaps[0] += gaps[k]
            sizes[0] += sizes[k]
    return losses[0], gaps[0], sizes[0], violation, largest


cdef inline double excess(double e, double y, double eps, bint of_classes) noexcept nogil:
    """Return what a residual has above eps, with its sign, on the side that costs."""
    cdef double above = fabs(e) - eps
    if of_classes:
        return e if not e * y <= 0 else 0
    return copysign(above if not above <= 0 else 0, e)  # a branch would be guessed wrong


cdef inline double larger(double a, double b) noexcept nogil:
    """Return the larger number, or a NaN among them."""
    return a if a >= b or a != a else b
