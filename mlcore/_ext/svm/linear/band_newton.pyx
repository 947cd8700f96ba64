"""Hot loops of mlcore.svm.linear.band_newton: dual variables, and the minimum along a line.

Residuals e (n,) give ``beta_i = clip(soft(offset_i + sigma_i e_i, sigma_i eps), lower_i, upper_i)``
with the soft threshold; a row is in the band where beta moves with e. The envelope of the loss,
``beta e - eps |beta| - (beta - offset)² / (2 sigma)``, has the slope beta in e.
"""
from libc.math cimport INFINITY, fabs, fmax

from mlcore._ext.svm.linear.band_newton_h cimport evaluate as evaluate_rows
from mlcore._ext.svm.linear.band_newton_h cimport plain_gap as plain_gap_of_rows
from mlcore._ext.svm.linear.band_newton_h cimport slope as slope_of_rows

cdef enum:
    ROUNDS = 200  # of the search along a line: it ends in a few, on a piece between two kinks
    MANY = 4096   # rows, of which a part shows where to begin
    PART = 16     # vectors of rows of which one is in this part


def evaluate(const double[::1] e, const double[::1] offset, const double[::1] sigma,
             const double[::1] lower, const double[::1] upper, double eps, double[::1] beta,
             char[::1] band, /):
    """Set beta and the band; return the sums of the envelope and of beta."""
    cdef double[2] sums
    with nogil:
        evaluate_rows(e.shape[0], &e[0], &offset[0], &sigma[0], &lower[0], &upper[0], eps,
                      &beta[0], &band[0], sums)
    return sums[0], sums[1]


def plain_gap(const double[::1] e, const double[::1] beta, const double[::1] lower,
              const double[::1] upper, double eps, /):
    """Return the sum of plain losses at e, and of their Fenchel-Young brackets with beta."""
    cdef double[2] sums
    with nogil:
        plain_gap_of_rows(e.shape[0], &e[0], &beta[0], &lower[0], &upper[0], eps, sums)
    return sums[0], sums[1]


def minimise_along(const double[::1] e, const double[::1] q, const double[::1] offset,
                   const double[::1] sigma, const double[::1] lower, const double[::1] upper,
                   double eps, double slope, double curvature, /):
    """Return the t that minimises the envelope at ``e - t q`` plus ``t slope + t² curvature/2``.

    The slope along the line is continuous and piecewise linear: Newton's method for its zero, in a
    bracket, is exact once it is on the right piece. Of many rows a part shows where to begin.
    """
    cdef Py_ssize_t n = e.shape[0]
    cdef double t = 0
    with nogil:
        if n > MANY:
            t = zero_of(e, q, offset, sigma, lower, upper, eps, slope, curvature, PART, 0)
        t = zero_of(e, q, offset, sigma, lower, upper, eps, slope, curvature, 1, t)
    return t


cdef double zero_of(const double[::1] e, const double[::1] q, const double[::1] offset,
                    const double[::1] sigma, const double[::1] lower, const double[::1] upper,
                    double eps, double slope, double curvature, Py_ssize_t stride,
                    double t) noexcept nogil:
    """Return the zero of the slope from t on, of every `stride`-th vector of rows."""
    cdef Py_ssize_t _count
    cdef double low = -INFINITY, high = INFINITY, new, s, h, first = 0
    cdef double[2] sums
    for _count in range(ROUNDS):
        slope_of_rows(e.shape[0], stride, &e[0], &q[0], &offset[0], &sigma[0], &lower[0],
                      &upper[0], eps, t, sums)
        s, h = slope + t * curvature + stride * sums[0], curvature + stride * sums[1]
        first = fmax(first, fabs(s))
        if s == 0 or fabs(s) <= 1e-13 * first:
            break
        if s < 0:
            low = t
        else:
            high = t
        new = t - s / h if h > 0 else INFINITY
        if not low < new < high:
            if low > -INFINITY and high < INFINITY:
                new = 0.5 * (low + high)
            else:
                new = (2 * t + 1 if t >= 0 else 0.5 * t + 1) if s < 0 else \
                    (2 * t - 1 if t <= 0 else 0.5 * t - 1)
        if fabs(new - t) <= 1e-15 * fabs(t):
            break
        t = new
    return t
