"""Hot loops of mlcore.cluster.k_medoids.fasterpam: swaps of medoids (cluster/fasterpam.c).

The cost of a sample comes from a value in the row of a medoid, by `form`: the value or its square;
or, for inner products, the Euclidean distance, its square or its fourth power. `nearest` and
`second` are the costs at the nearest and the second nearest medoid, `labels` and `second_labels`
their slots. A candidate at which a sample costs d saves nearest - min(nearest, d) at once, and
removing the medoid of slot i costs min(max(d, nearest), second) - nearest for each of its samples:
all slots are compared in one pass over a row (Schubert & Rousseeuw, Information Systems 101, 2021).

Candidates are evaluated side by side, each by one thread, and the first that improves is taken, so
the thread count never changes a bit. Arrays are in C order and of the right shapes.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.cluster.fasterpam_h cimport (
    MEDOID_FOURTHS, MEDOID_PRODUCTS, MEDOID_ROOTS, MEDOID_SQUARES, MEDOID_VALUES, medoid_change,
    medoid_pass,
)

FORMS = {"values": MEDOID_VALUES, "squares": MEDOID_SQUARES, "roots": MEDOID_ROOTS,
         "products": MEDOID_PRODUCTS, "fourths": MEDOID_FOURTHS}

cdef enum:
    FIRST_BATCH = 16  # candidates that threads share; doubled as long as none improves
    LARGEST_BATCH = 512


cdef inline floating cost(int form, floating value, floating norm, floating other,
                          bint same) noexcept nogil:
    cdef floating d = value
    if form >= MEDOID_ROOTS:
        d = norm + other - 2 * value
        d = d if d > 0 and not same else 0
        if form == MEDOID_ROOTS:
            d = <floating> sqrt(d)
    if form == MEDOID_SQUARES or form == MEDOID_FOURTHS:
        d = d * d
    return d


def first_improving(const floating[:, :] values, const int64_t[::1] places,
                    const int64_t[::1] candidates, Py_ssize_t start, double threshold, int form,
                    const floating[::1] nearest, const floating[::1] second,
                    const floating[::1] limits, const floating[::1] norms,
                    const double[::1] weights, const int32_t[::1] labels,
                    const double[::1] removal, double[:, ::1] losses, double[::1] changes,
                    int32_t[::1] slots, int n_threads, /):
    """Return the first c >= start whose candidate changes the objective by less than `threshold`.

    It is the number of candidates if there is none. Row places[c] of `values`, contiguous, belongs
    to candidates[c]. `changes` and `slots` receive the change by candidate c and the slot of the
    medoid that it would replace. `losses` is scratch, (n_threads, k).
    """
    cdef medoid_pass s
    cdef Py_ssize_t n_candidates = candidates.shape[0], found = candidates.shape[0]
    cdef Py_ssize_t batch = FIRST_BATCH, stop, c
    s.form, s.n, s.k = form, nearest.shape[0], removal.shape[0]
    s.near, s.second, s.limits = &nearest[0], &second[0], &limits[0]
    s.norms = &norms[0] if norms.shape[0] > 0 else NULL
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels, s.removal = &labels[0], &removal[0]
    if n_threads == 1:
        batch = 1
    with nogil:
        while start < n_candidates and found == n_candidates:
            stop = min(n_candidates, start + batch)
            for c in prange(start, stop, num_threads=n_threads, schedule="dynamic",
                            chunksize=4):
                changes[c] = medoid_change(&s, &values[places[c], 0], candidates[c],
                                           &losses[threadid(), 0], &slots[c])
            for c in range(start, stop):
                if changes[c] < threshold:
                    found = c
                    break
            start = stop
            if n_threads > 1:
                batch = min(LARGEST_BATCH, 2 * batch)
    return found


cpdef void costs(const floating[::1] row, Py_ssize_t medoid, int form, const floating[::1] norms,
                 floating[::1] out) noexcept nogil:
    """Set `out` to the costs of all samples at this medoid, whose row is given."""
    cdef Py_ssize_t i
    cdef floating norm = norms[medoid] if norms.shape[0] > 0 else 0
    for i in range(row.shape[0]):
        out[i] = cost(form, row[i], norm, norms[i] if form >= MEDOID_ROOTS else norm,
                      i == medoid)


def add_medoid(const floating[::1] d, int slot, floating[::1] nearest, floating[::1] second,
               int32_t[::1] labels, int32_t[::1] second_labels, /):
    """Update the two nearest medoids for a new one in `slot`, at which samples cost d."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(d.shape[0]):
            if d[i] < nearest[i] or labels[i] < 0:
                if labels[i] >= 0:
                    second[i], second_labels[i] = nearest[i], labels[i]
                nearest[i], labels[i] = d[i], slot
            elif d[i] < second[i]:
                second[i], second_labels[i] = d[i], slot


cpdef Py_ssize_t replace_medoid(const floating[::1] d, int slot, floating[::1] nearest,
                                floating[::1] second, int32_t[::1] labels,
                                int32_t[::1] second_labels, int64_t[::1] stale) noexcept nogil:
    """Replace the medoid in `slot` by one at which samples cost d; return how many are stale.

    The samples listed in `stale` have the new medoid as second nearest; others may be nearer.
    """
    cdef Py_ssize_t i, n_stale = 0
    for i in range(d.shape[0]):
        if labels[i] == slot:
            if d[i] <= second[i]:
                nearest[i] = d[i]
                continue
            nearest[i], labels[i] = second[i], second_labels[i]
            second[i], second_labels[i] = d[i], slot
            stale[n_stale] = i
            n_stale += 1
        elif d[i] < nearest[i]:
            second[i], second_labels[i] = nearest[i], labels[i]
            nearest[i], labels[i] = d[i], slot
        elif d[i] <= second[i]:
            second[i], second_labels[i] = d[i], slot
        elif second_labels[i] == slot:
            second[i] = d[i]
            stale[n_stale] = i
            n_stale += 1
    return n_stale


cpdef void find_second(const floating[:, ::1] values, const int64_t[::1] places,
                       const int64_t[::1] medoids, const int64_t[::1] columns,
                       const int64_t[::1] stale, int form, const floating[::1] norms,
                       const int32_t[::1] labels, floating[::1] second,
                       int32_t[::1] second_labels) noexcept nogil:
    """Find the second nearest medoids of the samples `stale`, which have these `columns`."""
    cdef Py_ssize_t slot, t, i, medoid
    cdef floating norm, d
    cdef const floating* row
    for slot in range(medoids.shape[0]):
        medoid = medoids[slot]
        row = &values[places[slot], 0]
        norm = norms[medoid] if form >= MEDOID_ROOTS else 0
        for t in range(stale.shape[0]):
            i = stale[t]
            if labels[i] == slot or second_labels[i] == slot:
                continue
            d = cost(form, row[columns[t]], norm, norms[i] if form >= MEDOID_ROOTS else norm,
                     i == medoid)
            if d < second[i]:
                second[i], second_labels[i] = d, <int32_t> slot


cpdef double sum_costs(const floating[::1] nearest, const floating[::1] second,
                       const int32_t[::1] labels, const double[::1] weights,
                       double[::1] removal) noexcept nogil:
    """Return the objective, and set `removal` to its increase without the medoid of each slot."""
    cdef Py_ssize_t i
    cdef double objective = 0, w = 1
    cdef bint weighted = weights.shape[0] > 0
    for i in range(removal.shape[0]):
        removal[i] = 0
    for i in range(nearest.shape[0]):
        if weighted:
            w = weights[i]
        objective = objective + w * nearest[i]
        removal[labels[i]] += w * (<double> second[i] - nearest[i])
    return objective


def swaps(const floating[:, ::1] values, const int64_t[::1] candidates, int form, double share,
          const double[::1] weights, int64_t[::1] medoids, floating[::1] nearest,
          floating[::1] second, int32_t[::1] labels, int32_t[::1] second_labels,
          double[::1] removal, floating[::1] limits, floating[:, ::1] work, int32_t[:, ::1] slots,
          int64_t[::1] stale, double[:, ::1] losses, double[::1] changes, double[::1] decreases,
          double[::1] trace, /):
    """Try candidates in turn; swap if that lowers the objective by more than a `share` of it.

    `values` are costs or their roots, `limits` those of `second`. trace[0] is the objective at
    first, trace[1:] receives those after swaps; `changes` the change by each candidate when it was
    tried, and `decreases` the sum of `largest_decrease` until then, which begins at decreases[0].
    Scratch: `work` (3, n), `slots` (2, n), `stale` (n,) and `losses` (2, k). Return the number of
    swaps and the last decrease.
    """
    cdef medoid_pass s
    cdef Py_ssize_t n = nearest.shape[0], k = removal.shape[0], c, n_stale, made = 0
    cdef int64_t sample, old
    cdef int32_t slot = 0
    cdef double decrease = decreases[0], now
    cdef floating[::1] d = work[0], nearest_before = work[1], second_before = work[2]
    cdef const floating[::1] norms = limits[:0]
    s.form, s.n, s.k = form, n, k
    s.near, s.second, s.limits, s.norms = &nearest[0], &second[0], &limits[0], NULL
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels, s.removal = &labels[0], &removal[0]
    with nogil:
        for c in range(candidates.shape[0]):
            sample = candidates[c]
            changes[c] = medoid_change(&s, &values[sample, 0], sample, &losses[0, 0], &slot)
            decreases[c] = decrease
            if not changes[c] < -share * trace[made]:
                continue
            memcpy(&nearest_before[0], &nearest[0], n * sizeof(floating))
            memcpy(&second_before[0], &second[0], n * sizeof(floating))
            memcpy(&slots[0, 0], &labels[0], n * sizeof(int32_t))
            memcpy(&slots[1, 0], &second_labels[0], n * sizeof(int32_t))
            memcpy(&losses[1, 0], &removal[0], k * sizeof(double))
            old, medoids[slot] = medoids[slot], sample
            costs(values[sample], sample, form, norms, d)
            n_stale = replace_medoid(d, slot, nearest, second, labels, second_labels, stale)
            if n_stale > 0 and k > 1:
                find_second(values, medoids, medoids, stale[:n_stale], stale[:n_stale], form, norms,
                            labels, second, second_labels)
            now = sum_costs(nearest, second, labels, weights, removal)
            if now < trace[made]:
                made += 1
                trace[made] = now
                decrease += largest_decrease(slot, d, nearest_before, second_before, slots[0],
                                             nearest, weights)
                set_limits(form, second, limits)
            else:  # the decrease was rounding: undo
                memcpy(&nearest[0], &nearest_before[0], n * sizeof(floating))
                memcpy(&second[0], &second_before[0], n * sizeof(floating))
                memcpy(&labels[0], &slots[0, 0], n * sizeof(int32_t))
                memcpy(&second_labels[0], &slots[1, 0], n * sizeof(int32_t))
                memcpy(&removal[0], &losses[1, 0], k * sizeof(double))
                medoids[slot] = old
            changes[c], decreases[c] = 0, decrease
    return made, decrease


cdef void set_limits(int form, const floating[::1] second, floating[::1] limits) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(second.shape[0]):
        limits[i] = <floating> sqrt(second[i]) if form == MEDOID_SQUARES else second[i]


cpdef double largest_decrease(int slot, const floating[::1] costs, const floating[::1] nearest,
                              const floating[::1] second, const int32_t[::1] labels,
                              const floating[::1] now, const double[::1] weights) noexcept nogil:
    """Return a bound on the decrease, by a swap, of the change of the objective by any other swap.

    `nearest`, `second` and `labels` are of before the swap, `now` is `nearest` after it, `costs`
    are at the new medoid. Without medoid i a sample costs e (`second` if i was its nearest medoid,
    else `nearest`), and min(d, e) with a candidate at which it costs d. The new medoid lowers e to
    `costs` at least, and not at all if i is the medoid that the swap removed.
    """
    cdef Py_ssize_t i
    cdef double total = 0, without, change
    for i in range(costs.shape[0]):
        without = second[i] if labels[i] == slot else nearest[i]
        change = max(<double> now[i] - nearest[i], 0.0) + max(without - costs[i], 0.0)
        total += change * weights[i] if weights.shape[0] > 0 else change
    return total
