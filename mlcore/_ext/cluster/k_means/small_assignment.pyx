"""Hot loops of mlcore.cluster.k_means.small_assignment: steps of Lloyd's algorithm.

A call makes several steps on few samples.

Labels are those of cluster/k_means/lloyd_plain.c, which compares every centre. Arrays are in
C order and of the right shapes: X (n, d), centers (k, d), labels (n,), sums (k, d) and counts (k,)
of weighted samples by label, which follow the labels; `weights` is empty for ones. `scratch` holds
``k (d + 1) + scratch_values`` values, where k is padded to a multiple of 4.
"""
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from mlcore._ext.cluster.k_means.lloyd_pass_h cimport lloyd_pass, lloyd_scratch, lloyd_width
from mlcore._ext.cluster.k_means.lloyd_plain_h cimport lloyd_plain
from mlcore._ext.cluster.k_means.lloyd_plain_h cimport own_distances as own_distances_of_rows

cdef enum:
    CENTERS = 4  # compared at a time
cdef double RECOUNT_BELOW = 1e-9  # share of all weights: smaller sums are formed anew


def scratch_values(Py_ssize_t d, Py_ssize_t k, Py_ssize_t bytes, /):
    """Return the values of a thread's scratch for `k` centres, padded, of `d` such features."""
    return lloyd_scratch(d, k, bytes)


def assign(const floating[:, ::1] X, const double[::1] weights, const floating[:, ::1] centers,
           int32_t[::1] labels, double[:, ::1] sums, double[::1] counts, floating[::1] scratch, /):
    """Label samples by their nearest centres; return how many labels changed.

    `sums` has no rows if only labels are wanted.
    """
    cdef int64_t changed
    with nogil:
        changed = assign_samples(X, weights, centers, labels, sums, counts, scratch)
    return changed


def steps(const floating[:, ::1] X, const double[::1] weights, floating[:, ::1] centers,
          int32_t[::1] labels, double[:, ::1] sums, double[::1] counts, double[:, ::1] moved,
          double[::1] mass, floating[::1] scratch, double[::1] squared, double squares, double tol,
          double duplicate, double[::1] trace, double[::1] shifts, /):
    """Move the centres until no label changes, or they move by `tol` or less, or `trace` is full.

    `squares` is the weighted sum of the squared norms of the samples; samples are duplicates if
    their squared distance is at most `duplicate` times the squared norm of a centre. Scratch:
    `moved` (k, d), `mass` (k,) and `squared` (n,). Return the steps, the labels changed in the
    last, and True if it moved the centres by more than `tol`.
    """
    cdef Py_ssize_t step = 0, j, f, k = centers.shape[0], d = centers.shape[1]
    cdef int64_t changed = 1
    cdef double shift = INFINITY, change
    cdef floating now
    cdef bint empty
    with nogil:
        while step < trace.shape[0] and changed > 0 and shift > tol:
            changed = assign_samples(X, weights, centers, labels, sums, counts, scratch)
            trace[step] = objective_of_sums(centers, sums, counts, squares)
            shifts[step] = 0
            step += 1
            if changed == 0:
                break
            memcpy(&moved[0, 0], &sums[0, 0], k * d * sizeof(double))
            memcpy(&mass[0], &counts[0], k * sizeof(double))
            empty = False
            for j in range(k):
                empty = empty or mass[j] <= 0
            if empty:
                reseed(X, weights, centers, labels, moved, mass, squared, duplicate)
            shift = 0
            for j in range(k):
                if mass[j] <= 0:
                    continue
                for f in range(d):
                    now = <floating> (moved[j, f] / mass[j])
                    change = <double> now - centers[j, f]
                    centers[j, f] = now
                    shift = shift + change * change
            shifts[step - 1] = shift
    return step, changed, shift > tol


def distances(const floating[:, ::1] X, const double[::1] weights,
              const floating[:, ::1] centers, const int32_t[::1] labels, double[::1] squared, /):
    """Set `squared` distances from the centres of the labels; return their weighted sum, and the
    largest of a sample with weight."""
    cdef Py_ssize_t i
    cdef bint weighted = weights.shape[0] > 0
    cdef double inertia = 0, farthest = 0, weight = 1
    with nogil:
        own_distances(X, centers, labels, squared)
        for i in range(X.shape[0]):
            if weighted:
                weight = weights[i]
            inertia = inertia + weight * squared[i]
            if weight > 0 and squared[i] > farthest:
                farthest = squared[i]
    return inertia, farthest


def half_norms(const floating[:, ::1] centers, floating[::1] out, /):
    """out[j] = |c_j|² / 2."""
    cdef Py_ssize_t j
    with nogil:
        for j in range(centers.shape[0]):
            out[j] = <floating> (0.5 * squared_norm(centers.shape[1], &centers[j, 0]))


cdef int64_t assign_samples(const floating[:, ::1] X, const double[::1] weights,
                            const floating[:, ::1] centers, int32_t[::1] labels,
                            double[:, ::1] sums, double[::1] counts,
                            floating[::1] scratch) noexcept nogil:
    cdef lloyd_pass s
    cdef Py_ssize_t k = centers.shape[0], d = centers.shape[1], j
    cdef Py_ssize_t padded = (k + CENTERS - 1) // CENTERS * CENTERS
    cdef int64_t[3] tally
    cdef float longest = 0
    cdef floating* halves = &scratch[padded * d]
    cdef floating* work = halves + padded
    cdef double* totals = &sums[0, 0] if sums.shape[0] > 0 else NULL
    cdef double* masses = &counts[0] if sums.shape[0] > 0 else NULL
    memcpy(&scratch[0], &centers[0, 0], k * d * sizeof(floating))
    memset(&scratch[k * d], 0, (padded - k) * d * sizeof(floating))
    for j in range(padded):
        halves[j] = <floating> (0.5 * squared_norm(d, &centers[j, 0])) if j < k else INFINITY
    memset(&s, 0, sizeof(s))
    memset(&tally[0], 0, sizeof(tally))
    s.n, s.d, s.k = X.shape[0], d, k
    s.width = lloyd_width(d)
    s.X, s.centers, s.half_norms = &X[0, 0], &scratch[0], halves
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels = &labels[0]
    lloyd_plain(&s, 0, s.n, work, totals, masses, tally, &longest)
    if totals != NULL and s.weights != NULL:
        recount(X, weights, labels, sums, counts)
    return tally[0]


cdef void recount(const floating[:, ::1] X, const double[::1] weights, const int32_t[::1] labels,
                  double[:, ::1] sums, double[::1] counts) noexcept nogil:
    """Form sums anew if a cluster's weight is so small a difference that digits are lost."""
    cdef Py_ssize_t i, j, f, d = X.shape[1]
    cdef double total = 0
    cdef bint cancelled = False
    for j in range(counts.shape[0]):
        total += counts[j]
    for j in range(counts.shape[0]):
        cancelled = cancelled or (counts[j] != 0 and counts[j] < RECOUNT_BELOW * total)
    if not cancelled:
        return
    memset(&sums[0, 0], 0, sums.shape[0] * d * sizeof(double))
    memset(&counts[0], 0, counts.shape[0] * sizeof(double))
    for i in range(X.shape[0]):
        j = labels[i]
        counts[j] += weights[i]
        for f in range(d):
            sums[j, f] += weights[i] * X[i, f]


cdef double objective_of_sums(const floating[:, ::1] centers, const double[:, ::1] sums,
                              const double[::1] counts, double squares) noexcept nogil:
    """Objective: sum w |x - c|² = sum w |x|² - 2 c.sum w x + (sum w) |c|², by clusters."""
    cdef Py_ssize_t j, f, d = centers.shape[1]
    cdef double value = 0, inner
    for j in range(centers.shape[0]):
        if counts[j] > 0:
            inner = 0
            for f in range(d):
                inner += centers[j, f] * (counts[j] * centers[j, f] - 2 * sums[j, f])
            value += inner
    return max(0.0, squares + value)


cdef void reseed(const floating[:, ::1] X, const double[::1] weights,
                 const floating[:, ::1] centers, const int32_t[::1] labels, double[:, ::1] sums,
                 double[::1] mass, double[::1] squared, double duplicate) noexcept nogil:
    """Give clusters without samples those farthest from their centres, if others can spare them."""
    cdef Py_ssize_t i, j, f, at, old, d = X.shape[1]
    cdef bint weighted = weights.shape[0] > 0
    cdef double rounding = 0, most, weight
    own_distances(X, centers, labels, squared)
    for j in range(centers.shape[0]):
        rounding = max(rounding, duplicate * squared_norm(d, &centers[j, 0]))
    for j in range(centers.shape[0]):
        if mass[j] > 0:
            continue
        at, most = -1, rounding
        for i in range(X.shape[0]):
            if squared[i] > most and (not weighted or weights[i] > 0):
                at, most = i, squared[i]
        if at < 0:
            return
        squared[at] = 0
        old, weight = labels[at], weights[at] if weighted else 1
        if mass[old] <= weight:
            continue
        mass[old] -= weight
        mass[j] = weight
        for f in range(d):
            sums[j, f] = weight * X[at, f]
            sums[old, f] -= sums[j, f]


cdef void own_distances(const floating[:, ::1] X, const floating[:, ::1] centers,
                        const int32_t[::1] labels, double[::1] out) noexcept nogil:
    own_distances_of_rows(X.shape[1], X.shape[0], &X[0, 0], &centers[0, 0], &labels[0], &out[0])


cdef inline double squared_norm(Py_ssize_t d, const floating* x) noexcept nogil:
    cdef double norm = 0
    cdef Py_ssize_t f
    for f in range(d):
        norm += <double> x[f] * x[f]
    return norm
