"""Hot loops of mlcore.cluster.scores.distance_sums.

Sums of distances from samples to groups.

A tile of squared distances is |x|² + |y|² - 2 x.y by one matrix product; where digits cancel, it is
recomputed from differences. Single precision loses digits sooner: a tile with many such distances
is formed again in double precision. Tiles stay in cache, and no matrix of distances is formed.
Arrays are in C order and of the right shapes.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from mlcore._ext.shared.blas cimport gemm_nt, gram_lower
from mlcore._ext.cluster.distances_h cimport add, distances, squared_distance

cdef enum:
    TILE_ROWS = 32
    TILE_COLUMNS = 256
    BAND = 384
    PART = 128
    WIDE = 256  # features, from which half of a band's products pay for all of its distances
    CANCELLED_SHARE = 32  # if more than 1 distance in so many cancels, the tile is formed in double

SCRATCH = TILE_ROWS * TILE_COLUMNS + TILE_COLUMNS  # values for each thread
BAND_ROWS = BAND
# The least |x - y|² / (|x|² + |y|²) with enough digits: a product of two vectors is off by some
# eps |x| |y|, and the square, relatively, by some eps / LEAST.
cdef double LEAST = 1e-3
cdef float LEAST_SINGLE = 0.25


cdef inline Py_ssize_t form_tile(Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t d,
                                 const floating* X, const floating* X_norms, const floating* Y,
                                 const floating* Y_norms, floating least, bint squared,
                                 floating* tile, Py_ssize_t stride) noexcept nogil:
    """Form distances from products, -1 where digits cancel; return how many are -1."""
    cdef Py_ssize_t i, j, lost = 0
    if X == Y and rows == columns:  # half of the products
        gram_lower(<int> rows, <int> d, <floating> -2, X, <int> d, tile, <int> stride)
        for i in range(rows):
            for j in range(i):
                tile[j * stride + i] = tile[i * stride + j]
    else:
        gemm_nt(<int> rows, <int> columns, <int> d, <floating> -2, X, <int> d, Y, <int> d,
                <floating> 0, tile, <int> stride)
    for i in range(rows):
        lost += distances(columns, X_norms[i], Y_norms, least, squared, tile + i * stride)
    return lost


cdef inline void mend_tile(Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t d, const double* X,
                           const double* Y, bint squared, floating* tile,
                           Py_ssize_t stride) noexcept nogil:
    """Replace each -1 by the distance, from differences."""
    cdef Py_ssize_t i, j
    cdef double square
    for i in range(rows):
        for j in range(columns):
            if tile[i * stride + j] < 0:
                square = squared_distance(d, X + i * d, Y + j * d)
                tile[i * stride + j] = <floating> (square if squared else sqrt(square))


cdef inline void add_tile(Py_ssize_t top, Py_ssize_t rows, Py_ssize_t left, Py_ssize_t columns,
                          const floating* tile, Py_ssize_t stride, const double* row_weights,
                          const double* weights, const int64_t* starts, Py_ssize_t k,
                          Py_ssize_t first, double* row_sums, double* column_sums) noexcept nogil:
    """Add `rows` from `top` on, by the groups of the columns, which begin in group `first`.

    `weights` are those of the columns; `column_sums` grow by the rows, whatever their groups.
    """
    cdef Py_ssize_t g = first, begin, end
    while g < k and starts[g] < left + columns:
        begin = max(starts[g] - left, 0)
        end = min(starts[g + 1] - left, columns)
        add(rows, end - begin, tile + top * stride + begin, stride, row_weights + top,
            weights + begin, k, row_sums + top * k + g, column_sums + begin)
        g += 1


def distance_sums(const double[:, ::1] X, const double[::1] X_norms, const double[:, ::1] Y,
                  const double[::1] Y_norms, const double[::1] weights, const int64_t[::1] starts,
                  bint squared, double[:, ::1] sums, double[:, ::1] scratch, int n_threads, /):
    """Set sums[i, g] to the sum of weights[j] |x_i - y_j|, or squares, for samples j of group g.

    Norms are squared. `scratch` is (n_threads, SCRATCH).
    """
    cdef Py_ssize_t n = X.shape[0], m = Y.shape[0], d = X.shape[1], k = starts.shape[0] - 1
    cdef Py_ssize_t across = (m + TILE_COLUMNS - 1) // TILE_COLUMNS
    cdef Py_ssize_t band, tile_at, top, left, rows, columns, g
    cdef double* tile
    cdef double* zeros  # row weights, so that rows add nothing to the columns
    for band in prange((n + TILE_ROWS - 1) // TILE_ROWS, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        tile = &scratch[threadid(), 0]
        zeros = tile + TILE_ROWS * TILE_COLUMNS
        memset(zeros, 0, TILE_COLUMNS * sizeof(double))
        top = band * TILE_ROWS
        rows = min(TILE_ROWS, n - top)
        memset(&sums[top, 0], 0, rows * k * sizeof(double))
        g = 0
        for tile_at in range(across):
            left = tile_at * TILE_COLUMNS
            columns = min(TILE_COLUMNS, m - left)
            if form_tile(rows, columns, d, &X[top, 0], &X_norms[top], &Y[left, 0], &Y_norms[left],
                         LEAST, squared, tile, TILE_COLUMNS) > 0:
                mend_tile(rows, columns, d, &X[top, 0], &Y[left, 0], squared, tile, TILE_COLUMNS)
            while starts[g + 1] <= left:
                g = g + 1
            add_tile(0, rows, left, columns, tile, TILE_COLUMNS, zeros, &weights[left], &starts[0],
                     k, g, &sums[top, 0], zeros)


cdef struct all_rows:
    Py_ssize_t d, k
    const double* X
    const double* norms
    const float* single
    const float* single_norms
    const double* weights
    const int64_t* starts
    bint squared
    double* sums


cdef inline void mend_and_add(const all_rows* s, Py_ssize_t top, Py_ssize_t rows, Py_ssize_t left,
                              Py_ssize_t columns, Py_ssize_t lost, Py_ssize_t g,
                              Py_ssize_t first, floating* tile, double* column) noexcept nogil:
    """Add a tile to the sums of its rows, and beside the diagonal to those of its columns.

    Its rows begin in group `g`, its columns in group `first`; `lost` distances are -1.
    """
    cdef Py_ssize_t i, j, begin, end
    if left == top:
        for i in range(rows):
            tile[i * BAND + i] = 0
    if lost > 0:
        mend_tile(rows, columns, s.d, s.X + top * s.d, s.X + left * s.d, s.squared, tile, BAND)
    while g < s.k and s.starts[g] < top + rows:
        begin = max(s.starts[g] - top, 0)
        end = min(s.starts[g + 1] - top, rows)
        memset(column, 0, columns * sizeof(double))
        add_tile(begin, end - begin, left, columns, tile, BAND, s.weights + top, s.weights + left,
                 s.starts, s.k, first, s.sums + top * s.k, column)
        if left > top:
            for j in range(columns):
                s.sums[(left + j) * s.k + g] += column[j]
        g += 1


cdef inline void add_pair(const all_rows* s, Py_ssize_t top, Py_ssize_t rows, Py_ssize_t left,
                          Py_ssize_t columns, Py_ssize_t g, Py_ssize_t first,
                          double* tile) noexcept nogil:
    """Add the distances between rows from `top` on and from `left` on.

    They begin in groups `g` and `first`, or later.
    """
    cdef double* column = tile + BAND * BAND
    cdef Py_ssize_t d = s.d, lost
    while s.starts[g + 1] <= top:
        g += 1
    while s.starts[first + 1] <= left:
        first += 1
    if s.single != NULL:
        lost = form_tile(rows, columns, d, s.single + top * d, s.single_norms + top,
                         s.single + left * d, s.single_norms + left, LEAST_SINGLE, s.squared,
                         <float*> tile, BAND)
        if CANCELLED_SHARE * lost <= rows * columns:
            mend_and_add(s, top, rows, left, columns, lost, g, first, <float*> tile, column)
            return
    lost = form_tile(rows, columns, d, s.X + top * d, s.norms + top, s.X + left * d,
                     s.norms + left, LEAST, s.squared, tile, BAND)
    mend_and_add(s, top, rows, left, columns, lost, g, first, tile, column)


def symmetric_sums(const double[:, ::1] X, const double[::1] norms, const float[:, ::1] single,
                   const float[::1] single_norms, const double[::1] weights,
                   const int64_t[::1] starts, const int64_t[::1] groups, bint squared,
                   double[:, ::1] sums, Py_ssize_t first, Py_ssize_t last,
                   double[:, ::1] scratch, int n_threads, /):
    """Add to the sums of distances between all rows of X, each distance formed once.

    Bands of BAND_ROWS rows are paired in as many rounds as there are bands, of which these are
    first..last; in a round every band is in one pair, so that each sum has one writer, and the
    order of its terms is fixed. `groups` are those in which the bands begin. `single`, X in single
    precision, may have no rows: then all products are in double. `scratch` is (n_threads,
    BAND_ROWS² + BAND_ROWS).
    """
    cdef Py_ssize_t n = X.shape[0], bands = (n + BAND - 1) // BAND
    cdef Py_ssize_t turn, a, b, top, left, end, part
    cdef all_rows s
    cdef double* tile
    s.d, s.k, s.squared = X.shape[1], starts.shape[0] - 1, squared
    s.X, s.norms, s.weights, s.starts = &X[0, 0], &norms[0], &weights[0], &starts[0]
    s.single, s.single_norms, s.sums = NULL, NULL, &sums[0, 0]
    if single.shape[0] > 0:
        s.single, s.single_norms = &single[0, 0], &single_norms[0]
    for turn in range(first, last):
        for a in prange(bands, nogil=True, num_threads=n_threads, schedule="dynamic"):
            b = (turn + bands - a) % bands
            tile = &scratch[threadid(), 0]
            top = a * BAND
            left = b * BAND
            if b > a:
                add_pair(&s, top, BAND, left, min(BAND, n - left), groups[a], groups[b], tile)
            elif b == a:  # in parts: only those on the diagonal form distances twice
                end = min(top + BAND, n)
                while top < end:
                    part = min(BAND if s.d >= WIDE else PART, end - top)
                    add_pair(&s, top, part, top, part, groups[a], groups[a], tile)
                    if top + part < end:
                        add_pair(&s, top, part, top + part, end - top - part, groups[a], groups[a],
                                 tile)
                    top = top + part
