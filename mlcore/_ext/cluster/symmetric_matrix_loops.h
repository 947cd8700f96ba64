/* Passes over the lower triangle of a symmetric matrix, each entry read once and used on both sides
   of the diagonal.

   Included for each type of its entries, see entry.h. A panel is some rows from the first column
   to the diagonal. Sums for its own rows go to `rows`; sums for the rows that
   mirror its columns, to `columns`. */

#include "cluster/entry.h"
#include "cluster/symmetric_matrix.h"

#ifndef SYMMETRIC_ROWS
#define PRODUCTS_ONLY_f 0
#define PRODUCTS_ONLY_d 0
#define PRODUCTS_ONLY_short 1
/* v where t is positive, else 0. */
static inline vdouble positive_f(vdouble t, vdouble v) {
  return select_d(greater_d(t, (vdouble){0}), v, (vdouble){0});
}
static inline vdouble positive_d(vdouble t, vdouble v) { return positive_f(t, v); }
static inline vfloat positive_short(vfloat t, vfloat v) {
  return select_f(greater_f(t, (vfloat){0}), v, (vfloat){0});
}

#define SYMMETRIC_ROWS \
  (VECTOR_BYTES == 64  \
       ? 8             \
       : 4) /* rows whose sums fit the registers: one takes 1.4 times as long (scaling of 5,000 samples, AVX2) */
/* of a strip: their sums fit the first caches */
#define SYMMETRIC_COLUMNS 2048
#endif

/* Add the terms of entry `k` to its row and its column; T = k + u_i + u_j. */
#define SHARES(mode, k, xi, xj, ui, uj, row, column, squares) \
  if (mode == SYMMETRIC_PRODUCT) {                            \
    row += k * xj;                                            \
    column += k * xi;                                         \
  } else if (mode == SYMMETRIC_POSITIVE) {                    \
    k = POSITIVE(k + (ui + uj), k + (ui + uj));               \
    row += k;                                                 \
    column += k;                                              \
    squares += k * k;                                         \
  } else {                                                    \
    row += POSITIVE(k + (ui + uj), xj);                       \
    column += POSITIVE(k + (ui + uj), xi);                    \
  }

/* Columns first..last of `n` rows, all of them below the diagonal. */
INLINE void NAME(symmetric_strip)(const int mode, const int n, ptrdiff_t first, ptrdiff_t last,
                                  const ENTRY *K, ptrdiff_t stride, const SUM *x, const SUM *u,
                                  const SUM *x_rows, const SUM *u_rows, SUM *rows, SUM *columns,
                                  SUM *squares) {
  SUMS sums[SYMMETRIC_ROWS] = {{0}}, square = {0};
  ptrdiff_t j = first;
  for (; j + ENTRY_STEP <= last; j += ENTRY_STEP) {
    const SUMS xj = NAME(load_sums)(x + j),
               uj = mode == SYMMETRIC_PRODUCT ? xj : NAME(load_sums)(u + j);
    SUMS column = NAME(load_sums)(columns + j);
    for (int r = 0; r < n; r++) {
      SUMS k = WIDEN(K + r * stride + j);
#define POSITIVE(t, v) NAME(positive)(t, (SUMS){0} + (v))
      SHARES(mode, k, x_rows[r], xj, u_rows[r], uj, sums[r], column, square)
#undef POSITIVE
    }
    NAME(store_sums)(columns + j, column);
  }
  for (int r = 0; r < n; r++) {
    SUM sum = 0;
    for (int lane = 0; lane < ENTRY_STEP; lane++) sum += sums[r][lane];
    rows[r] += sum;
  }
  for (int lane = 0; lane < ENTRY_STEP; lane++) *squares += 2 * square[lane];
  for (; j < last; j++)
    for (int r = 0; r < n; r++) {
      SUM k = NAME(number)(K[r * stride + j]), once = 0;
#define POSITIVE(t, v) ((t) > 0 ? (v) : 0)
      SHARES(mode, k, x_rows[r], x[j], u_rows[r], u[j], rows[r], columns[j], once)
      *squares += 2 * once;
    }
}

/* Rows first..last of K, which begins at row 0; `u` is not read for a product. */
INLINE void NAME(symmetric_panel)(const int mode, ptrdiff_t first, ptrdiff_t last, const ENTRY *K,
                                  ptrdiff_t stride, const SUM *x, const SUM *u, SUM *rows,
                                  SUM *columns, SUM *squares) {
  for (ptrdiff_t r = first; r < last; r++) rows[r - first] = 0;
  for (ptrdiff_t j = 0; j < last; j++) columns[j] = 0;
  *squares = 0;
  for (ptrdiff_t left = 0; left < last; left += SYMMETRIC_COLUMNS)
    for (ptrdiff_t r = first; r < last; r += SYMMETRIC_ROWS) {
      const ptrdiff_t end = r < left + SYMMETRIC_COLUMNS ? r : left + SYMMETRIC_COLUMNS;
      const ptrdiff_t n = last - r < SYMMETRIC_ROWS ? last - r : SYMMETRIC_ROWS;
      const SUM *xr = x + r, *ur = mode == SYMMETRIC_PRODUCT ? xr : u + r;
      if (n == SYMMETRIC_ROWS)
        NAME(symmetric_strip)(mode, SYMMETRIC_ROWS, left, end, K + r * stride, stride, x, u, xr, ur,
                              rows + r - first, columns, squares);
      else
        for (ptrdiff_t i = 0; i < n; i++)
          NAME(symmetric_strip)(mode, 1, left, end, K + (r + i) * stride, stride, x, u, xr + i,
                                ur + i, rows + r + i - first, columns, squares);
      if (r < left || r >= left + SYMMETRIC_COLUMNS) continue;
      for (ptrdiff_t i = r; i < r + n; i++) { /* the triangle where the rows meet the diagonal */
        for (ptrdiff_t j = r; j < i; j++) {
          SUM k = NAME(number)(K[i * stride + j]), once = 0;
          SHARES(mode, k, x[i], x[j], u[i], u[j], rows[i - first], columns[j], once)
          *squares += 2 * once;
        }
        SUM k = NAME(number)(K[i * stride + i]), other = 0;
        SHARES(mode, k, x[i], x[i], u[i], u[i], rows[i - first], other, *squares)
        (void)other; /* an entry of the diagonal counts once */
#undef POSITIVE
      }
    }
}

static void NAME(symmetric)(int mode, ptrdiff_t first, ptrdiff_t last, const ENTRY *K,
                            ptrdiff_t stride, const SUM *x, const SUM *u, SUM *rows, SUM *columns,
                            SUM *squares) {
  (void)u; /* for products alone */
  if (mode == SYMMETRIC_PRODUCT)
    NAME(symmetric_panel)(SYMMETRIC_PRODUCT, first, last, K, stride, x, x, rows, columns, squares);
#if !NAME(PRODUCTS_ONLY)
  else if (mode == SYMMETRIC_POSITIVE)
    NAME(symmetric_panel)(SYMMETRIC_POSITIVE, first, last, K, stride, x, u, rows, columns, squares);
  else
    NAME(symmetric_panel)(SYMMETRIC_ACTIVE, first, last, K, stride, x, u, rows, columns, squares);
#endif
}

#undef SHARES
