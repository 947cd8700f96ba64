"""Hot loops of mlcore.mixture.discrete.sparse_e_step: EM over sparse rows.

A row is a list of entries, column and value. Given `start` (stride,) and `table` (columns, stride),
components side by side, its log densities are start + sum of value table[column]; but -inf where
start_impossible + sum of value impossible[column], if given, is positive. Responsibilities follow,
and their sums by column. O(entries k) time.
"""
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from mlcore._ext.mixture cimport sparse_e_step_h as loops
from mlcore._ext.mixture.sparse_e_step_h cimport MIX_BATCH, row_assignment, sparse_rows

BATCH = MIX_BATCH
ASSIGNMENT_BYTES = sizeof(row_assignment)
cdef enum: COLUMNS = 64  # that one thread adds up at a time


cdef sparse_rows as_rows(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
                         const int32_t[::1] columns, const double[::1] values,
                         const double[::1] weights, const double[::1] start,
                         const double[:, ::1] table, const double[::1] start_impossible,
                         const double[:, ::1] impossible):
    cdef sparse_rows rows
    rows.n_components, rows.stride, rows.length = n_components, start.shape[0], length
    rows.indptr = &indptr[0] if indptr is not None else NULL
    rows.columns = &columns[0] if columns.shape[0] else NULL
    rows.values = &values[0] if values is not None and values.shape[0] > 0 else NULL
    rows.weights = &weights[0] if weights is not None else NULL
    rows.start, rows.table = &start[0], &table[0, 0]
    rows.near, rows.bounds, rows.rises, rows.start_rise, rows.row_totals = NULL, NULL, NULL, 0, NULL
    rows.hard, rows.start_impossible, rows.impossible = NULL, NULL, NULL
    if impossible is not None:
        rows.start_impossible, rows.impossible = &start_impossible[0], &impossible[0, 0]
    return rows


cdef sparse_rows with_last_pass(sparse_rows rows, uint64_t[::1] near, double[::1] bounds,
                                double start_rise, const double[::1] rises,
                                const double[::1] row_totals, int32_t[::1] hard,
                                Py_ssize_t hard_sums):
    if near is not None:
        rows.near, rows.bounds, rows.rises = &near[0], &bounds[0], &rises[0]
        rows.start_rise = start_rise
    if row_totals is not None:
        rows.row_totals = &row_totals[0]
    if hard is not None:
        rows.hard, rows.hard_sums = &hard[0], hard_sums
    return rows


def expect(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
           const int32_t[::1] columns, const double[::1] values, const double[::1] weights,
           const double[::1] start, const double[:, ::1] table, const double[::1] start_impossible,
           const double[:, ::1] impossible, uint64_t[::1] near,
           double[::1] bounds, double start_rise, const double[::1] rises,
           const double[::1] row_totals, int32_t[::1] hard, const int64_t[:, ::1] spans,
           double[:, ::1] batch, double[:, :, :, ::1] sums,
           double[:, :, ::1] totals, double[::1] log_likelihood, int n_threads, /):
    """Add the sums of rows spans[c] to those of chunk c.

    `sums` (chunks, 1 or 2, columns, stride), `totals` (chunks, 2, stride) of responsibilities, and
    of these times `row_totals` (n,) or None, `log_likelihood` (chunks,); `batch` (chunks, BATCH
    strides) is scratch. Rows all have `length` entries where `indptr` is None; values and weights
    are 1 where None. `near` and `bounds` (n,), or None, keep for the next pass which components are
    near the largest, and a bound on the others; at first all bits of `near` are set. Since the last
    pass `start` has risen by at most `start_rise`, and row c of `table` by rises[c].
    """
    cdef sparse_rows rows = with_last_pass(
        as_rows(n_components, length, indptr, columns, values, weights, start, table,
                start_impossible, impossible),
        near, bounds, start_rise, rises, row_totals, hard, sums.shape[2] * sums.shape[3])
    cdef Py_ssize_t c
    for c in prange(spans.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        log_likelihood[c] += loops.expect(&rows, spans[c, 0], spans[c, 1], &batch[c, 0],
                                          &sums[c, 0, 0, 0], &totals[c, 0, 0], NULL, NULL)


def expect_each(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
                const int32_t[::1] columns, const double[::1] values, const double[::1] weights,
                const double[:, ::1] starts, const double[:, :, ::1] tables,
                const double[:, ::1] start_impossible, const double[:, :, ::1] impossible,
                Py_ssize_t n, double[:, ::1] batch, double[:, :, ::1] sums,
                double[:, :, ::1] totals, double[::1] log_likelihood, int n_threads, /):
    """`expect` of all n rows, which are few, under several mixtures.

    Mixture t has starts[t], tables[t], start_impossible[t] and impossible[t], and adds to sums[t],
    totals[t] and log_likelihood[t].
    """
    cdef sparse_rows rows = as_rows(
        n_components, length, indptr, columns, values, weights, starts[0], tables[0],
        None if impossible is None else start_impossible[0],
        None if impossible is None else impossible[0])
    cdef Py_ssize_t t
    for t in prange(tables.shape[0], nogil=True, num_threads=n_threads):
        log_likelihood[t] += expect_one(rows, n, t, tables.shape[1], &batch[t, 0],
                                        &sums[t, 0, 0], &totals[t, 0, 0])


cdef double expect_one(sparse_rows rows, Py_ssize_t n, Py_ssize_t t, Py_ssize_t n_columns,
                       double* batch, double* sums, double* totals) noexcept nogil:
    rows.start += t * rows.stride
    rows.table += t * n_columns * rows.stride
    if rows.impossible != NULL:
        rows.start_impossible += t * rows.stride
        rows.impossible += t * n_columns * rows.stride
    return loops.expect(&rows, 0, n, batch, sums, totals, NULL, NULL)


def expect_by_columns(
        Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
        const int32_t[::1] columns, const double[::1] values, const double[::1] weights,
        const double[::1] start, const double[:, ::1] table, const double[::1] start_impossible,
        const double[:, ::1] impossible, uint64_t[::1] near,
        double[::1] bounds, double start_rise, const double[::1] rises,
        const double[::1] row_totals, int32_t[::1] hard, Py_ssize_t first, Py_ssize_t last,
        double[:, ::1] batch, uint8_t[:, ::1] assignments, const int64_t[::1] edges,
        double[:, :, ::1] sums, double[:, :, ::1] totals, double[::1] log_likelihood, /):
    """`expect` for rows first to last, of which threads share the columns instead of the rows.

    Columns edges[t] to edges[t + 1] are those of thread t, so that `sums` (1 or 2, columns, stride)
    is one table, in which each column has one writer. Threads take turns: responsibilities of some
    rows, as many as `batch` (whole batches, stride) and `assignments` (their rows,
    ASSIGNMENT_BYTES) hold, then their sums. Batch b adds to `totals` and `log_likelihood` of
    place b modulo their length, which `batch` does not exceed.
    """
    cdef sparse_rows rows = with_last_pass(
        as_rows(n_components, length, indptr, columns, values, weights, start, table,
                start_impossible, impossible),
        near, bounds, start_rise, rises, row_totals, hard, sums.shape[1] * sums.shape[2])
    cdef int n_threads = <int> edges.shape[0] - 1
    cdef Py_ssize_t at, b, t, begin, place, stride = batch.shape[1], stop
    cdef Py_ssize_t size = batch.shape[0], places = totals.shape[0]
    cdef double* r = &batch[0, 0]
    cdef row_assignment* assignment = <row_assignment*> &assignments[0, 0]
    with nogil:
        at = first
        while at < last:
            stop = min(last, at + size)
            for b in prange((stop - at + MIX_BATCH - 1) // MIX_BATCH, num_threads=n_threads,
                            schedule="dynamic"):
                begin = b * MIX_BATCH
                place = ((at - first) // MIX_BATCH + b) % places
                log_likelihood[place] += loops.responsibilities(
                    &rows, at + begin, min(stop, at + begin + MIX_BATCH), r + begin * stride,
                    assignment + begin, &totals[place, 0, 0])
            for t in prange(n_threads, num_threads=n_threads):
                loops.add_rows(&rows, at, stop, r, assignment, edges[t], edges[t + 1],
                               &sums[0, 0, 0])
            at = stop


def posterior(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
              const int32_t[::1] columns, const double[::1] values, const double[::1] start,
              const double[:, ::1] table, const double[::1] start_impossible,
              const double[:, ::1] impossible, const int64_t[:, ::1] spans, double[:, ::1] batch,
              double[::1] log_density, double[:, ::1] out, int n_threads, /):
    """Fill in the log density of each row and, unless `out` has no rows, its responsibilities.

    Rows as in `expect`; `out` (n, n_components), `batch` (len(spans), BATCH strides).
    """
    cdef sparse_rows rows = as_rows(n_components, length, indptr, columns, values, None,
                                    start, table, start_impossible, impossible)
    cdef double* responsibilities = &out[0, 0] if out.shape[0] else NULL
    cdef Py_ssize_t c
    for c in prange(spans.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        loops.expect(&rows, spans[c, 0], spans[c, 1], &batch[c, 0], NULL, NULL,
                     &log_density[0], responsibilities)


def fill_table(const double[:, :] p, bint logarithms, double[:, ::1] table, double[::1] rises,
               int n_threads, /):
    """table = p, or log p, with zeros beyond its columns.

    rises[c] = the largest of what row c was before, subtracted from what it is now.
    """
    cdef Py_ssize_t block, n = p.shape[0], k = p.shape[1], stride = p.strides[0] // sizeof(double)
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.fill_rows(block * COLUMNS, min(n, (block + 1) * COLUMNS), k, table.shape[1],
                        &p[0, 0], stride, &p[n - 1, k - 1] + 1, logarithms, &table[0, 0],
                        &rises[0])


def smooth(const double[:, :] counts, double alpha, const double[:, ::1] totals,
           double[:, ::1] table, int n_threads, /):
    """table = min((counts + alpha) / totals, 1).

    `totals`, which has a row for each column or one for all, and `table` are padded to whole
    vectors, `totals` with ones. Rows of `counts` are contiguous.
    """
    cdef Py_ssize_t block, n = counts.shape[0], k = counts.shape[1], stride = table.shape[1]
    cdef Py_ssize_t counts_stride = counts.strides[0] // sizeof(double)
    cdef Py_ssize_t totals_stride = 0 if totals.shape[0] == 1 else stride
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.smooth_rows(block * COLUMNS, min(n, (block + 1) * COLUMNS), k, stride,
                          &counts[0, 0], counts_stride, &counts[n - 1, k - 1] + 1, alpha,
                          &totals[0, 0], totals_stride, &table[0, 0])


def advance(double[:, :, :, ::1] sums, double alpha, const double[::1] rates, double[:, ::1] p,
            double[:, ::1] table, double[::1] rises, int n_threads, /):
    """p = min((sums over all tables + alpha) rates, 1), `fill_table` with its logarithms, and the
    sums of each pass, sums[:, 0], = 0: once through memory. All but `rises` are padded to whole
    vectors.
    """
    cdef Py_ssize_t block, n = p.shape[0], stride = p.shape[1], kinds = sums.shape[1]
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.advance_rows(block * COLUMNS, min(n, (block + 1) * COLUMNS), stride,
                           sums.shape[0] * kinds, kinds, n * stride, alpha, &rates[0],
                           &sums[0, 0, 0, 0], &p[0, 0], &table[0, 0], &rises[0])


def add_chunks(double[:, :, :, ::1] sums, int n_threads, /):
    """sums[0, 0] = sum of sums[c, t], in their order."""
    cdef Py_ssize_t block, c, i, columns = sums.shape[2], first, last
    cdef Py_ssize_t size = columns * sums.shape[3]
    cdef double* to = &sums[0, 0, 0, 0]
    for block in prange((columns + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        first = block * COLUMNS * sums.shape[3]
        last = min(columns, (block + 1) * COLUMNS) * sums.shape[3]
        for c in range(1, sums.shape[0] * sums.shape[1]):
            for i in range(first, last):
                to[i] += to[c * size + i]
