"""Hot loops of mlcore.linear_model.perceptron: rounds of prediction and correction.

A round computes the scores of a row and, if it is a mistake, adds the row to the weights of its
class and subtracts it from those of the best other class. Two classes have one score, positive
for the second class; a score of 0 is a mistake, as is a tie. O(n_scores d) time per round, O(nnz
n_scores) for sparse rows.

Shapes: codes (n,) classes; order (n_rounds,) rows; offsets (n_scores,); counts (n,), the mistakes
of each row; scores (n_scores,), work. `squared_bias` is the square of the constant feature, 0
only where there is none, and `offsets` are their weights over its value; `lag`
(the shape of the weights) and `offset_lag` are the sums of corrections, each times the number of
rounds before it, or of no rows. Round t of a call, from `first` to `last`, is number `before` + t
of all. Calls return the number of mistakes.
"""
from cython cimport floating
from libc.stdint cimport int64_t, intptr_t

from mlcore._ext.shared.blas cimport add_multiple, dot
from mlcore._ext.shared.index cimport index


cdef bint is_mistake(Py_ssize_t n_scores, const double* scores, Py_ssize_t stride, intptr_t code,
                     Py_ssize_t* pair) noexcept nogil:
    """Return True for a mistake, with the scores to raise and to lower in `pair`, -1 for none."""
    cdef Py_ssize_t k, rival = 0 if code else 1
    if n_scores == 1:
        pair[0], pair[1] = (0, -1) if code else (-1, 0)
        return not (scores[0] > 0 if code else scores[0] < 0)
    for k in range(rival + 1, n_scores):
        if k != code and scores[k * stride] > scores[rival * stride]:
            rival = k
    pair[0], pair[1] = code, rival
    return not scores[code * stride] > scores[rival * stride]


def dense_rounds(const floating[:, ::1] X, const intptr_t[::1] codes, const intptr_t[::1] order,
                 double squared_bias, floating[:, ::1] weights, double[::1] offsets,
                 double[:, ::1] lag, double[::1] offset_lag, int64_t[::1] counts,
                 double[::1] scores, double before, Py_ssize_t first, Py_ssize_t last, /):
    """Play rounds with rows of X (n, d) and weights (n_scores, d)."""
    cdef Py_ssize_t n_scores = weights.shape[0], d = X.shape[1], t, i, j, k, side, mistakes = 0
    cdef Py_ssize_t[2] pair
    cdef double sign
    with nogil:
        for t in range(first, last):
            i = order[t]
            for k in range(n_scores):
                scores[k] = dot(<int> d, &weights[k, 0], &X[i, 0]) + offsets[k] * squared_bias
            if not is_mistake(n_scores, &scores[0], 1, codes[i], pair):
                continue
            mistakes += 1
            counts[i] += 1
            for side in range(2):
                k, sign = pair[side], 1 - 2 * side
                if k < 0:
                    continue
                add_multiple(<int> d, <floating> sign, &X[i, 0], &weights[k, 0])
                if squared_bias > 0:
                    offsets[k] += sign
                if lag.shape[0]:
                    offset_lag[k] += sign * (before + t) * (squared_bias > 0)
                    for j in range(d):
                        lag[k, j] += sign * (before + t) * X[i, j]
    return mistakes


def sparse_rounds(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                  const intptr_t[::1] codes, const intptr_t[::1] order, double squared_bias,
                  floating[:, ::1] weights, double[::1] offsets, double[:, ::1] lag,
                  double[::1] offset_lag, int64_t[::1] counts, double[::1] scores, double before,
                  Py_ssize_t first, Py_ssize_t last, /):
    """Play rounds with rows in CSR, and weights (d, n_scores)."""
    cdef Py_ssize_t n_scores = weights.shape[1], t, i, k, p, side, mistakes = 0
    cdef Py_ssize_t[2] pair
    cdef double sign, total
    with nogil:
        for t in range(first, last):
            i = order[t]
            for k in range(n_scores):
                scores[k] = offsets[k] * squared_bias
            if n_scores == 1:  # a sum in a register: less than half the time
                total = scores[0]
                for p in range(indptr[i], indptr[i + 1]):
                    total += <double> data[p] * weights[indices[p], 0]
                scores[0] = total
            else:
                for p in range(indptr[i], indptr[i + 1]):
                    for k in range(n_scores):
                        scores[k] += <double> data[p] * weights[indices[p], k]
            if not is_mistake(n_scores, &scores[0], 1, codes[i], pair):
                continue
            mistakes += 1
            counts[i] += 1
            for side in range(2):
                k, sign = pair[side], 1 - 2 * side
                if k < 0:
                    continue
                for p in range(indptr[i], indptr[i + 1]):
                    weights[indices[p], k] += <floating> sign * data[p]
                if squared_bias > 0:
                    offsets[k] += sign
                if lag.shape[0]:
                    offset_lag[k] += sign * (before + t) * (squared_bias > 0)
                    for p in range(indptr[i], indptr[i + 1]):
                        lag[indices[p], k] += sign * (before + t) * data[p]
    return mistakes


def kernel_rounds(const double[:, ::1] K, const int64_t[::1] slots, const intptr_t[::1] codes,
                  const intptr_t[::1] order, double constant, double[:, :, ::1] parts,
                  double[:, :, ::1] scores, int64_t[::1] counts, double before, Py_ssize_t first,
                  Py_ssize_t last, /):
    """Play rounds of kernel expansions; return `last`, or the first round whose row K lacks.

    Row slots[i] of K, in its first n columns, has the kernel values of sample i with all samples;
    slots[i] is negative where they are not there. `parts` (2 or 1, n_scores, n) are the corrections
    and, of two, their sums, each times the number of rounds before it; `scores` are those of all
    samples under both.
    """
    cdef Py_ssize_t n_scores = scores.shape[1], n = scores.shape[2], t, i, j, k, part, side
    cdef Py_ssize_t reached = last
    cdef Py_ssize_t[2] pair
    cdef double step
    with nogil:
        for t in range(first, last):
            i = order[t]
            if not is_mistake(n_scores, &scores[0, 0, i], n, codes[i], pair):
                continue
            if slots[i] < 0:
                reached = t
                break
            counts[i] += 1
            for part in range(parts.shape[0]):
                for side in range(2):
                    k = pair[side]
                    if k < 0:
                        continue
                    step = (1 - 2 * side) * (before + t if part else 1)
                    parts[part, k, i] += step
                    for j in range(n):
                        scores[part, k, j] += step * (K[slots[i], j] + constant)
    return reached
