"""Greedy k-means++ on few samples: candidates for a seed, and the best of them.

Inline, for other modules. Candidates are drawn in proportion to the weights of samples times what
they cost at the nearest seed so far; the candidate that leaves the least objective becomes a seed
(Arthur and Vassilvitskii, SODA 2007).
"""
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

cdef enum:
    MOST_CANDIDATES = 64  # 2 + log(k) is less for every k


cdef inline bint draw(const int32_t[::1] order, const double* weights, const floating* nearest,
                      const double* uniform, Py_ssize_t count, double[::1] sums,
                      int64_t* candidates) noexcept nogil:
    """Draw samples by `count` numbers in [0, 1); return False where all probabilities are 0.

    Masses are added along `order`, into `sums`. Without `nearest`, weights alone count; without
    `weights`, these are 1.
    """
    cdef Py_ssize_t t, low, high, middle, last = -1
    cdef double total = 0, mass
    for t in range(order.shape[0]):
        mass = weights[order[t]] if weights != NULL else 1
        if nearest != NULL:
            mass = mass * nearest[order[t]]
        if mass > 0:
            last = t
        total += mass
        sums[t] = total
    if last < 0:
        return False
    for t in range(count):
        low, high = 0, last
        while low < high:
            middle = (low + high) // 2
            if sums[middle] > uniform[t] * total:
                high = middle
            else:
                low = middle + 1
        candidates[t] = order[low]
    return True


cdef inline Py_ssize_t keep_best(floating* costs, Py_ssize_t n, Py_ssize_t count,
                                 const double* weights) noexcept nogil:
    """Lower row 0 of `costs`, what samples cost at the nearest seed, to the best candidate's row.

    Row 1 + t is what samples cost at candidate t, or at the nearest seed; return the best t.
    """
    cdef Py_ssize_t t, i, best = 0
    cdef double total, least = INFINITY
    cdef floating* row
    for t in range(count):
        row = costs + (1 + t) * n
        total = 0
        for i in range(n):
            row[i] = min(costs[i], row[i])
            total += weights[i] * row[i] if weights != NULL else row[i]
        if total < least:
            best, least = t, total
    memcpy(costs, costs + (1 + best) * n, n * sizeof(floating))
    return best
