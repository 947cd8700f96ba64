"""Hot loops of mlcore.linear_model.logistic.logistic_pass: one reading of the rows.

Rows are copied, less a shift and scaled, to a block in the cache with a constant last column: then
their scores, losses, residuals, and products. Groups of blocks have sums of their own, added by the
caller in their order, so that the number of threads never changes a bit. C order, checked by the
caller. Shapes, for n rows of d columns, c scores, g groups and t threads:

    codes (n,), weight (n,), theta (c, width), width >= d + 1 a multiple of panel_width();
    by_class (d + 1, padded), its transpose with classes padded to whole vectors, or empty;
    offset and out_scores (n, c) or empty; shift and scale (d,);
    work (t, work_size(width, c));
    loss (g,), wrong (g,), gradients (g, c, width), moment_sums (g, 2, width) or empty,
    hessians (g, pairs, width, width), its lower triangles, or empty.

With `gram` the loss is left out and the Hessian is the sum of weights times products. For two
classes there is one pair; for c > 2 scores, the pairs (a, b), a < b, in lexical order, with
weights s p_a p_b: the blocks of the Hessian off the diagonal, negative.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint16_t

from mlcore._ext.linear_model.class_rows cimport (
    add_one, add_row, add_scores, index, row_score,
)
from mlcore._ext.linear_model.logistic_losses cimport SCORES, losses, pair_roots
from mlcore._ext.linear_model.logistic_pass_h cimport (
    copy_d, copy_f, gradient, moments, scores, scores_by_class,
)
from mlcore._ext.numerics.scatter_h cimport (
    SCATTER_ROWS_d, list_rows_d, pack_d, panel_d, products_d, step_d, strip_d,
)

cdef enum:
    IN_CACHE = 40000  # values of a block


def panel_width():
    """Return what the width is a multiple of."""
    return panel_d


def rows_of_block(Py_ssize_t width, bint products, /):
    """Return the number of rows that are copied together.

    Sums of products may be far larger than the rows, and so are read for as many as can be packed.
    """
    return SCATTER_ROWS_d if products else max(8, min(SCATTER_ROWS_d, IN_CACHE // width))


def work_size(Py_ssize_t width, Py_ssize_t c, /):
    """Return the number of values that each thread needs."""
    cdef Py_ssize_t lists = width // step_d * (SCATTER_ROWS_d + 1)  # of 16 bits
    return (2 * SCATTER_ROWS_d + 1) * width + 2 * SCORES * c + 4 * SCORES + lists // 4 + 1


cdef void add_products(Py_ssize_t rows, Py_ssize_t width, Py_ssize_t used, const double* B,
                       const double* zeros, const double* root, double* strips,
                       uint16_t* lists, double* H) noexcept nogil:
    """H += the products of rows times root, its lower triangle; with `lists` less what is 0."""
    cdef Py_ssize_t i, b
    cdef Py_ssize_t of_panel = panel_d // step_d * (SCATTER_ROWS_d + 1)
    for i in range(rows):
        pack_d(width, B + i * width, zeros, root[i], strips + i * strip_d)
    if lists != NULL:
        for b in range(width // panel_d):
            list_rows_d(rows, strips + b * panel_d * SCATTER_ROWS_d, lists + b * of_panel)
    for b in range(width // panel_d):
        products_d(rows, strips, lists, b, b * panel_d, used, H, width)


cdef void dense_block(const floating* X, Py_ssize_t d, Py_ssize_t rows,
                      const int64_t* codes, const double* weight, bint equal,
                      const double* offset, const double* shift, const double* scale,
                      const double* zeros, const double* theta, const double* by_class,
                      Py_ssize_t padded, Py_ssize_t c, Py_ssize_t width,
                      bint intercept, bint gram, bint skip, double* work, double* loss,
                      Py_ssize_t* wrong, double* G, double* sums, double* H,
                      double* out) noexcept nogil:
    cdef Py_ssize_t i, a, b
    cdef double* B = work
    cdef double* strips = B + SCATTER_ROWS_d * width
    cdef double* Z = strips + SCATTER_ROWS_d * width
    cdef double* R = Z + SCORES * c
    cdef double* sign = R + SCORES * c
    cdef double* root = sign + SCORES
    cdef double* s = root + SCORES
    cdef uint16_t* lists = <uint16_t*> (s + SCORES) if skip else NULL
    for i in range(rows):
        if floating is float:
            copy_f(d, X + i * d, shift, scale, B + i * width)
        else:
            copy_d(d, X + i * d, shift, scale, B + i * width)
        B[i * width + d] = intercept
        for a in range(d + 1, width):
            B[i * width + a] = 0
        s[i] = weight[i]
    for i in range(rows, SCORES):
        s[i] = 0
    if sums != NULL:
        moments(rows, width, B, s, sums, sums + width)
    if gram:
        for i in range(rows):
            root[i] = sqrt(s[i])
        add_products(rows, width, d + 1, B, zeros, root, strips, lists, H)
        return
    for i in range(rows * c):
        Z[i] = 0 if offset == NULL else offset[i]
    if by_class != NULL:
        scores_by_class(rows, width, d + 1, c, padded, B, by_class, Z)
    else:
        scores(rows, width, c, B, theta, Z)
    if out != NULL:
        for i in range(rows * c):
            out[i] = Z[i]
    loss[0] += losses(rows, c, equal, codes, s, Z, R, sign, root, wrong)
    gradient(rows, width, c, B, R, G)
    if H == NULL:
        return
    if c == 1:
        add_products(rows, width, d + 1, B, zeros, root, strips, lists, H)
        return
    for a in range(c):
        for b in range(a + 1, c):
            pair_roots(rows, c, a, b, s, Z, root)
            add_products(rows, width, d + 1, B, zeros, root, strips, lists, H)
            H += width * width


def dense(const floating[:, ::1] X, const int64_t[::1] codes, const double[::1] weight, bint equal,
          const double[:, ::1] offset, const double[::1] shift, const double[::1] scale,
          const double[::1] zeros, const double[:, ::1] theta, const double[:, ::1] by_class,
          bint intercept, bint gram, bint skip, Py_ssize_t size, Py_ssize_t first,
          Py_ssize_t last, Py_ssize_t stride,
          double[:, ::1] work, double[::1] loss, Py_ssize_t[::1] wrong,
          double[:, :, ::1] gradients, double[:, :, ::1] moment_sums,
          double[:, :, :, ::1] hessians, double[:, ::1] out_scores, int n_threads, /):
    """Add the sums over blocks first, first + stride, ... of `size` rows below `last`."""
    cdef Py_ssize_t c = theta.shape[0], width = theta.shape[1], n = X.shape[0], d = X.shape[1]
    cdef Py_ssize_t groups = loss.shape[0], g, block, start
    cdef Py_ssize_t count = (last - first + stride - 1) // stride
    for g in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        for block in range(g * count // groups, (g + 1) * count // groups):
            start = (first + block * stride) * size
            dense_block(&X[start, 0] if d > 0 else NULL, d, min(size, n - start), &codes[start],
                        &weight[start], equal, &offset[start, 0] if offset.shape[0] > 0 else NULL,
                        &shift[0] if d > 0 else NULL, &scale[0] if d > 0 else NULL,
                        &zeros[0], &theta[0, 0], &by_class[0, 0] if by_class.shape[0] > 0 else NULL,
                        by_class.shape[1], c, width, intercept, gram, skip,
                        &work[threadid(), 0], &loss[g], &wrong[g], &gradients[g, 0, 0],
                        &moment_sums[g, 0, 0] if moment_sums.shape[0] > 0 else NULL,
                        &hessians[g, 0, 0, 0] if hessians.shape[0] > 0 else NULL,
                        &out_scores[start, 0] if out_scores.shape[0] > 0 else NULL)


cdef void sparse_block(const floating* data, const index* columns, const index* ends,
                       Py_ssize_t start, Py_ssize_t rows, const int64_t* codes,
                       const double* weight, bint equal, const double* offset,
                       const double* scale, const double* theta, Py_ssize_t c, Py_ssize_t d,
                       Py_ssize_t width, bint intercept, bint gram, double* work, double* loss,
                       Py_ssize_t* wrong, double* G, double* sums, double* H,
                       double* out) noexcept nogil:
    cdef Py_ssize_t i, k, a, b, t, of, count
    cdef double x
    cdef double* Z = work
    cdef double* R = Z + SCORES * c
    cdef double* sign = R + SCORES * c
    cdef double* root = sign + SCORES
    cdef double* s = root + SCORES
    cdef double* values = s + SCORES
    for i in range(SCORES):
        s[i] = weight[i] if i < rows else 0
    if sums != NULL:
        for i in range(rows):
            for t in range(ends[start + i], ends[start + i + 1]):
                x = data[t] * scale[columns[t]]
                sums[2 * columns[t]] += s[i] * x
                sums[2 * columns[t] + 1] += s[i] * x * x
            sums[2 * d] += intercept * s[i]
            sums[2 * d + 1] += intercept * s[i]
    if gram:
        for i in range(rows):
            root[i] = sqrt(s[i])
        add_sparse(data, columns, ends, start, rows, scale, root, d, width, intercept, values, H)
        return
    for i in range(rows):
        for k in range(c):
            Z[i * c + k] = theta[d * c + k] * intercept + (0 if offset == NULL
                                                           else offset[i * c + k])
        of = ends[start + i]
        count = ends[start + i + 1] - of
        if c == 1:
            Z[i] += row_score(count, data + of, columns + of, theta)
        else:
            add_scores(count, data + of, columns + of, c, theta, Z + i * c)
    if out != NULL:
        for i in range(rows * c):
            out[i] = Z[i]
    loss[0] += losses(rows, c, equal, codes, s, Z, R, sign, root, wrong)
    for i in range(rows):
        of = ends[start + i]
        count = ends[start + i + 1] - of
        if c == 1:
            add_one(count, data + of, columns + of, R[i], G)
        else:
            add_row(count, data + of, columns + of, c, R + i * c, G)
        for k in range(c):
            G[d * c + k] += intercept * R[i * c + k]
    if H == NULL:
        return
    if c == 1:
        add_sparse(data, columns, ends, start, rows, scale, root, d, width, intercept, values, H)
        return
    for a in range(c):
        for b in range(a + 1, c):
            pair_roots(rows, c, a, b, s, Z, root)
            add_sparse(data, columns, ends, start, rows, scale, root, d, width, intercept, values,
                       H)
            H += width * width


cdef void add_sparse(const floating* data, const index* columns, const index* ends,
                     Py_ssize_t start, Py_ssize_t rows, const double* scale, const double* root,
                     Py_ssize_t d, Py_ssize_t width, bint intercept, double* values,
                     double* H) noexcept nogil:
    """H += the products of rows times root, its lower triangle."""
    cdef Py_ssize_t i, t, u, head, count
    cdef double x
    cdef double* row
    for i in range(start, start + rows):
        head = ends[i]
        count = ends[i + 1] - head
        for t in range(count):
            values[t] = data[head + t] * scale[columns[head + t]] * root[i - start]
        for t in range(count):
            x = values[t]
            row = H + columns[head + t] * width
            for u in range(t + 1):
                row[columns[head + u]] += x * values[u]
        if intercept:
            x = root[i - start]
            row = H + d * width
            for u in range(count):
                row[columns[head + u]] += x * values[u]
            row[d] += x * x


def sparse(const floating[::1] data, const index[::1] columns, const index[::1] ends,
           const int64_t[::1] codes, const double[::1] weight, bint equal,
           const double[:, ::1] offset, const double[::1] scale, const double[:, ::1] theta,
           Py_ssize_t width, bint intercept, bint gram, Py_ssize_t size, Py_ssize_t first,
           Py_ssize_t last, Py_ssize_t stride, double[:, ::1] work, double[::1] loss,
           Py_ssize_t[::1] wrong, double[:, :, ::1] gradients, double[:, :, ::1] moment_sums,
           double[:, :, :, ::1] hessians, double[:, ::1] out_scores, int n_threads, /):
    """The same for CSR without shift; theta (d + 1, c), gradients (g, d + 1, c) of X unscaled.

    Moments are (g, width, 2): those of a column in one cache line.
    """
    cdef Py_ssize_t c = theta.shape[1], d = theta.shape[0] - 1, n = codes.shape[0]
    cdef Py_ssize_t groups = loss.shape[0], g, block, start
    cdef Py_ssize_t count = (last - first + stride - 1) // stride
    cdef const floating* values = &data[0] if data.shape[0] > 0 else NULL
    cdef const index* of = &columns[0] if columns.shape[0] > 0 else NULL
    for g in prange(groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        for block in range(g * count // groups, (g + 1) * count // groups):
            start = (first + block * stride) * size
            sparse_block(values, of, &ends[0], start, min(size, n - start), &codes[start],
                         &weight[start], equal, &offset[start, 0] if offset.shape[0] > 0 else NULL,
                         &scale[0] if d > 0 else NULL, &theta[0, 0], c, d, width, intercept, gram,
                         &work[threadid(), 0], &loss[g], &wrong[g], &gradients[g, 0, 0],
                         &moment_sums[g, 0, 0] if moment_sums.shape[0] > 0 else NULL,
                         &hessians[g, 0, 0, 0] if hessians.shape[0] > 0 else NULL,
                         &out_scores[start, 0] if out_scores.shape[0] > 0 else NULL)
