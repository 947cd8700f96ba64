"""Hot loops of mlcore.svm.multiclass.multiclass: pairwise decision values, and votes.

Pairs (i, j) of k classes, i < j, are in the order (0, 1), (0, 2), ..., (1, 2), ...
"""
from cython.parallel cimport prange, threadid
from libc.math cimport fabs
from libc.stdint cimport int32_t

from mlcore._ext.shared.blas cimport gemm_nt


def pair_sums(const double[:, ::1] values, const double[:, ::1] dual_coef,
              const int32_t[::1] n_support, const double[::1] intercept,
              double[:, ::1] decisions, double[:, ::1] scratch, int n_threads, /):
    """decisions[r, (i, j)] = sum over the vectors s of i and j of coef[s] values[r, s] + intercept.

    `values` (n, m), vectors sorted by class, n_support[c] of class c;
    `dual_coef` (k - 1, m) in LIBSVM's layout; `scratch` (n_threads, rows of a tile times k - 1).
    """
    cdef Py_ssize_t n = values.shape[0], k = n_support.shape[0]
    cdef Py_ssize_t step = scratch.shape[1] // (k - 1), tile
    for tile in prange((n + step - 1) // step, nogil=True, num_threads=n_threads,
                       schedule="static"):
        pair_tile(min(step, n - tile * step), k, values.shape[1], &values[tile * step, 0],
                  &dual_coef[0, 0], &n_support[0], &intercept[0], &decisions[tile * step, 0],
                  &scratch[threadid(), 0])


cdef void pair_tile(Py_ssize_t rows, Py_ssize_t k, Py_ssize_t m, const double* values,
                    const double* dual_coef, const int32_t* n_support,
                    const double* intercept, double* decisions, double* sums) noexcept nogil:
    cdef Py_ssize_t pairs = k * (k - 1) // 2, start = 0, own, other, r, p
    cdef double* to
    cdef double* found
    for r in range(rows):
        for p in range(pairs):
            decisions[r * pairs + p] = intercept[p]
    for own in range(k):
        if n_support[own] == 0:
            continue
        gemm_nt(<int> rows, <int> (k - 1), <int> n_support[own], <double> 1, values + start,
                <int> m, dual_coef + start, <int> m, <double> 0, sums, <int> (k - 1))
        start += n_support[own]
        for r in range(rows):
            to = decisions + r * pairs
            found = sums + r * (k - 1)
            for other in range(own):
                to[own - 1] += found[other]
                to += k - 2 - other
            # Now `to` is at the last pair before (own, own + 1), less own.
            to = decisions + r * pairs + own * k - own * (own + 1) // 2
            for p in range(k - 1 - own):
                to[p] += found[own + p]


def vote(const double[:, ::1] decisions, double[:, ::1] votes, int n_threads, /):
    """votes[r, c] = pairs that class c wins; (i, j) is won by i where its decision is positive."""
    cdef Py_ssize_t k = votes.shape[1], r
    for r in prange(decisions.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        vote_row(k, &decisions[r, 0], &votes[r, 0])


cdef inline void vote_row(Py_ssize_t k, const double* pair, double* votes) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double won, wins
    for i in range(k):
        votes[i] = 0
    for i in range(k):
        wins = 0
        for j in range(k - 1 - i):
            won = <double> (pair[j] > 0)
            wins += won
            votes[i + 1 + j] += 1 - won
        votes[i] += wins
        pair += k - 1 - i


def vote_with_confidence(const double[:, ::1] decisions, double[:, ::1] votes, int n_threads, /):
    """As `vote`, plus the sum of each class's decision values, squeezed into (-1/3, 1/3)."""
    cdef Py_ssize_t k = votes.shape[1], r
    for r in prange(decisions.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        confidence_row(k, &decisions[r, 0], &votes[r, 0])


cdef inline void confidence_row(Py_ssize_t k, const double* pair, double* votes) noexcept nogil:
    cdef Py_ssize_t c, i, at
    cdef double total
    vote_row(k, pair, votes)
    for c in range(k):
        total = 0
        at = c - 1
        for i in range(c):  # the pair (i, c)
            total -= pair[at]
            at += k - 2 - i
        at = c * k - c * (c + 1) // 2
        for i in range(k - 1 - c):
            total += pair[at + i]
        votes[c] += total / (3 * (fabs(total) + 1))
