"""Hot loops of mlcore.cluster.linkage.reciprocal_neighbors (cluster/linkage/linkage.c).

nearest_clusters  the nearest clusters by their centres (Ward), or by bounds from these and then
                  from the points (average, complete);
cluster_rows      the matrix of the distances between clusters.

Arrays are in C order and of the right shapes; every element has one writer.
"""
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.cluster.linkage cimport linkage_h as loops
from mlcore._ext.cluster.linkage.linkage_h cimport (
    LINKAGE_AVERAGE, LINKAGE_COMPLETE, LINKAGE_QUERIES, LINKAGE_WARD, cluster_set,
)

KINDS = {"average": LINKAGE_AVERAGE, "complete": LINKAGE_COMPLETE, "ward": LINKAGE_WARD}


cdef cluster_set as_set(int kind, double slack, const int64_t[::1] start,
                        const double[:, ::1] points):
    cdef cluster_set s
    s.kind, s.slack, s.n, s.d = kind, slack, start.shape[0] - 1, points.shape[1]
    s.start, s.points = &start[0], &points[0, 0]
    s.centres = s.panels = s.variance = s.radius = NULL
    return s


def nearest_clusters(int kind, double slack, const int64_t[::1] start,
                     const double[:, ::1] points, const double[:, ::1] centres,
                     const double[:, :, ::1] panels, const double[::1] variance,
                     const double[::1] radius, const int64_t[::1] queries,
                     int32_t[:, ::1] found, double[:, ::1] squares, int64_t[::1] nearest,
                     double[::1] value, int n_threads, /):
    """Set nearest[q] to the cluster nearest to queries[q], and value[q] to its distance.

    In `panels`, `variance` and `radius`, those of balls around the panels follow the clusters';
    `found` and `squares` are scratch, (n_threads, 3 times the clusters that the panels hold). For
    Ward's, `start` counts clusters only, and `points` may be `centres`.
    """
    cdef cluster_set s = as_set(kind, slack, start, points)
    cdef Py_ssize_t n = queries.shape[0], batch, first
    s.centres, s.panels, s.variance = &centres[0, 0], &panels[0, 0, 0], &variance[0]
    s.radius = &radius[0]
    for batch in prange((n + LINKAGE_QUERIES - 1) // LINKAGE_QUERIES, nogil=True,
                        num_threads=n_threads, schedule="dynamic"):
        first = batch * LINKAGE_QUERIES
        loops.nearest_clusters(
            &s, min(LINKAGE_QUERIES, n - first), &queries[first], &found[threadid(), 0],
            &squares[threadid(), 0], &nearest[first], &value[first])


def cluster_rows(int kind, const int64_t[::1] start, const double[:, ::1] points,
                 const double[:, :, ::1] panels, double[:, ::1] sums, double[:, ::1] D,
                 Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Set rows first..last of D to the distances of clusters, and the same columns.

    `sums` is (n_threads, points and a panel) of scratch.
    """
    cdef cluster_set s = as_set(kind, 0, start, points)
    cdef Py_ssize_t a, b
    for a in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        loops.cluster_row(&s, &panels[0, 0, 0], a, &sums[threadid(), 0], &D[a, 0])
        for b in range(a + 1, s.n):
            D[b, a] = D[a, b]
