"""Hot loops of mlcore.cluster.sparse_partition: rows in CSR format and centres near them.

Centres are the columns of a dense matrix whose rows, padded with zeros to a multiple of PAD, are
one feature each: an entry x of a row adds x times such a row to the products with all centres,
which stay in registers (simd/sparse_products.c). All sums are in double precision. Every element
has one writer, so the thread count never changes a bit.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

cdef extern from "simd/sparse_products.h" nogil:
    enum:
        SPARSE_PAD
    ctypedef struct sparse_products:
        void (*f_int32)(Py_ssize_t, const float*, const int32_t*, const double*, Py_ssize_t,
                        double*) noexcept nogil
        void (*f_int64)(Py_ssize_t, const float*, const int64_t*, const double*, Py_ssize_t,
                        double*) noexcept nogil
        void (*d_int32)(Py_ssize_t, const double*, const int32_t*, const double*, Py_ssize_t,
                        double*) noexcept nogil
        void (*d_int64)(Py_ssize_t, const double*, const int64_t*, const double*, Py_ssize_t,
                        double*) noexcept nogil
    const sparse_products* sparse_table()

cdef enum:
    BATCH = 64  # rows that a thread takes at a time

PAD = SPARSE_PAD

ctypedef fused place:
    int32_t
    int64_t


cdef inline void products(const sparse_products* table, int64_t count, const floating* data,
                          const place* indices, const double* columns, Py_ssize_t stride,
                          double* out) noexcept nogil:
    """out[j] = x.c_j of all centres."""
    if floating is float:
        if place is int32_t:
            table.f_int32(count, data, indices, columns, stride, out)
        else:
            table.f_int64(count, data, indices, columns, stride, out)
    else:
        if place is int32_t:
            table.d_int32(count, data, indices, columns, stride, out)
        else:
            table.d_int64(count, data, indices, columns, stride, out)


cdef inline void search(const sparse_products* table, const int64_t* indptr, const place* indices,
                        const floating* data, Py_ssize_t i, const double* columns,
                        const double* half_norms, Py_ssize_t stride, const double* norms,
                        const double* passed, double slack, double* values, int32_t* labels,
                        double* gaps) noexcept nogil:
    """Label of one row, and by how much its centre is nearer than any other at least."""
    cdef double best, second, lower, upper, value
    cdef Py_ssize_t j
    cdef int32_t label = 0
    products(table, indptr[i + 1] - indptr[i], data + indptr[i], indices + indptr[i], columns,
             stride, values)
    best = second = half_norms[0] - values[0]
    for j in range(1, stride):
        value = half_norms[j] - values[j]
        if value < best:
            second = best
            best = value
            label = <int32_t> j
        elif value < second or j == 1:
            second = value
    labels[i] = label
    if gaps != NULL:
        upper = sqrt(max(0.0, norms[i] + 2 * best + slack))
        lower = sqrt(max(0.0, norms[i] + 2 * second - slack))
        gaps[i] = max(0.0, lower - upper) * (1 - 1e-12) + passed[label]


def assign(const int64_t[::1] indptr, const place[::1] indices, const floating[::1] data,
           Py_ssize_t first, Py_ssize_t last, const double[:, ::1] columns,
           const double[::1] half_norms, const double[::1] norms, const double[::1] passed,
           double slack, bint filtered, int32_t[::1] labels, double[::1] gaps,
           double[:, ::1] scratch, int n_threads):
    """Labels of rows first..last: the nearest centre, of equally near ones the first.

    Padded centres have infinite `half_norms`. `gaps`, which may be empty, hold by how much the
    own centre was nearer than any other, plus what centres may have come nearer by then, of which
    `passed` is the sum by label; where `filtered`, a row with a gap left is not searched. `slack`
    is more than roundings change in a squared distance. `scratch` is (n_threads, padded centres).
    """
    cdef Py_ssize_t batch, i, stride = columns.shape[1]
    cdef double margin = sqrt(slack)
    cdef double* kept = &gaps[0] if gaps.shape[0] > 0 else NULL
    cdef const double* own = &norms[0] if gaps.shape[0] > 0 else NULL
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const place* at = &indices[0] if indices.shape[0] > 0 else NULL
    cdef const sparse_products* table = sparse_table()
    for batch in prange((last - first + BATCH - 1) // BATCH, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        for i in range(first + batch * BATCH, min(last, first + (batch + 1) * BATCH)):
            if filtered and kept[i] > passed[labels[i]] + margin:
                continue
            search(table, &indptr[0], at, values, i, &columns[0, 0], &half_norms[0], stride, own,
                   &passed[0], slack, &scratch[threadid(), 0], &labels[0], kept)


def squares(const int64_t[::1] indptr, const place[::1] indices, const floating[::1] data,
            Py_ssize_t first, Py_ssize_t last, const double[:, ::1] columns,
            const double[::1] center_norms, const double[::1] norms, double rounding,
            double[:, ::1] out, int n_threads):
    """out[i - first, j] = |x_i - c_j|², 0 where it is less than `rounding` of both norms."""
    cdef Py_ssize_t batch, i, j, stride = columns.shape[1]
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const place* at = &indices[0] if indices.shape[0] > 0 else NULL
    cdef const sparse_products* table = sparse_table()
    cdef double both, square
    for batch in prange((last - first + BATCH - 1) // BATCH, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        for i in range(first + batch * BATCH, min(last, first + (batch + 1) * BATCH)):
            products(table, indptr[i + 1] - indptr[i], values + indptr[i], at + indptr[i],
                     &columns[0, 0], stride, &out[i - first, 0])
            for j in range(stride):
                both = norms[i] + center_norms[j]
                square = both - 2 * out[i - first, j]
                out[i - first, j] = square if square > rounding * both else 0


def own_squares(const int64_t[::1] indptr, const place[::1] indices, const floating[::1] data,
                Py_ssize_t first, Py_ssize_t last, const floating[:, ::1] centers,
                const double[::1] center_norms, const int32_t[::1] labels, double[::1] out):
    """out[i - first] = |x_i - c|² with the centre of its label; from differences where x is given.
    """
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


def add_rows(const int64_t[::1] indptr, const place[::1] indices, const floating[::1] data,
             Py_ssize_t first, Py_ssize_t last, const double[::1] weights,
             const int32_t[::1] before, const int32_t[::1] now, double[:, ::1] sums):
    """Add rows to the sums of their labels now, and take them from those before, -1 for none.

    `weights` is empty for ones.
    """
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double weight
    cdef double* sum
    with nogil:
        for i in range(first, last):
            if before[i] == now[i]:
                continue
            weight = weights[i] if weights.shape[0] > 0 else 1
            sum = &sums[now[i], 0]
            for t in range(indptr[i], indptr[i + 1]):
                sum[indices[t]] += weight * data[t]
            if before[i] >= 0:
                sum = &sums[before[i], 0]
                for t in range(indptr[i], indptr[i + 1]):
                    sum[indices[t]] -= weight * data[t]


def row_norms(const int64_t[::1] indptr, const floating[::1] data, double[::1] out):
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
