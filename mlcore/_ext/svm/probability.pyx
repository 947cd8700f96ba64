"""Hot loops of mlcore.svm.probability.probability: hashes of rows, coupling of pairs.

Pairs (i, j) of k classes, i < j, are in the order (0, 1), (0, 2), ..., (1, 2), ...
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from mlcore._ext.shared.blas cimport solve_positive

from mlcore._ext.shared.index cimport index


def couple(const double[:, ::1] pairs, double least, double[:, ::1] p, double[:, ::1] scratch,
           int n_threads, /):
    """p[r] = the minimiser of sum_{i != j} (r_ji p_i - r_ij p_j)² of sum one; pairs[r] are r_ij.

    They are clipped to [least, 1 - least]. `p` (n, k), `scratch` (n_threads, k²); O(n k³) time.
    """
    cdef Py_ssize_t r
    for r in prange(pairs.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        couple_row(<int> p.shape[1], &pairs[r, 0], least, &p[r, 0], &scratch[threadid(), 0])


cdef void couple_row(int k, const double* pair, double least, double* p,
                     double* A) noexcept nogil:
    """p = the minimiser of p'Qp of sum one, which is along (Q + ee')⁻¹ e.

    With a sum of one, p'Qp and p'(Q + ee')p differ by one.

    Q is singular where the pairs are consistent. Q + ee' never is: where v sums to zero, v'Qv is at
    least the sum of min(v_i², v_j²) over the i and j of opposite signs. Cholesky factors suffice.
    """
    cdef int i, j
    cdef double won, total = 0
    for i in range(k):
        A[i * k + i] = 1
    for i in range(k):
        for j in range(i + 1, k):
            won = min(max(pair[0], least), 1 - least)
            pair += 1
            A[i * k + i] += (1 - won) * (1 - won)
            A[j * k + j] += won * won
            A[i * k + j] = 1 - won * (1 - won)
    for i in range(k):
        p[i] = 1
    solve_positive(k, A, p)
    for i in range(k):
        p[i] = max(p[i], 0)  # negative values are rounding
        total += p[i]
    for i in range(k):
        p[i] /= total


def reconcile(double[:, ::1] p, const Py_ssize_t[::1] winner, double least, int n_threads, /):
    """p[r] becomes the nearest in which winner[r] has the largest value, by `least` relatively."""
    cdef Py_ssize_t r
    for r in prange(p.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        reconcile_row(p.shape[1], &p[r, 0], winner[r], least)


cdef inline Py_ssize_t largest(Py_ssize_t k, const double* p) noexcept nogil:
    """The first index of the largest value."""
    cdef Py_ssize_t c, best = 0
    for c in range(1, k):
        if p[c] > p[best]:
            best = c
    return best


cdef void reconcile_row(Py_ssize_t k, double* p, Py_ssize_t winner, double least) noexcept nogil:
    """Average the winner with the largest values, marked -1, until the next is below the mean."""
    cdef Py_ssize_t c, count = 1, next_one = largest(k, p)
    cdef double total, less
    if next_one == winner:
        return
    total, p[winner] = p[winner], -2
    while p[next_one] >= 0 and p[next_one] * count >= total:
        total += p[next_one]
        p[next_one] = -1
        count += 1
        next_one = largest(k, p)
    less = total / count * least
    for c in range(k):
        if p[c] == -1:
            p[c] = total / count - less
    p[winner] = total / count + (count - 1) * less


def two_class(const double[:] positive, const double[:] decisions, double above_half,
              double[:, ::1] p, /):
    """p[r] = (P(-), P(+)), P(+) at least `above_half` for decisions above 0, else at most 1/2."""
    cdef Py_ssize_t r
    for r in range(p.shape[0]):
        p[r, 1] = max(positive[r], above_half) if decisions[r] > 0 else min(positive[r], 0.5)
        p[r, 0] = 1 - p[r, 1]


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """A one-to-one map of 64 bits in which each depends on all (the finaliser of SplitMix64)."""
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t entry(double value, int64_t column) noexcept nogil:
    """Hash of a value at a column; 0 for a value of 0, whether it is stored or not."""
    cdef uint64_t bits
    if value == 0:
        return 0
    memcpy(&bits, &value, sizeof(bits))
    return mixed(bits ^ (<uint64_t> column + 2) * <uint64_t> 0x9E3779B97F4A7C15)


def hash_rows(const floating[:, ::1] X, const int64_t[::1] codes, uint64_t[::1] hashes,
              int n_threads, /):
    """hashes[i] = sum of the hashes of the entries of row i; its code counts as column -1."""
    cdef Py_ssize_t i
    for i in prange(X.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        hashes[i] = entry(<double> codes[i], -1) + hash_of_row(X.shape[1], &X[i, 0])


cdef uint64_t hash_of_row(Py_ssize_t d, const floating* x) noexcept nogil:
    cdef Py_ssize_t c
    cdef uint64_t total = 0
    for c in range(d):
        total += entry(x[c], c)
    return total


def hash_stored_rows(const floating[::1] data, const index[::1] indices, const int64_t[::1] indptr,
                     const int64_t[::1] codes, uint64_t[::1] hashes, int n_threads, /):
    """As `hash_rows`, for the stored entries of CSR rows."""
    cdef Py_ssize_t i
    for i in prange(codes.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        hashes[i] = entry(<double> codes[i], -1) + hash_of_stored(data, indices, indptr[i],
                                                                  indptr[i + 1])


cdef uint64_t hash_of_stored(const floating[::1] data, const index[::1] indices, Py_ssize_t begin,
                             Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t at
    cdef uint64_t total = 0
    for at in range(begin, end):
        total += entry(data[at], indices[at])
    return total
