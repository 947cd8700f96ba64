"""Hot loop of mlcore.checks.arrays: the sum of squares, finite only if all values are."""
from cython cimport floating

cdef enum:
    LANES = 16  # independent sums: a single one would wait for each addition


def sum_of_squares(const floating[::1] x, /):
    """Return the sum of x² in the precision of x; NaN or infinity if a value is, or on overflow."""
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
