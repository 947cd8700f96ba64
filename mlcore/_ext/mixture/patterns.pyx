"""Hot loops of mlcore.mixture.discrete.patterns: rows of categories as response patterns."""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t


def small_values(const floating[:, ::1] X, uint8_t[:, ::1] present, uint8_t[::1] others,
                 int n_threads, /):
    """Set present[c, x] = 1 for each integer x of column c in 0 ... present.shape[1] - 1, and
    others[c] = 1 if it has another value that is not NaN.
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
             const int64_t[::1] offsets, int32_t[:, ::1] out, uint8_t[::1] wrong, int n_threads, /):
    """out[i, g] = offsets[g] + the sum over its items c of lookup[edges[c] + X[i, c] - lows[c]].

    The items of group g are groups[g] to groups[g + 1]; NaN adds unanswered[c]. wrong[i] = 1 if
    row i has a value without a place in `lookup`, or with a negative number there.
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
