"""Hot loops of mlcore.cluster: swaps of medoids (simd/medoid_loops.h).

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
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.simd cimport MEDOID_FOURTHS, MEDOID_PRODUCTS, MEDOID_ROOTS, MEDOID_SQUARES, \
    MEDOID_VALUES, medoid_pass, simd_table

FORMS = {"values": MEDOID_VALUES, "squares": MEDOID_SQUARES, "roots": MEDOID_ROOTS,
         "products": MEDOID_PRODUCTS, "fourths": MEDOID_FOURTHS}

cdef enum:
    FEWEST_TOGETHER = 16  # candidates that threads share, as long as swaps are near one another
    MOST_TOGETHER = 512
    TILE = 64


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
                if floating is float:
                    changes[c] = simd_table().f.medoid_change(
                        &s, &values[places[c], 0], candidates[c], &losses[threadid(), 0],
                        &slots[c])
                else:
                    changes[c] = simd_table().d.medoid_change(
                        &s, &values[places[c], 0], candidates[c], &losses[threadid(), 0],
                        &slots[c])
            for c in range(start, stop):
                if changes[c] < threshold:
                    found = c
                    break
            start = stop
            if n_threads > 1:
                together = min(MOST_TOGETHER, 2 * together)
    return found


def costs(const floating[::1] row, Py_ssize_t medoid, int form, const floating[::1] norms,
          floating[::1] out):
    """What every sample costs at this medoid, whose row is given."""
    cdef Py_ssize_t i
    cdef floating norm = norms[medoid] if norms.shape[0] > 0 else 0
    with nogil:
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


def replace(const floating[::1] d, int slot, floating[::1] near, floating[::1] second,
            int32_t[::1] labels, int32_t[::1] seconds, int64_t[::1] lost):
    """Account for another medoid in `slot`, at which samples cost d; return how many are lost.

    They are listed in `lost`: their next medoid is the new one for now, others may be nearer.
    """
    cdef Py_ssize_t i, n_lost = 0
    with nogil:
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


def seek(const floating[:, :] values, const int64_t[::1] places, const int64_t[::1] medoids,
         const int64_t[::1] columns, const int64_t[::1] lost, int form,
         const floating[::1] norms, const int32_t[::1] labels, floating[::1] second,
         int32_t[::1] seconds):
    """Find the next medoids of the samples `lost`, which are these columns of `values`."""
    cdef Py_ssize_t slot, t, i, medoid
    cdef floating norm, d
    cdef const floating* row
    with nogil:
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


def settle(const floating[::1] near, const floating[::1] second, const int32_t[::1] labels,
           const double[::1] weights, double[::1] removal):
    """The objective, and by slot what it would cost to remove the medoid."""
    cdef Py_ssize_t i
    cdef double objective = 0, w = 1
    cdef bint weighted = weights.shape[0] > 0
    with nogil:
        for i in range(removal.shape[0]):
            removal[i] = 0
        for i in range(near.shape[0]):
            if weighted:
                w = weights[i]
            objective = objective + w * near[i]
            removal[labels[i]] += w * (<double> second[i] - near[i])
    return objective


def extremes(const floating[:, ::1] D, Py_ssize_t first, Py_ssize_t last, double[:, ::1] found,
             int n_threads):
    """found[tile] = least and largest value, and largest |D[i, j] - D[j, i]|, of tiles of rows.

    Tiles first..last are of TILE rows, and cover both sides of the diagonal.
    """
    cdef Py_ssize_t n = D.shape[0], tile, other
    for tile in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        found[tile, 0], found[tile, 1], found[tile, 2] = INFINITY, -INFINITY, 0
        for other in range(tile + 1):
            tile_extremes(&D[0, 0], n, tile * TILE, other * TILE, &found[tile, 0])


TILE_SIDE = TILE


cdef void tile_extremes(const floating* D, Py_ssize_t n, Py_ssize_t top, Py_ssize_t left,
                        double* found) noexcept nogil:
    cdef floating turned[TILE * TILE]
    cdef floating low[8]
    cdef floating high[8]
    cdef floating apart[8]
    cdef floating a, b
    cdef Py_ssize_t rows = min(TILE, n - top), columns = min(TILE, n - left), i, j, lane
    cdef const floating* row
    if floating is float:
        simd_table().f.transpose(D + left * n + top, n, columns, rows, turned, TILE)
    else:
        simd_table().d.transpose(D + left * n + top, n, columns, rows, turned, TILE)
    for lane in range(8):
        low[lane], high[lane], apart[lane] = D[top * n + left], D[top * n + left], 0
    for i in range(rows):
        row = D + (top + i) * n + left
        for j in range(0, columns - 7, 8):
            for lane in range(8):
                a, b = row[j + lane], turned[i * TILE + j + lane]
                low[lane] = a if a < low[lane] else low[lane]
                low[lane] = b if b < low[lane] else low[lane]
                high[lane] = a if a > high[lane] else high[lane]
                high[lane] = b if b > high[lane] else high[lane]
                a = a - b if a > b else b - a
                apart[lane] = a if a > apart[lane] else apart[lane]
        for j in range(columns // 8 * 8, columns):
            a, b = row[j], turned[i * TILE + j]
            low[0] = min(low[0], min(a, b))
            high[0] = max(high[0], max(a, b))
            apart[0] = max(apart[0], <floating> fabs(a - b))
    for lane in range(8):
        found[0] = min(found[0], low[lane])
        found[1] = max(found[1], high[lane])
        found[2] = max(found[2], apart[lane])
