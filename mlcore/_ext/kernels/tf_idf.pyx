"""Hot loops of mlcore.kernels.structured.tf_idf: document counts, and weighted rows.

One reading of the counts, which checks them too: O(non-zeros) time, or O(n d) of dense rows. The
result is False if a row is refused: for values that are negative, not finite or above `limit`, and
for sparse columns out of range; for weights also for repeated columns. The caller then has the
ordinary checks say what is wrong, or add these. Columns may be in any order; those of weights are
written in theirs. Of each thread a row of zeros (d / 64 + d / 4096 + 2,) is scratch. Nothing about
the structure of sparse rows need be known but the lengths of their arrays: indptr (n + 1,), as many
indices as data.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport fabs, log, sqrt
from libc.stdint cimport uint64_t

from mlcore._ext.shared.column_set_h cimport add_column, column_set, empty_set, take_column
from mlcore._ext.shared.index cimport index

cdef enum:
    L2 = 1
    L1 = 2

# Sums of squares between these have lost nothing to underflow or overflow.
cdef double LEAST = 1e-280
cdef double MOST = 1e300


def sparse_frequency(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                     const double[::1] weights, floating limit, uint64_t[:, ::1] zeros,
                     double[::1] frequency, Py_ssize_t first, Py_ssize_t last, /):
    """Add the weight of rows from `first` to `last` to `frequency` (d,) where they count > 0.

    `weights` (n,), or of length 0 where all are 1.
    """
    cdef Py_ssize_t i, p, q, column, m = data.shape[0], d = frequency.shape[0]
    cdef column_set others = empty_set(&zeros[0, 0], d)
    cdef index previous
    cdef double weight = 1
    cdef bint fine = True
    with nogil:
        for i in range(first, last):
            if not 0 <= indptr[i] <= indptr[i + 1] <= m:
                fine = False
                break
            if weights.shape[0] > 0:
                weight = weights[i]
            previous = -1
            for p in range(indptr[i], indptr[i + 1]):
                if not (previous < indices[p] < d and 0 <= data[p] <= limit):
                    break
                previous = indices[p]
                frequency[previous] += weight if data[p] > 0 else 0
            else:
                continue
            # Entries before p are counted, in the order of their columns; others come in any.
            for q in range(p, indptr[i + 1]):
                if not (0 <= indices[q] < d and 0 <= data[q] <= limit):
                    fine = False
                    break
            if not fine:
                break
            for q in range(p, indptr[i + 1]):
                if data[q] > 0:
                    add_column(&others, indices[q])
            q = indptr[i]
            column = take_column(&others)
            while column >= 0:
                while q < p and indices[q] < column:
                    q += 1
                if not (q < p and indices[q] == column and data[q] > 0):
                    frequency[column] += weight
                column = take_column(&others)
    return fine


def dense_frequency(const floating[:, ::1] X, const double[::1] weights, floating limit,
                    double[::1] frequency, Py_ssize_t first, Py_ssize_t last, /):
    """The same of the rows of X (n, d)."""
    cdef Py_ssize_t i, j
    cdef double weight = 1
    cdef int refused = 0
    with nogil:
        for i in range(first, last):
            if weights.shape[0] > 0:
                weight = weights[i]
            for j in range(X.shape[1]):
                refused |= not (0 <= X[i, j] <= limit)
                frequency[j] += weight * (X[i, j] > 0)
    return refused == 0


def sparse_weighted(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                    const floating[::1] idf, const double[::1] logs, int norm, floating limit,
                    uint64_t[:, ::1] zeros, floating[:, ::1] sums, floating[::1] out,
                    index[::1] columns, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Fill in the weights `out` and the `columns` of rows from `first` to `last`, as in `data`.

    `logs` has 1 + ln k of the counts k = 0, 1, ..., of which that of 0 is not read; it is empty
    where counts are taken as they are. `norm` is 0, L2 or L1. sums (threads, d), 0, are scratch.
    """
    cdef Py_ssize_t i, m = data.shape[0]
    cdef const double* logs_at = &logs[0] if logs.shape[0] > 0 else NULL
    cdef int refused = 0, t
    for i in prange(first, last, num_threads=n_threads, nogil=True):
        t = threadid()
        if not 0 <= indptr[i] <= indptr[i + 1] <= m:
            refused += 1
        elif indptr[i] < indptr[i + 1]:
            refused += not sparse_row(
                indptr[i + 1] - indptr[i], &data[indptr[i]], &indices[indptr[i]], idf.shape[0],
                &idf[0], logs.shape[0], logs_at, norm, limit, &zeros[t, 0], &sums[t, 0],
                &out[indptr[i]], &columns[indptr[i]])
    return refused == 0


cdef bint sparse_row(Py_ssize_t n, const floating* x, const index* indices, Py_ssize_t d,
                     const floating* idf, Py_ssize_t n_logs, const double* logs, int norm,
                     floating limit, uint64_t* zeros, floating* sums, floating* out,
                     index* columns) noexcept nogil:
    cdef Py_ssize_t p
    cdef index column, previous = -1
    cdef int refused = 0
    cdef bint ascending = True
    for p in range(n):
        column = indices[p]
        if not 0 <= column < d:
            return False
        ascending &= previous < column
        previous = column
        refused |= not (0 <= x[p] <= limit)
        columns[p] = column
        out[p] = term(x[p], n_logs, logs) * idf[column]
    if refused:
        return False
    if not ascending and not row_in_order(n, x, indices, d, idf, n_logs, logs, zeros, sums, out,
                                          columns):
        return False
    normalize(n, out, norm)
    return True


cdef bint row_in_order(Py_ssize_t n, const floating* x, const index* indices, Py_ssize_t d,
                       const floating* idf, Py_ssize_t n_logs, const double* logs,
                       uint64_t* zeros, floating* sums, floating* out,
                       index* columns) noexcept nogil:
    """The weights of a row in the order of its columns; False if one is there twice."""
    cdef column_set found = empty_set(zeros, d)
    cdef Py_ssize_t p, column, m = 0
    for p in range(n):
        add_column(&found, indices[p])
        sums[indices[p]] += x[p]
    column = take_column(&found)
    while column >= 0:
        columns[m] = <index> column
        out[m] = term(sums[column], n_logs, logs) * idf[column]
        sums[column] = 0
        m += 1
        column = take_column(&found)
    return m == n


def dense_weighted(const floating[:, ::1] X, const floating[::1] idf,
                   const double[::1] logs, int norm, floating limit,
                   floating[:, ::1] out, Py_ssize_t first, Py_ssize_t last,
                   int n_threads, /):
    """The same of the rows of X (n, d), in `out` (n, d)."""
    cdef Py_ssize_t i
    cdef const double* logs_at = &logs[0] if logs.shape[0] > 0 else NULL
    cdef int refused = 0
    for i in prange(first, last, num_threads=n_threads, nogil=True):
        refused += not dense_row(X.shape[1], &X[i, 0], &idf[0], logs.shape[0], logs_at, norm, limit,
                                 &out[i, 0])
    return refused == 0


cdef bint dense_row(Py_ssize_t d, const floating* x, const floating* idf, Py_ssize_t n_logs,
                    const double* logs, int norm, floating limit, floating* out) noexcept nogil:
    cdef Py_ssize_t j
    cdef int refused = 0
    for j in range(d):
        refused |= not (0 <= x[j] <= limit)
        out[j] = term(x[j], n_logs, logs) * idf[j]
    normalize(d, out, norm)
    return not refused


cdef inline floating term(floating x, Py_ssize_t n_logs, const double* logs) noexcept nogil:
    if n_logs == 0 or not x > 0:
        return x
    # Nearly all counts are small integers: a logarithm takes ten times as long.
    if x < n_logs and x == <int> x:
        return <floating> logs[<int> x]
    return <floating> (1 + log(x))


cdef void normalize(Py_ssize_t n, floating* v, int norm) noexcept nogil:
    """Divide n values by their norm, if it is not 0."""
    cdef double total = 0, largest = 0
    cdef Py_ssize_t p
    if norm == L1:
        for p in range(n):
            total += fabs(v[p])
    elif norm == L2:
        for p in range(n):
            total += <double> v[p] * v[p]
        if LEAST < total < MOST:
            total = sqrt(total)
        else:
            for p in range(n):
                largest = max(largest, fabs(v[p]))
            if not 0 < largest:
                return
            # The row is divided twice: its norm may be too large for a float, 1 / largest too.
            total = 0
            for p in range(n):
                v[p] = <floating> (v[p] / largest)
                total += <double> v[p] * v[p]
            total = sqrt(total)
    if total > 0:
        for p in range(n):
            v[p] = <floating> (v[p] / total)
