/* Passes over the lower triangle of a symmetric matrix, each entry read once and used on both sides
   of the diagonal.

   Included once for every type of its entries: ENTRY, which LOAD_ENTRIES and ONE_ENTRY turn into
   numbers of type SUM, VEC of them at a time. A panel is some rows from the first column to the
   diagonal. What it gives to its own rows goes to `rows`; what it gives, mirrored, to the rows that
   its columns are, to `columns`. */

#ifndef SYMMETRIC_ROWS
#define SYMMETRIC_ROWS (VECTOR_BYTES == 64 ? 8 : 4) /* rows whose sums fit the registers */
/* of a strip: what they gather stays in the first caches */
#define SYMMETRIC_COLUMNS 2048
#endif

enum { WORD(symmetric_step) = VECTOR_BYTES / sizeof(SUM) };

/* The share of `k` in its row and in its column; T = k + u_i + u_j. */
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
static inline __attribute__((always_inline)) void WORD(symmetric_strip)(
    const int mode, const int n, ptrdiff_t first, ptrdiff_t last, const ENTRY *K, ptrdiff_t stride,
    const SUM *x, const SUM *u, const SUM *x_rows, const SUM *u_rows, SUM *rows, SUM *columns,
    SUM *squares) {
  VEC sums[SYMMETRIC_ROWS] = {{0}}, square = {0};
  ptrdiff_t j = first;
  for (; j + WORD(symmetric_step) <= last; j += WORD(symmetric_step)) {
    const VEC xj = LOAD_SUMS(x + j), uj = mode == SYMMETRIC_PRODUCT ? xj : LOAD_SUMS(u + j);
    VEC column = LOAD_SUMS(columns + j);
    for (int r = 0; r < n; r++) {
      VEC k = LOAD_ENTRIES(K + r * stride + j);
#define POSITIVE(t, v) VECTOR_POSITIVE(t, v)
      SHARES(mode, k, x_rows[r], xj, u_rows[r], uj, sums[r], column, square)
#undef POSITIVE
    }
    STORE_SUMS(columns + j, column);
  }
  for (int r = 0; r < n; r++) {
    SUM sum = 0;
    for (int lane = 0; lane < WORD(symmetric_step); lane++) sum += sums[r][lane];
    rows[r] += sum;
  }
  for (int lane = 0; lane < WORD(symmetric_step); lane++) *squares += 2 * square[lane];
  for (; j < last; j++)
    for (int r = 0; r < n; r++) {
      SUM k = ONE_ENTRY(K[r * stride + j]), once = 0;
#define POSITIVE(t, v) ((t) > 0 ? (v) : 0)
      SHARES(mode, k, x_rows[r], x[j], u_rows[r], u[j], rows[r], columns[j], once)
      *squares += 2 * once;
    }
}

/* Rows first..last of K, which begins at row 0; `u` is not read for a product. */
static inline __attribute__((always_inline)) void WORD(symmetric_panel)(
    const int mode, ptrdiff_t first, ptrdiff_t last, const ENTRY *K, ptrdiff_t stride, const SUM *x,
    const SUM *u, SUM *rows, SUM *columns, SUM *squares) {
  for (ptrdiff_t r = first; r < last; r++) rows[r - first] = 0;
  for (ptrdiff_t j = 0; j < last; j++) columns[j] = 0;
  *squares = 0;
  for (ptrdiff_t left = 0; left < last; left += SYMMETRIC_COLUMNS)
    for (ptrdiff_t r = first; r < last; r += SYMMETRIC_ROWS) {
      const ptrdiff_t end = r < left + SYMMETRIC_COLUMNS ? r : left + SYMMETRIC_COLUMNS;
      const ptrdiff_t n = last - r < SYMMETRIC_ROWS ? last - r : SYMMETRIC_ROWS;
      const SUM *xr = x + r, *ur = mode == SYMMETRIC_PRODUCT ? xr : u + r;
      if (n == SYMMETRIC_ROWS)
        WORD(symmetric_strip)(mode, SYMMETRIC_ROWS, left, end, K + r * stride, stride, x, u, xr, ur,
                              rows + r - first, columns, squares);
      else
        for (ptrdiff_t i = 0; i < n; i++)
          WORD(symmetric_strip)(mode, 1, left, end, K + (r + i) * stride, stride, x, u, xr + i,
                                ur + i, rows + r + i - first, columns, squares);
      if (r < left || r >= left + SYMMETRIC_COLUMNS) continue;
      for (ptrdiff_t i = r; i < r + n; i++) { /* the triangle where the rows meet the diagonal */
        for (ptrdiff_t j = r; j < i; j++) {
          SUM k = ONE_ENTRY(K[i * stride + j]), once = 0;
          SHARES(mode, k, x[i], x[j], u[i], u[j], rows[i - first], columns[j], once)
          *squares += 2 * once;
        }
        SUM k = ONE_ENTRY(K[i * stride + i]), other = 0;
        SHARES(mode, k, x[i], x[i], u[i], u[i], rows[i - first], other, *squares)
        (void)other; /* an entry of the diagonal counts once */
#undef POSITIVE
      }
    }
}

static void WORD(symmetric)(int mode, ptrdiff_t first, ptrdiff_t last, const ENTRY *K,
                            ptrdiff_t stride, const SUM *x, const SUM *u, SUM *rows, SUM *columns,
                            SUM *squares) {
  (void)u; /* for products alone */
  if (mode == SYMMETRIC_PRODUCT)
    WORD(symmetric_panel)(SYMMETRIC_PRODUCT, first, last, K, stride, x, x, rows, columns, squares);
#ifndef PRODUCTS_ONLY
  else if (mode == SYMMETRIC_POSITIVE)
    WORD(symmetric_panel)(SYMMETRIC_POSITIVE, first, last, K, stride, x, u, rows, columns, squares);
  else
    WORD(symmetric_panel)(SYMMETRIC_ACTIVE, first, last, K, stride, x, u, rows, columns, squares);
#endif
}

#undef SHARES
#undef WORD
#undef ENTRY
#undef SUM
#undef VEC
#undef LOAD_SUMS
#undef STORE_SUMS
#undef LOAD_ENTRIES
#undef ONE_ENTRY
#undef VECTOR_POSITIVE
