#include "shared/product.h"

#include "shared/table.h"

#define LOOPS "shared/product_loops.h"
#include "shared/both_precisions.h"

/* The same in double precision, of a matrix in single precision. */
static void product_widened(ptrdiff_t n_rows, ptrdiff_t n, const float *K, ptrdiff_t stride,
                            const double *V, ptrdiff_t width, double *out) {
  double wide[PRODUCT_ROWS][PRODUCT_PART_d + 64]; /* as far as rows are fetched */
  const double *k[PRODUCT_ROWS];
  memset(out, 0, (size_t)(n_rows * width) * sizeof(double));
  for (ptrdiff_t row = 0; row < n_rows; row += PRODUCT_ROWS) {
    const int have = n_rows - row < PRODUCT_ROWS ? (int)(n_rows - row) : PRODUCT_ROWS;
    for (ptrdiff_t start = 0; start < n; start += PRODUCT_PART_d) {
      const ptrdiff_t m = n - start < PRODUCT_PART_d ? n - start : PRODUCT_PART_d;
      for (int r = 0; r < PRODUCT_ROWS; r++) {
        const float *from = K + (row + (r < have ? r : have - 1)) * stride + start;
        for (ptrdiff_t j = 0; j < m; j++) wide[r][j] = (double)from[j];
        k[r] = wide[r];
      }
      product_columns_d(have, m, k, V + start * width, width, out + row * width);
    }
  }
}

SIMD_TABLE(product, .f = {.product = product_widened}, .d = {.product = product_d},
           .single = product_f)
