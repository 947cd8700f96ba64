"""Hot loops of mlcore.cluster.k_means.sparse_assignment: nearest centres of CSR rows.

Centres are the columns of a dense matrix (d, padded(k)), padded with zeros: an entry x of a sample
adds x times one row of it to the products with all centres, which stay in registers
(sparse_assignment.c). The search reads a copy in single precision, half as long, and repeats in
double precision what the error bound leaves undecided. Sums of samples are columns as well, in
double precision. Every element has one writer, so the thread count never changes a bit.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.shared.index cimport index
from mlcore._ext.cluster.k_means.sparse_assignment_h cimport (
    SPARSE_BATCH, SPARSE_GROUP, SPARSE_LINE, d_int32, d_int64, f_int32, f_int64, sparse_row_loops,
    sparse_search,
)
from mlcore._ext.cluster.k_means.sparse_assignment_h cimport means as mean_columns

cdef enum:
    STRIP = 64  # features that are transposed together

GROUP = SPARSE_GROUP
LINE = SPARSE_LINE


def padded(Py_ssize_t n_columns, /):
    """Return a number of columns whose rows fill cache lines, or half of one."""
    if n_columns <= SPARSE_GROUP:
        return SPARSE_GROUP
    return (n_columns + SPARSE_LINE - 1) // SPARSE_LINE * SPARSE_LINE


cdef inline const sparse_row_loops* loops(const floating* data,
                                          const index* indices) noexcept nogil:
    """Return the loops for these types."""
    if floating is float:
        if index is int32_t:
            return &f_int32
        else:
            return &f_int64
    else:
        if index is int32_t:
            return &d_int32
        else:
            return &d_int64


cdef inline void search(const sparse_search* s, Py_ssize_t i, const double* values,
                        const double* half_norms) noexcept nogil:
    """Set the label of row i from its products with the centres, and its gap."""
    cdef double best = half_norms[0] - values[0], second = half_norms[1] - values[1]
    cdef double lower, upper, value
    cdef Py_ssize_t j
    cdef int32_t label = 0
    if second < best:
        best, second, label = second, best, 1
    for j in range(2, s.stride):
        value = half_norms[j] - values[j]
        if value < best:
            second = best
            best = value
            label = <int32_t> j
        elif value < second:
            second = value
    s.labels[i] = label
    if s.gaps != NULL:
        upper = sqrt(max(0.0, s.norms[i] + 2 * best + s.slack))
        lower = sqrt(max(0.0, s.norms[i] + 2 * second - s.slack))
        s.gaps[i] = max(0.0, lower - upper) * (1 - 1e-12) + s.passed[label]


cdef int64_t search_rows(const sparse_search* s, const sparse_row_loops* loop, Py_ssize_t first,
                         Py_ssize_t last, const floating* data, const index* indices,
                         const double* columns, const double* half_norms, double* products,
                         float* scratch) noexcept nogil:
    """Search a batch of rows; return how many labels changed."""
    cdef int32_t[SPARSE_BATCH] before
    cdef int32_t[SPARSE_BATCH] unsure
    cdef int64_t begin, changed = 0
    cdef Py_ssize_t i, t
    memcpy(before, &s.labels[first], (last - first) * sizeof(int32_t))
    for t in range(loop.nearest(s, first, last, scratch, unsure)):
        i = first + unsure[t]
        begin = s.indptr[i]
        loop.products(s.indptr[i + 1] - begin, data + begin, indices + begin, columns, s.stride,
                      products)
        search(s, i, products, half_norms)
    for i in range(first, last):
        changed += before[i - first] != s.labels[i]
    return changed


def assign(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
           Py_ssize_t first, Py_ssize_t last, const double[:, ::1] columns,
           const float[:, ::1] singles, const double[::1] half_norms, const float[::1] halves,
           const double[::1] norms, const double[::1] movement, double longest, double slack,
           bint filtered, int32_t[::1] labels, double[::1] gaps, double[:, ::1] products,
           float[:, ::1] scratch, int n_threads, /):
    """Label rows first..last by their nearest centres, the first of equals; return how many change.

    `half_norms`, and `halves` in single precision, are infinite for padding; `longest` is the
    largest norm of a centre. `gaps` may be empty. A gap is a lower bound on how much nearer the own
    centre is than any other, stored plus `movement`: by label, the total movements of the own
    centre and of any other at most. Where `filtered`, a row with a positive gap is not searched.
    `slack` exceeds the rounding of a squared distance in double precision. Scratch: `products`
    (n_threads, padded centres), and `scratch` (n_threads, the same in whole cache lines).
    """
    cdef Py_ssize_t batch, start
    cdef int64_t changed = 0
    cdef sparse_search s
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const index* at = &indices[0] if indices.shape[0] > 0 else NULL
    cdef const sparse_row_loops* loop = loops(values, at)
    s.indptr, s.indices, s.data = &indptr[0], at, values
    s.columns, s.halves, s.stride = &singles[0, 0], &halves[0], columns.shape[1]
    s.longest, s.slack, s.norms, s.passed = longest, slack, &norms[0], &movement[0]
    s.filtered, s.labels = filtered, &labels[0]
    s.gaps = &gaps[0] if gaps.shape[0] > 0 else NULL
    for batch in prange((last - first + SPARSE_BATCH - 1) // SPARSE_BATCH, nogil=True,
                        num_threads=n_threads, schedule="dynamic"):
        start = first + batch * SPARSE_BATCH
        changed += search_rows(&s, loop, start, min(last, start + SPARSE_BATCH), values, at,
                               &columns[0, 0], &half_norms[0], &products[threadid(), 0],
                               &scratch[threadid(), 0])
    return changed


def set_columns(const floating[:, ::1] centers, double[:, ::1] columns, float[:, ::1] singles,
                double[::1] norms, /):
    """Set columns in double and single precision to `centers`, and add to `norms` their squares."""
    cdef Py_ssize_t strip, start, f, j, d = centers.shape[1]
    with nogil:
        for strip in range((d + STRIP - 1) // STRIP):
            start = strip * STRIP
            for j in range(centers.shape[0]):
                for f in range(start, min(d, start + STRIP)):
                    columns[f, j] = centers[j, f]
                    singles[f, j] = <float> centers[j, f]
                    norms[j] += columns[f, j] * columns[f, j]


def move(const double[:, ::1] sums, const double[::1] mass, bint single, double[:, ::1] columns,
         float[:, ::1] singles, double[::1] norms, double[::1] movement, double[:, :, ::1] scratch,
         int n_threads, /):
    """Set columns to the means of the samples by label; those without any stay.

    Update their squared norms, and add to `movement` how far each centre moved and how far any
    other at most. Return the sum of the squared movements, and the objective before minus the
    squared norms of the samples. `scratch` is (groups, 3, SPARSE_GROUP).
    """
    cdef Py_ssize_t g, j, d = sums.shape[0], stride = sums.shape[1], farthest = 0
    cdef double value = 0, shift = 0, most = 0, second = 0, length
    for g in prange(scratch.shape[0], nogil=True, num_threads=n_threads):
        j = g * SPARSE_GROUP
        mean_columns(d, stride, &sums[0, j], &mass[j], single, &columns[0, j], &singles[0, j],
                     &scratch[g, 0, 0])
    for j in range(scratch.shape[0] * SPARSE_GROUP):
        g = j // SPARSE_GROUP
        if mass[j] > 0:
            value += mass[j] * norms[j] - 2 * scratch[g, 2, j % SPARSE_GROUP]
        norms[j] = scratch[g, 0, j % SPARSE_GROUP]
        shift += scratch[g, 1, j % SPARSE_GROUP]
        length = sqrt(scratch[g, 1, j % SPARSE_GROUP]) * (1 + 1e-6)
        scratch[g, 1, j % SPARSE_GROUP] = length
        if length > most:
            most, second, farthest = length, most, j
        elif length > second:
            second = length
    for j in range(scratch.shape[0] * SPARSE_GROUP):
        movement[j] += (scratch[j // SPARSE_GROUP, 1, j % SPARSE_GROUP]
                        + (second if j == farthest else most))
    return shift, value


def fill_columns(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
                 const int64_t[::1] rows, bint present, double[:, ::1] columns, /):
    """Set the first columns, which are zeros, to these rows; or to zeros if not `present`."""
    cdef Py_ssize_t j
    cdef int64_t t
    for j in range(rows.shape[0]):
        for t in range(indptr[rows[j]], indptr[rows[j] + 1]):
            columns[indices[t], j] = columns[indices[t], j] + data[t] if present else 0


def compare(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
            Py_ssize_t first, Py_ssize_t last, const double[:, ::1] columns,
            const int64_t[::1] rows, const double[::1] norms, double rounding,
            double[:, ::1] costs, double[:, ::1] products, int n_threads, /):
    """costs[1 + j, i] = |x_i - x|² for the `rows` x that columns j hold, or costs[0, i] if less.

    A square is 0 if at most `rounding` times the sum of both norms. `products` is scratch,
    (n_threads, padded columns).
    """
    cdef Py_ssize_t batch, i, j, stride = columns.shape[1]
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const index* at = &indices[0] if indices.shape[0] > 0 else NULL
    cdef const sparse_row_loops* loop = loops(values, at)
    cdef double both, square
    cdef double* product
    for batch in prange((last - first + SPARSE_BATCH - 1) // SPARSE_BATCH, nogil=True,
                        num_threads=n_threads, schedule="dynamic"):
        product = &products[threadid(), 0]
        for i in range(first + batch * SPARSE_BATCH,
                       min(last, first + (batch + 1) * SPARSE_BATCH)):
            loop.products(indptr[i + 1] - indptr[i], values + indptr[i], at + indptr[i],
                          &columns[0, 0], stride, product)
            for j in range(rows.shape[0]):
                both = norms[i] + norms[rows[j]]
                square = both - 2 * product[j]
                costs[1 + j, i] = min(costs[0, i], square if square > rounding * both else 0)


def own_squares(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
                Py_ssize_t first, Py_ssize_t last, const floating[:, ::1] centers,
                const double[::1] center_norms, const int32_t[::1] labels, double[::1] out, /):
    """out[i - first] = |x_i - c|², c the centre of its label; from differences at non-zeros."""
    cdef Py_ssize_t i
    cdef int64_t t
    cdef const floating* center
    cdef double total, rest, c
    with nogil:
        for i in range(first, last):
            center = &centers[labels[i], 0]
            rest = center_norms[labels[i]]
            total = 0
            for t in range(indptr[i], indptr[i + 1]):
                c = center[indices[t]]
                total += (data[t] - c) * (data[t] - c)
                rest -= c * c
            out[i - first] = total + (rest if rest > 1e-14 * center_norms[labels[i]] else 0)


def add_rows(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
             Py_ssize_t first, Py_ssize_t last, const double[::1] weights,
             const int32_t[::1] before, const int32_t[::1] now, double[:, ::1] sums, /):
    """Add rows to the sums of their labels `now`, and subtract them from those `before`.

    -1 is no label. Sums are columns; `weights` is empty for ones.
    """
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double weight
    with nogil:
        for i in range(first, last):
            if before[i] == now[i]:
                continue
            weight = weights[i] if weights.shape[0] > 0 else 1
            for t in range(indptr[i], indptr[i + 1]):
                sums[indices[t], now[i]] += weight * data[t]
            if before[i] >= 0:
                for t in range(indptr[i], indptr[i + 1]):
                    sums[indices[t], before[i]] -= weight * data[t]


def row_norms(const int64_t[::1] indptr, const floating[::1] data, double[::1] out, /):
    """out[i] = |x_i|²."""
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double total
    with nogil:
        for i in range(out.shape[0]):
            total = 0
            for t in range(indptr[i], indptr[i + 1]):
                total += <double> data[t] * data[t]
            out[i] = total
