/* A dense matrix times a few vectors, in double precision; included once per precision of the
   matrix. A row is read once for all vectors, because reading the matrix takes the time. */

#include "precision.h"

#ifndef PRODUCT_ROWS
#define PRODUCT_LANES ((int)(VECTOR_BYTES / sizeof(double)))
/* times 2 vectors: as many accumulators as registers allow */
#define PRODUCT_ROWS (VECTOR_BYTES == 64 ? 8 : 4)
enum { PRODUCT_PART = 256 }; /* columns whose values fit the first-level cache */

/* out[r, :] += sum_j k[r][j] V[j, :] for the columns of `vectors` vectors. */
INLINE void product_part(int vectors, int have, ptrdiff_t m, const double *const *k,
                         const double *V, ptrdiff_t width, double *out) {
  vdouble sum[8][2];
  for (int r = 0; r < PRODUCT_ROWS; r++)
    for (int c = 0; c < vectors; c++)
      sum[r][c] = load_d(out + (r < have ? r : have - 1) * width + c * PRODUCT_LANES);
  for (ptrdiff_t j = 0; j < m; j++) {
    vdouble v[2];
    for (int c = 0; c < vectors; c++) v[c] = load_d(V + j * width + c * PRODUCT_LANES);
    for (int r = 0; r < PRODUCT_ROWS; r++) {
      const vdouble x = (vdouble){0} + k[r][j];
      for (int c = 0; c < vectors; c++) sum[r][c] += x * v[c];
    }
  }
  for (int r = 0; r < PRODUCT_ROWS && r < have; r++)
    for (int c = 0; c < vectors; c++) store_d(out + r * width + c * PRODUCT_LANES, sum[r][c]);
}
#endif

/* out (n_rows, width) = K (n_rows, n) V (n, width); the width is a multiple of 8. */
static void NAME(product)(ptrdiff_t n_rows, ptrdiff_t n, const REAL *K, ptrdiff_t stride,
                          const double *V, ptrdiff_t width, double *out) {
  double wide[8][PRODUCT_PART];
  const double *k[8];
  memset(out, 0, (size_t)(n_rows * width) * sizeof(double));
  for (ptrdiff_t row = 0; row < n_rows; row += PRODUCT_ROWS) {
    const int have = n_rows - row < PRODUCT_ROWS ? (int)(n_rows - row) : PRODUCT_ROWS;
    double *to = out + row * width;
    for (ptrdiff_t start = 0; start < n; start += PRODUCT_PART) {
      const ptrdiff_t m = n - start < PRODUCT_PART ? n - start : PRODUCT_PART;
      for (int r = 0; r < PRODUCT_ROWS; r++) {
        const REAL *from = K + (row + (r < have ? r : have - 1)) * stride + start;
        k[r] = (const double *)(const void *)from;
        if (sizeof(REAL) < sizeof(double)) {
          for (ptrdiff_t j = 0; j < m; j++) wide[r][j] = (double)from[j];
          k[r] = wide[r];
        }
      }
      ptrdiff_t c = 0;
      for (; c + 2 * PRODUCT_LANES <= width; c += 2 * PRODUCT_LANES)
        product_part(2, have, m, k, V + start * width + c, width, to + c);
      if (c < width) product_part(1, have, m, k, V + start * width + c, width, to + c);
    }
  }
}
