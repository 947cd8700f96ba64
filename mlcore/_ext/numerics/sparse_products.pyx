"""Hot loops of mlcore.numerics.sparse_products: sparse rows, less a rank-one matrix, times a block
of vectors (sparse_products.c), and the moments, sizes and copies of their columns.

Rows in CSR format: indptr (m + 1,), indices and values, of N columns. V (N, width), C order, the
width 1, 4 or 8. Groups of rows, from first[g] to last[g], have sums of their own, added in their
order, so the thread count never changes a bit. O(nnz width) time, no scratch.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

from mlcore._ext.numerics.sparse_products_h cimport column_sums as sums_of_columns
from mlcore._ext.numerics.sparse_products_h cimport gram_times as gram_times_of_rows
from mlcore._ext.numerics.sparse_products_h cimport rows_times as times_of_rows
from mlcore._ext.numerics.sparse_products_h cimport target_sums as sums_of_targets
from mlcore._ext.shared.index cimport index

cdef enum:
    ROWS = 64
    AHEAD = 24  # entries whose places are asked for before they are written: a fifth of the time

cdef extern from *:
    """
    /* Ask for memory that is to be written. */
    static inline void ask_for(const void *at) { __builtin_prefetch(at, 1); }
    """
    void ask_for(const void* at) noexcept nogil


def rows_times(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
               Py_ssize_t first, Py_ssize_t last, const double[:, ::1] V, double[:, ::1] out,
               int n_threads, /):
    """Rows from `first` to `last` of out (m, width) = A V."""
    cdef Py_ssize_t width = V.shape[1], block, start
    for block in prange((last - first + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        start = first + block * ROWS
        times_of_rows(start, min(last, start + ROWS), &indptr[0], &indices[0], &values[0],
                      &V[0, 0], width, &out[0, 0])


def gram_times(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
               const double[::1] left, const double[::1] right, const double[::1] shift,
               const int64_t[::1] first, const int64_t[::1] last, const double[:, ::1] V,
               double[:, :, ::1] parts, double[:, ::1] out, bint begins, bint ends,
               int n_threads, /):
    """out (N, width) = A'T - right (left'T), T = A V - left shift', by calls for ranges of rows, of
    which the first `begins` and the last `ends`. Scratch parts (groups, N + 1, width), the last row
    of a group its left'T.
    """
    cdef Py_ssize_t groups = first.shape[0], n = out.shape[0], width = V.shape[1], group, j, k
    cdef double* sums
    cdef double* part
    for group in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        if begins:
            memset(&parts[group, 0, 0], 0, (n + 1) * width * sizeof(double))
        gram_times_of_rows(first[group], last[group], &indptr[0], &indices[0], &values[0],
                           &left[0], &shift[0], &V[0, 0], width, &parts[group, 0, 0],
                           &parts[group, n, 0])
    if not ends:
        return
    with nogil:
        sums = &parts[0, 0, 0]
        for group in range(1, groups):
            part = &parts[group, 0, 0]
            for j in range((n + 1) * width):
                sums[j] += part[j]
        for j in range(n):
            for k in range(width):
                out[j, k] = sums[j * width + k] - right[j] * sums[n * width + k]


def column_products(const index[::1] starts, const index[::1] rows, const double[::1] values,
                    const index[::1] indptr, const index[::1] indices, const double[::1] data,
                    Py_ssize_t first, Py_ssize_t last, double[:, ::1] out, int n_threads, /):
    """Add to rows from `first` to `last` of out (d, N) those of A'B, A by columns and B by rows."""
    cdef Py_ssize_t j, i
    cdef index at, k
    for j in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        for at in range(starts[j], starts[j + 1]):
            i = rows[at]
            for k in range(indptr[i], indptr[i + 1]):
                out[j, indices[k]] += values[at] * data[k]


def column_sums(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
                const double[::1] weight, const double[::1] center, double[:, ::1] out, /):
    """Add, of the entries of each column, to out (N, 4): ones, weights, and these times the
    deviations from `center` (N,) and their squares.
    """
    with nogil:
        sums_of_columns(weight.shape[0], &indptr[0], &indices[0], &values[0], &weight[0],
                        &center[0], &out[0, 0])


def target_sums(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
                const double[::1] weight, const double[::1] target, double[:, ::1] out, /):
    """Add, of the entries of each column, to out (N, 4): ones, and entries times weights, their
    squares times weights, and entries times the target (m,).
    """
    with nogil:
        sums_of_targets(weight.shape[0], &indptr[0], &indices[0], &values[0], &weight[0],
                        &target[0], &out[0, 0])


def row_squares(const double[::1] data, const index[::1] ends, double[::1] out, /):
    """out (n,) := sums of squares of the entries of each row: a third of the time of NumPy."""
    cdef Py_ssize_t i, t
    cdef double total
    with nogil:
        for i in range(out.shape[0]):
            total = 0
            for t in range(ends[i], ends[i + 1]):
                total += data[t] * data[t]
            out[i] = total


def count_columns(const index[::1] indices, int64_t[::1] counts, /):
    """Add the number of entries of each column to counts (N,): a quarter of NumPy's time."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(indices.shape[0]):
            counts[indices[k]] += 1


def largest_entries(const floating[::1] data, const index[::1] columns, Py_ssize_t end,
                    double[::1] largest, /):
    """largest (d,) := the largest absolute value in each column of the first `end` entries, or its
    own: a quarter of the time of NumPy.
    """
    cdef Py_ssize_t t
    with nogil:
        for t in range(end):
            largest[columns[t]] = max(largest[columns[t]], fabs(<double> data[t]))


def chosen_columns(const floating[::1] data, const index[::1] columns, const index[::1] ends,
                   const int32_t[::1] place, const int8_t[::1] chosen, int64_t[::1] entries,
                   floating[::1] values, int32_t[::1] places, int64_t[::1] starts, /):
    """Set the entries of CSR rows, and `starts` (n + 1,) of these, in the columns that are `chosen`
    (d,), 0 or 1, with their new `place` (d,).

    `entries` are scratch, one more than there are: which entries these are, for all rows, before
    any is copied. No branch depends on what columns follow: a sixth of the time of SciPy.
    """
    cdef Py_ssize_t i, t
    cdef int64_t count = 0
    with nogil:
        for i in range(ends.shape[0] - 1):
            starts[i] = count
            for t in range(ends[i], ends[i + 1]):
                entries[count] = t
                count += chosen[columns[t]]
        starts[ends.shape[0] - 1] = count
        for i in range(count):
            t = entries[i]
            values[i], places[i] = data[t], place[columns[t]]


def columns_of(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
               int64_t[::1] following, int32_t[::1] rows, floating[::1] out, /):
    """Set the rows and values of the entries by columns, those of column j from following[j] on,
    which becomes their end.
    """
    cdef Py_ssize_t i, m = indptr.shape[0] - 1
    cdef int64_t k, at
    with nogil:
        for i in range(m):
            for k in range(indptr[i], indptr[i + 1]):
                if k + AHEAD < indptr[m]:
                    at = following[indices[k + AHEAD]]
                    ask_for(&out[0] + at)
                    ask_for(&rows[0] + at)
                at = following[indices[k]]
                rows[at] = <int32_t> i
                out[at] = values[k]
                following[indices[k]] = at + 1
