"""Hot loops of mlcore.cluster.k_means.k_medians.

Nearest centres by absolute differences, medians, seeds.

Arrays are in C order and of the right shapes: X (n, d), centers (k, d), labels (n,), and
`distances` (n,) from the centre of the label; `weights` is empty for ones. Differences
are in double precision.
"""
from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

from mlcore._ext.numerics.greedy_seeds cimport MOST_CANDIDATES, draw, keep_best


cdef struct weighted:
    double value
    double weight


def nearest(const floating[:, ::1] X, const floating[:, ::1] centers, Py_ssize_t first,
            Py_ssize_t last, int32_t[::1] labels, double[::1] distances, /):
    """Label samples first..last by their nearest centres, and set their `distances`."""
    cdef Py_ssize_t i, j
    cdef double distance
    with nogil:
        for i in range(first, last):
            distances[i] = INFINITY
            for j in range(centers.shape[0]):
                distance = absolute_difference(X.shape[1], &X[i, 0], &centers[j, 0])
                if distance < distances[i]:
                    distances[i], labels[i] = distance, <int32_t> j


def reseed(const double[::1] weights, const double[::1] distances, int32_t[::1] labels,
           int64_t[::1] counts, /):
    """Give each cluster without samples the one farthest from its centre that another can spare.

    `counts` (k,) receives the samples with weight of each cluster.
    """
    cdef Py_ssize_t i, j, at, n = distances.shape[0]
    cdef bint any_weight = weights.shape[0] == 0
    with nogil:
        counts[:] = 0
        for i in range(n):
            counts[labels[i]] += any_weight or weights[i] > 0
        for j in range(counts.shape[0]):
            if counts[j] > 0:
                continue
            at = -1
            for i in range(n):
                if (distances[i] > 0 and counts[labels[i]] > 1 and (any_weight or weights[i] > 0)
                        and (at < 0 or distances[i] > distances[at])):
                    at = i
            if at < 0:
                break
            counts[labels[at]] -= 1
            counts[j] += 1
            labels[at] = <int32_t> j


def medians(const floating[:, ::1] X, const double[::1] weights, const int32_t[::1] labels,
            const int64_t[::1] counts, Py_ssize_t first, Py_ssize_t last, int64_t[::1] ends,
            int64_t[::1] members, double[::1] values, floating[:, ::1] centers, /):
    """Move features first..last of the centres to the weighted medians of their samples.

    Where all values between two samples are medians, the middle is taken; a centre without samples
    stays. `counts` are of samples with weight. Scratch: `ends` (k,), `members` (n,) and `values`
    (n,), or (2 n,) with weights.
    """
    cdef Py_ssize_t n = X.shape[0], i, j, f, start, stop = 0
    with nogil:
        for j in range(counts.shape[0]):
            ends[j] = stop
            stop += counts[j]
        for i in range(n):
            if weights.shape[0] == 0 or weights[i] > 0:
                members[ends[labels[i]]] = i
                ends[labels[i]] += 1
        for j in range(counts.shape[0]):
            start, stop = ends[j] - counts[j], ends[j]
            if start == stop:
                continue
            for f in range(first, last):
                if weights.shape[0] == 0:
                    for i in range(start, stop):
                        values[i - start] = X[members[i], f]
                    centers[j, f] = <floating> median(&values[0], stop - start)
                else:
                    for i in range(start, stop):
                        values[2 * (i - start)] = X[members[i], f]
                        values[2 * (i - start) + 1] = weights[members[i]]
                    centers[j, f] = <floating> weighted_median(<weighted*> &values[0],
                                                               stop - start)


def seeds(const floating[:, ::1] X, const double[::1] weights, const int32_t[::1] order,
          const double[::1] uniform, Py_ssize_t n_candidates, double[:, ::1] costs,
          double[::1] sums, int64_t[::1] rows, /):
    """Fill `rows` with seeds, as `k_means_plus_plus.seeds_of_points`; return how many there are.

    Scratch: `costs` (1 + n_candidates, n) and `sums` (n,).
    """
    cdef Py_ssize_t n = X.shape[0], c = 0, t, i, count, used = 0
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef int64_t[MOST_CANDIDATES] candidates
    with nogil:
        costs[0, :] = INFINITY
        while c < rows.shape[0]:
            count = n_candidates if c > 0 else 1
            if not draw(order, w, &costs[0, 0] if c > 0 else NULL, &uniform[used], count, sums,
                        candidates):
                break
            used += count
            for t in range(count):
                for i in range(n):
                    costs[1 + t, i] = absolute_difference(X.shape[1], &X[i, 0],
                                                          &X[candidates[t], 0])
            rows[c] = candidates[keep_best(&costs[0, 0], n, count, w)]
            c += 1
    return c


cdef inline double absolute_difference(Py_ssize_t d, const floating* x,
                                       const floating* y) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t f
    for f in range(d):
        total += fabs(<double> x[f] - y[f])
    return total


cdef double median(double* v, Py_ssize_t m) noexcept nogil:
    """Median of m values by Hoare's selection, which reorders them."""
    cdef Py_ssize_t middle = (m - 1) // 2, low = 0, high = m - 1, i, j
    cdef double pivot, above
    while low < high:
        pivot, i, j = v[(low + high) // 2], low, high
        while i <= j:
            while v[i] < pivot:
                i += 1
            while v[j] > pivot:
                j -= 1
            if i <= j:
                v[i], v[j] = v[j], v[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    if m % 2 == 1:
        return v[middle]
    above = v[middle + 1]
    for i in range(middle + 2, m):
        above = min(above, v[i])
    return 0.5 * v[middle] + 0.5 * above


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const weighted*> a).value, y = (<const weighted*> b).value
    return (x > y) - (x < y)


cdef double weighted_median(weighted* p, Py_ssize_t m) noexcept nogil:
    cdef double total = 0, up_to = 0, low
    cdef Py_ssize_t i
    qsort(p, m, sizeof(weighted), by_value)
    for i in range(m):
        total += p[i].weight
    for i in range(m):
        up_to += p[i].weight
        if up_to >= 0.5 * total:
            break
    low = p[i].value
    if up_to == 0.5 * total and i < m - 1:
        i += 1
    return 0.5 * low + 0.5 * p[i].value
