"""Hot loop of mlcore.bounds.data_dependent.rademacher: suprema at all sign vectors."""
from libc.stdint cimport int64_t


def sum_of_ranges(const double[:, ::1] columns, double[::1] sums, int64_t first, int64_t last, /):
    """Return the sum over first <= i < last of max - min over h of sum_x sigma_x columns[x, h].

    sigma is the i-th sign vector of the Gray code, in which neighbours differ in one sign. Its last
    sign is +; the min is minus the max at the opposite signs. `sums` (n,) is scratch.
    """
    cdef Py_ssize_t m = columns.shape[0], n = columns.shape[1], x, h
    cdef int64_t i
    cdef int64_t gray = first ^ (first >> 1)
    cdef double total = 0, step, high, low
    with nogil:
        sums[:] = 0
        for x in range(m):
            step = -1.0 if gray >> x & 1 else 1.0
            for h in range(n):
                sums[h] += step * columns[x, h]
        for i in range(first, last):
            high = low = sums[0]
            for h in range(n):
                high = max(high, sums[h])
                low = min(low, sums[h])
            total += high - low
            x = 0
            while not (i + 1) >> x & 1:
                x += 1
            if x < m:
                step = 2.0 if gray >> x & 1 else -2.0
                gray ^= <int64_t> 1 << x
                for h in range(n):
                    sums[h] += step * columns[x, h]
    return total
