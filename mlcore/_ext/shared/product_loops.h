/* A dense matrix times a few vectors; included once per precision. A row is read once for all
   vectors, because reading the matrix takes the time. */

#include "shared/precision.h"

#ifndef PRODUCT_ROWS
/* times 3 vectors: sums that fit the registers, enough of them that none waits for its last one */
#define PRODUCT_ROWS (VECTOR_BYTES == 64 ? 8 : 4)
enum { PRODUCT_PART_f = 256, PRODUCT_PART_d = 128 }; /* columns whose values fit the first cache */
#endif

typedef REAL NAME(half)
    __attribute__((vector_size(VECTOR_BYTES / 2), aligned(sizeof(REAL)), may_alias));

/* out[r, :] += sum_j k[r][j] V[j, :] for the columns of `vectors` vectors and `half` half ones. */
INLINE void NAME(product_part)(int vectors, int half, int have, ptrdiff_t m, const REAL *const *k,
                               const REAL *V, ptrdiff_t width, REAL *out) {
  enum { AHEAD = 64, LINE = 64 / sizeof(REAL) }; /* the rows are too short for the processor */
  VEC sum[PRODUCT_ROWS][3];
  NAME(half) rest[PRODUCT_ROWS];
  for (int r = 0; r < PRODUCT_ROWS; r++) {
    REAL *from = out + (r < have ? r : have - 1) * width;
    for (int c = 0; c < vectors; c++) sum[r][c] = LOAD(from + c * LANES);
    if (half) rest[r] = *(NAME(half) *)(from + vectors * LANES);
  }
  for (ptrdiff_t j = 0; j < m; j++) {
    VEC v[3];
    if (j % LINE == 0)
      for (int r = 0; r < PRODUCT_ROWS; r++) __builtin_prefetch(k[r] + j + AHEAD);
    for (int c = 0; c < vectors; c++) v[c] = LOAD(V + j * width + c * LANES);
    for (int r = 0; r < PRODUCT_ROWS; r++)
      for (int c = 0; c < vectors; c++) sum[r][c] += k[r][j] * v[c];
    if (half) {
      const NAME(half) last = *(const NAME(half) *)(V + j * width + vectors * LANES);
      for (int r = 0; r < PRODUCT_ROWS; r++) rest[r] += k[r][j] * last;
    }
  }
  for (int r = 0; r < PRODUCT_ROWS && r < have; r++) {
    for (int c = 0; c < vectors; c++) STORE(out + r * width + c * LANES, sum[r][c]);
    if (half) *(NAME(half) *)(out + r * width + vectors * LANES) = rest[r];
  }
}

/* The same for all columns of V. */
static void NAME(product_columns)(int have, ptrdiff_t m, const REAL *const *k, const REAL *V,
                                  ptrdiff_t width, REAL *out) {
  ptrdiff_t c = 0;
  for (; c + 3 * LANES <= width && c + 4 * LANES != width && c + 7 * LANES / 2 != width;
       c += 3 * LANES)
    NAME(product_part)(3, 0, have, m, k, V + c, width, out + c);
  for (; c + 2 * LANES <= width && c + 5 * LANES / 2 != width; c += 2 * LANES)
    NAME(product_part)(2, 0, have, m, k, V + c, width, out + c);
  switch (2 * (width - c) / LANES) {
  case 1: NAME(product_part)(0, 1, have, m, k, V + c, width, out + c); break;
  case 2: NAME(product_part)(1, 0, have, m, k, V + c, width, out + c); break;
  case 3: NAME(product_part)(1, 1, have, m, k, V + c, width, out + c); break;
  case 5: NAME(product_part)(2, 1, have, m, k, V + c, width, out + c); break;
  }
}

/* out (n_rows, width) = K (n_rows, n) V (n, width); the width is a multiple of 8, which is half a
   vector at least. */
static void NAME(product)(ptrdiff_t n_rows, ptrdiff_t n, const REAL *K, ptrdiff_t stride,
                          const REAL *V, ptrdiff_t width, REAL *out) {
  const REAL *k[PRODUCT_ROWS];
  memset(out, 0, (size_t)(n_rows * width) * sizeof(REAL));
  for (ptrdiff_t row = 0; row < n_rows; row += PRODUCT_ROWS) {
    const int have = n_rows - row < PRODUCT_ROWS ? (int)(n_rows - row) : PRODUCT_ROWS;
    for (ptrdiff_t start = 0; start < n; start += NAME(PRODUCT_PART)) {
      const ptrdiff_t m = n - start < NAME(PRODUCT_PART) ? n - start : NAME(PRODUCT_PART);
      for (int r = 0; r < PRODUCT_ROWS; r++)
        k[r] = K + (row + (r < have ? r : have - 1)) * stride + start;
      NAME(product_columns)(have, m, k, V + start * width, width, out + row * width);
    }
  }
}
