"""Centred columns Z (n, d) of weighted rows, dense or sparse. Inline, so that no call crosses a
module.

Dense columns are rows of `dense` (d, n). Sparse ones have entries (CSC) less ``mean[j] root``,
which is not formed. Both are times the roots of weights, `root` (n,), whose squares sum to `total`.
"""
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs, fmax, nextafter, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t

from mlcore._ext.shared.blas cimport add_multiple, dot

cdef enum:
    COLUMNS = 16  # of a block


cdef struct Columns:
    Py_ssize_t n
    Py_ssize_t d
    bint sparse
    const double* dense
    const int64_t* indptr
    const int32_t* indices
    const double* values
    const double* mean
    const double* root
    double total
    double largest       # root


cdef inline Columns columns_of(const double[:, ::1] dense, const int64_t[::1] indptr,
                               const int32_t[::1] indices, const double[::1] values,
                               const double[::1] mean, const double[::1] root) noexcept:
    """Return the columns; they are sparse if `dense` is empty."""
    cdef Columns Z
    cdef Py_ssize_t i
    Z.n, Z.d, Z.sparse = root.shape[0], mean.shape[0], dense.shape[0] == 0
    Z.dense = NULL
    if not Z.sparse:
        Z.dense = &dense[0, 0]
    Z.indptr, Z.indices, Z.values = &indptr[0], &indices[0], &values[0]
    Z.mean, Z.root, Z.total, Z.largest = &mean[0], &root[0], 0, 0
    for i in range(Z.n):
        Z.total += root[i] * root[i]
        Z.largest = fmax(Z.largest, root[i])
    return Z


cdef inline double times_sparse(const Columns* Z, Py_ssize_t j, const double* x,
                                double along) noexcept nogil:
    """Return the product of a column and x (n,), `along` being that of x and root.

    Four sums do not wait for each other: half of the time.
    """
    cdef int64_t i, last = Z.indptr[j + 1], even = last - (last - Z.indptr[j]) % 4
    cdef double a = 0, b = 0, c = 0, d = 0
    for i in range(Z.indptr[j], even, 4):
        a = a + Z.values[i] * x[Z.indices[i]]
        b = b + Z.values[i + 1] * x[Z.indices[i + 1]]
        c = c + Z.values[i + 2] * x[Z.indices[i + 2]]
        d = d + Z.values[i + 3] * x[Z.indices[i + 3]]
    for i in range(even, last):
        a = a + Z.values[i] * x[Z.indices[i]]
    return (a + b) + (c + d) - Z.mean[j] * along


cdef inline double product(const Columns* Z, Py_ssize_t j, const double* x,
                           double along) noexcept nogil:
    """Return the product of a column and x (n,), `along` being that of x and root."""
    if Z.sparse:
        return times_sparse(Z, j, x, along)
    return dot(<int> Z.n, Z.dense + j * Z.n, x)


cdef inline void correlate(const Columns* Z, const double* x, const int8_t* out, double* h,
                           int n_threads) noexcept nogil:
    """h_j := z_j'x for columns that are not out."""
    cdef Py_ssize_t block, n_blocks = (Z.d + COLUMNS - 1) // COLUMNS
    cdef double along = dot(<int> Z.n, Z.root, x) if Z.sparse else 0
    for block in prange(n_blocks, num_threads=n_threads, schedule="static"):
        correlate_block(Z, x, along, out, h, block * COLUMNS)


cdef inline void correlate_block(const Columns* Z, const double* x, double along,
                                 const int8_t* out, double* h, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(first, min(Z.d, first + COLUMNS)):
        if not out[j]:
            h[j] = product(Z, j, x, along)


cdef struct Way:         # of residuals since the first, at least
    double length        # sum of their lengths
    double largest       # sum of the largest changes of a row, in sparse columns


cdef struct Readings:
    const int8_t* out          # (d,) true for columns that are never read
    const Py_ssize_t* place    # (d,) not negative for columns that always are
    const double* size         # (d,) lengths of columns
    const double* sums         # (d,) of their absolute values, less no means
    double* h                  # (d,) products with residuals when a column was last read
    double* length             # (d,) the way of the residuals, up to that
    double* largest            # (d,)


cdef inline double bound_of(const Readings* of, Py_ssize_t j, const Way* way,
                            double share) noexcept nogil:
    """Return at least the product's absolute value now, when the residuals have come this way; a
    guess of it for a share below 1.

    In columns of few entries the largest change counts: a quarter of the readings by lengths. The
    strong rule is a guess itself, and reads by a fifth of the way: .98 of the time of a path.
    """
    return fabs(of.h[j]) + share * min(of.size[j] * (way.length - of.length[j]),
                                       of.sums[j] * (way.largest - of.largest[j]))


cdef inline void move(const Columns* Z, const double* r, const double* before,
                      Way* way) noexcept nogil:
    """Add the change of residuals, from those before, to their way.

    A mean is at most the sum of absolute values times the largest root over the total.
    """
    cdef Py_ssize_t i
    cdef double squares = 0, along = 0, largest = 0, step
    for i in range(Z.n):
        step = r[i] - before[i]
        squares += step * step
        along += Z.root[i] * step
        largest = max(largest, fabs(step))
    if largest == 0:
        return
    # It grows by less than its rounding too, as products of the same way are not read again.
    way.length = fmax(way.length + sqrt(squares) * (1 + 1e-9), nextafter(way.length, INFINITY))
    way.largest += (largest + fabs(along) * Z.largest / Z.total) * (1 + 1e-9)


cdef inline void read_columns(const Columns* Z, const double* r, const Readings* of,
                              const double* lasso, double limit, double share, const Way* way,
                              int n_threads) noexcept nogil:
    """Compute the products with residuals that may be as large as `limit` times the lasso (d,),
    by a share of their way, where those of the last reading are not of these residuals.
    """
    cdef Py_ssize_t block, n_blocks = (Z.d + COLUMNS - 1) // COLUMNS
    cdef double along = dot(<int> Z.n, Z.root, r) if Z.sparse else 0
    for block in prange(n_blocks, num_threads=n_threads, schedule="static"):
        read_block(Z, r, along, of, lasso, limit, share, way, block * COLUMNS)


cdef inline void read_block(const Columns* Z, const double* r, double along, const Readings* of,
                            const double* lasso, double limit, double share,
                            const Way* way, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(first, min(Z.d, first + COLUMNS)):
        if of.out[j] or of.length[j] == way.length:
            continue
        if of.place[j] < 0 and bound_of(of, j, way, share) < limit * lasso[j]:
            continue
        of.h[j] = product(Z, j, r, along)
        of.length[j], of.largest[j] = way.length, way.largest


cdef inline void slopes_of(const Readings* of, Py_ssize_t d, const double* ridge, const double* w,
                           const Way* way, double* g) noexcept nogil:
    """g := h - ridge w, or its bound where h is of an earlier reading (w is 0 there)."""
    cdef Py_ssize_t j
    for j in range(d):
        if of.out[j]:
            g[j] = 0
        elif of.length[j] == way.length:
            g[j] = of.h[j] - ridge[j] * w[j]
        else:
            g[j] = bound_of(of, j, way, 1)


cdef inline void residuals(const Columns* Z, const double* y, const double* w,
                           const Py_ssize_t* members, Py_ssize_t count, double* r) noexcept nogil:
    """r := y - Z w for w (d,), 0 but for members."""
    cdef Py_ssize_t i, j
    cdef int64_t at
    cdef double shift = 0
    for i in range(Z.n):
        r[i] = y[i]
    for i in range(count):
        j = members[i]
        if w[j] == 0:
            continue
        if Z.sparse:
            for at in range(Z.indptr[j], Z.indptr[j + 1]):
                r[Z.indices[at]] -= w[j] * Z.values[at]
            shift += w[j] * Z.mean[j]
        else:
            add_multiple(<int> Z.n, -w[j], Z.dense + j * Z.n, r)
    if shift != 0:
        add_multiple(<int> Z.n, shift, Z.root, r)


cdef inline double sweep_columns(const Columns* Z, const Py_ssize_t* members, Py_ssize_t count,
                                 const double* lasso, const double* ridge, const double* squares,
                                 bint only_nonzero, double* w, double* r,
                                 double* shift) noexcept nogil:
    """Minimise P in each coordinate of sparse members once; return a part of its fall.

    Residuals are r + shift root, which has no product with root.
    """
    cdef Py_ssize_t i, j
    cdef int64_t at
    cdef double curvature, target, new, fall = 0
    for i in range(count):
        j = members[i]
        curvature = squares[j] + ridge[j]
        if (only_nonzero and w[j] == 0) or not curvature > 0:
            continue
        target = times_sparse(Z, j, r, -shift[0] * Z.total) + squares[j] * w[j]
        new = 0
        if target > lasso[j]:
            new = (target - lasso[j]) / curvature
        elif target < -lasso[j]:
            new = (target + lasso[j]) / curvature
        if new == w[j]:
            continue
        for at in range(Z.indptr[j], Z.indptr[j + 1]):
            r[Z.indices[at]] -= (new - w[j]) * Z.values[at]
        shift[0] += (new - w[j]) * Z.mean[j]
        fall += 0.5 * curvature * (new - w[j]) * (new - w[j])
        w[j] = new
    return fall


cdef inline double nth_largest(double* x, Py_ssize_t count, Py_ssize_t nth) noexcept nogil:
    """Return the nth largest of x (count,), nth from 1 on; x changes its order."""
    cdef Py_ssize_t low = 0, high = count - 1, i, j
    cdef double pivot, other
    while low < high:
        pivot = x[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while x[i] > pivot:
                i += 1
            while x[j] < pivot:
                j -= 1
            if i <= j:
                other = x[i]
                x[i] = x[j]
                x[j] = other
                i += 1
                j -= 1
        if nth - 1 <= j:
            high = j
        elif nth - 1 >= i:
            low = i
        else:
            break
    return x[nth - 1]
