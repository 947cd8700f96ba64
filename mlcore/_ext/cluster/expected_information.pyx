"""Hot loop of mlcore.cluster.scores.expected_information: information that chance gives.

A cell of a table with fixed margins a and b of n samples holds k of them with the hypergeometric
probability P(k), of mean mu = a b / n. As the terms k - mu vanish on average, its expected share is

    E[k ln(k / mu)] = E[k ln(k / mu) - k + mu],

a sum of terms of at least 0. P follows from its ratios, outwards from the mode, and is divided by
its sum at the end: no logarithms of factorials, which at n = 1e6 lose seven digits.
"""
from cython.parallel cimport prange, threadid
from libc.math cimport fabs, floor, log

from mlcore._ext.shared.signals cimport interrupted, raise_interrupt

cdef enum:
    TERMS = 9
    LOOK = 1 << 21  # terms between looks for Ctrl-C

cdef double NEGLIGIBLE = 1e-20  # share of a sum, at which its falling terms end


cdef inline double deviance(double k, double mu) noexcept nogil:
    """Return k ln(k / mu) - k + mu, by a series for k near mu."""
    cdef double t = (k - mu) / (k + mu), square = t * t, series = 0
    cdef int j
    if k <= 0:
        return mu
    if fabs(t) > 0.1:
        return k * log(k / mu) - k + mu
    # With k / mu = (1 + t) / (1 - t) the logarithm is 2 (t + t³/3 + t⁵/5 + ...).
    for j in range(TERMS, 0, -1):
        series = series * square + 1.0 / (2 * j + 1)
    return 2 * mu * square / (1 - t) * (1 + (1 + t) * t * series)


cdef double side(double a, double b, double n, double mode, bint up, bint told, int* stop,
                 double* total) noexcept nogil:
    """Return the sum of P(k) / P(mode) times deviances above or below the mode; add to `total`."""
    cdef double mu = a * (b / n), rest = n - a - b, p = 1, k = mode, value = 0, term
    cdef double last = min(a, b) if up else max(0.0, -rest)
    cdef Py_ssize_t looks = 0
    while k != last:
        if up:
            p *= (a - k) * (b - k) / ((k + 1) * (rest + k + 1))
            k += 1
        else:
            p *= k * (rest + k) / ((a - k + 1) * (b - k + 1))
            k -= 1
        term = p * deviance(k, mu)
        total[0] += p
        value += term
        if p < NEGLIGIBLE * total[0] and term < NEGLIGIBLE * value:
            break
        looks += 1
        if looks % LOOK == 0:
            if told and not stop[0] and interrupted():
                stop[0] = 1
            if stop[0]:
                break
    return value


cdef double of_pair(double a, double b, double n, bint told, int* stop) noexcept nogil:
    """Return E[k ln(k / mu)] of a cell."""
    cdef double mode = floor((a + 1) * ((b + 1) / (n + 2))), total = 1, value
    mode = min(min(a, b), max(max(0.0, a + b - n), mode))
    value = deviance(mode, a * (b / n))
    value += side(a, b, n, mode, True, told, stop, &total)
    value += side(a, b, n, mode, False, told, stop, &total)
    return value / total


def expected_information(const double[::1] a, const double[::1] a_counts, const double[::1] b,
                         const double[::1] b_counts, double n, Py_ssize_t first, Py_ssize_t last,
                         double[::1] out, int n_threads, /):
    """Set out[p - first] to E[k ln(k / mu)] of pair p = i len(b) + j, times its counts."""
    cdef Py_ssize_t p, i, j, m = b.shape[0]
    cdef int stop = 0
    for p in prange(first, last, nogil=True, num_threads=n_threads, schedule="static",
                    chunksize=64):
        i = p // m
        j = p - i * m
        out[p - first] = a_counts[i] * b_counts[j] * of_pair(a[i], b[j], n, threadid() == 0, &stop)
    if stop:
        raise_interrupt()
