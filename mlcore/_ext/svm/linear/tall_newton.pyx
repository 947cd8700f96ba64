"""Hot loops of mlcore.svm.linear.tall_newton: all that a Newton step needs, by one reading of rows.

Blocks of rows stay in the first cache for their scores, dual variables, sums and products. Groups
of rows have sums of their own, added by the caller in their order, so that the number of threads
never changes a bit. For a squared loss with the residual ``e = y - f`` and ``sigma = 2 cost``,
``beta = clip(soft(sigma e, sigma eps), lower, upper)``, with bounds that are 0 or infinite; a row
is in the band where beta is not 0. Shapes, in C order: X (n, d), those of rows (n,), g groups, t
threads; work (t, work_size(width)), width >= d + 1 a multiple of panel_width().
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt

from mlcore._ext.numerics.scatter_h cimport SCATTER_ROWS_d, pack_d, panel_d, products_d, strip_d
from mlcore._ext.svm.linear.tall_newton_h cimport add_d, add_f, scores_d, scores_f

cdef enum:  # of the sums of a group
    VALUE   # of the losses, of rows with beta > 0, and of those with beta < 0
    TOTAL = 2  # of beta, in the same order


def panel_width():
    """Return what the width is a multiple of."""
    return panel_d


def work_size(Py_ssize_t width, /):
    """Return the number of values that each thread needs."""
    return (2 * SCATTER_ROWS_d + 1) * width + 2 * SCATTER_ROWS_d


def tall_sums(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last,
              const double[::1] theta, double b, const double[::1] y, const double[::1] sigma,
              const double[::1] lower, const double[::1] upper, double eps, double[::1] f,
              double[::1] beta, char[::1] band, const double[::1] zeros, double[:, ::1] work,
              double[:, ::1] sums, double[:, :, ::1] gradients, double[:, :, :, ::1] grams,
              int n_threads, /):
    """Set f, beta and the band of rows first to last - 1; add to the sums of groups.

    sums (g, 4) are losses and beta of rows with beta above and below 0, gradients (g, 2, d) their
    ``X'beta``. grams (g, 2, width, width) are the lower triangles of the sums of ``sigma z z'``, z
    the row and a 1, of rows that enter the band and of rows that leave it. `zeros` is (width,).
    """
    cdef Py_ssize_t groups = sums.shape[0], g, n = last - first
    for g in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        add_group(X, first + g * n // groups, first + (g + 1) * n // groups, theta, b, y, sigma,
                  lower, upper, eps, f, beta, band, zeros, &work[threadid(), 0], &sums[g, 0],
                  &gradients[g, 0, 0], &grams[g, 0, 0, 0], grams.shape[2])


cdef void add_group(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last,
                    const double[::1] theta, double b, const double[::1] y,
                    const double[::1] sigma, const double[::1] lower, const double[::1] upper,
                    double eps, double[::1] f, double[::1] beta, char[::1] band,
                    const double[::1] zeros, double* work, double* sums, double* gradients,
                    double* grams, Py_ssize_t width) noexcept nogil:
    cdef Py_ssize_t start, i, j, rows, side, d = X.shape[1]
    cdef Py_ssize_t packed[2]
    cdef double z, s, loss
    cdef double* line = work
    cdef double* strips = line + width
    cdef double* both = strips + 2 * SCATTER_ROWS_d * width  # beta above 0, and below, of a row
    packed[0] = packed[1] = 0
    for j in range(width):
        line[j] = j == d
    start = first
    while start < last:
        rows = min(<Py_ssize_t> SCATTER_ROWS_d, last - start)
        if floating is float:
            scores_f(rows, d, &X[start, 0], &theta[0], b, &f[start])
        else:
            scores_d(rows, d, &X[start, 0], &theta[0], b, &f[start])
        for i in range(start, start + rows):
            s = sigma[i]
            z = s * (y[i] - f[i])
            z = z - s * eps if z > s * eps else (z + s * eps if z < -s * eps else 0)
            z = lower[i] if z < lower[i] else (upper[i] if z > upper[i] else z)
            loss = 0.5 * z * (z / s) if z != 0 else 0
            side = z < 0
            sums[VALUE + side] += loss
            sums[TOTAL + side] += z
            both[2 * (i - start)], both[2 * (i - start) + 1] = 0, 0
            both[2 * (i - start) + side] = z
            beta[i] = z
            side = z == 0
            if band[i] != side:  # it was in the band if it is now, and not if it is not
                continue
            band[i] = not side
            for j in range(d):
                line[j] = X[i, j]
            pack_d(width, line, &zeros[0], sqrt(s),
                   strips + side * SCATTER_ROWS_d * width + packed[side] * strip_d)
            packed[side] += 1
            if packed[side] == SCATTER_ROWS_d:
                add_products(packed, side, strips, grams, width)
        if floating is float:
            add_f(rows, d, &X[start, 0], both, gradients)
        else:
            add_d(rows, d, &X[start, 0], both, gradients)
        start += rows
    for side in range(2):
        add_products(packed, side, strips, grams, width)


cdef void add_products(Py_ssize_t* packed, Py_ssize_t side, const double* strips, double* grams,
                       Py_ssize_t width) noexcept nogil:
    """Add the products of the rows that are packed."""
    cdef Py_ssize_t panel
    if packed[side]:
        for panel in range(width // panel_d):
            products_d(packed[side], strips + side * SCATTER_ROWS_d * width, NULL, panel,
                       panel * panel_d, width, grams + side * width * width, width)
    packed[side] = 0
