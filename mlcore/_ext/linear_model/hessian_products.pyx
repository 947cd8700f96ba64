"""Hot loops of mlcore.linear_model.logistic.steps.hessian_products: products of sparse rows.

A row is read once for its scores and what they add to the sums. Groups of rows have sums of their
own, added by the caller in their order, so that the number of threads never changes a bit. Shapes,
for n rows of d columns and c scores: weight (n, c) for `squares`, else (n,); p (n, c) or empty for
one score; V (d + 1, c), of which the last row is for the intercepts; out (groups, d + 1, c).
"""
from cython cimport floating
from cython.parallel cimport prange

from mlcore._ext.linear_model.class_rows cimport (
    add_one, add_row, add_scores, add_squares, index, row_score,
)

cdef void one_score(const floating* data, const index* columns, const index* ends,
                    Py_ssize_t first, Py_ssize_t last, const double* weight, const double* V,
                    Py_ssize_t d, double* out) noexcept nogil:
    cdef Py_ssize_t i, start, count
    cdef double z
    for i in range(first, last):
        start, count = ends[i], ends[i + 1] - ends[i]
        z = weight[i] * (V[d] + row_score(count, data + start, columns + start, V))
        add_one(count, data + start, columns + start, z, out)
        out[d] += z


cdef void several_scores(const floating* data, const index* columns, const index* ends,
                         Py_ssize_t first, Py_ssize_t last, const double* weight,
                         const double* p, const double* V, Py_ssize_t d, Py_ssize_t c,
                         double* z, double* out) noexcept nogil:
    cdef Py_ssize_t i, k, start, count
    cdef double mean
    for i in range(first, last):
        start, count = ends[i], ends[i + 1] - ends[i]
        for k in range(c):
            z[k] = V[d * c + k]
        add_scores(count, data + start, columns + start, c, V, z)
        mean = 0
        for k in range(c):
            mean += p[i * c + k] * z[k]
        for k in range(c):
            z[k] = weight[i] * p[i * c + k] * (z[k] - mean)
        add_row(count, data + start, columns + start, c, z, out)
        for k in range(c):
            out[d * c + k] += z[k]


def products(const floating[::1] data, const index[::1] columns, const index[::1] ends,
             Py_ssize_t first, Py_ssize_t last, const double[::1] weight, const double[:, ::1] p,
             const double[:, ::1] V, double[:, ::1] scratch, double[:, :, ::1] out,
             int n_threads, /):
    """Add ``X'A X V`` over rows from `first` to `last`, A the second derivatives in scores."""
    cdef Py_ssize_t groups = out.shape[0], d = V.shape[0] - 1, c = V.shape[1], g, low, high
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const index* of = &columns[0] if columns.shape[0] > 0 else NULL
    for g in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        low = first + g * (last - first) // groups
        high = first + (g + 1) * (last - first) // groups
        if c == 1:
            one_score(values, of, &ends[0], low, high, &weight[0], &V[0, 0], d, &out[g, 0, 0])
        else:
            several_scores(values, of, &ends[0], low, high, &weight[0], &p[0, 0], &V[0, 0], d, c,
                           &scratch[g, 0], &out[g, 0, 0])


cdef void square_sums(const floating* data, const index* columns, const index* ends,
                      Py_ssize_t first, Py_ssize_t last, const double* weight, Py_ssize_t d,
                      Py_ssize_t c, double* out) noexcept nogil:
    cdef Py_ssize_t i, k, start
    for i in range(first, last):
        start = ends[i]
        add_squares(ends[i + 1] - start, data + start, columns + start, c, weight + i * c, out)
        for k in range(c):
            out[d * c + k] += weight[i * c + k]


def squares(const floating[::1] data, const index[::1] columns, const index[::1] ends,
            Py_ssize_t first, Py_ssize_t last, const double[:, ::1] weight,
            double[:, :, ::1] out, int n_threads, /):
    """Add the sums of weighted squares of these rows, the last of weights."""
    cdef Py_ssize_t groups = out.shape[0], d = out.shape[1] - 1, c = out.shape[2], g, low, high
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const index* of = &columns[0] if columns.shape[0] > 0 else NULL
    for g in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        low = first + g * (last - first) // groups
        high = first + (g + 1) * (last - first) // groups
        square_sums(values, of, &ends[0], low, high, &weight[0, 0], d, c, &out[g, 0, 0])
