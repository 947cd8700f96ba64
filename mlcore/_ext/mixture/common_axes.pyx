"""Hot loop of mlcore.mixture.gaussian.families.common_axes: rotations of pairs of axes."""
from libc.math cimport atan2, cos, sin

from mlcore._ext.shared.signals cimport interrupted, raise_interrupt


def rotate_pairs(double[:, :, ::1] T, const double[:, ::1] precisions, double[:, ::1] axes, /):
    """Turn axes p < q, one pair after another, to where sum_j tr(S_j^-1 W_j) is least.

    The columns of `axes` are the axes, T[j] the scatter W_j along them, `precisions` (k, d) the
    inverses of the variances along them, which stay: both others are turned in place, O(k d^3).
    """
    cdef Py_ssize_t p, d = axes.shape[0]
    cdef bint stopped = False
    with nogil:
        for p in range(d - 1):
            rotate_with(p, T, precisions, axes)
            if interrupted():
                stopped = True
                break
    if stopped:
        raise_interrupt()


cdef void rotate_with(Py_ssize_t p, double[:, :, ::1] T, const double[:, ::1] precisions,
                      double[:, ::1] axes) noexcept nogil:
    cdef Py_ssize_t q, j, d = axes.shape[0]
    cdef double difference, first, off, second, angle, c, s
    for q in range(p + 1, d):
        first = off = second = 0
        for j in range(T.shape[0]):
            difference = precisions[j, p] - precisions[j, q]
            first += difference * T[j, p, p]
            off += difference * T[j, p, q]
            second += difference * T[j, q, q]
        # Axis p goes to the eigenvector of the smaller eigenvalue.
        angle = 0.5 * atan2(-2 * off, second - first)
        if angle == 0:
            continue
        c, s = cos(angle), sin(angle)
        for j in range(T.shape[0]):
            turn(&T[j, p, 0], &T[j, q, 0], d, 1, c, s)
            turn(&T[j, 0, p], &T[j, 0, q], d, d, c, s)
        turn(&axes[0, p], &axes[0, q], d, d, c, s)


cdef inline void turn(double* x, double* y, Py_ssize_t n, Py_ssize_t step, double c,
                      double s) noexcept nogil:
    cdef Py_ssize_t i
    cdef double old
    for i in range(n):
        old = x[i * step]
        x[i * step] = c * old + s * y[i * step]
        y[i * step] = c * y[i * step] - s * old
