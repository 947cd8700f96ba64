"""Hot loops of mlcore.svm.linear.linear_rows: squares, sparse copies of rows, column products."""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.svm.linear.linear_rows_h cimport compress as compress_row
from mlcore._ext.svm.linear.linear_rows_h cimport filled, squares_d, squares_f

ctypedef fused index:
    int32_t
    int64_t


def gram(const double[::1] data, const index[::1] columns, const index[::1] ends,
         const Py_ssize_t[::1] rows, const double[::1] weight, Py_ssize_t first, Py_ssize_t last,
         double[:, ::1] M, /):
    """Add ``weight z z'`` of the rows numbered first to last - 1 in `rows` to the lower half of M.

    z is the row of d columns, which are sorted, and a 1; M is (d + 1, d + 1).
    """
    cdef Py_ssize_t k, i, a, b, d = M.shape[0] - 1
    cdef double w, x
    cdef double* row
    with nogil:
        for k in range(first, last):
            i, w = rows[k], weight[k]
            row = &M[d, 0]
            for a in range(ends[i], ends[i + 1]):
                row[columns[a]] += w * data[a]
            row[d] += w
            for a in range(ends[i], ends[i + 1]):
                x = w * data[a]
                row = &M[columns[a], 0]
                for b in range(ends[i], a + 1):
                    row[columns[b]] += x * data[b]


def curved(const double[::1] data, const index[::1] columns, const index[::1] ends,
           const Py_ssize_t[::1] rows, const double[::1] weight, Py_ssize_t first, Py_ssize_t last,
           const double[::1] v, double[::1] out, /):
    """Add ``weight z (z.v)`` of the rows numbered first to last - 1 to `out`, z the row and a 1.

    v and `out` are (d + 1,): a row is read once for its product and for what that adds.
    """
    cdef Py_ssize_t k, i, t, start, end, d = v.shape[0] - 1
    cdef double z, z1, z2, z3
    with nogil:
        for k in range(first, last):
            i = rows[k]
            start, end = ends[i], ends[i + 1]
            z, z1, z2, z3 = v[d], 0, 0, 0
            t = start
            while t + 4 <= end:
                z += data[t] * v[columns[t]]
                z1 += data[t + 1] * v[columns[t + 1]]
                z2 += data[t + 2] * v[columns[t + 2]]
                z3 += data[t + 3] * v[columns[t + 3]]
                t += 4
            while t < end:
                z += data[t] * v[columns[t]]
                t += 1
            z = weight[k] * ((z + z1) + (z2 + z3))
            for t in range(start, end):
                out[columns[t]] += z * data[t]
            out[d] += z


def fill(const double[::1] data, const index[::1] columns, const index[::1] ends,
         const Py_ssize_t[::1] rows, const double[::1] factor, const double[::1] scale,
         const int64_t[::1] place, float[:, ::1] out, /):
    """Set `out` to some rows with their zeros, times a factor of each and a scale of each column.

    A column is written to its place.
    """
    cdef Py_ssize_t k, t, j, i
    cdef float* x
    with nogil:
        for k in range(rows.shape[0]):
            i = rows[k]
            x = &out[k, 0]
            for j in range(out.shape[1]):
                x[j] = 0
            for t in range(ends[i], ends[i + 1]):
                j = place[columns[t]]
                x[j] = <float> (factor[k] * scale[j] * data[t])


def transposed_times(const double[::1] data, const index[::1] columns, const index[::1] ends,
                     Py_ssize_t first, Py_ssize_t last, const double[::1] v, double[::1] out, /):
    """Add rows first to last - 1 times v (n,) to `out` (d,); rows whose v is 0 are not read."""
    cdef Py_ssize_t i, t
    cdef double z
    with nogil:
        for i in range(first, last):
            z = v[i]
            if z != 0:
                for t in range(ends[i], ends[i + 1]):
                    out[columns[t]] += z * data[t]


def squares(const double[::1] data, const index[::1] columns, const index[::1] ends,
            Py_ssize_t first, Py_ssize_t last, double[::1] of_rows, double[::1] of_columns,
            int64_t[::1] counts, /):
    """Set squared norms of rows first to last - 1; add to those and to counts of columns."""
    cdef Py_ssize_t i, t
    cdef double z, square
    with nogil:
        for i in range(first, last):
            z = 0
            for t in range(ends[i], ends[i + 1]):
                square = data[t] * data[t]
                z += square
                of_columns[columns[t]] += square
                counts[columns[t]] += 1
            of_rows[i] = z


def count(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last, int64_t[::1] ends, /):
    """Set ``ends[i + 1]`` to ``ends[i]`` plus the number of values that are not 0 in row i."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            ends[i + 1] = ends[i] + filled(X.shape[1], &X[i, 0])


def compress(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last,
             const int64_t[::1] ends, double[::1] data, int32_t[::1] columns, /):
    """Copy the values that are not 0, and their columns, of rows first to last - 1.

    `data` and `columns` have a place more than there are such values.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            compress_row(X.shape[1], &X[i, 0], &data[ends[i]], &columns[ends[i]])


def dense_squares(const floating[:, ::1] X, Py_ssize_t first, Py_ssize_t last, double[::1] of_rows,
                  double[::1] of_columns, /):
    """Do as `squares` for dense rows."""
    if last <= first or not X.shape[1]:
        return
    with nogil:
        if floating is float:
            squares_f(last - first, X.shape[1], &X[first, 0], &of_rows[first], &of_columns[0])
        else:
            squares_d(last - first, X.shape[1], &X[first, 0], &of_rows[first], &of_columns[0])
