"""Hot loop of mlcore.numerics.radix_sort: a pass for each byte, from the lowest up."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    DIGITS = 8
    VALUES = 256  # values of a digit


def stable_order(const double[::1] values, uint64_t[:, :, ::1] pairs, int64_t[::1] order, /):
    """Fill `order` (n,) with the indices that sort `values` (n,), equal ones in input order.

    `pairs` (2, n, 2) is scratch. No value is NaN.
    """
    cdef Py_ssize_t n = values.shape[0], i
    cdef Py_ssize_t count[DIGITS][VALUES]
    cdef Py_ssize_t at, here
    cdef uint64_t* now
    cdef uint64_t* then
    cdef uint64_t key
    cdef double x
    cdef int digit, value
    if n == 0:
        return
    now, then = &pairs[0, 0, 0], &pairs[1, 0, 0]
    with nogil:
        memset(&count[0][0], 0, sizeof(count))
        for i in range(n):
            x = values[i] + 0.0  # -0 is 0
            memcpy(&key, &x, sizeof(key))
            # Integer order becomes float order: flip all bits of a negative, else the sign bit.
            key ^= (0 - (key >> 63)) | (<uint64_t> 1 << 63)
            now[2 * i], now[2 * i + 1] = key, i
            for digit in range(DIGITS):
                count[digit][key >> 8 * digit & 255] += 1
        for digit in range(DIGITS):
            if count[digit][now[0] >> 8 * digit & 255] == n:
                continue
            at = 0
            for value in range(VALUES):
                here = count[digit][value]
                count[digit][value] = at
                at += here
            for i in range(n):
                key = now[2 * i]
                at = count[digit][key >> 8 * digit & 255]
                count[digit][key >> 8 * digit & 255] = at + 1
                then[2 * at], then[2 * at + 1] = key, now[2 * i + 1]
            now, then = then, now
        for i in range(n):
            order[i] = now[2 * i + 1]
