"""Hot loops of mlcore.svm.linear.band_newton: dual variables, and the minimum along a line.

Residuals e (n,) give ``beta_i = clip(soft(offset_i + sigma_i e_i, sigma_i eps), lower_i, upper_i)``
with the soft threshold; a row is in the band where beta moves with e. The envelope of the loss,
``beta e - eps |beta| - (beta - offset)² / (2 sigma)``, has the slope beta in e.
"""
from libc.math cimport INFINITY, fabs

cdef enum:
    ROUNDS = 100  # of the search along a line: it ends in a few, on a piece between two kinks


cdef inline double clipped(double z, double threshold, double low, double high,
                           bint* inside) noexcept nogil:
    inside[0] = False
    if z > threshold:
        z -= threshold
    elif z < -threshold:
        z += threshold
    else:
        return 0
    if z <= low:
        return low
    if z >= high:
        return high
    inside[0] = True
    return z


def evaluate(const double[::1] e, const double[::1] offset, const double[::1] sigma,
             const double[::1] lower, const double[::1] upper, double eps, double[::1] beta,
             char[::1] band, /):
    """Set beta and the band; return the sums of the envelope and of beta."""
    cdef Py_ssize_t i
    cdef double value = 0, total = 0, b, off
    cdef bint inside
    with nogil:
        for i in range(e.shape[0]):
            b = clipped(offset[i] + sigma[i] * e[i], sigma[i] * eps, lower[i], upper[i], &inside)
            off = b - offset[i]
            value += b * e[i] - eps * fabs(b)
            if off != 0:
                value -= off * off / (2 * sigma[i])
            total += b
            beta[i] = b
            band[i] = inside
    return value, total


def minimise_along(const double[::1] e, const double[::1] q, const double[::1] offset,
                   const double[::1] sigma, const double[::1] lower, const double[::1] upper,
                   double eps, double slope, double curvature, /):
    """Return t >= 0 that minimises the envelope at ``e - t q`` plus ``t slope + t² curvature/2``.

    The slope along the line is continuous and piecewise linear: Newton's method for its zero, in a
    bracket, is exact once it is on the right piece.
    """
    cdef Py_ssize_t i, count
    cdef double t = 0, low = 0, high = INFINITY, new, s, h, first = 0, b
    cdef bint inside
    with nogil:
        for count in range(ROUNDS):
            s, h = slope + t * curvature, curvature
            for i in range(e.shape[0]):
                b = clipped(offset[i] + sigma[i] * (e[i] - t * q[i]), sigma[i] * eps, lower[i],
                            upper[i], &inside)
                s -= b * q[i]
                if inside:
                    h += sigma[i] * q[i] * q[i]
            if count == 0:
                if not s < 0:
                    break
                first = -s
            elif fabs(s) <= 1e-15 * first:
                break
            elif s < 0:
                low = t
            else:
                high = t
            new = t - s / h if h > 0 else INFINITY
            if not low < new < high or new == INFINITY:
                new = 0.5 * (low + high) if high < INFINITY else 2 * t + (t == 0)
            if fabs(new - t) <= 1e-16 * t:
                break
            t = new
    return t
