"""Hot loops of mlcore.cluster.k_means.incomplete_assignment: rows with NaN for unknown values.

Squared distances are sums over the known values of a row. Arrays are in C order and of the right
shapes: X (n, d), `columns` (d + 1, stride) the centres as columns, infinite from the last one to a
multiple of LANES, and zeros; `weights` is empty for ones, and `gaps` where none are kept. Rows are
split into as many chunks as sums have, whatever the threads; the caller adds them in order.
`values` and `at` are scratch, (n_threads, d + 4).
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.cluster.k_means.incomplete_assignment_h cimport (
    INCOMPLETE_LANES, incomplete_pass,
)
from mlcore._ext.cluster.k_means.incomplete_assignment_h cimport assign as assign_rows
from mlcore._ext.cluster.k_means.incomplete_assignment_h cimport distances as distances_of_rows
from mlcore._ext.cluster.k_means.incomplete_assignment_h cimport lower as lower_rows
from mlcore._ext.cluster.k_means.incomplete_assignment_h cimport own as own_of_rows

LANES = INCOMPLETE_LANES


cdef incomplete_pass centers_of(const floating[:, ::1] columns, Py_ssize_t k):
    cdef incomplete_pass s
    s.d, s.k, s.stride, s.columns = columns.shape[0] - 1, k, columns.shape[1], &columns[0, 0]
    s.weights, s.movement, s.error, s.labels, s.gaps = NULL, NULL, 0, NULL, NULL
    return s


def assign(const floating[:, ::1] X, const double[::1] weights, const floating[:, ::1] columns,
           const double[::1] movement, double error, int32_t[::1] labels, float[::1] gaps,
           double[:, :, ::1] sums, double[:, :, ::1] known, double[:, ::1] mass,
           int64_t[::1] changed, floating[:, ::1] values, int64_t[:, ::1] at,
           int n_threads, /):
    """Update labels, gaps, and per chunk sums of known values, weights of these and of rows.

    `changed[chunk]` grows by the labels changed, where -1 is none; `sums` (chunks, k, d) has no
    features if only labels are wanted.
    """
    cdef incomplete_pass s = centers_of(columns, movement.shape[0])
    cdef Py_ssize_t n = X.shape[0], n_chunks = sums.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks
    cdef bint summed = sums.shape[2] > 0
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.movement, s.error, s.labels = &movement[0], error, &labels[0]
    if gaps.shape[0] > 0:
        s.gaps = &gaps[0]
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        changed[chunk] += assign_rows(
            &s, chunk * step, min(n, (chunk + 1) * step), &X[0, 0], &values[threadid(), 0],
            &at[threadid(), 0],
            &sums[chunk, 0, 0] if summed else NULL, &known[chunk, 0, 0] if summed else NULL,
            &mass[chunk, 0] if summed else NULL)


def lower_to_candidates(const floating[:, ::1] X, const double[::1] weights,
                        const floating[:, ::1] columns, Py_ssize_t count, bint take,
                        floating[::1] nearest, double[:, ::1] objectives,
                        floating[:, ::1] values, int64_t[:, ::1] at, int n_threads, /):
    """objectives[chunk, t] += sum of w min(nearest, |x - candidate t|²), t < count.

    With `take`, there is one candidate, and `nearest` becomes that minimum instead.
    """
    cdef incomplete_pass s = centers_of(columns, count)
    cdef Py_ssize_t n = X.shape[0], n_chunks = objectives.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        lower_rows(&s, chunk * step, min(n, (chunk + 1) * step), &X[0, 0], &nearest[0],
                   &values[threadid(), 0],
                   &at[threadid(), 0], NULL if take else &objectives[chunk, 0])


def distances(const floating[:, ::1] X, const floating[:, ::1] columns,
              floating[:, ::1] values, int64_t[:, ::1] at,
              double[:, ::1] out, int n_threads, /):
    """out[i, j] = |x_i - c_j|² over the known values of x_i."""
    cdef incomplete_pass s = centers_of(columns, out.shape[1])
    cdef Py_ssize_t n = X.shape[0], chunk, start
    for chunk in prange((n + 255) // 256, nogil=True, num_threads=n_threads, schedule="static"):
        start = chunk * 256
        distances_of_rows(&s, min(256, n - start), &X[start, 0], &values[threadid(), 0],
                          &at[threadid(), 0],
                          &out[start, 0])


def own_distances(const floating[:, ::1] X, const floating[:, ::1] centers,
                  const int32_t[::1] labels, double[::1] out, int n_threads, /):
    """out[i] = |x_i - c|² over the known values of x_i, c the centre of its label."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], chunk, start
    for chunk in prange((n + 255) // 256, nogil=True, num_threads=n_threads, schedule="static"):
        start = chunk * 256
        own_of_rows(d, min(256, n - start), &X[start, 0], &centers[0, 0], &labels[start],
                    &out[start])
