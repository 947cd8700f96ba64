"""Hot loops of mlcore.linear_model.coordinate.row_problem: sums over columns of sparse rows (CSR),
and copies of some, each in one reading.
"""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.shared.index cimport index


def moments(const index[::1] row_starts, const index[::1] features, const floating[::1] entries,
            const double[::1] weight, const double[:, ::1] targets, double[:, ::1] sums, /):
    """Add, of the entries of each column, to sums (d, 3 + k): ones, weights times entries and their
    squares, and entries times `targets` (n, k).
    """
    cdef Py_ssize_t i, k, t, n_targets = targets.shape[1]
    cdef double value
    cdef double* out
    with nogil:
        for i in range(weight.shape[0]):
            for k in range(row_starts[i], row_starts[i + 1]):
                value, out = <double> entries[k], &sums[features[k], 0]
                out[0] += 1
                out[1] += weight[i] * value
                out[2] += weight[i] * value * value
                for t in range(n_targets):
                    out[3 + t] += value * targets[i, t]


def correlations(const index[::1] row_starts, const index[::1] features,
                 const floating[::1] entries, const double[::1] x, double[::1] h, /):
    """h (d,) := X'x for the rows X (CSR)."""
    cdef Py_ssize_t i, k
    with nogil:
        h[:] = 0
        for i in range(x.shape[0]):
            for k in range(row_starts[i], row_starts[i + 1]):
                h[features[k]] += x[i] * <double> entries[k]


def chosen_columns(const index[::1] row_starts, const index[::1] features,
                   const floating[::1] entries, const double[::1] root, const int32_t[::1] place,
                   int64_t[::1] starts, int32_t[::1] rows, double[::1] values, /):
    """Set the columns (CSC) of the rows times `root` (n,), of those features that have a `place`
    (d,), not -1; each of the `starts` (m,) comes to that of the next column.
    """
    cdef Py_ssize_t i, k
    cdef int32_t j
    with nogil:
        for i in range(root.shape[0]):
            for k in range(row_starts[i], row_starts[i + 1]):
                j = place[features[k]]
                if j >= 0:
                    rows[starts[j]] = <int32_t> i
                    values[starts[j]] = <double> entries[k] * root[i]
                    starts[j] += 1
