"""Greedy k-means++ on few samples: candidates for a seed, and the best of them.

Inline, for other modules. Candidates are drawn in proportion to the weights of samples times their
costs at the nearest seed so far; the candidate that leaves the least objective becomes a seed
(Arthur and Vassilvitskii, SODA 2007).
"""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

cdef enum:
    MOST_CANDIDATES = 64  # 2 + log(k) is less for every k


cdef inline bint draw(const int32_t[::1] order, const double* weights, const floating* nearest,
                      const double* uniform, Py_ssize_t count, double[::1] sums,
                      int64_t* candidates) noexcept nogil:
    """Draw `count` samples by uniform numbers in [0, 1); return False if all probabilities are 0.

    A probability is in proportion to weight times `nearest`; either may be NULL, for ones. `sums`
    (n,) is scratch for the cumulative sums along `order`.
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


cdef inline Py_ssize_t first_least(const double* objectives, Py_ssize_t count) noexcept nogil:
    """Return the first of the least, rounding aside, which the order of samples changes."""
    cdef Py_ssize_t t, best = 0
    for t in range(1, count):
        if objectives[t] < (1 - 1e-12) * objectives[best]:
            best = t
    return best


cdef inline Py_ssize_t keep_best(floating* costs, Py_ssize_t n, Py_ssize_t count,
                                 const double* weights) noexcept nogil:
    """Return the candidate t that leaves the least objective, and update costs[0] (n,) with it.

    costs[0] holds the costs at the nearest seed, costs[1 + t] those at candidate t, which are
    lowered to costs[0].
    """
    cdef Py_ssize_t t, i, best
    cdef double[MOST_CANDIDATES] objectives
    cdef floating* row
    for t in range(count):
        row = costs + (1 + t) * n
        objectives[t] = 0
        for i in range(n):
            row[i] = min(costs[i], row[i])
            objectives[t] += weights[i] * row[i] if weights != NULL else row[i]
    best = first_least(objectives, count)
    memcpy(costs, costs + (1 + best) * n, n * sizeof(floating))
    return best
