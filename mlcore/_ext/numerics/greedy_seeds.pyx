"""Hot loops of mlcore.numerics.seeds.greedy_seeds: by squared distances, or a matrix of costs.

Arrays are in C order and of the right shapes. `weights` is empty for ones. `uniform` are numbers in
[0, 1): one for the first seed, `n_candidates` for each other. Fewer seeds than asked for are found
if fewer samples are distinct.
"""
from cython cimport floating
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.shared.panel_h cimport PANEL_DOUBLE, PANEL_FLOAT
from mlcore._ext.numerics.greedy_seeds_h cimport SEED_DEPTH, seed as lower_to_candidates


def scratch_values(Py_ssize_t d, Py_ssize_t n_candidates, Py_ssize_t bytes, /):
    """Return the values, of so many bytes, of the scratch for candidates of `d` features."""
    return (PANEL_FLOAT if bytes == 4 else PANEL_DOUBLE) * (min(d, SEED_DEPTH) + n_candidates)


def seeds_of_points(const floating[:, ::1] X, const double[::1] weights, const int32_t[::1] order,
                    const double[::1] uniform, Py_ssize_t n_candidates, floating[::1] nearest,
                    double[::1] sums, floating[:, ::1] points, floating[::1] scratch,
                    Py_ssize_t begin, int64_t[::1] seeds, /):
    """Fill seeds[begin:] with rows of X by squared distances; return how many seeds there are.

    `nearest` (n,) is kept from call to call. Scratch: `sums` (n,), `points` (n_candidates, d), and
    `scratch`, scratch_values.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], c = begin, t, count, best, used = 0
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef int64_t[MOST_CANDIDATES] candidates
    cdef double[MOST_CANDIDATES] objectives
    with nogil:
        if begin == 0:
            nearest[:] = INFINITY
        while c < seeds.shape[0]:
            count, best = n_candidates if c > 0 else 1, 0
            if not draw(order, w, &nearest[0] if c > 0 else NULL, &uniform[used], count, sums,
                        candidates):
                break
            used += count
            for t in range(count):
                memcpy(&points[t, 0], &X[candidates[t], 0], d * sizeof(floating))
                objectives[t] = 0
            if count > 1:
                lower_to_candidates(d, n, count, &X[0, 0], &points[0, 0], w, &nearest[0],
                                    &scratch[0], objectives)
                best = first_least(objectives, count)
            lower_to_candidates(d, n, 1, &X[0, 0], &points[best, 0], w, &nearest[0], &scratch[0],
                                <double*> NULL)
            seeds[c] = candidates[best]
            c += 1
    return c


def seeds_of_matrix(const floating[:, ::1] matrix, bint squared, const double[::1] weights,
                    const int32_t[::1] order, const double[::1] uniform, Py_ssize_t n_candidates,
                    floating[:, ::1] costs, double[::1] sums, int64_t[::1] seeds, /):
    """Fill `seeds`, and return how many there are.

    Row j of the matrix holds the costs at sample j, or their roots if `squared`. Scratch:
    `costs` (1 + n_candidates, n) and `sums` (n,).
    """
    cdef Py_ssize_t n = order.shape[0], c = 0, t, i, count, used = 0
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef int64_t[MOST_CANDIDATES] candidates
    cdef const floating* row
    with nogil:
        costs[0, :] = INFINITY
        while c < seeds.shape[0]:
            count = n_candidates if c > 0 else 1
            if not draw(order, w, &costs[0, 0] if c > 0 else NULL, &uniform[used], count, sums,
                        candidates):
                break
            used += count
            for t in range(count):
                row = &matrix[candidates[t], 0]
                for i in range(n):
                    costs[1 + t, i] = row[i] * row[i] if squared else row[i]
            seeds[c] = candidates[keep_best(&costs[0, 0], n, count, w)]
            c += 1
    return c
