"""Sparse rows times vectors of several classes, both ways, for each type of values and indices."""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.linear_model.class_rows_h cimport (
    add_d_int32, add_d_int64, add_f_int32, add_f_int64, add_squares_d_int32, add_squares_d_int64,
    add_squares_f_int32, add_squares_f_int64, scores_d_int32, scores_d_int64, scores_f_int32,
    scores_f_int64,
)

ctypedef fused index:
    int32_t
    int64_t


cdef inline void add_scores(Py_ssize_t count, const floating* x, const index* columns,
                            Py_ssize_t c, const double* V, double* z) noexcept nogil:
    """z (c,) += the sum of x V[column] over a row's values."""
    if floating is float:
        if index is int32_t:
            scores_f_int32(count, x, columns, c, V, z)
        else:
            scores_f_int64(count, x, columns, c, V, z)
    elif index is int32_t:
        scores_d_int32(count, x, columns, c, V, z)
    else:
        scores_d_int64(count, x, columns, c, V, z)


cdef inline void add_row(Py_ssize_t count, const floating* x, const index* columns,
                         Py_ssize_t c, const double* z, double* out) noexcept nogil:
    """out[column] += x z for each value of a row."""
    if floating is float:
        if index is int32_t:
            add_f_int32(count, x, columns, c, z, out)
        else:
            add_f_int64(count, x, columns, c, z, out)
    elif index is int32_t:
        add_d_int32(count, x, columns, c, z, out)
    else:
        add_d_int64(count, x, columns, c, z, out)


cdef inline void add_squares(Py_ssize_t count, const floating* x, const index* columns,
                             Py_ssize_t c, const double* z, double* out) noexcept nogil:
    """out[column] += x^2 z for each value of a row."""
    if floating is float:
        if index is int32_t:
            add_squares_f_int32(count, x, columns, c, z, out)
        else:
            add_squares_f_int64(count, x, columns, c, z, out)
    elif index is int32_t:
        add_squares_d_int32(count, x, columns, c, z, out)
    else:
        add_squares_d_int64(count, x, columns, c, z, out)
