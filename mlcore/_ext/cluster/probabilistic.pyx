"""Hot loop of mlcore.cluster.spectral.probabilistic.

Exact descent on |F - GG'|² over one entry at a time.

As a function of x = G[i, j], with v = sum of F[i, l] G[l] and M = sum of G[l]' G[l] over l != i,
the objective is x⁴ + 2 p x² + 4 q x and a constant, where p = M[j, j] - F[i, i] + the other
squares of row i, and q = sum of M[j, s] G[i, s] over s != j, less v[j]. Its least value for x >= 0
is taken at the largest root of x³ + p x + q, or at 0.

F is (n, n), dense or CSR, symmetric; G (n, width) in C order, columns from k on 0, the width a
multiple of 8; M (k, k) is G'G and is kept so. Dense rows are taken in blocks, whose products with G
are formed at once, by threads, and corrected by what changes within the block: the same bytes for
any number of threads. O(n) time a value and sweep.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport cbrt, fabs, sqrt

from mlcore._ext.shared.index cimport index
from mlcore._ext.shared.product_h cimport product as product_of_rows

BLOCK = 64

cdef enum:
    ROWS = 8
    MOST_STEPS = 60  # of Newton's method, which takes about six


def descend(const floating[:, ::1] F, double[:, ::1] G, double[:, ::1] M, Py_ssize_t first,
            Py_ssize_t last, double[:, ::1] products, double[::1] before, double[::1] gain,
            int n_threads, /):
    """Minimise over rows first..last of G in turn.

    `products` (BLOCK, width) and `before` (k,) are scratch. gain[0] grows by the decrease of the
    objective; gain[1] becomes the largest change of an entry, if that is larger.
    """
    cdef Py_ssize_t n = F.shape[0], width = G.shape[1], k = M.shape[0]
    cdef Py_ssize_t block = products.shape[0], start, stop, part, i, r, j
    with nogil:
        start = first
        while start < last:
            stop = min(last, start + block)
            for part in prange((stop - start + ROWS - 1) // ROWS, num_threads=n_threads):
                product_of_rows(
                    min(<Py_ssize_t> ROWS, stop - start - part * ROWS), n,
                    &F[start + part * ROWS, 0], n, &G[0, 0], width, &products[part * ROWS, 0])
            for i in range(start, stop):
                if descend_row(k, F[i, i], &products[i - start, 0], &G[i, 0], &M[0, 0], &before[0],
                               &gain[0]):
                    for r in range(i + 1, stop):
                        for j in range(k):
                            products[r - start, j] += F[r, i] * (G[i, j] - before[j])
            start = stop


def descend_sparse(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                   double[:, ::1] G, double[:, ::1] M, Py_ssize_t first, Py_ssize_t last,
                   double[::1] product, double[::1] before, double[::1] gain, /):
    """As `descend` for CSR; `product` (k,) is scratch."""
    cdef Py_ssize_t k = M.shape[0], i, j, at
    cdef double diagonal
    with nogil:
        for i in range(first, last):
            diagonal = 0
            for j in range(k):
                product[j] = 0
            for at in range(indptr[i], indptr[i + 1]):
                if indices[at] == i:
                    diagonal = data[at]
                for j in range(k):
                    product[j] += data[at] * G[indices[at], j]
            descend_row(k, diagonal, &product[0], &G[i, 0], &M[0, 0], &before[0], &gain[0])


cdef bint descend_row(Py_ssize_t k, double diagonal, const double* product, double* g, double* M,
                      double* before, double* gain) noexcept nogil:
    """Minimise over the entries of a row, copied to `before`; return True if any changed."""
    cdef Py_ssize_t j, s
    cdef double x, p, q, squares = 0, lowered, decrease = 0, change = 0
    for j in range(k):
        before[j] = g[j]
        squares += g[j] * g[j]
    for j in range(k):
        p = M[j * k + j] - before[j] * before[j] - diagonal + squares - g[j] * g[j]
        q = diagonal * before[j] - product[j]
        for s in range(k):
            if s != j:
                q += (M[j * k + s] - before[j] * before[s]) * g[s]
        x = minimiser(p, q)
        lowered = decrease_to(p, q, g[j], x)
        if lowered > 0:
            decrease += lowered
            change = max(change, fabs(x - g[j]))
            squares += x * x - g[j] * g[j]
            g[j] = x
    if change == 0:
        return False
    for j in range(k):
        for s in range(k):
            M[j * k + s] += g[j] * g[s] - before[j] * before[s]
    gain[0] += decrease
    gain[1] = max(gain[1], change)
    return True


cdef inline double decrease_to(double p, double q, double a, double x) noexcept nogil:
    """Return the decrease of the objective from a to its minimiser x, without cancellation."""
    cdef double slope = 4 * q if x == 0 else 0
    return (a - x) * ((a - x) * (a * a + 2 * a * x + 3 * x * x + 2 * p) + slope)


cdef inline double value(double p, double q, double x) noexcept nogil:
    return x * ((x * x + 2 * p) * x + 4 * q)


cdef inline double minimiser(double p, double q) noexcept nogil:
    """Return the minimiser x >= 0 of x⁴ + 2 p x² + 4 q x: Newton's method on x³ + p x + q."""
    cdef double x, step
    cdef int _
    if q < 0:
        x = cbrt(-q) + (sqrt(-p) if p < 0 else 0)
    elif p < 0 and q <= -2 * p / 3 * sqrt(-p / 3):
        x = sqrt(-p)
    else:
        return 0
    for _ in range(MOST_STEPS):
        step = ((x * x + p) * x + q) / (3 * x * x + p)
        x -= step
        if not step > 1e-15 * x:
            break
    return x if value(p, q, x) < 0 else 0
