"""Hot loops of growth_function: search for the columns with the most patterns.

The arrays are those of vc_dimension.pyx.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from mlcore._ext.bounds.cells cimport (
    WORD, differing, divide, first_of, lowest_bit, size, span, take,
)


def search_patterns(uint64_t[:, ::1] rows, int64_t[:, ::1] spans, uint64_t[:, ::1] candidates,
                    int64_t[:, ::1] cells, int32_t[::1] gains, int64_t[::1] place,
                    Py_ssize_t m, int64_t best, int64_t limit, int64_t work, int64_t max_sets, /):
    """Return the largest number of patterns found, at least `best`, and True if the search is done.

    At each depth only cells of two or more rows are kept: cells[depth] is (number kept, number of
    others). The search ends at `limit` patterns, which no m columns exceed. place is (depth, 1 for
    a new node, sets of columns so far, at most `max_sets`); `gains` is scratch.
    """
    cdef Py_ssize_t depth = place[0], words = candidates.shape[1], x, c, side, made
    cdef bint fresh = place[1]
    cdef int64_t most, n_sets = place[2]
    cdef span part[2]
    cdef span* before
    cdef span* after
    with nogil:
        while work > 0 and depth >= 0 and best < limit and n_sets <= max_sets:
            before = <span*> &spans[depth, 0]
            if fresh:
                fresh, n_sets = False, n_sets + 1
                most = cells[depth, 1] + most_parts(
                    &rows[depth, 0], before, cells[depth, 0], words, m - depth,
                    &candidates[depth, 0], &gains[0], &work)
                if m - depth == 1:
                    best = max(best, most)
                if m - depth == 1 or most <= best:
                    depth -= 1
                    continue
            x = first_of(&candidates[depth, 0], words)
            if x < 0:  # no column splits a cell: any others complete the set
                best = max(best, cells[depth, 0] + cells[depth, 1])
                depth -= 1
                continue
            take(x, words, &candidates[depth, 0], &candidates[depth + 1, 0])
            after = <span*> &spans[depth + 1, 0]
            made, cells[depth + 1, 1] = 0, cells[depth, 1]
            for c in range(cells[depth, 0]):
                work -= (1 + size(before[c])) * words
                divide(&rows[depth, 0], before[c], words, x, &rows[depth + 1, 0], part)
                for side in range(2):
                    if size(part[side]) > 1:
                        after[made] = part[side]
                        made += 1
                    else:
                        cells[depth + 1, 1] += size(part[side])
            cells[depth + 1, 0] = made
            depth += 1
            fresh = True
    place[0], place[1], place[2] = depth, fresh, n_sets
    return best, depth < 0 or best >= limit


cdef int64_t most_parts(const uint64_t* rows, const span* cells, Py_ssize_t n_cells,
                        Py_ssize_t words, Py_ssize_t left, uint64_t* candidates, int32_t* gains,
                        int64_t* work) noexcept nogil:
    """Return an upper bound on the parts that `left` candidates divide the cells into; exact for 1.

    Columns that split no cell are removed from the candidates: they split no part of one either.
    """
    cdef Py_ssize_t c, g, x, splitting
    cdef int64_t n, parts = 0, gain = 0
    cdef uint64_t bits
    for x in range(words * WORD):
        gains[x] = 0
    for c in range(n_cells):
        n = size(cells[c])
        work[0] -= n * words
        splitting = 0
        for g in range(words):
            bits = candidates[g]
            bits &= differing(rows + cells[c].begin * words + g, n, words, bits)
            while bits:
                gains[g * WORD + lowest_bit(bits)] += 1
                bits &= bits - 1
                splitting += 1
        splitting = min(splitting, left)
        parts += min(n, (<int64_t> 1) << min(splitting, 62))
    work[0] -= words * WORD
    for x in range(words * WORD):
        if gains[x] == 0:
            candidates[x // WORD] &= ~(<uint64_t> 1 << (x % WORD))
        gain = max(gain, gains[x])
    return n_cells + gain if left == 1 else parts
