"""Hot loop of mlcore.checks.sparse: rows in CSR put in the order of their columns.

Columns, below d, come in any order; values of one column are added as they come, in the precision
of the values. O(non-zeros + n d / 4096) time; zeros (d / 64 + d / 4096 + 2,) and sums (d,) are
scratch, 0 before and after.
"""
from cython cimport floating
from libc.stdint cimport uint64_t

from mlcore._ext.shared.column_set_h cimport add_column, column_set, empty_set, take_column
from mlcore._ext.shared.index cimport index


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
