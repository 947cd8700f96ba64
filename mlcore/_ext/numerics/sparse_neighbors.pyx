"""Hot loop of mlcore.numerics.neighbors.sparse_neighbors."""
from libc.stdint cimport int64_t, uint64_t

from mlcore._ext.shared.index cimport index


def sparse_squares(const index[::1] indptr, const index[::1] indices, const double[::1] data,
                   const index[::1] query_indptr, const index[::1] query_indices,
                   const double[::1] query_data, const int64_t[::1] rows,
                   const int64_t[::1] columns, double[::1] squares, /):
    """Set `squares` to the squared distances of queries `rows` from samples `columns`.

    Both are canonical CSR; squares are summed from the first feature to the last.
    """
    cdef Py_ssize_t pair, a, a_end, b, b_end
    cdef double difference, total
    cdef index one, two, end = <index> ((<uint64_t> 1 << (8 * sizeof(index) - 1)) - 1)
    with nogil:
        for pair in range(rows.shape[0]):
            a, a_end = query_indptr[rows[pair]], query_indptr[rows[pair] + 1]
            b, b_end = indptr[columns[pair]], indptr[columns[pair] + 1]
            total = 0
            while a < a_end or b < b_end:
                one = query_indices[a] if a < a_end else end
                two = indices[b] if b < b_end else end
                difference = 0
                if one <= two:
                    difference = query_data[a]
                    a += 1
                if two <= one:
                    difference -= data[b]
                    b += 1
                total += difference * difference
            squares[pair] = total
