"""Hot loops of mlcore.cluster.k_means.nearest_center: passes of Lloyd's algorithm.

assign_plainly  searches all centres, or none where a lower bound on the gap (how much nearer the
                own centre is than any other) exceeds the movements (Hamerly, SDM 2010), see
                cluster/k_means/lloyd_plain.c;
assign          searches the groups that bounds do not rule out (Yinyang k-means, Ding et al., ICML
                2015). Centres near each other form groups of 64 bytes a feature. A sample has an
                upper bound on the distance to its own centre, a lower bound for the others of each
                group, and one for all groups. Bounds are stored relative to the total movements:
                `own_moved[j]` of centre j, `others_moved[j]` of any other at most, `group_moved[g]`
                of any in group g; so a sample that stays is read, not written. Tests, in order: the
                bound for all groups; those of the groups; these again with the measured distance to
                the own centre. The groups left are searched.

Bounds are widened by more than rounding (`slack`, of squared distances), so labels are those of a
full search. Sums of the samples by label change only where a label does. Rows are split into as
many chunks as `sums` has, whatever the threads; the caller adds them in order, so the thread count
never changes a bit. Arrays are in C order and of the right shapes; per-sample arrays are of these
rows.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.shared.index cimport index
from mlcore._ext.cluster.k_means.nearest_center_h cimport lloyd
from mlcore._ext.cluster.k_means.lloyd_pass_h cimport (
    LLOYD_BATCH, LLOYD_GROUPS, lloyd_pass, lloyd_width,
)
from mlcore._ext.cluster.k_means.lloyd_plain_h cimport lloyd_plain
from mlcore._ext.cluster.k_means.lloyd_plain_h cimport own_distances as own_distances_of_rows
from mlcore._ext.numerics.greedy_seeds_h cimport seed

GROUP = {4: 16, 8: 8}  # centres in a group, by bytes of a value
MOST_GROUPS = LLOYD_GROUPS
BATCH = LLOYD_BATCH


def assign(const floating[:, ::1] X, const floating[::1] norms, const double[::1] weights,
           const floating[:, ::1] centers, const floating[:, :, ::1] groups,
           const floating[:, ::1] half_norms, const index[:, ::1] places, const int32_t[::1] home,
           const float[::1] own_moved, const float[::1] others_moved,
           const float[::1] group_moved, const float[::1] half_gap, double slack, bint first,
           int32_t[::1] labels, float[::1] upper, float[::1] lower, float[:, ::1] bounds,
           double[:, :, ::1] sums, double[:, ::1] counts, int64_t[:, ::1] tally,
           floating[:, :, ::1] scratch, int n_threads, /):
    """Update labels, bounds, and per chunk the sums and counts (weights) by label.

    `places` holds the centres of each group, integers as wide as the values; rows of `bounds` and
    `group_moved` are padded to a multiple of 4. `half_gap[j]` is half the distance from centre j to
    the nearest other. `first`: there are no bounds yet. `tally[chunk, 0]` grows by the labels
    changed, where -1 is none. `weights` is empty for ones; `scratch` is (n_threads, BATCH, places).
    """
    cdef lloyd_pass s
    cdef Py_ssize_t n = X.shape[0], n_chunks = sums.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks
    s.d, s.stride, s.n_groups = X.shape[1], bounds.shape[1], <int> groups.shape[0]
    s.slack, s.first = slack, first
    s.X, s.norms, s.centers, s.groups = &X[0, 0], &norms[0], &centers[0, 0], &groups[0, 0, 0]
    s.half_norms, s.places, s.home = &half_norms[0, 0], &places[0, 0], &home[0]
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.own_moved, s.others_moved = &own_moved[0], &others_moved[0]
    s.group_moved, s.half_gap = &group_moved[0], &half_gap[0]
    s.labels, s.upper, s.lower, s.bounds = &labels[0], &upper[0], &lower[0], &bounds[0, 0]
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        lloyd(&s, chunk * step, min(n, (chunk + 1) * step), &scratch[threadid(), 0, 0], &sums[chunk,
              0, 0], &counts[chunk, 0], &tally[chunk, 0])


def assign_plainly(const floating[:, ::1] X, const double[::1] weights,
                   const floating[:, ::1] centers, const floating[::1] half_norms,
                   const float[:, ::1] single_centers, const float[::1] single_halves,
                   const double[::1] origin, const double[::1] errors, const float[::1] movement,
                   const float[::1] limits, bint filtered,
                   int32_t[::1] labels, float[::1] gaps, double[:, :, ::1] sums,
                   double[:, ::1] counts, int64_t[:, ::1] tally, float[::1] max_squares,
                   floating[:, ::1] scratch, int n_threads, /):
    """Update labels, sums and counts as `assign` does, by comparison with all centres.

    Centres are padded to a multiple of 4 with infinite half norms. `single_centers` has no rows if
    samples in double precision are not screened in single. `errors` are the relative rounding of a
    squared distance and the largest squared norm of a centre, and the same two in single precision,
    measured from `origin`, a sample's length or 8 with repeats. `gaps` may be empty; `movement` and
    `limits` by label, padded to 32 at least, decide where `filtered` which of them need no
    search. `sums` has no rows if only labels are wanted. Per chunk, `tally` grows by the labels
    changed, the samples screened and those that the screen left undecided, and `max_squares` to the
    largest squared norm met. `scratch` is (n_threads, small_assignment.scratch_values).
    """
    cdef lloyd_pass s
    cdef Py_ssize_t n = X.shape[0], n_chunks = sums.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks
    cdef bint summed = sums.shape[1] > 0
    s.n, s.d, s.k, s.width = n, X.shape[1], centers.shape[0], lloyd_width(X.shape[1])
    s.X, s.centers, s.half_norms = &X[0, 0], &centers[0, 0], &half_norms[0]
    s.single_centers = s.single_halves = s.origin = NULL
    if single_centers.shape[0] > 0:
        s.single_centers, s.single_halves = &single_centers[0, 0], &single_halves[0]
        s.origin = &origin[0]
    s.error, s.farthest = errors[0], errors[1]
    s.single_error, s.single_farthest = errors[2], errors[3]
    s.weights = &weights[0] if weights.shape[0] > 0 else NULL
    s.labels, s.filtered = &labels[0], filtered
    s.gaps = s.passed = s.limits = NULL
    if gaps.shape[0] > 0:
        s.gaps, s.passed, s.limits = &gaps[0], &movement[0], &limits[0]
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        lloyd_plain(&s, chunk * step, min(n, (chunk + 1) * step), &scratch[threadid(), 0],
                    &sums[chunk, 0, 0] if summed else NULL, &counts[chunk, 0] if summed else NULL,
                    &tally[chunk, 0], &max_squares[chunk])


def own_distances(const floating[:, ::1] X, const floating[:, ::1] centers,
                  const int32_t[::1] labels, double[::1] out, int n_threads, /):
    """out[i] = |x_i - c|², c the centre of its label, from differences in double precision."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], chunk, start, rows
    for chunk in prange((n + 255) // 256, nogil=True, num_threads=n_threads, schedule="static"):
        start = chunk * 256
        rows = min(256, n - start)
        own_distances_of_rows(d, rows, &X[start, 0], &centers[0, 0], &labels[start], &out[start])


def lower_to_candidates(const floating[:, ::1] X, const floating[:, ::1] candidates,
                        const double[::1] weights, floating[::1] nearest,
                        double[:, ::1] objectives, floating[:, ::1] scratch, bint take,
                        int n_threads, /):
    """objectives[chunk, t] += sum of w min(nearest, |x - candidate t|²).

    With `take`, there is one candidate, and `nearest` becomes that minimum instead.
    `scratch` is (n_threads, greedy_seeds.scratch_values).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], n_chunks = objectives.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks, start, rows
    cdef bint weighted = weights.shape[0] > 0
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="dynamic"):
        start = min(n, chunk * step)
        rows = min(n, start + step) - start
        if rows > 0:
            seed(d, rows, candidates.shape[0], &X[start, 0], &candidates[0, 0],
                 &weights[start] if weighted else NULL, &nearest[start], &scratch[threadid(), 0],
                 NULL if take else &objectives[chunk, 0])
