"""Hot loops of mlcore.mixture.discrete.sparse_rows: entries of dense rows, in O(n d) time."""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t

from mlcore._ext.mixture.sparse_rows_h cimport BIT_GROUP, bits

GROUP = BIT_GROUP


def count_entries(const floating[:, ::1] X, int64_t[::1] indptr, int n_threads, /):
    """indptr[i + 1] = the number of values of row i that are not 0."""
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        indptr[i + 1] = count_of_row(X.shape[1], &X[i, 0])


cdef int64_t count_of_row(Py_ssize_t d, const floating* x) noexcept nogil:
    cdef Py_ssize_t c
    cdef int64_t count = 0
    for c in range(d):
        count += x[c] != 0
    return count


def fill_entries(const floating[:, ::1] X, const floating[::1] most, const int64_t[::1] indptr,
                 int32_t[::1] columns, double[::1] values, uint8_t[::1] wrong, int n_threads, /):
    """Fill in the entries of each row: values that are not 0, then NaN as 1 in column d + c.

    wrong[i] = 1 if row i has a value outside [0, most[c]].
    """
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        wrong[i] = entries_of_row(X.shape[1], &X[i, 0], &most[0], &columns[0], &values[0],
                                  indptr[i])


cdef bint entries_of_row(Py_ssize_t d, const floating* x, const floating* most, int32_t* columns,
                         double* values, Py_ssize_t p) noexcept nogil:
    cdef Py_ssize_t c
    cdef bint wrong = False, missing = False
    for c in range(d):
        if x[c] != x[c]:
            missing = True
        elif x[c] != 0:
            wrong = wrong or not 0 <= x[c] <= most[c]
            columns[p], values[p] = <int32_t> c, x[c]
            p += 1
    if missing:
        for c in range(d):
            if x[c] != x[c]:
                columns[p], values[p] = <int32_t> (d + c), 1
                p += 1
    return wrong


def deviating_bits(const floating[:, ::1] X, const uint8_t[::1] modes, floating threshold,
                   bint strict, uint8_t[:, ::1] codes, int64_t[::1] indptr, int64_t[::1] missing,
                   uint8_t[::1] wrong, int n_threads, /):
    """Fill codes[i, g] with a bit for each value of group g of row i, GROUP neighbours: 1 where it
    differs from its mode in modes[g]. A value above `threshold` is 1, any other 0.

    missing[i] = the number of NaN; indptr[i + 1] = the number of codes that are not 0, plus
    missing[i]; wrong[i] = 1 if, with `strict`, row i has a value other than 0, 1 and NaN.
    """
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        indptr[i + 1] = bits_of_row(X.shape[1], &X[i, 0], &modes[0], threshold,
                                    &codes[i, 0], &missing[i], strict, &wrong[i])


cdef int64_t bits_of_row(Py_ssize_t d, const floating* x, const uint8_t* modes, floating threshold,
                         uint8_t* codes, int64_t* missing, bint strict,
                         uint8_t* wrong) noexcept nogil:
    cdef int others = 0
    cdef int64_t count
    count = bits(d, x, modes, threshold, codes, missing, &others)
    wrong[0] = strict and others != 0
    return count + missing[0]


def fill_bits(const floating[:, ::1] X, const uint8_t[:, ::1] codes,
              const int64_t[::1] missing, const int64_t[::1] indptr, int32_t[::1] columns,
              int n_threads, /):
    """Fill in the columns of each row: of codes that are not 0, group * 2^GROUP + code; then of
    NaN, one for each feature, n_groups * 2^GROUP + feature.
    """
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads):
        entries_of_bits(X.shape[1], &X[i, 0], codes.shape[1], &codes[i, 0], missing[i],
                        &columns[0], indptr[i])


cdef void entries_of_bits(Py_ssize_t d, const floating* x, Py_ssize_t n_groups,
                          const uint8_t* codes, int64_t missing, int32_t* columns,
                          Py_ssize_t p) noexcept nogil:
    cdef Py_ssize_t g, c
    for g in range(n_groups):
        if codes[g]:
            columns[p] = <int32_t> ((g << BIT_GROUP) + codes[g])
            p += 1
    if missing:
        for c in range(d):
            if x[c] != x[c]:
                columns[p] = <int32_t> ((n_groups << BIT_GROUP) + c)
                p += 1
