"""Rows as bitsets over columns, divided into cells by the values of columns.

A row is `words` 64-bit words, the lowest bit of the first for the first column. A cell is a span of
rows with the same values in the columns chosen so far.
"""
from libc.stdint cimport int64_t, uint64_t

cdef enum:
    WORD = 64
    BLOCK = 64  # rows between two tests for an early end

cdef extern from *:
    """
    static inline int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    """
    int lowest_bit(uint64_t x) nogil

cdef struct span:
    int64_t begin, end


cdef inline int64_t size(span cell) noexcept nogil:
    return cell.end - cell.begin


cdef inline void divide(const uint64_t* rows, span cell, Py_ssize_t words, Py_ssize_t x,
                        uint64_t* to, span* parts) noexcept nogil:
    """Copy a cell with its rows that have 0 in column x first and those that have 1 last."""
    cdef int64_t i, at, front = cell.begin, back = cell.end - 1, one
    cdef Py_ssize_t g, word = x // WORD, bit = x % WORD
    if words == 1:
        for i in range(cell.begin, cell.end):
            one = rows[i] >> bit & 1
            to[front + one * (back - front)] = rows[i]
            front += 1 - one
            back -= one
    for i in range(cell.begin, cell.end if words > 1 else cell.begin):
        one = rows[i * words + word] >> bit & 1
        at = front + one * (back - front)
        for g in range(words):
            to[at * words + g] = rows[i * words + g]
        front += 1 - one
        back -= one
    parts[0].begin, parts[0].end = cell.begin, front
    parts[1].begin, parts[1].end = front, cell.end


cdef inline uint64_t differing(const uint64_t* rows, int64_t n, Py_ssize_t words,
                               uint64_t wanted) noexcept nogil:
    """Columns in which n rows differ; exact for the `wanted` columns only."""
    cdef int64_t i = 0, stop
    cdef uint64_t some = 0, every = ~(<uint64_t> 0)
    while i < n and wanted & ~(some & ~every):
        stop = min(n, i + BLOCK)
        while i < stop:
            some |= rows[i * words]
            every &= rows[i * words]
            i += 1
    return some & ~every


cdef inline void take(Py_ssize_t x, Py_ssize_t words, uint64_t* candidates,
                      uint64_t* rest) noexcept nogil:
    """Remove x, the first column, from candidates, and copy the others to `rest`."""
    cdef Py_ssize_t g
    candidates[x // WORD] &= candidates[x // WORD] - 1
    for g in range(words):
        rest[g] = candidates[g]


cdef inline Py_ssize_t first_of(const uint64_t* candidates, Py_ssize_t words) noexcept nogil:
    """Return the first column in candidates, -1 if there is none."""
    cdef Py_ssize_t g
    for g in range(words):
        if candidates[g]:
            return g * WORD + lowest_bit(candidates[g])
    return -1


cdef inline Py_ssize_t count_bits(const uint64_t* candidates, Py_ssize_t words) noexcept nogil:
    cdef Py_ssize_t g, count = 0
    cdef uint64_t word
    for g in range(words):
        word = candidates[g]
        word = word - (word >> 1 & <uint64_t> 0x5555555555555555)
        word = (word & <uint64_t> 0x3333333333333333) + (word >> 2 & <uint64_t> 0x3333333333333333)
        word = (word + (word >> 4)) & <uint64_t> 0x0F0F0F0F0F0F0F0F
        count += <Py_ssize_t> (word * <uint64_t> 0x0101010101010101 >> 56)
    return count
