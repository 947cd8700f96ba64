"""Hot loops of mlcore.cluster.linkage.linkage.

Merges of clusters, nearest first (simd/linkage.c).

grow_tree         single linkage of points, by Prim's algorithm: O(n² m) of a screen of m
                  coordinates in single precision, then d for the pairs that it lets through;
nearest_clusters  the nearest clusters by their centres (Ward), or by bounds from these and then
                  from the points (average, complete);
cluster_rows, distance_tiles  a matrix of distances between clusters, or points;
merge_nearest     clusters of a matrix, by the update of Lance and Williams: all pairs that are each
                  other's nearest in one pass, which leaves a smaller matrix; or where these are
                  few, and for centroids and medians, two clusters at a time: then a row is searched
                  again only when what was nearest in it is gone and its turn may have come;
label, cut        SciPy's linkage matrix from pairs of samples, and clusters from its rows.

Arrays are in C order and of the right shapes; every element has one writer. Calls that take long
do a part of the work, which the caller limits or which is returned.
"""
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from mlcore._ext.blas cimport gemm_nt
from mlcore._ext.simd cimport linkage as loops
from mlcore._ext.simd.distances cimport distances, squared_distance
from mlcore._ext.simd.linkage cimport (
    LINKAGE_AVERAGE, LINKAGE_CENTROID, LINKAGE_COMPLETE, LINKAGE_MEDIAN, LINKAGE_QUERIES,
    LINKAGE_SINGLE, LINKAGE_WARD, LINKAGE_WEIGHTED, cluster_matrix, cluster_set, span_tree,
)
from mlcore._ext.simd.panel cimport PANEL_DOUBLE, PANEL_FLOAT
from mlcore._ext.union_find cimport root_of

cdef enum:
    TILE = 192

cdef double NEAR = 1.0 / 64  # of the squares that cancel in a squared distance: 6 of 53 bits

KINDS = {"single": LINKAGE_SINGLE, "complete": LINKAGE_COMPLETE, "average": LINKAGE_AVERAGE,
         "weighted": LINKAGE_WEIGHTED, "ward": LINKAGE_WARD, "centroid": LINKAGE_CENTROID,
         "median": LINKAGE_MEDIAN}
PANEL_WIDTH = {4: PANEL_FLOAT, 8: PANEL_DOUBLE}
TILE_ROWS = TILE


def grow_tree(const double[:, ::1] X, float[:, :, ::1] panels, float[::1] query,
              float[::1] limit, double[::1] key, int64_t[::1] nearest, int64_t[::1] name,
              int32_t[::1] found, int64_t[::1] state, double slack, double growth,
              int64_t[:, ::1] edges, double[::1] lengths):
    """Add an edge to the tree for each row of `edges`; `state` is (places left, last to join)."""
    cdef span_tree t
    t.left, t.last, t.d, t.m = state[0], state[1], X.shape[1], panels.shape[1]
    t.slack, t.growth, t.X = slack, growth, &X[0, 0]
    t.panels, t.query, t.limit = &panels[0, 0, 0], &query[0], &limit[0]
    t.key, t.nearest, t.name, t.found = &key[0], &nearest[0], &name[0], &found[0]
    with nogil:
        loops.grow_tree(&t, edges.shape[0], &edges[0, 0], &lengths[0])
    state[0], state[1] = t.left, t.last


cdef cluster_set as_set(int kind, double slack, const int64_t[::1] start,
                        const double[:, ::1] points):
    cdef cluster_set s
    s.kind, s.slack, s.n, s.d = kind, slack, start.shape[0] - 1, points.shape[1]
    s.start, s.points = &start[0], &points[0, 0]
    s.centres = s.panels = s.spread = s.radius = NULL
    return s


def nearest_clusters(int kind, double slack, const int64_t[::1] start,
                     const double[:, ::1] points, const double[:, ::1] centres,
                     const double[:, :, ::1] panels, const double[::1] spread,
                     const double[::1] radius, const int64_t[::1] queries,
                     int32_t[:, ::1] found, double[:, ::1] squares, int64_t[::1] nearest,
                     double[::1] value, int n_threads):
    """nearest[q], value[q] = the cluster nearest to queries[q], and how far it is.

    Behind `panels`, `spread` and `radius` of the clusters come those of balls around the panels;
    `found` and `squares` are (n_threads, 3 times what the panels hold) of scratch. Ward: `start`
    counts clusters only, `points` may be `centres`.
    """
    cdef cluster_set s = as_set(kind, slack, start, points)
    cdef Py_ssize_t n = queries.shape[0], batch, first
    s.centres, s.panels, s.spread = &centres[0, 0], &panels[0, 0, 0], &spread[0]
    s.radius = &radius[0]
    for batch in prange((n + LINKAGE_QUERIES - 1) // LINKAGE_QUERIES, nogil=True,
                        num_threads=n_threads, schedule="dynamic"):
        first = batch * LINKAGE_QUERIES
        loops.nearest_clusters(
            &s, min(LINKAGE_QUERIES, n - first), &queries[first], &found[threadid(), 0],
            &squares[threadid(), 0], &nearest[first], &value[first])


def cluster_rows(int kind, const int64_t[::1] start, const double[:, ::1] points,
                 const double[:, :, ::1] panels, double[:, ::1] sums, double[:, ::1] D,
                 Py_ssize_t first, Py_ssize_t last, int n_threads):
    """Rows first..last of the matrix of distances, from the diagonal on, and these columns.

    `sums` is (n_threads, points and a panel) of scratch.
    """
    cdef cluster_set s = as_set(kind, 0, start, points)
    cdef Py_ssize_t a, b
    for a in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        loops.cluster_row(&s, &panels[0, 0, 0], a, &sums[threadid(), 0], &D[a, 0])
        for b in range(a + 1, s.n):
            D[b, a] = D[a, b]


def distance_tiles(const double[:, ::1] X, const double[:, :, ::1] panels,
                   const double[:, ::1] centred, const double[::1] norms, bint squared,
                   double[:, ::1] D, double[:, ::1] scratch, Py_ssize_t first, Py_ssize_t last,
                   int n_threads):
    """Rows of tiles first..last of the distances of points, or of their squares; these columns.

    From differences, of a row of X and the `panels` of all; or where these are none from products
    of `centred` rows, squared `norms` theirs, except where too much would cancel. `scratch` is
    (n_threads, TILE_ROWS²).
    """
    cdef Py_ssize_t n = X.shape[0], across = (n + TILE - 1) // TILE, tile, top, left, i, j, rows
    cdef Py_ssize_t columns, lost, k
    cdef int d = <int> X.shape[1]
    cdef double* g
    for tile in prange(first * across, last * across, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        top = tile // across * TILE
        left = tile % across * TILE
        if left < top:
            continue
        rows, columns = min(TILE, n - top), min(TILE, n - left)
        g = &scratch[threadid(), 0]
        if panels.shape[0] > 0:
            loops.square_tile(d, rows, (columns + PANEL_DOUBLE - 1) // PANEL_DOUBLE,
                              &X[top, 0], &panels[left // PANEL_DOUBLE, 0, 0], TILE, g)
            if not squared:
                for i in range(rows * TILE):
                    g[i] = sqrt(g[i])
        else:
            gemm_nt(<int> rows, <int> columns, d, <double> -2, &centred[top, 0], d,
                    &centred[left, 0], d, <double> 0, g, TILE)
            for i in range(rows):
                lost = distances(columns, norms[top + i], &norms[left], NEAR, squared,
                                 g + i * TILE)
                for j in range(columns if lost > 0 else 0):
                    if g[i * TILE + j] < 0:
                        g[i * TILE + j] = squared_distance(
                            d, &X[top + i, 0], &X[left + j, 0])
                        if not squared:
                            g[i * TILE + j] = sqrt(g[i * TILE + j])
        for i in range(rows):
            memcpy(&D[top + i, left], g + i * TILE, columns * sizeof(double))
        for j in range(0, columns, 8):  # values of a line together
            for i in range(rows):
                for k in range(j, min(j + 8, columns)):
                    D[left + k, top + i] = g[i * TILE + k]


def merge_nearest(int kind, int64_t[::1] state, double[::1] D, double[:, ::1] values,
                  int32_t[:, ::1] places, uint8_t[::1] stale, int64_t[::1] name,
                  int64_t[:, ::1] merged, double[::1] heights):
    """Merge clusters of the matrix `D`; return how many merges there are more.

    `state` is (rows, length of a row, clusters left, 0, 0). The rows of `values` are what is gone,
    sizes, nearest distances, and 7 of scratch; those of `places` nearest clusters, and 2 of
    scratch. It and all arrays go on to the next call.
    """
    cdef cluster_matrix s
    cdef Py_ssize_t done
    s.kind, s.m, s.stride, s.left, s.next, s.at = kind, state[0], state[1], state[2], state[3], \
        state[4]
    s.D, s.gone, s.size, s.value = &D[0], &values[0, 0], &values[1, 0], &values[2, 0]
    s.na, s.nb, s.apart, s.row = &values[3, 0], &values[4, 0], &values[5, 0], &values[6, 0]
    s.both, s.x, s.y = &values[7, 0], &values[8, 0], &values[9, 0]
    s.nearest, s.first, s.second = &places[0, 0], &places[1, 0], &places[2, 0]
    s.stale, s.name = &stale[0], &name[0]
    with nogil:
        done = loops.merge_nearest(&s, &merged[0, 0], &heights[0])
    state[0], state[1], state[2], state[3], state[4] = s.m, s.stride, s.left, s.next, s.at
    return done


def label(const int64_t[:, ::1] merged, const double[::1] heights, const int64_t[::1] order,
          int64_t[::1] parent, int64_t[::1] cluster, double[:, ::1] Z):
    """SciPy's linkage matrix of merges in `order`, each given by a sample of the two clusters.

    `parent` and `cluster` are 0, 1, ... n - 1 and change.
    """
    cdef Py_ssize_t k, n = parent.shape[0]
    cdef int64_t a, b, u, v, given
    with nogil:
        for k in range(n - 1):
            given = order[k]
            a, b = root_of(&parent[0], merged[given, 0]), root_of(&parent[0], merged[given, 1])
            u, v = min(cluster[a], cluster[b]), max(cluster[a], cluster[b])
            Z[k, 0], Z[k, 1], Z[k, 2] = <double> u, <double> v, heights[given]
            Z[k, 3] = (1 if u < n else Z[u - n, 3]) + (1 if v < n else Z[v - n, 3])
            parent[a] = b
            cluster[b] = n + k


def cut(const int64_t[:, ::1] children, uint8_t[::1] kept, int64_t[::1] top, int64_t[::1] labels):
    """Labels of the samples by their clusters, in order of the first sample of each; how many.

    A cluster is a merge that is `kept` together with all below it; `kept` is cut down to these.
    `top` is 2 n - 1 of scratch.
    """
    cdef Py_ssize_t n = labels.shape[0], k, i
    cdef int64_t c, n_labels = 0
    cdef int side
    with nogil:
        for k in range(n - 1):
            for side in range(2):
                c = children[k, side]
                if c >= n and not kept[c - n]:
                    kept[k] = 0
        for k in range(2 * n - 1):
            top[k] = k
        for k in range(n - 2, -1, -1):
            if kept[k]:
                top[children[k, 0]] = top[children[k, 1]] = top[n + k]
        # A cluster's number takes the place of its name where first met.
        for i in range(n):
            c = top[i]
            if c < n:
                labels[i] = n_labels
                n_labels += 1
            else:
                if top[c] >= 0:
                    n_labels += 1
                    top[c] = -n_labels
                labels[i] = -top[c] - 1
    return n_labels
