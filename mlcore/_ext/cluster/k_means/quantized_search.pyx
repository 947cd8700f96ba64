"""Hot loops of mlcore.cluster.k_means.quantized_search: passes over many centres.

Samples and centres are rounded to codes, 8-bit integers times a step. The distance of two codes is
an exact integer, and differs from that of sample and centre by no more than both roundings
together. Centres that this leaves, few, are compared in double precision from differences: labels
are those of that comparison with all centres, of equal distances the lowest.

A sample keeps an upper bound on the distance to its own centre and a lower one for all others.
Where they allow it, only centres that moved are compared: the others are no nearer than they were.
Rows are split into as many chunks as `sums` has, as in nearest_center.pyx.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from mlcore._ext.cluster.k_means.quantized_search_h cimport (
    QUANTIZED_BATCH, QUANTIZED_TILE, coded_centers, quantized_pass, search, usable,
)

BATCH = QUANTIZED_BATCH
TILE = QUANTIZED_TILE


def available():
    """Return True if the processor multiplies 8-bit integers four at a time."""
    return usable() != 0


cdef coded_centers coded(arrays):
    """Return pointers into `arrays`, which must outlive them."""
    cdef coded_centers c
    cdef const uint8_t[:, :, :, ::1] codes = arrays[0]
    cdef const int32_t[:, ::1] halves = arrays[1], places = arrays[2]
    c.n_tiles = codes.shape[0]
    c.codes, c.halves, c.places = NULL, NULL, NULL
    if c.n_tiles > 0:
        c.codes, c.halves, c.places = &codes[0, 0, 0, 0], &halves[0, 0], &places[0, 0]
    return c


def assign(const floating[:, ::1] X, const double[::1] weights, const floating[:, ::1] centers,
           const double[::1] origin, double step, double error, all_centers, moved_centers,
           const uint8_t[::1] still, float less, bint first, int32_t[::1] labels,
           float[::1] upper, float[::1] lower, double[:, :, ::1] sums, double[:, ::1] counts,
           int64_t[:, ::1] tally, int8_t[:, ::1] scratch, int n_threads, /):
    """Update labels, bounds, and per chunk the sums and counts (weights) by label.

    `all_centers` and `moved_centers` are codes (tiles, quads of features, TILE, 4), half squared
    norms of codes and indices (tiles, TILE); `moved_centers` are those that moved by more than
    `less`, `still` is 1 for those that did not move. A code is at most `error` steps from its
    centre less the origin. `first`: there are no bounds yet. `tally[chunk]` grows by the labels
    changed, the distances computed in double precision and the samples compared with all centres.
    `weights` is empty for ones; `sums` has no rows if only labels are wanted; `scratch` is
    (n_threads, BATCH times features, rounded up to four).
    """
    cdef quantized_pass s
    cdef Py_ssize_t n = X.shape[0], n_chunks = sums.shape[0], chunk
    cdef Py_ssize_t size = (n + n_chunks - 1) // n_chunks
    cdef bint summed = sums.shape[1] > 0
    s.d, s.k, s.quads = X.shape[1], centers.shape[0], (X.shape[1] + 3) // 4
    s.X, s.centers, s.origin = &X[0, 0], &centers[0, 0], &origin[0]
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.step, s.error, s.less, s.first = step, error, less, first
    s.all, s.moved = coded(all_centers), coded(moved_centers)
    s.still, s.labels, s.upper, s.lower = &still[0], &labels[0], &upper[0], &lower[0]
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        search(&X[0, 0], &s, chunk * size, min(n, (chunk + 1) * size), &scratch[threadid(), 0],
               &sums[chunk, 0, 0] if summed else NULL, &counts[chunk, 0] if summed else NULL,
               &tally[chunk, 0])
