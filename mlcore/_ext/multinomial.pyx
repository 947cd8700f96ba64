"""Hot loops of the discrete mixtures: EM over sparse rows (mlcore.mixture.multinomial and others).

A row is a list of entries, column and value. Given `start` (stride,) and `table` (columns, stride),
both of components side by side, its log densities are start + sum of value table[column]; then come
responsibilities, and sums of them by column. O(entries k) time.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from mlcore._ext.simd cimport MIX_BATCH, simd_loops, simd_table, sparse_rows

BATCH = MIX_BATCH
cdef enum: COLUMNS = 64  # that one thread adds up at a time


cdef sparse_rows described(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
                           const int32_t[::1] columns, const double[::1] values,
                           const double[::1] weights, const double[::1] start,
                           const double[:, ::1] table):
    cdef sparse_rows rows
    rows.n_components, rows.stride, rows.length = n_components, start.shape[0], length
    rows.indptr = NULL if indptr is None else &indptr[0]
    rows.columns = &columns[0] if columns.shape[0] else NULL
    rows.values = NULL if values is None or values.shape[0] == 0 else &values[0]
    rows.weights = NULL if weights is None else &weights[0]
    rows.start, rows.table = &start[0], &table[0, 0]
    rows.near, rows.bounds, rows.rises, rows.start_rise, rows.trials = NULL, NULL, NULL, 0, NULL
    rows.alone = NULL
    return rows


def expect(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
           const int32_t[::1] columns, const double[::1] values, const double[::1] weights,
           const double[::1] start, const double[:, ::1] table, uint64_t[::1] near,
           double[::1] bounds, double start_rise, const double[::1] rises,
           const double[::1] trials, int32_t[::1] alone, const int64_t[:, ::1] spans,
           double[:, ::1] batch, double[:, :, :, ::1] sums,
           double[:, :, ::1] totals, double[::1] log_likelihood, int n_threads):
    """Add the sums of rows spans[c] to those of chunk c.

    `sums` (chunks, columns, stride), `totals` (chunks, 2, stride) of responsibilities, and of these
    times `trials` (n,) or None, `log_likelihood` (chunks,); `batch` (chunks, BATCH strides) is
    scratch. Rows all have `length` entries where `indptr` is
    None; values and weights are 1 where None. `near` and `bounds` (n,) are what rows remember
    from one pass to the next, or None; at first all bits of `near` are set. Since the last pass
    `start` has risen by at most `start_rise`, and row c of `table` by rises[c].
    """
    cdef sparse_rows rows = described(n_components, length, indptr, columns, values, weights,
                                      start, table)
    if near is not None:
        rows.near, rows.bounds, rows.rises = &near[0], &bounds[0], &rises[0]
        rows.start_rise = start_rise
    if trials is not None:
        rows.trials = &trials[0]
    if alone is not None:
        rows.alone, rows.held = &alone[0], sums.shape[2] * sums.shape[3]
    cdef const simd_loops* loops = simd_table()
    cdef Py_ssize_t c
    for c in prange(spans.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        log_likelihood[c] += loops.expect(&rows, spans[c, 0], spans[c, 1], &batch[c, 0],
                                          &sums[c, 0, 0, 0], &totals[c, 0, 0], NULL, NULL)


def posterior(Py_ssize_t n_components, Py_ssize_t length, const int64_t[::1] indptr,
              const int32_t[::1] columns, const double[::1] values, const double[::1] start,
              const double[:, ::1] table, const int64_t[:, ::1] spans, double[:, ::1] batch,
              double[::1] log_density, double[:, ::1] out, int n_threads):
    """Fill in the log density of each row, and in `out`, unless it has no rows, responsibilities.

    Rows as in `expect`; `out` (n, n_components), `batch` (len(spans), BATCH strides).
    """
    cdef sparse_rows rows = described(n_components, length, indptr, columns, values, None,
                                      start, table)
    cdef const simd_loops* loops = simd_table()
    cdef double* responsibilities = &out[0, 0] if out.shape[0] else NULL
    cdef Py_ssize_t c
    for c in prange(spans.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        loops.expect(&rows, spans[c, 0], spans[c, 1], &batch[c, 0], NULL, NULL,
                     &log_density[0], responsibilities)


def fill_table(const double[:, :] p, double least, double[:, ::1] table, double[::1] rises,
               int n_threads):
    """table = p, or log(max(p, least)) where `least` > 0, with zeros beyond its columns.

    rises[c] = the largest of what row c was before, subtracted from what it is now.
    """
    cdef const simd_loops* loops = simd_table()
    cdef Py_ssize_t block, n = p.shape[0], k = p.shape[1], stride = p.strides[0] // sizeof(double)
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.mixture_table(block * COLUMNS, min(n, (block + 1) * COLUMNS), k, table.shape[1],
                            &p[0, 0], stride, &p[n - 1, k - 1] + 1, least, &table[0, 0],
                            &rises[0])


def shares(const double[:, :] counts, double alpha, const double[:, ::1] trials,
           double[:, ::1] table, int n_threads):
    """table = min((counts + alpha) / trials, 1).

    `trials`, which has a row for each column or one for all, and `table` are padded to whole
    vectors, `trials` with ones. Rows of `counts` are contiguous.
    """
    cdef const simd_loops* loops = simd_table()
    cdef Py_ssize_t block, n = counts.shape[0], k = counts.shape[1], stride = table.shape[1]
    cdef Py_ssize_t counts_stride = counts.strides[0] // sizeof(double)
    cdef Py_ssize_t trials_stride = 0 if trials.shape[0] == 1 else stride
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.mixture_shares(block * COLUMNS, min(n, (block + 1) * COLUMNS), k, stride,
                             &counts[0, 0], counts_stride, &counts[n - 1, k - 1] + 1, alpha,
                             &trials[0, 0], trials_stride, &table[0, 0])


def advance(double[:, :, :, ::1] sums, double alpha, const double[::1] rates, double least,
            double[:, ::1] p, double[:, ::1] table, double[::1] rises, int n_threads):
    """p = min((sums over all tables + alpha) rates, 1), `fill_table` with its logarithms, and the
    sums of each pass, sums[:, 0], = 0: once through memory. All but `rises` are padded to whole
    vectors.
    """
    cdef const simd_loops* loops = simd_table()
    cdef Py_ssize_t block, n = p.shape[0], stride = p.shape[1], kinds = sums.shape[1]
    for block in prange((n + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=n_threads):
        loops.mixture_advance(block * COLUMNS, min(n, (block + 1) * COLUMNS), stride,
                              sums.shape[0] * kinds, kinds, n * stride, alpha, &rates[0], least,
                              &sums[0, 0, 0, 0], &p[0, 0], &table[0, 0], &rises[0])


def add_chunks(double[:, :, :, ::1] sums, int n_threads):
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


def deviations(const floating[:, ::1] X, const floating[::1] usual, const floating[::1] most,
               Py_ssize_t group, floating threshold, bint strict, int64_t[::1] indptr,
               int32_t[::1] columns, double[::1] values, int64_t[::1] wrong, bint fill,
               int n_threads):
    """The entries of X that differ from `usual`: first their number in indptr[1:], then, with
    `fill`, themselves.

    With `group` > 1 a value above `threshold` is 1, any other 0, and so many neighbours are one
    entry: its column is the number of the group times 2^group, plus a bit for each deviation. NaN
    has a column of its own behind all these, and value 1. wrong[i] tells whether row i has a value
    outside [0, most[c]], or with `group` > 1 and `strict` one but 0 and 1. `values` may be None.
    """
    cdef Py_ssize_t i
    cdef int32_t* to = &columns[0] if fill else NULL
    cdef double* held = NULL if values is None else &values[0]
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        if group == 1 and fill:
            wrong[i] = row_counts(X.shape[1], &X[i, 0], &most[0], to, held, indptr[i])
        elif fill:
            wrong[i] = row_bits(X.shape[1], &X[i, 0], &usual[0], group, threshold, strict, to,
                                indptr[i])
        elif group == 1:
            indptr[i + 1] = count_counts(X.shape[1], &X[i, 0])
        else:
            indptr[i + 1] = count_bits(X.shape[1], &X[i, 0], &usual[0], group, threshold)


cdef int64_t count_counts(Py_ssize_t d, const floating* x) noexcept nogil:
    cdef Py_ssize_t c
    cdef int64_t count = 0
    for c in range(d):
        count += x[c] != 0
    return count


cdef bint row_counts(Py_ssize_t d, const floating* x, const floating* most, int32_t* columns,
                     double* values, Py_ssize_t p) noexcept nogil:
    cdef Py_ssize_t c
    cdef bint wrong = False, known
    for c in range(d):
        if x[c] != 0:
            known = x[c] == x[c]
            wrong = wrong or (known and not 0 <= x[c] <= most[c])
            columns[p] = <int32_t> (c if known else d + c)
            values[p] = x[c] if known else 1
            p += 1
    return wrong


cdef int64_t count_bits(Py_ssize_t d, const floating* x, const floating* usual, Py_ssize_t group,
                        floating threshold) noexcept nogil:
    cdef Py_ssize_t first = 0, c
    cdef int64_t count = 0
    cdef int differs
    while first < d:
        differs = 0
        for c in range(first, min(d, first + group)):
            differs |= ((x[c] > threshold) != (usual[c] != 0)) & (x[c] == x[c])
            count += x[c] != x[c]
        count += differs
        first += group
    return count


cdef bint row_bits(Py_ssize_t d, const floating* x, const floating* usual, Py_ssize_t group,
                   floating threshold, bint strict, int32_t* columns,
                   Py_ssize_t p) noexcept nogil:
    cdef Py_ssize_t first = 0, c, missing = (d + group - 1) // group << group
    cdef int code
    cdef bint wrong = False
    while first < d:
        code = 0
        for c in range(first, min(d, first + group)):
            if x[c] != x[c]:
                columns[p] = <int32_t> (missing + c)
                p += 1
                continue
            wrong = wrong or (strict and x[c] != 0 and x[c] != 1)
            code |= ((x[c] > threshold) != (usual[c] != 0)) << (c - first)
        if code:
            columns[p] = <int32_t> ((first // group << group) + code)
            p += 1
        first += group
    return wrong


def small_values(const floating[:, ::1] X, uint8_t[:, ::1] present, uint8_t[::1] others,
                 int n_threads):
    """present[c, x] = 1 for each value x of column c that is 0, 1, ...; others[c] = 1 if one is
    not, or is beyond. NaN is passed over.
    """
    cdef Py_ssize_t part
    for part in prange(n_threads, nogil=True, num_threads=n_threads):
        small_values_of(X, present, others, X.shape[1] * part // n_threads,
                        X.shape[1] * (part + 1) // n_threads)


cdef void small_values_of(const floating[:, ::1] X, uint8_t[:, ::1] present, uint8_t[::1] others,
                          Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t i, c, most = present.shape[1]
    cdef int x
    for i in range(X.shape[0]):
        for c in range(first, last):
            x = <int> X[i, c] if 0 <= X[i, c] < most else -1
            if x >= 0 and x == X[i, c]:
                present[c, x] = 1
            elif X[i, c] == X[i, c]:
                others[c] = 1


def patterns(const floating[:, ::1] X, const double[::1] lows, const int64_t[::1] edges,
             const int32_t[::1] lookup, const int32_t[::1] unanswered, const int64_t[::1] groups,
             const int64_t[::1] offsets, int32_t[:, ::1] out, uint8_t[::1] wrong, int n_threads):
    """out[i, g] = offsets[g] + the sum over its items c of lookup[edges[c] + X[i, c] - lows[c]].

    The items of group g are groups[g] to groups[g + 1]; NaN adds unanswered[c]. Where what is
    looked up is negative, or there is no such place, wrong[i] = 1.
    """
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        wrong[i] = row_patterns(out.shape[1], &X[i, 0], &lows[0], &edges[0], &lookup[0],
                                &unanswered[0], &groups[0], &offsets[0], &out[i, 0])


cdef bint row_patterns(Py_ssize_t n_groups, const floating* x, const double* lows,
                       const int64_t* edges, const int32_t* lookup, const int32_t* unanswered,
                       const int64_t* groups, const int64_t* offsets,
                       int32_t* out) noexcept nogil:
    cdef Py_ssize_t g, c
    cdef int64_t code, size
    cdef int32_t step
    cdef double place
    cdef bint wrong = False
    for g in range(n_groups):
        code = offsets[g]
        for c in range(groups[g], groups[g + 1]):
            place, size = x[c] - lows[c], edges[c + 1] - edges[c]
            if place != place:
                code += unanswered[c]
                continue
            step = lookup[edges[c] + <int64_t> place] if 0 <= place < size else -1
            if step < 0 or place != <int64_t> place:
                wrong = True
            else:
                code += step
        out[g] = <int32_t> code
    return wrong
