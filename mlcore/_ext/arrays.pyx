"""Hot loop of mlcore.checks.arrays: the sum of squares that tells whether all values are finite."""
from cython cimport floating

cdef enum:
    LANES = 16  # sums side by side: one alone would wait for each of its additions


def sum_of_squares(const floating[::1] x):
    """Sum of x², in the precision of x: NaN or infinity where a value is, or where it overflows."""
    cdef floating total = 0
    if x.shape[0] > 0:
        with nogil:
            total = squares(x.shape[0], &x[0])
    return total


cdef floating squares(Py_ssize_t n, const floating* x) noexcept nogil:
    cdef Py_ssize_t group, i, lane
    cdef floating sums[LANES]
    cdef floating total = 0
    for lane in range(LANES):
        sums[lane] = 0
    for group in range(n // LANES):
        for lane in range(LANES):
            sums[lane] += x[group * LANES + lane] * x[group * LANES + lane]
    for i in range(n // LANES * LANES, n):
        sums[i % LANES] += x[i] * x[i]
    for lane in range(LANES):
        total += sums[lane]
    return total
