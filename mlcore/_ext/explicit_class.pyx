"""Hot loops of mlcore.bounds.explicit_class: searches for columns that separate the most rows.

A row is a bitset over columns, `words` 64-bit words of it, so that one pass over a cell of rows
tells for every column at once how it splits that cell. A node of the search at some depth has its
own copy of the rows, in which each cell is a span, and its columns still to be tried, `todo`. A
search stops when the work of its call is done, and goes on from what is in the arrays. All arrays
are C order, one row for each depth, checked by the caller.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    WORD = 64
    PLANES = 64  # of a counter: more than a number of rows has bits
    BLOCK = 64   # rows between two looks at whether it is decided
    OUT_OF_TIME = 0
    FOUND = 1
    EXHAUSTED = 2

cdef uint64_t ALL = ~(<uint64_t> 0)

cdef extern from *:
    """
    static int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    """
    int lowest_bit(uint64_t x) nogil

cdef struct span:
    int64_t begin, end


cdef inline int64_t size(span cell) noexcept nogil:
    return cell.end - cell.begin


def search_shattered(uint64_t[:, ::1] rows, int64_t[:, ::1] spans, uint64_t[:, ::1] todo,
                     int32_t[::1] chosen, const int32_t[::1] among_last, int64_t[::1] place,
                     Py_ssize_t target, int64_t work):
    """Find `target` columns that are shattered, the first of them the first in todo[0].

    rows (depths, n_rows words), spans (depths, 2 n_rows), todo (depths, words); place[0] is the
    depth; among_last[x] is the most columns shattered among x and later ones, less than `target`
    except for the first. Returns FOUND with `chosen`, EXHAUSTED, or OUT_OF_TIME after `work` words.
    """
    cdef Py_ssize_t words = todo.shape[1], depth = place[0], needed, x
    cdef int status = OUT_OF_TIME
    with nogil:
        while work > 0 and status == OUT_OF_TIME:
            needed = target - depth
            x = first_of(&todo[depth, 0], words)
            if x < 0 or among_last[x] < needed or count_bits(&todo[depth, 0], words) < needed:
                depth -= 1
                if depth < 0:
                    status = EXHAUSTED
                continue
            chosen[depth] = <int32_t> x
            if needed == 1:
                status = FOUND
                continue
            take(x, words, &todo[depth, 0], &todo[depth + 1, 0])
            if shattering(&rows[depth, 0], <span*> &spans[depth, 0], <Py_ssize_t> 1 << depth, words,
                          x, needed - 1, &rows[depth + 1, 0], <span*> &spans[depth + 1, 0],
                          &todo[depth + 1, 0], &work):
                depth += 1
    place[0] = depth
    return status


cdef bint shattering(const uint64_t* rows, const span* cells, Py_ssize_t n_cells, Py_ssize_t words,
                     Py_ssize_t x, Py_ssize_t needed, uint64_t* to, span* parts, uint64_t* todo,
                     int64_t* work) noexcept nogil:
    """Divide every cell by column x, and keep in todo what can be shattered with all parts.

    Of `needed` columns each has 2^(needed - 1) rows on either side of every part. Returns whether
    so many are left; the smallest cells, which ask most, come first, and the first to refuse ends
    the matter. The parts are put in that order too.
    """
    cdef Py_ssize_t c, side, at
    cdef span part[2]
    for c in range(n_cells):
        work[0] -= (1 + size(cells[c])) * words
        divide(rows, cells[c], words, x, to, part)
        for side in range(2):
            if size(part[side]) < <int64_t> 1 << needed:
                return False
            keep_splitting(to, part[side], words, needed - 1, todo)
        if count_bits(todo, words) < needed:
            return False
        # Into the list of parts, after the last that is not larger; both are nearly in order.
        for side in range(2):
            at = 2 * c + side
            while at > 0 and size(parts[at - 1]) > size(part[side]):
                parts[at] = parts[at - 1]
                at -= 1
            parts[at] = part[side]
    return True


cdef void divide(const uint64_t* rows, span cell, Py_ssize_t words, Py_ssize_t x, uint64_t* to,
                 span* parts) noexcept nogil:
    """Copy a cell, its rows with 0 in column x to the front and those with 1 to the back."""
    cdef int64_t i, at, front = cell.begin, back = cell.end - 1, one
    cdef Py_ssize_t g, word = x // WORD, bit = x % WORD
    for i in range(cell.begin, cell.end):
        one = rows[i * words + word] >> bit & 1
        at = front + one * (back - front)
        for g in range(words):
            to[at * words + g] = rows[i * words + g]
        front += 1 - one
        back -= one
    parts[0].begin, parts[0].end = cell.begin, front
    parts[1].begin, parts[1].end = front, cell.end


cdef void keep_splitting(const uint64_t* rows, span cell, Py_ssize_t words, Py_ssize_t power,
                         uint64_t* todo) noexcept nogil:
    """Keep in todo the columns with at least 2^power ones and 2^power zeros in the cell."""
    cdef Py_ssize_t g
    cdef int64_t n = cell.end - cell.begin
    for g in range(words):
        if todo[g] == 0:
            continue
        if power == 0:
            todo[g] &= differing(rows + cell.begin * words + g, n, words, todo[g])
        else:
            todo[g] &= balanced(rows + cell.begin * words + g, n, words, power, todo[g])


cdef uint64_t differing(const uint64_t* rows, int64_t n, Py_ssize_t words,
                        uint64_t asked) noexcept nogil:
    """The columns with both a one and a zero among n rows, at least of those asked about."""
    cdef int64_t i = 0, stop
    cdef uint64_t some = 0, every = ALL
    while i < n and asked & ~(some & ~every):
        stop = min(n, i + BLOCK)
        while i < stop:
            some |= rows[i * words]
            every &= rows[i * words]
            i += 1
    return some & ~every


cdef uint64_t balanced(const uint64_t* rows, int64_t n, Py_ssize_t words, Py_ssize_t power,
                       uint64_t asked) noexcept nogil:
    """The columns with 2^power ones and as many zeros among n rows, at least of those asked about.

    Bit x of plane p is bit p of the number of ones in column x, so 64 columns are counted at once.
    """
    cdef uint64_t plane[PLANES]
    cdef uint64_t carry, kept, fine = 0, above, equal
    cdef Py_ssize_t p, planes = 1
    cdef int64_t i = 0, stop, most
    plane[0] = 0
    while n >> planes:
        plane[planes] = 0
        planes += 1
    while i < n and asked & ~fine:
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
        # At least 2^power ones, and no more than leaves as many zeros.
        most = i - ((<int64_t> 1) << power)
        fine, above, equal = 0, 0, ALL
        for p in range(planes - 1, -1, -1):
            if p >= power:
                fine |= plane[p]
            if most >> p & 1:
                equal &= plane[p]
            else:
                above |= equal & plane[p]
                equal &= ~plane[p]
        fine &= ~above
    return fine


cdef inline void add(uint64_t carry, uint64_t* plane, Py_ssize_t p) noexcept nogil:
    cdef uint64_t kept
    while carry:
        kept = plane[p] & carry
        plane[p] ^= carry
        carry = kept
        p += 1


cdef inline void take(Py_ssize_t x, Py_ssize_t words, uint64_t* todo,
                      uint64_t* rest) noexcept nogil:
    """Take x, the first column, from todo, and copy what is left."""
    cdef Py_ssize_t g
    todo[x // WORD] &= todo[x // WORD] - 1
    for g in range(words):
        rest[g] = todo[g]


cdef inline Py_ssize_t first_of(const uint64_t* todo, Py_ssize_t words) noexcept nogil:
    """The first column in todo, -1 if there is none."""
    cdef Py_ssize_t g
    for g in range(words):
        if todo[g]:
            return g * WORD + lowest_bit(todo[g])
    return -1


cdef inline Py_ssize_t count_bits(const uint64_t* todo, Py_ssize_t words) noexcept nogil:
    cdef Py_ssize_t g, count = 0
    cdef uint64_t word
    for g in range(words):
        word = todo[g]
        word = word - (word >> 1 & <uint64_t> 0x5555555555555555)
        word = (word & <uint64_t> 0x3333333333333333) + (word >> 2 & <uint64_t> 0x3333333333333333)
        word = (word + (word >> 4)) & <uint64_t> 0x0F0F0F0F0F0F0F0F
        count += <Py_ssize_t> (word * <uint64_t> 0x0101010101010101 >> 56)
    return count


def search_patterns(uint64_t[:, ::1] rows, int64_t[:, ::1] spans, uint64_t[:, ::1] todo,
                    int64_t[:, ::1] cells, int32_t[::1] gains, int64_t[::1] place,
                    Py_ssize_t m, int64_t best, int64_t limit, int64_t work):
    """Return the most patterns that m columns show, `best` if no more than it, and whether done.

    At each depth only cells of two or more rows are kept: cells[depth] is (kept, others). The
    search ends at `limit` patterns, which no m columns exceed. place is (depth, whether its node is
    new); `gains` is scratch, the other arrays as above.
    """
    cdef Py_ssize_t depth = place[0], words = todo.shape[1], x, c, side, made
    cdef bint fresh = place[1]
    cdef int64_t reach
    cdef span part[2]
    cdef span *before, *after
    with nogil:
        while work > 0 and depth >= 0 and best < limit:
            before = <span*> &spans[depth, 0]
            if fresh:
                fresh = False
                reach = cells[depth, 1] + reachable(&rows[depth, 0], before, cells[depth, 0], words,
                                                    m - depth, &todo[depth, 0], &gains[0], &work)
                if m - depth == 1:
                    best = max(best, reach)
                if m - depth == 1 or reach <= best:
                    depth -= 1
                    continue
            x = first_of(&todo[depth, 0], words)
            if x < 0:  # no column splits anything: whichever are taken besides change nothing
                best = max(best, cells[depth, 0] + cells[depth, 1])
                depth -= 1
                continue
            take(x, words, &todo[depth, 0], &todo[depth + 1, 0])
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
    place[0], place[1] = depth, fresh
    return best, depth < 0 or best >= limit


cdef int64_t reachable(const uint64_t* rows, const span* cells, Py_ssize_t n_cells,
                       Py_ssize_t words, Py_ssize_t left, uint64_t* todo, int32_t* gains,
                       int64_t* work) noexcept nogil:
    """No fewer parts than `left` columns of todo can make of the cells; exact for one column.

    Columns that split no cell leave todo: they will split no part of one either.
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
            bits = todo[g] & differing(rows + cells[c].begin * words + g, n, words, todo[g])
            while bits:
                gains[g * WORD + lowest_bit(bits)] += 1
                bits &= bits - 1
                splitting += 1
        splitting = min(splitting, left)
        parts += min(n, (<int64_t> 1) << min(splitting, 62))
    work[0] -= words * WORD
    for x in range(words * WORD):
        if gains[x] == 0:
            todo[x // WORD] &= ~(<uint64_t> 1 << (x % WORD))
        gain = max(gain, gains[x])
    return n_cells + gain if left == 1 else parts
