"""Hot loops of mlcore.checks.sparse: the order of columns in the rows of CSR.

Where columns come in any order, below d, values of one column are added as they come, in the
precision of the values. O(non-zeros + n d / 4096) time; zeros (d / 64 + d / 4096 + 2,) and sums
(d,) are scratch, 0 before and after.
"""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t, uint64_t

from mlcore._ext.shared.column_set_h cimport add_column, column_set, empty_set, take_column
from mlcore._ext.shared.index cimport index

cdef enum:
    BLOCK = 64  # entries, a number that the compiler knows: they are compared four at a time

ctypedef fused start:
    int32_t
    int64_t


def order_of(const index[::1] indices, const start[::1] indptr, /):
    """Return True if the indices of each row increase, and the least and the greatest if so.

    One reading, a third of the time of a minimum, a maximum and a search row by row: indices that
    do not increase are counted, and should be as many as at the first entries of rows.
    """
    cdef Py_ssize_t i, p, m = indices.shape[0]
    cdef int64_t falls = 0
    cdef index least = 0, greatest = -1
    with nogil:
        for i in range(max(m - 1, 0) // BLOCK):
            falls += falls_of(&indices[i * BLOCK])
        for i in range(max(m - 1, 0) // BLOCK * BLOCK, m - 1):
            falls += indices[i + 1] <= indices[i]
        if m:
            least = greatest = indices[0]
        for i in range(indptr.shape[0] - 1):
            p = indptr[i]
            if p == indptr[i + 1]:
                continue
            falls -= p > 0 and indices[p] <= indices[p - 1]
            least = min(least, indices[p])
            greatest = max(greatest, indices[indptr[i + 1] - 1])
    return falls == 0, least, greatest


cdef index falls_of(const index* x) noexcept nogil:
    """Return how many of x (BLOCK + 1,) are not greater than the one before."""
    cdef Py_ssize_t i
    cdef index falls = 0
    for i in range(BLOCK):
        falls += x[i + 1] <= x[i]
    return falls


def put_in_order(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                 Py_ssize_t first, Py_ssize_t last, uint64_t[::1] zeros, floating[::1] sums,
                 floating[::1] values, index[::1] columns, index[::1] starts, /):
    """Write rows from `first` to `last`, of which the first begins at starts[first]."""
    cdef Py_ssize_t i, p, column, at = starts[first]
    cdef column_set found = empty_set(&zeros[0], sums.shape[0])
    with nogil:
        for i in range(first, last):
            for p in range(indptr[i], indptr[i + 1]):
                add_column(&found, indices[p])
                sums[indices[p]] += data[p]
            column = take_column(&found)
            while column >= 0:
                columns[at] = <index> column
                values[at] = sums[column]
                sums[column] = 0
                at += 1
                column = take_column(&found)
            starts[i + 1] = <index> at
