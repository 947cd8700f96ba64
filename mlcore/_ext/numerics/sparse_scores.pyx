"""Hot loops of mlcore.numerics.scores.sparse_scores: rows in CSR times a table, and their softmax.

One reading of the rows, O(non-zeros k) time. out (last - first, k) is ``start + f(X) table`` of
rows from `first` to `last`, or its softmax; table (d, width) and start (width,) have zeros and
minus infinity from column k on, up to a multiple of 4, or are of width 1. By the kind f is the
value of an entry (0), the same, at least 0 (1), 1 if it is above `threshold` >= 0 (2), or the
value, 0 or 1 (3). Columns may be in any order and repeated: the bytes are those of sorted columns.

The result is False if a row is refused: for entries out of range, values that are not finite or
larger than `limit`, and others than the kind takes. The caller then has the ordinary checks say
what is wrong. Nothing about the structure of the rows need be known but the lengths of their
arrays: indptr (n + 1,), as many indices as data. One thread writes a row. Of each thread are the
rows of scratch: blocks (threads, SCORES_BLOCK + width), present (threads, d / 64 + d / 4096 + 2)
and sums (threads, 2 d), which are 0, and order (threads, d).
"""
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t

from mlcore._ext.numerics.sparse_scores_h cimport (
    SCORES_BLOCK, scores_d_int32, scores_d_int64, scores_f_int32, scores_f_int64, scores_l_int32,
    scores_l_int64,
)
from mlcore._ext.shared.index cimport index

ctypedef fused entry:
    float
    double
    int64_t

cdef enum:
    ROWS = 512

BLOCK = SCORES_BLOCK


def sparse_scores(const entry[::1] data, const index[::1] indices, const index[::1] indptr,
                  Py_ssize_t first, Py_ssize_t last, int kind, double threshold, double limit,
                  const double[:, ::1] table, const double[::1] start, bint softmax,
                  double[:, ::1] blocks, uint64_t[:, ::1] present, double[:, ::1] sums,
                  int64_t[:, ::1] order, double[:, ::1] out, int n_threads, /):
    """Set the rows of `out`."""
    cdef Py_ssize_t m = data.shape[0], d = table.shape[0], width = table.shape[1], k = out.shape[1]
    cdef Py_ssize_t block, top, end
    cdef const entry* x = &data[0] if m > 0 else NULL
    cdef const index* columns = &indices[0] if m > 0 else NULL
    cdef int refused = 0, t
    for block in prange((last - first + ROWS - 1) // ROWS, num_threads=n_threads, nogil=True,
                        schedule="dynamic"):
        t = threadid()
        top = first + block * ROWS
        end = min(last, top + ROWS)
        refused += not rows_of(
            x, columns, &indptr[0], top, end, m, kind, threshold, limit, d, &table[0, 0],
            &start[0], k, width, softmax, &blocks[t, 0], &present[t, 0], &sums[t, 0],
            <index*> &order[t, 0], &out[top - first, 0])
    return refused == 0


cdef inline int rows_of(const entry* x, const index* columns, const index* starts,
                        Py_ssize_t first, Py_ssize_t last, Py_ssize_t m, int kind,
                        double threshold, double limit, Py_ssize_t d, const double* table,
                        const double* start, Py_ssize_t k, Py_ssize_t width, int softmax,
                        double* block, uint64_t* present, double* sums, index* order,
                        double* out) noexcept nogil:
    if entry is float:
        if index is int32_t:
            return scores_f_int32(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
        else:
            return scores_f_int64(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
    elif entry is double:
        if index is int32_t:
            return scores_d_int32(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
        else:
            return scores_d_int64(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
    else:
        if index is int32_t:
            return scores_l_int32(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
        else:
            return scores_l_int64(first, last, x, columns, starts, m, kind, threshold, limit, d,
                                  table, start, k, width, softmax, block, present, sums, order,
                                  out)
