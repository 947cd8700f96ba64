"""Hot loops of mlcore.cluster.distance_sums: distances of samples to groups, summed as they come.

A tile of squared distances is |x|² + |y|² - 2 x.y with one matrix product; where that leaves less
than NEAR of the norms, digits are lost, and the differences are summed instead. Tiles stay in
cache, and no matrix of distances is formed. Arrays are in C order and of the right shapes.
"""
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from mlcore._ext.blas cimport gemm_nt

cdef enum:
    TILE_ROWS = 32
    TILE_COLUMNS = 256
    LANES = 8
    BAND = 256

SCRATCH = TILE_ROWS * TILE_COLUMNS  # values for each thread
BAND_ROWS = BAND
cdef double NEAR = 1e-3


cdef inline double weighted_sum(Py_ssize_t n, const double* x, const double* w) noexcept nogil:
    cdef double[LANES] sums
    cdef double total = 0
    cdef Py_ssize_t i, lane
    for lane in range(LANES):
        sums[lane] = 0
    for i in range(n // LANES):
        for lane in range(LANES):
            sums[lane] += w[i * LANES + lane] * x[i * LANES + lane]
    for i in range(n - n % LANES, n):
        total += w[i] * x[i]
    for lane in range(LANES):
        total += sums[lane]
    return total


cdef inline double squared_distance(Py_ssize_t d, const double* x, const double* y) noexcept nogil:
    cdef double[LANES] sums
    cdef double total = 0
    cdef double difference
    cdef Py_ssize_t f, lane
    for lane in range(LANES):
        sums[lane] = 0
    for f in range(d // LANES):
        for lane in range(LANES):
            difference = x[f * LANES + lane] - y[f * LANES + lane]
            sums[lane] += difference * difference
    for f in range(d - d % LANES, d):
        total += (x[f] - y[f]) * (x[f] - y[f])
    for lane in range(LANES):
        total += sums[lane]
    return total


cdef inline void finish(Py_ssize_t n, Py_ssize_t d, const double* x, double x_norm,
                        const double* Y, const double* Y_norms, bint squared,
                        double* row) noexcept nogil:
    """From -2 x.y to distances."""
    cdef Py_ssize_t j
    cdef int64_t near = 0
    for j in range(n):
        row[j] += x_norm + Y_norms[j]
        near += row[j] <= NEAR * (x_norm + Y_norms[j])
    if near > 0:
        for j in range(n):
            if row[j] <= NEAR * (x_norm + Y_norms[j]):
                row[j] = squared_distance(d, x, Y + j * d)
    if not squared:
        for j in range(n):
            row[j] = sqrt(row[j])


cdef inline void add_by_group(Py_ssize_t left, Py_ssize_t n, const double* row,
                              const double* weights, const int64_t* starts, Py_ssize_t k,
                              Py_ssize_t first, double* sums) noexcept nogil:
    """Add the distances to columns left, left + 1..., which begin in group `first`."""
    cdef Py_ssize_t g = first, begin, end
    while g < k and starts[g] < left + n:
        begin = max(starts[g] - left, 0)
        end = min(starts[g + 1] - left, n)
        sums[g] += weighted_sum(end - begin, row + begin, weights + begin)
        g += 1


def distance_sums(const double[:, ::1] X, const double[::1] X_norms, const double[:, ::1] Y,
                  const double[::1] Y_norms, const double[::1] weights, const int64_t[::1] starts,
                  bint squared, double[:, ::1] sums, double[:, ::1] scratch, int n_threads):
    """sums[i, g] = sum of weights[j] |x_i - y_j|, or squared, over starts[g] <= j < starts[g + 1].

    Norms are squared. `scratch` is (n_threads, SCRATCH).
    """
    cdef Py_ssize_t n = X.shape[0], m = Y.shape[0], d = X.shape[1], k = starts.shape[0] - 1
    cdef Py_ssize_t across = (m + TILE_COLUMNS - 1) // TILE_COLUMNS
    cdef Py_ssize_t band, tile_at, top, left, rows, columns, i, g
    cdef double* tile
    for band in prange((n + TILE_ROWS - 1) // TILE_ROWS, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        tile = &scratch[threadid(), 0]
        top = band * TILE_ROWS
        rows = min(TILE_ROWS, n - top)
        memset(&sums[top, 0], 0, rows * k * sizeof(double))
        g = 0
        for tile_at in range(across):
            left = tile_at * TILE_COLUMNS
            columns = min(TILE_COLUMNS, m - left)
            gemm_nt(<int> rows, <int> columns, <int> d, <double> -2, &X[top, 0], <int> d,
                    &Y[left, 0], <int> d, <double> 0, tile, TILE_COLUMNS)
            while starts[g + 1] <= left:
                g = g + 1
            for i in range(rows):
                finish(columns, d, &X[top + i, 0], X_norms[top + i], &Y[left, 0], &Y_norms[left],
                       squared, tile + i * TILE_COLUMNS)
                add_by_group(left, columns, tile + i * TILE_COLUMNS, &weights[left], &starts[0], k,
                             g, &sums[top + i, 0])


cdef inline void add_columns(Py_ssize_t top, Py_ssize_t rows, Py_ssize_t columns,
                             const double* tile, const double* weights, const int64_t* starts,
                             Py_ssize_t k, Py_ssize_t first, double* column,
                             double* sums) noexcept nogil:
    """Add a tile to the sums of its columns: its rows, from `top` on, begin in group `first`."""
    cdef Py_ssize_t g = first, i, j, begin, end
    while g < k and starts[g] < top + rows:
        begin = max(starts[g] - top, 0)
        end = min(starts[g + 1] - top, rows)
        memset(column, 0, columns * sizeof(double))
        for i in range(begin, end):
            for j in range(columns):
                column[j] += weights[i] * tile[i * BAND + j]
        for j in range(columns):
            sums[j * k + g] += column[j]
        g += 1


def symmetric_sums(const double[:, ::1] X, const double[::1] norms, const double[::1] weights,
                   const int64_t[::1] starts, const int64_t[::1] groups, bint squared,
                   double[:, ::1] sums, Py_ssize_t first, Py_ssize_t last,
                   double[:, ::1] scratch, int n_threads):
    """Add to the sums of distances between all rows of X, each distance formed once.

    Bands of BAND_ROWS rows meet in as many rounds as there are bands, of which these are
    first..last; in a round every band is in one pair, so that each sum has one writer, and the
    order of its terms is fixed. `groups` are those in which the bands begin. `scratch` is
    (n_threads, BAND_ROWS² + BAND_ROWS).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], k = starts.shape[0] - 1
    cdef Py_ssize_t bands = (n + BAND - 1) // BAND, turn, a, b, top, left, rows, columns, i
    cdef double* tile
    for turn in range(first, last):
        for a in prange(bands, nogil=True, num_threads=n_threads, schedule="dynamic"):
            b = (turn + bands - a) % bands
            if b < a:
                continue
            tile = &scratch[threadid(), 0]
            top = a * BAND
            left = b * BAND
            rows = min(BAND, n - top)
            columns = min(BAND, n - left)
            gemm_nt(<int> rows, <int> columns, <int> d, <double> -2, &X[top, 0], <int> d,
                    &X[left, 0], <int> d, <double> 0, tile, BAND)
            for i in range(rows):
                finish(columns, d, &X[top + i, 0], norms[top + i], &X[left, 0], &norms[left],
                       squared, tile + i * BAND)
                if a == b:
                    tile[i * BAND + i] = 0
                add_by_group(left, columns, tile + i * BAND, &weights[left], &starts[0], k,
                             groups[b], &sums[top + i, 0])
            if b > a:
                add_columns(top, rows, columns, tile, &weights[top], &starts[0], k, groups[a],
                            tile + BAND * BAND, &sums[left, 0])
