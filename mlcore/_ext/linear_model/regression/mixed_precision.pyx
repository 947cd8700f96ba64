"""Hot loops of mlcore.linear_model.regression.mixed_precision: sparse rows in float32 and units of
their own, and conjugate gradients by products with these (mixed_precision.c).

CSR rows: indptr (n + 1,), indices and data; `place` (d,) is that of a light column, ALONE for one
of a single entry, and HEAVY - h for the heavy column h. Of GROUP rows, or columns, of a group the
next entry of each lies side by side. One thread writes a group, so the thread count never changes
a bit. O(nnz) time.
"""
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from mlcore._ext.linear_model.regression.mixed_precision_h cimport groups_times as times_of_groups
from mlcore._ext.shared.blas cimport add_multiple, cholesky_solve, dot
from mlcore._ext.shared.blas cimport times_vector, transposed_times_vector

cdef enum:
    ALONE = -1
    HEAVY = -2
    GROUP = 16
    GROUPS = 32
    AHEAD = 24  # entries whose places are asked for before they are written

cdef extern from *:
    """
    /* Ask for memory that is to be written. */
    static inline void ask_for(const void *at) { __builtin_prefetch(at, 1); }
    """
    void ask_for(const void* at) noexcept nogil


def row_squares(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                const int32_t[::1] place, Py_ssize_t first, Py_ssize_t last, double[:, ::1] squares,
                int64_t[::1] counts, int n_threads, /):
    """Set the squares (n, 3) of rows from `first` to `last`, those in heavy columns and those in
    columns of one entry, and the number of their light entries, counts (n,).
    """
    cdef Py_ssize_t i, t
    cdef double square, whole, heavy, alone
    cdef int64_t count
    cdef int32_t k
    for i in prange(first, last, nogil=True, num_threads=n_threads, schedule="static"):
        whole = heavy = alone = 0
        count = 0
        for t in range(indptr[i], indptr[i + 1]):
            k = place[indices[t]]
            square = data[t] * data[t]
            whole = whole + square
            heavy = heavy + square * (k <= HEAVY)
            alone = alone + square * (k == ALONE)
            count = count + (k >= 0)
        squares[i, 0], squares[i, 1], squares[i, 2], counts[i] = whole, heavy, alone, count


def end_groups(const int64_t[::1] counts, const int64_t[::1] starts, int32_t[::1] places,
               float[::1] values, /):
    """Set to 0 what follows the entries of each row in its group, of `counts` (n,) entries."""
    cdef Py_ssize_t row, at
    cdef int64_t count
    with nogil:
        for row in range((starts.shape[0] - 1) * GROUP):
            count = counts[row] if row < counts.shape[0] else 0
            at = starts[row // GROUP] + row % GROUP + GROUP * count
            while at < starts[row // GROUP + 1]:
                places[at], values[at] = 0, 0
                at += GROUP


def fill(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
         const int32_t[::1] place, const int64_t[::1] order, const double[::1] inverse,
         Py_ssize_t first, Py_ssize_t last, const int64_t[::1] starts, int32_t[::1] row_places,
         float[::1] row_values, int64_t[::1] following, int32_t[::1] column_places,
         float[::1] column_values, float[:, ::1] heavy, /):
    """Set the entries of the rows order[first] to order[last - 1], times their `inverse` (n,), in
    groups of rows and in groups of columns, and `heavy` (n, h), which is zero before.

    The next entry of light column j belongs to following[j], which is moved on.
    """
    cdef Py_ssize_t q, i, t, at, below, whole = indices.shape[0] if following.shape[0] else 0
    cdef float value
    cdef int32_t k
    with nogil:
        for q in range(first, last):
            i, at = order[q], starts[q // GROUP] + q % GROUP
            for t in range(indptr[i], indptr[i + 1]):
                if t + AHEAD < whole:
                    below = following[max(place[indices[t + AHEAD]], 0)]
                    ask_for(&column_values[0] + below)
                    ask_for(&column_places[0] + below)
                k, value = place[indices[t]], <float> (data[t] * inverse[q])
                if k >= 0:
                    row_places[at], row_values[at] = k, value
                    at += GROUP
                    below = following[k]
                    column_places[below], column_values[below] = <int32_t> q, value
                    following[k] = below + GROUP
                elif k <= HEAVY:
                    heavy[q, HEAVY - k] = value


cdef void groups_times(const int64_t[::1] starts, const int32_t[::1] places,
                       const float[::1] values, const float* v, Py_ssize_t size, float* out,
                       int n_threads) noexcept nogil:
    """Set out (16 m,) to the products of m groups with v (size,)."""
    cdef Py_ssize_t block, start, groups = starts.shape[0] - 1
    for block in prange((groups + GROUPS - 1) // GROUPS, num_threads=n_threads, schedule="static"):
        start = block * GROUPS
        times_of_groups(start, min(groups, start + GROUPS), &starts[0], &places[0], &values[0], v,
                        size, out)


def products(const int64_t[::1] row_starts, const int32_t[::1] row_places,
             const float[::1] row_values, const int64_t[::1] column_starts,
             const int32_t[::1] column_places, const float[::1] column_values,
             const float[::1] extra, const float[::1] v, float[::1] t, float[::1] out,
             int n_threads, /):
    """Set out (m,) to ``L L' v + extra v``; scratch t, of the columns."""
    with nogil:
        light_times(row_starts, row_places, row_values, column_starts, column_places, column_values,
                    extra, &v[0], t, &out[0], n_threads)


cdef void light_times(const int64_t[::1] row_starts, const int32_t[::1] row_places,
                      const float[::1] row_values, const int64_t[::1] column_starts,
                      const int32_t[::1] column_places, const float[::1] column_values,
                      const float[::1] extra, const float* v, float[::1] t, float* out,
                      int n_threads) noexcept nogil:
    cdef Py_ssize_t i, m = extra.shape[0]
    groups_times(column_starts, column_places, column_values, v, m, &t[0], n_threads)
    groups_times(row_starts, row_places, row_values, &t[0], t.shape[0], out, n_threads)
    for i in range(m):
        out[i] += extra[i] * v[i]


def steps(const int64_t[::1] row_starts, const int32_t[::1] row_places,
          const float[::1] row_values, const int64_t[::1] column_starts,
          const int32_t[::1] column_places, const float[::1] column_values,
          const float[::1] extra, const float[::1] null, const float[::1] root,
          const float[::1] u, const float[:, ::1] G, const float[:, ::1] factor,
          float[:, ::1] vectors, float[::1] t, float[::1] s, double[:, ::1] trace, double goal,
          Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Take steps of conjugate gradients from `first` to `last`, or to a residual of length `goal`.

    vectors (6, m) are the solution, the residual, the direction, its product with ``G G'``, and
    scratch; trace (., 2) are lengths of steps and inner products. The product with ``G G'`` comes
    of the preconditioner: no time. Return the last step, and True at its end.
    """
    cdef Py_ssize_t i, k = 0
    cdef int m = <int> extra.shape[0], h = <int> G.shape[1]
    cdef double curvature, length, size = 0, before, far
    cdef float ratio
    cdef bint ended = False
    cdef float* x = &vectors[0, 0]
    cdef float* r = &vectors[1, 0]
    cdef float* p = &vectors[2, 0]
    cdef float* heavy = &vectors[3, 0]
    cdef float* image = &vectors[4, 0]
    cdef float* part = &vectors[5, 0]
    with nogil:
        if first == 0:
            heavy_part(m, h, G, factor, r, &s[0], heavy)
            for i in range(m):
                p[i] = r[i] - heavy[i]
            trace[0, 1] = dot(m, r, p)
        size = trace[first, 1]
        for k in range(first, last):
            # Minimise along the direction.
            light_times(row_starts, row_places, row_values, column_starts, column_places,
                        column_values, extra, p, t, image, n_threads)
            add_multiple(m, <float> 1, heavy, image)
            curvature = dot(m, p, image)
            if not 0 < curvature < INFINITY:
                ended = True
                break
            length = size / curvature
            add_multiple(m, <float> length, p, x)
            add_multiple(m, <float> -length, image, r)
            if null.shape[0]:  # of which rounding leaves as much as of the residual at first
                add_multiple(m, <float> -dot(m, &null[0], r), &null[0], r)
            # The next direction is conjugate to the last.
            heavy_part(m, h, G, factor, r, &s[0], part)
            for i in range(m):
                image[i] = root[i] * r[i]
            far = dot(m, image, image)
            if u.shape[0]:
                far -= dot(m, &u[0], image) ** 2
            for i in range(m):
                image[i] = r[i] - part[i]
            before, size = size, dot(m, r, image)
            trace[k + 1, 0], trace[k + 1, 1] = length, size
            if far <= goal * goal:
                ended, k = True, k + 1
                break
            ratio = <float> (size / before)
            for i in range(m):
                p[i] = image[i] + ratio * p[i]
                heavy[i] = part[i] + ratio * heavy[i]
        else:
            k = last
    return k, ended


cdef void heavy_part(int m, int h, const float[:, ::1] G, const float[:, ::1] factor,
                     const float* r, float* s, float* out) noexcept nogil:
    """out (m,) := G (I + G'G)^-1 G' r."""
    if h == 0:
        memset(out, 0, m * sizeof(float))
        return
    transposed_times_vector(m, h, &G[0, 0], r, s)
    cholesky_solve(h, 1, &factor[0, 0], s)
    times_vector(m, h, &G[0, 0], s, out)
