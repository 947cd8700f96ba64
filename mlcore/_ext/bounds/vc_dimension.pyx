"""Hot loops of vc_dimension: search for a shattered set of columns.

One pass over a cell of rows (cells.pxd) counts the ones of all columns at once. A node of the
search has its own copy of the rows, in which each cell is a span, and `candidates`, the columns
still to be tried. A call stops after a given amount of work, and the next one resumes from the
arrays. All arrays are C order, one row for each depth, checked by the caller.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from mlcore._ext.bounds.cells cimport (
    BLOCK, WORD, count_bits, divide, first_of, size, span, take)

cdef enum:
    PLANES = 64  # bits of a counter of rows
    OUT_OF_TIME = 0
    FOUND = 1
    EXHAUSTED = 2

cdef uint64_t ALL = ~(<uint64_t> 0)


def search_shattered(uint64_t[:, ::1] rows, int64_t[:, ::1] spans, uint64_t[:, ::1] candidates,
                     int32_t[::1] chosen, const int32_t[::1] among_last, int64_t[::1] place,
                     Py_ssize_t target, int64_t work, int64_t max_sets, /):
    """Search for `target` shattered columns that include the first of candidates[0].

    rows (depths, n_rows words), spans (depths, 2 n_rows), candidates (depths, words); place is
    (depth, sets of columns so far); among_last[x] is the size of the largest shattered set of x and
    later columns, less than `target` except for the first. Returns FOUND with `chosen`, EXHAUSTED,
    or OUT_OF_TIME after `work` words or more than `max_sets` sets.
    """
    cdef Py_ssize_t words = candidates.shape[1], depth = place[0], needed, x
    cdef int64_t n_sets = place[1]
    cdef int status = OUT_OF_TIME
    with nogil:
        while work > 0 and status == OUT_OF_TIME and n_sets <= max_sets:
            needed = target - depth
            x = first_of(&candidates[depth, 0], words)
            if x < 0 or among_last[x] < needed or count_bits(&candidates[depth, 0], words) < needed:
                depth -= 1
                if depth < 0:
                    status = EXHAUSTED
                continue
            chosen[depth], n_sets = <int32_t> x, n_sets + 1
            if needed == 1:
                status = FOUND
                continue
            take(x, words, &candidates[depth, 0], &candidates[depth + 1, 0])
            if shattering(&rows[depth, 0], <span*> &spans[depth, 0], <Py_ssize_t> 1 << depth, words,
                          x, needed - 1, &rows[depth + 1, 0], <span*> &spans[depth + 1, 0],
                          &candidates[depth + 1, 0], &work):
                depth += 1
    place[0], place[1] = depth, n_sets
    return status


cdef bint shattering(const uint64_t* rows, const span* cells, Py_ssize_t n_cells, Py_ssize_t words,
                     Py_ssize_t x, Py_ssize_t needed, uint64_t* to, span* parts,
                     uint64_t* candidates, int64_t* work) noexcept nogil:
    """Divide every cell by column x, and keep the candidates that can complete a shattered set.

    Each of `needed` further columns must have 2^(needed - 1) ones and as many zeros in every part.
    Return False as soon as fewer candidates are left; the smallest cells, which exclude most, come
    first. The parts are sorted by size too.
    """
    cdef Py_ssize_t c, side, at
    cdef span part[2]
    for c in range(n_cells):
        work[0] -= (1 + size(cells[c])) * words
        if needed == 1:  # the last column: no copy of the rows
            keep_both(rows, cells[c], words, x, candidates)
            if first_of(candidates, words) < 0:
                return False
            continue
        divide(rows, cells[c], words, x, to, part)
        for side in range(2):
            if size(part[side]) < <int64_t> 1 << needed:
                return False
            keep_splitting(to, part[side], words, needed - 1, candidates)
        if count_bits(candidates, words) < needed:
            return False
        # Insertion sort: parts of cells in order are nearly in order.
        for side in range(2):
            at = 2 * c + side
            while at > 0 and size(parts[at - 1]) > size(part[side]):
                parts[at] = parts[at - 1]
                at -= 1
            parts[at] = part[side]
    return True


cdef void keep_splitting(const uint64_t* rows, span cell, Py_ssize_t words, Py_ssize_t power,
                         uint64_t* candidates) noexcept nogil:
    """Keep the candidates with at least 2^power ones and 2^power zeros in the cell."""
    cdef Py_ssize_t g
    cdef int64_t n = cell.end - cell.begin
    for g in range(words):
        if candidates[g]:
            candidates[g] &= balanced(rows + cell.begin * words + g, n, words, power, candidates[g])


cdef void keep_both(const uint64_t* rows, span cell, Py_ssize_t words, Py_ssize_t x,
                    uint64_t* candidates) noexcept nogil:
    """Keep the candidates that split both parts into which column x divides the cell."""
    cdef Py_ssize_t g
    cdef int64_t i, stop
    cdef uint64_t row, one, some0, some1, every0, every1
    cdef const uint64_t* by = rows + x // WORD
    cdef int bit = x % WORD
    for g in range(words):
        if candidates[g] == 0:
            continue
        i, some0, some1, every0, every1 = cell.begin, 0, 0, ALL, ALL
        while i < cell.end and candidates[g] & ~(some0 & ~every0 & some1 & ~every1):
            stop = min(cell.end, i + BLOCK)
            while i < stop:
                row, one = rows[i * words + g], -(by[i * words] >> bit & 1)
                some1 |= row & one
                every1 &= row | ~one
                some0 |= row & ~one
                every0 &= row | one
                i += 1
        candidates[g] &= some0 & ~every0 & some1 & ~every1


cdef uint64_t balanced(const uint64_t* rows, int64_t n, Py_ssize_t words, Py_ssize_t power,
                       uint64_t wanted) noexcept nogil:
    """Return the columns with 2^power ones and zeros among n rows; only `wanted` ones are exact.

    Bit x of plane p is bit p of the number of ones in column x, so 64 columns are counted at once.
    """
    cdef uint64_t plane[PLANES]
    cdef uint64_t carry, kept, enough = 0, above, equal
    cdef Py_ssize_t p, planes = 1
    cdef int64_t i = 0, stop, most
    plane[0] = 0
    while n >> planes:
        plane[planes] = 0
        planes += 1
    while i < n and wanted & ~enough:
        stop = min(n, max(i + BLOCK, (<int64_t> 2) << power))
        if (stop - i) & 1:
            add(rows[i * words], plane, 0)
            i += 1
        while i < stop:  # two rows by a full adder
            kept = rows[i * words] ^ rows[(i + 1) * words]
            carry = (rows[i * words] & rows[(i + 1) * words]) | (kept & plane[0])
            plane[0] ^= kept
            add(carry, plane, 1)
            i += 2
        # At least 2^power ones, and at most `most`, which leaves as many zeros.
        most = i - ((<int64_t> 1) << power)
        enough, above, equal = 0, 0, ALL
        for p in range(planes - 1, -1, -1):
            if p >= power:
                enough |= plane[p]
            if most >> p & 1:
                equal &= plane[p]
            else:
                above |= equal & plane[p]
                equal &= ~plane[p]
        enough &= ~above
    return enough


cdef inline void add(uint64_t carry, uint64_t* plane, Py_ssize_t p) noexcept nogil:
    cdef uint64_t kept
    while carry:
        kept = plane[p] & carry
        plane[p] ^= carry
        carry = kept
        p += 1
