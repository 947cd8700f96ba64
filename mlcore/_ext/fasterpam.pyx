"""Hot loops of mlcore.cluster: swaps of medoids (simd/medoids_loops.h).

A sample costs what `form` makes of a value in the row of a medoid: the value or its square, or the
root of the squared distance that an inner product tells, or that itself or its square. `near` and
`second` are what the nearest and the next medoid cost, `labels` and `seconds` the slots these are
in. With m the cheapest of both and of the candidate, a candidate saves near - min(near, d) at once,
and removing the medoid of slot i costs min(max(d, near), second) - near for each of its samples:
all slots are compared in one pass over a row (Schubert & Rousseeuw, Information Systems 101, 2021).

Candidates are evaluated side by side, each by one thread, and the first that improves is taken, so
the thread count never changes a bit. Arrays are in C order and of the right shapes.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.simd.medoids cimport (
    MEDOID_FOURTHS, MEDOID_PRODUCTS, MEDOID_ROOTS, MEDOID_SQUARES, MEDOID_VALUES, medoid_change,
    medoid_pass,
)

FORMS = {"values": MEDOID_VALUES, "squares": MEDOID_SQUARES, "roots": MEDOID_ROOTS,
         "products": MEDOID_PRODUCTS, "fourths": MEDOID_FOURTHS}

cdef enum:
    FEWEST_TOGETHER = 16  # candidates that threads share, as long as swaps are near one another
    MOST_TOGETHER = 512


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
                    const floating[::1] near, const floating[::1] second,
                    const floating[::1] limits, const floating[::1] norms,
                    const double[::1] weights, const int32_t[::1] labels,
                    const double[::1] removal, double[:, ::1] losses, double[::1] changes,
                    int32_t[::1] slots, int n_threads):
    """The first of candidates[start:] whose change is below `threshold`; their number if none is.

    Row places[c] of `values` belongs to candidates[c]; rows are contiguous. `changes` and `slots`
    receive the change and the slot it is for. `losses` is scratch, (n_threads, 4 k).
    """
    cdef medoid_pass s
    cdef Py_ssize_t n_candidates = candidates.shape[0], found = candidates.shape[0]
    cdef Py_ssize_t together = FEWEST_TOGETHER, stop, c
    s.form, s.n, s.k = form, near.shape[0], removal.shape[0]
    s.near, s.second, s.limits = &near[0], &second[0], &limits[0]
    s.norms = &norms[0] if norms.shape[0] > 0 else NULL
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels, s.removal = &labels[0], &removal[0]
    if n_threads == 1:
        together = 1
    with nogil:
        while start < n_candidates and found == n_candidates:
            stop = min(n_candidates, start + together)
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
                together = min(MOST_TOGETHER, 2 * together)
    return found


cpdef void costs(const floating[::1] row, Py_ssize_t medoid, int form, const floating[::1] norms,
                 floating[::1] out) noexcept nogil:
    """What every sample costs at this medoid, whose row is given."""
    cdef Py_ssize_t i
    cdef floating norm = norms[medoid] if norms.shape[0] > 0 else 0
    for i in range(row.shape[0]):
        out[i] = cost(form, row[i], norm, norms[i] if form >= MEDOID_ROOTS else norm,
                      i == medoid)


def admit(const floating[::1] d, int slot, floating[::1] near, floating[::1] second,
          int32_t[::1] labels, int32_t[::1] seconds):
    """Account for one medoid more, at which samples cost d."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(d.shape[0]):
            if d[i] < near[i] or labels[i] < 0:
                if labels[i] >= 0:
                    second[i], seconds[i] = near[i], labels[i]
                near[i], labels[i] = d[i], slot
            elif d[i] < second[i]:
                second[i], seconds[i] = d[i], slot


cpdef Py_ssize_t replace(const floating[::1] d, int slot, floating[::1] near,
                         floating[::1] second, int32_t[::1] labels, int32_t[::1] seconds,
                         int64_t[::1] lost) noexcept nogil:
    """Account for another medoid in `slot`, at which samples cost d; return how many are lost.

    They are listed in `lost`: their next medoid is the new one for now, others may be nearer.
    """
    cdef Py_ssize_t i, n_lost = 0
    for i in range(d.shape[0]):
        if labels[i] == slot:
            if d[i] <= second[i]:
                near[i] = d[i]
                continue
            near[i], labels[i] = second[i], seconds[i]
            second[i], seconds[i] = d[i], slot
            lost[n_lost] = i
            n_lost += 1
        elif d[i] < near[i]:
            second[i], seconds[i] = near[i], labels[i]
            near[i], labels[i] = d[i], slot
        elif d[i] <= second[i]:
            second[i], seconds[i] = d[i], slot
        elif seconds[i] == slot:
            second[i] = d[i]
            lost[n_lost] = i
            n_lost += 1
    return n_lost


cpdef void seek(const floating[:, ::1] values, const int64_t[::1] places,
                const int64_t[::1] medoids, const int64_t[::1] columns, const int64_t[::1] lost,
                int form, const floating[::1] norms, const int32_t[::1] labels,
                floating[::1] second, int32_t[::1] seconds) noexcept nogil:
    """Find the next medoids of the samples `lost`, which are these columns of `values`."""
    cdef Py_ssize_t slot, t, i, medoid
    cdef floating norm, d
    cdef const floating* row
    for slot in range(medoids.shape[0]):
        medoid = medoids[slot]
        row = &values[places[slot], 0]
        norm = norms[medoid] if form >= MEDOID_ROOTS else 0
        for t in range(lost.shape[0]):
            i = lost[t]
            if labels[i] == slot or seconds[i] == slot:
                continue
            d = cost(form, row[columns[t]], norm, norms[i] if form >= MEDOID_ROOTS else norm,
                     i == medoid)
            if d < second[i]:
                second[i], seconds[i] = d, <int32_t> slot


cpdef double settle(const floating[::1] near, const floating[::1] second,
                    const int32_t[::1] labels, const double[::1] weights,
                    double[::1] removal) noexcept nogil:
    """The objective, and by slot what it would cost to remove the medoid."""
    cdef Py_ssize_t i
    cdef double objective = 0, w = 1
    cdef bint weighted = weights.shape[0] > 0
    for i in range(removal.shape[0]):
        removal[i] = 0
    for i in range(near.shape[0]):
        if weighted:
            w = weights[i]
        objective = objective + w * near[i]
        removal[labels[i]] += w * (<double> second[i] - near[i])
    return objective


def swaps(const floating[:, ::1] values, const int64_t[::1] candidates, int form, double share,
          const double[::1] weights, int64_t[::1] medoids, floating[::1] near,
          floating[::1] second, int32_t[::1] labels, int32_t[::1] seconds, double[::1] removal,
          floating[::1] limits, floating[:, ::1] work, int32_t[:, ::1] slots, int64_t[::1] lost,
          double[:, ::1] losses, double[::1] changes, double[::1] drifts, double[::1] trace):
    """Try candidates in turn; swap when that lowers the objective, trace[0] at first, by more than
    a `share` of it.

    `values` are costs or their roots, `limits` what `second` makes of these; both and all that a
    swap changes are kept. trace[1:] receives the objectives after swaps, and candidate c its change
    and how far what a swap may change had moved when it was tried, since drifts[0]. Scratch: `work`
    (3, n), `slots` (2, n), `lost` (n,) and `losses` (2, 4 k). Return the swaps and the last drift.
    """
    cdef medoid_pass s
    cdef Py_ssize_t n = near.shape[0], k = removal.shape[0], c, n_lost, made = 0
    cdef int64_t sample, old
    cdef int32_t slot = 0
    cdef double drift = drifts[0], now
    cdef floating[::1] d = work[0], near_before = work[1], second_before = work[2]
    cdef const floating[::1] norms = limits[:0]
    s.form, s.n, s.k = form, n, k
    s.near, s.second, s.limits, s.norms = &near[0], &second[0], &limits[0], NULL
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels, s.removal = &labels[0], &removal[0]
    with nogil:
        for c in range(candidates.shape[0]):
            sample = candidates[c]
            changes[c] = medoid_change(&s, &values[sample, 0], sample, &losses[0, 0], &slot)
            drifts[c] = drift
            if not changes[c] < -share * trace[made]:
                continue
            memcpy(&near_before[0], &near[0], n * sizeof(floating))
            memcpy(&second_before[0], &second[0], n * sizeof(floating))
            memcpy(&slots[0, 0], &labels[0], n * sizeof(int32_t))
            memcpy(&slots[1, 0], &seconds[0], n * sizeof(int32_t))
            memcpy(&losses[1, 0], &removal[0], k * sizeof(double))
            old, medoids[slot] = medoids[slot], sample
            costs(values[sample], sample, form, norms, d)
            n_lost = replace(d, slot, near, second, labels, seconds, lost)
            if n_lost > 0 and k > 1:
                seek(values, medoids, medoids, lost[:n_lost], lost[:n_lost], form, norms, labels,
                     second, seconds)
            now = settle(near, second, labels, weights, removal)
            if now < trace[made]:
                made += 1
                trace[made] = now
                drift += moved(slot, d, near_before, second_before, slots[0], near, weights)
                bounded(form, second, limits)
            else:  # rounding
                memcpy(&near[0], &near_before[0], n * sizeof(floating))
                memcpy(&second[0], &second_before[0], n * sizeof(floating))
                memcpy(&labels[0], &slots[0, 0], n * sizeof(int32_t))
                memcpy(&seconds[0], &slots[1, 0], n * sizeof(int32_t))
                memcpy(&removal[0], &losses[1, 0], k * sizeof(double))
                medoids[slot] = old
            changes[c], drifts[c] = 0, drift
    return made, drift


cdef void bounded(int form, const floating[::1] second, floating[::1] limits) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(second.shape[0]):
        limits[i] = <floating> sqrt(second[i]) if form == MEDOID_SQUARES else second[i]


cpdef double moved(int slot, const floating[::1] costs, const floating[::1] near,
                   const floating[::1] second, const int32_t[::1] labels, const floating[::1] now,
                   const double[::1] weights) noexcept nogil:
    """By how much at most a swap has lowered what any other would change, from what was before.

    With medoid i removed a sample costs e, and with the candidate min(d, e) instead of `near`. The
    new medoid lowers e to what the sample costs there at least; e was `second` where i was its
    nearest medoid, else `near`; and it is as it was for the slot of the swap itself.
    """
    cdef Py_ssize_t i
    cdef double total = 0, without, change
    for i in range(costs.shape[0]):
        without = second[i] if labels[i] == slot else near[i]
        change = max(<double> now[i] - near[i], 0.0) + max(without - costs[i], 0.0)
        total += change * weights[i] if weights.shape[0] > 0 else change
    return total
