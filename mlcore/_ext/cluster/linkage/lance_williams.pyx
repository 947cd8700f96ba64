"""Hot loops of mlcore.cluster.linkage.lance_williams (cluster/linkage/linkage.c).

distance_tiles  the matrix of the distances between points;
merge_nearest   merges of clusters, by the update of Lance and Williams: all pairs of reciprocal
                nearest neighbours in one pass, which leaves a smaller matrix; if these are few, and
                for centroids and medians, one pair at a time: then a row is searched again only
                when its nearest cluster is gone and the row may have the least distance.

Arrays are in C order and of the right shapes; every element has one writer.
"""
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from mlcore._ext.shared.blas cimport gemm_nt
from mlcore._ext.cluster.linkage cimport linkage_h as loops
from mlcore._ext.cluster.distances_h cimport distances, squared_distance
from mlcore._ext.cluster.linkage.linkage_h cimport (
    LINKAGE_AVERAGE, LINKAGE_CENTROID, LINKAGE_COMPLETE, LINKAGE_MEDIAN, LINKAGE_SINGLE,
    LINKAGE_WARD, LINKAGE_WEIGHTED, cluster_matrix,
)
from mlcore._ext.shared.panel_h cimport PANEL_DOUBLE

cdef enum:
    TILE = 192

cdef double LEAST = 1.0 / 64  # |x - y|² / (|x|² + |y|²) that loses 6 of 53 bits at most

KINDS = {"single": LINKAGE_SINGLE, "complete": LINKAGE_COMPLETE, "average": LINKAGE_AVERAGE,
         "weighted": LINKAGE_WEIGHTED, "ward": LINKAGE_WARD, "centroid": LINKAGE_CENTROID,
         "median": LINKAGE_MEDIAN}
TILE_ROWS = TILE


def distance_tiles(const double[:, ::1] X, const double[:, :, ::1] panels,
                   const double[:, ::1] centred, const double[::1] norms, bint squared,
                   double[:, ::1] D, double[:, ::1] scratch, Py_ssize_t first, Py_ssize_t last,
                   int n_threads, /):
    """Set rows of tiles first..last of D to distances of points, or squares, and mirror them.

    They come from differences of rows of X and the `panels` of all rows; without panels from
    products of `centred` rows with squared `norms`, except where too many digits would cancel.
    `scratch` is (n_threads, TILE_ROWS²).
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
                lost = distances(columns, norms[top + i], &norms[left], LEAST, squared,
                                 g + i * TILE)
                for j in range(columns if lost > 0 else 0):
                    if g[i * TILE + j] < 0:
                        g[i * TILE + j] = squared_distance(
                            d, &X[top + i, 0], &X[left + j, 0])
                        if not squared:
                            g[i * TILE + j] = sqrt(g[i * TILE + j])
        for i in range(rows):
            memcpy(&D[top + i, left], g + i * TILE, columns * sizeof(double))
        for j in range(0, columns, 8):  # whole cache lines
            for i in range(rows):
                for k in range(j, min(j + 8, columns)):
                    D[left + k, top + i] = g[i * TILE + k]


def merge_nearest(int kind, int64_t[::1] state, double[::1] D, double[:, ::1] values,
                  int32_t[:, ::1] places, uint8_t[::1] stale, int64_t[::1] name,
                  int64_t[:, ::1] merged, double[::1] heights, /):
    """Merge clusters of the matrix `D`; return the number of merges of this call.

    `state` is (rows, length of a row, clusters left, 0, 0). The rows of `values` are infinity for
    clusters that are gone and else 0, sizes, nearest distances, and 7 of scratch; those of `places`
    nearest clusters, and 2 of scratch. The next call takes the same arrays.
    """
    cdef cluster_matrix s
    cdef Py_ssize_t done
    s.kind, s.m, s.stride, s.left, s.next, s.at = kind, state[0], state[1], state[2], state[3], \
        state[4]
    s.D, s.gone, s.size, s.value = &D[0], &values[0, 0], &values[1, 0], &values[2, 0]
    s.na, s.nb, s.distance, s.row = &values[3, 0], &values[4, 0], &values[5, 0], &values[6, 0]
    s.both, s.x, s.y = &values[7, 0], &values[8, 0], &values[9, 0]
    s.nearest, s.first, s.second = &places[0, 0], &places[1, 0], &places[2, 0]
    s.stale, s.name = &stale[0], &name[0]
    with nogil:
        done = loops.merge_nearest(&s, &merged[0, 0], &heights[0])
    state[0], state[1], state[2], state[3], state[4] = s.m, s.stride, s.left, s.next, s.at
    return done
