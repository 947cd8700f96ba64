"""Hot loops of mlcore.kernels.packed: kernel values between samples, block by block.

Three layouts for inner products, chosen by the caller from the shape of the data:
panels      (or differences) rows as lists of non-zeros against panels of 64 or 32 packed columns:
            few features, dense data with many zeros, moderately sparse data;
products    BLAS on tiles of dense rows: many features, few zeros;
inverted    rows against a list of samples per feature: very sparse data.
Inner products become kernel values (norms, exp) while the tile is in cache; one thread writes each
element. Lists of non-zeros are made and summed here too.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from mlcore._ext.shared.blas cimport gemm_nt
from mlcore._ext.shared.index cimport index
from mlcore._ext.shared.copies_h cimport copy
from mlcore._ext.kernels.packed_h cimport (
    KERNEL_COUNT, kernel_name, kernel_spec, kernel_starts_at_columns, plus_shared,
)
from mlcore._ext.kernels.packed_h cimport finish as finish_row
from mlcore._ext.kernels.packed_h cimport panel as panel_tile
from mlcore._ext.shared.panel_h cimport PANEL_DOUBLE, PANEL_FLOAT
from mlcore._ext.shared.tiles cimport copy_to_both_places

cdef enum:
    PANELS = 4  # side by side in a tile
    CACHES = 1 << 24  # bytes; larger results are written past the caches
    ROWS = 256  # of a tile of products
    COLUMNS = 256

ctypedef fused sample:
    float
    double

BAND, TILE_ROWS, TILE_COLUMNS = PANELS, ROWS, COLUMNS
KINDS = {kernel_name(kind).decode(): kind for kind in range(KERNEL_COUNT)}
PANEL_WIDTH = {4: PANEL_FLOAT, 8: PANEL_DOUBLE}  # samples in a panel, by bytes of a value


def count_nonzeros(const sample[:, ::1] X, int64_t[::1] counts, int n_threads, /):
    """counts[i + 1] = non-zeros of row i."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        counts[i + 1] = nonzeros(&X[i, 0], d)


cdef inline int64_t nonzeros(const sample* x, Py_ssize_t d) noexcept nogil:
    cdef int64_t count = 0
    cdef Py_ssize_t f
    for f in range(d):
        count += x[f] != 0
    return count


def fill_lists(const sample[:, ::1] X, const int64_t[::1] indptr, int32_t[::1] indices,
               floating[::1] values, int n_threads, /):
    """Fill the lists of non-zeros; `indptr` (n + 1,) bounds them, and one slot is spare."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, f
    cdef int64_t at, last
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        at = indptr[i]
        last = indptr[i + 1]
        for f in range(d):
            if at == last:
                break
            indices[at] = <int32_t> f
            values[at] = <floating> X[i, f]
            at = at + (X[i, f] != 0)


def shifted_lists(const sample[:, ::1] X, const double[::1] shift, bint zeros, double unit,
                  bint absolute, int64_t[::1] indptr, int32_t[::1] indices,
                  floating[::1] values, floating[::1] terms, /):
    """Fill the lists of X - shift, and the sums of squares, or of absolute values, of its rows.

    `shift` may be None; `zeros` keeps zeros. terms[i] is the sum times `unit`. `indices` and
    `values` (n d + 1), `indptr` (n + 1).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, f
    cdef bint shifted = shift is not None
    cdef int64_t at = 0
    cdef double total, value
    with nogil:
        indptr[0] = 0
        for i in range(n):
            total = 0
            for f in range(d):
                indices[at] = <int32_t> f
                values[at] = <floating> (X[i, f] - (shift[f] if shifted else 0.0))
                value = values[at]
                total += fabs(value) if absolute else value * value
                at += zeros or value != 0
            indptr[i + 1] = at
            terms[i] = <floating> (unit * total) if unit != 0 else <floating> 0


def combine(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
            const int64_t[::1] rows, const double[::1] weights, double[::1] w, /):
    """w += sum_r weights[r] x of rows[r], from lists of non-zeros."""
    cdef Py_ssize_t r
    cdef int64_t t
    with nogil:
        for r in range(rows.shape[0]):
            for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
                w[indices[t]] += weights[r] * values[t]


def project(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
            const double[::1] w, double[::1] out, int n_threads, /):
    """out[i] = x_i.w, from lists of non-zeros."""
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double total
    for i in prange(out.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        for t in range(indptr[i], indptr[i + 1]):
            total = total + w[indices[t]] * values[t]
        out[i] = total


def pack_panels(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
                const int64_t[::1] columns, floating[:, :, ::1] panels, int n_threads, /):
    """panels[p, f, lane] = feature f of sample columns[p * width + lane]; zero elsewhere."""
    cdef Py_ssize_t width = panels.shape[2], d = panels.shape[1], p, lane
    cdef int64_t t, c
    cdef floating* panel
    for p in prange(panels.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        panel = &panels[p, 0, 0]
        memset(panel, 0, d * width * sizeof(floating))
        for lane in range(min(width, columns.shape[0] - p * width)):
            c = columns[p * width + lane]
            for t in range(indptr[c], indptr[c + 1]):
                panel[indices[t] * width + lane] = values[t]


def panel_block(int kind, double gamma, double coef0, int degree,
                const int64_t[::1] rows, const int64_t[::1] indptr, const int32_t[::1] indices,
                const floating[::1] values, const floating[::1] row_terms,
                const floating[:, :, ::1] panels, const floating[::1] column_terms,
                Py_ssize_t n_columns, floating[:, ::1] out, const int64_t[::1] dest,
                floating[:, :, ::1] scratch, int n_threads, /):
    """out[dest[r], c] = k(sample rows[r], column c); column_terms padded to whole panels.

    `scratch` is (n_threads, rows of a tile, PANELS width + 16).
    """
    cdef kernel_spec spec
    cdef Py_ssize_t width = panels.shape[2], side = PANELS * width, tile_at, p, top, left, n_rows
    cdef Py_ssize_t across = (n_columns + side - 1) // side, step = scratch.shape[1]
    cdef Py_ssize_t stride = scratch.shape[2], columns
    cdef bint past = rows.shape[0] * n_columns * sizeof(floating) > CACHES
    cdef int lanes
    cdef floating* tile
    spec.kind, spec.gamma, spec.coef0, spec.degree = kind, gamma, coef0, degree
    # Rows first, so that new pages are touched in order.
    for tile_at in prange((rows.shape[0] + step - 1) // step * across, nogil=True,
                          num_threads=n_threads, schedule="dynamic"):
        top = tile_at // across * step
        left = tile_at % across * side
        n_rows = min(step, rows.shape[0] - top)
        columns = min(side, n_columns - left)
        tile = &scratch[threadid(), 0, 0]
        for p in range(left // width, (left + columns + width - 1) // width):
            lanes = <int> min(width, n_columns - p * width)
            panel_tile(&spec, panels.shape[1], n_rows, &rows[top], &indptr[0], &indices[0],
                       &values[0], &row_terms[0], &panels[p, 0, 0], &column_terms[p * width],
                       lanes, tile + p * width - left if past else &out[0, p * width],
                       stride if past else out.shape[1], &dest[top] if not past else NULL)
        if past:
            copy(n_rows, columns, tile, stride, &out[0, left], out.shape[1], &dest[top], True)


def panel_symmetric(int kind, double gamma, double coef0, int degree,
                    const int64_t[::1] chosen, const int64_t[::1] indptr,
                    const int32_t[::1] indices, const floating[::1] values,
                    const floating[::1] row_terms, const floating[:, :, ::1] panels,
                    const floating[::1] column_terms, floating[:, ::1] out,
                    floating[:, :, ::1] scratch, Py_ssize_t first, Py_ssize_t last,
                    int n_threads, /):
    """Bands first..last of a symmetric matrix: tiles on and below the diagonal, then mirrored.

    A band is PANELS panels wide, and so are its tiles: long runs of `out` are written at once. Of a
    tile on the diagonal, each panel begins at the rows that are its own samples.
    `chosen` are the samples of the panels; `scratch` is (n_threads, 2 side, side + 16).
    """
    cdef kernel_spec spec
    cdef Py_ssize_t n = chosen.shape[0], width = panels.shape[2], side = PANELS * width
    cdef Py_ssize_t stride = scratch.shape[2], bands = (n + side - 1) // side
    cdef Py_ssize_t tile_at, top, left, rows, columns, p, skip
    cdef bint past = n * n * sizeof(floating) > CACHES
    cdef int lanes
    cdef floating* tile
    spec.kind, spec.gamma, spec.coef0, spec.degree = kind, gamma, coef0, degree
    for tile_at in prange(first * bands, last * bands, nogil=True, num_threads=n_threads,
                          schedule="dynamic"):
        top = tile_at // bands * side  # rows first, so that new pages are touched in order
        left = tile_at % bands * side
        if left > top:
            continue
        tile = &scratch[threadid(), 0, 0]
        rows = min(side, n - top)
        columns = min(side, n - left)
        for p in range(left // width, (left + columns + width - 1) // width):
            lanes = <int> min(width, n - p * width)
            skip = p * width - left if top == left else 0
            panel_tile(&spec, panels.shape[1], rows - skip, &chosen[top + skip], &indptr[0],
                       &indices[0], &values[0], &row_terms[0], &panels[p, 0, 0],
                       &column_terms[p * width], lanes, tile + skip * stride + p * width - left,
                       stride, NULL)
        copy_to_both_places(tile, stride, rows, columns, top == left, tile + side * stride,
                            &out[top, left], &out[left, top], out.shape[1], past)


def product_block(int kind, double gamma, double coef0, int degree, const floating[:, ::1] A,
                  const floating[::1] row_terms, const floating[:, ::1] B,
                  const floating[::1] column_terms, floating[:, ::1] out, const int64_t[::1] dest,
                  bint symmetric, floating[:, :, ::1] scratch, Py_ssize_t first, Py_ssize_t last,
                  int n_threads, /):
    """out[dest[r], c] = k(A[r], B[c]) for the row tiles first..last, by BLAS.

    With `symmetric` (A is B, dest is 0, 1, ...), only tiles on and below the diagonal are formed.
    `scratch` is (n_threads, 2 ROWS, COLUMNS).
    """
    cdef kernel_spec spec
    cdef Py_ssize_t n = A.shape[0], m = B.shape[0], tile_at, top, left, r, rows, columns
    cdef Py_ssize_t across = (m + COLUMNS - 1) // COLUMNS
    cdef int d = <int> A.shape[1]
    cdef bint past = n * m * sizeof(floating) > CACHES
    cdef floating* tile
    spec.kind, spec.gamma, spec.coef0, spec.degree = kind, gamma, coef0, degree
    for tile_at in prange(first * across, last * across, nogil=True, num_threads=n_threads,
                          schedule="dynamic"):
        tile = &scratch[threadid(), 0, 0]
        top = tile_at // across * ROWS
        left = tile_at % across * COLUMNS
        rows = min(ROWS, n - top)
        columns = min(COLUMNS, m - left)
        if symmetric and left > top:
            continue
        gemm_nt(<int> rows, <int> columns, d, <floating> 1, &A[top, 0], d, &B[left, 0], d,
                <floating> 0, tile, COLUMNS)
        for r in range(rows):
            finish_row(&spec, columns, row_terms[top + r], &column_terms[left],
                       tile + r * COLUMNS)
        if symmetric:
            copy_to_both_places(tile, <Py_ssize_t> COLUMNS, rows, columns, top == left,
                                tile + ROWS * COLUMNS, &out[top, left],
                                &out[left, top], out.shape[1], past)
        else:
            copy(rows, columns, tile, <Py_ssize_t> COLUMNS, &out[0, left], out.shape[1],
                 &dest[top], past)


def inverted_block(int kind, double gamma, double coef0, int degree, const int64_t[::1] rows,
                   const int64_t[::1] indptr, const int32_t[::1] indices,
                   const floating[::1] values, const floating[::1] row_terms,
                   const index[::1] feature_starts, const index[::1] members,
                   const floating[::1] member_values, const floating[::1] column_terms,
                   floating[:, ::1] out, const int64_t[::1] dest, Py_ssize_t n_columns,
                   int n_threads, /):
    """out[dest[r], c] = k(sample rows[r], column c) from a list of (sample, value) per feature."""
    cdef kernel_spec spec
    cdef Py_ssize_t r, j
    cdef int64_t t, f, u
    cdef floating x
    cdef floating* to
    spec.kind, spec.gamma, spec.coef0, spec.degree = kind, gamma, coef0, degree
    for r in prange(rows.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        to = &out[dest[r], 0]
        if kernel_starts_at_columns(kind):
            for j in range(n_columns):
                to[j] = column_terms[j] + row_terms[rows[r]]
        else:
            memset(to, 0, n_columns * sizeof(floating))
        for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
            f = indices[t]
            x = values[t]
            for u in range(feature_starts[f], feature_starts[f + 1]):
                to[members[u]] = plus_shared(kind, to[members[u]], x, member_values[u])
        finish_row(&spec, n_columns, row_terms[rows[r]], &column_terms[0], to)
