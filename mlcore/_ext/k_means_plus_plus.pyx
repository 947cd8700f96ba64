"""Hot loops of mlcore.cluster.k_means.k_means_plus_plus: all seeds of one start on few samples.

Rows are drawn along `order`, in proportion to their weights times `nearest`, their squared distance
from the seeds so far, or what they cost. Of `n_trials` rows the one is kept that leaves the least
sum (Arthur and Vassilvitskii, SODA 2007). Arrays are in C order and of the right shapes.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.draws cimport accumulate, place
from mlcore._ext.simd.panel cimport PANEL_DOUBLE, PANEL_FLOAT
from mlcore._ext.simd.seed cimport seed as compare_rows

PANEL_WIDTH = {4: PANEL_FLOAT, 8: PANEL_DOUBLE}

cdef enum:
    MOST_TRIALS = 64  # 2 + log(k) of no k is more


def seeds(const floating[:, ::1] X, const double[::1] weights, const int32_t[::1] order,
          const double[::1] uniform, Py_ssize_t n_trials, floating[::1] nearest, double[::1] sums,
          floating[:, ::1] points, floating[:, ::1] scratch, Py_ssize_t begin,
          int64_t[::1] rows):
    """Fill rows[begin:] with seeds; return how many there are: less where no other row is left.

    `uniform` are numbers in [0, 1), one for the first row and `n_trials` for every other; `weights`
    is empty for ones; `nearest` is kept from call to call. Scratch: `sums` for each row of X,
    `points` (n_trials, d), and a panel of rows.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], c, t, used = 0, count, best = 0
    cdef int64_t[MOST_TRIALS] chosen
    cdef double[MOST_TRIALS] potentials
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef Py_ssize_t last
    with nogil:
        if begin == 0:
            for t in range(n):
                nearest[t] = INFINITY
        for c in range(begin, rows.shape[0]):
            last = accumulate(order, w, &nearest[0] if c > 0 else NULL, sums)
            if last < 0:
                break
            count, best = n_trials if c > 0 else 1, 0
            for t in range(count):
                chosen[t] = order[place(sums, last, uniform[used + t] * sums[n - 1])]
                memcpy(&points[t, 0], &X[chosen[t], 0], d * sizeof(floating))
                potentials[t] = 0
            used += count
            if count > 1:
                compare(X, points, count, w, nearest, scratch, potentials)
                for t in range(1, count):
                    best = t if potentials[t] < potentials[best] else best
                memcpy(&points[0, 0], &X[chosen[best], 0], d * sizeof(floating))
            compare(X, points, 1, w, nearest, scratch, NULL)
            rows[c] = chosen[best]
        else:
            c = rows.shape[0]
    return c


def medoids(const floating[:, ::1] costs, bint squared, const double[::1] weights,
            const int32_t[::1] order, const double[::1] uniform, Py_ssize_t n_trials,
            floating[:, ::1] left, double[::1] sums, int64_t[::1] samples):
    """The same with the rows of a matrix: what each sample costs at a seed, or `squared` the root.

    `left` is scratch, (1 + n_trials, n).
    """
    cdef Py_ssize_t n = order.shape[0], c, t, i, used = 0, count, best, last
    cdef int64_t sample
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef double total, least
    cdef floating cost
    with nogil:
        for i in range(n):
            left[0, i] = INFINITY
        for c in range(samples.shape[0]):
            last = accumulate(order, w, &left[0, 0] if c > 0 else NULL, sums)
            if last < 0:
                break
            count, best, least = n_trials if c > 0 else 1, 0, INFINITY
            for t in range(1, count + 1):
                sample = order[place(sums, last, uniform[used + t - 1] * sums[n - 1])]
                total = 0
                for i in range(n):
                    cost = costs[sample, i] * costs[sample, i] if squared else costs[sample, i]
                    left[t, i] = min(left[0, i], cost)
                    total += w[i] * left[t, i] if w != NULL else left[t, i]
                if total < least:
                    best, least, samples[c] = t, total, sample
            used += count
            memcpy(&left[0, 0], &left[best, 0], n * sizeof(floating))
        else:
            c = samples.shape[0]
    return c


def lower(const floating[:, ::1] X, const floating[:, ::1] candidates, const double[::1] weights,
          floating[::1] nearest, double[:, ::1] potentials, floating[:, ::1] scratch, bint take,
          int n_threads):
    """potentials[chunk, t] += sum of w min(nearest, |x - candidate t|²).

    `take` is for one candidate: nearest becomes that minimum instead. `scratch` is (n_threads,
    features times PANEL_WIDTH).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], n_chunks = potentials.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks, start, rows
    cdef bint weighted = weights.shape[0] > 0
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        start = min(n, chunk * step)
        rows = min(n, start + step) - start
        if rows <= 0:
            continue
        compare_rows(d, rows, candidates.shape[0], &X[start, 0], &candidates[0, 0],
                     &weights[start] if weighted else NULL, &nearest[start],
                     &scratch[threadid(), 0], NULL if take else &potentials[chunk, 0])


cdef void compare(const floating[:, ::1] X, const floating[:, ::1] points, Py_ssize_t count,
                  const double* weights, floating[::1] nearest, floating[:, ::1] scratch,
                  double* potentials) noexcept nogil:
    compare_rows(X.shape[1], X.shape[0], count, &X[0, 0], &points[0, 0], weights, &nearest[0],
                 &scratch[0, 0], potentials)
