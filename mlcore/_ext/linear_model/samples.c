/* Copies of rows about an origin, with their means and squares, in one reading: two, of rows less
   their mean, take half as long again (500 rows of 5000 columns, AVX-512). Included once per
   precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "linear_model/samples.h"

#include "shared/table.h"

enum { ROWS = 4 }; /* at a time: sums are loaded and stored once for these */

#define LOOPS "linear_model/samples.c"
#include "shared/both_precisions.h"

SIMD_TABLE(samples, .f = {.rows_about = rows_about_f}, .d = {.rows_about = rows_about_d})

#else
#include "linear_model/samples.h"
#include "shared/precision.h"

INLINE void NAME(rows)(const int rows, const int single, ptrdiff_t d, ptrdiff_t first,
                       ptrdiff_t last, const REAL *x, const double *origin, const double *share,
                       const double *root, double *restrict f, float *restrict p,
                       double *restrict center, double *restrict squares) {
  for (ptrdiff_t j = first; j < last; j++) {
    double sum = 0, square = 0;
    for (int i = 0; i < rows; i++) {
      const double value = (double)x[i * d + j] - origin[j], scaled = root[i] * value;
      f[i * d + j] = scaled;
      if (single) p[i * d + j] = (float)scaled;
      sum += share[i] * value;
      square += scaled * scaled;
    }
    center[j] += sum;
    squares[j] += square;
  }
}

INLINE void NAME(all_rows)(const int single, ptrdiff_t n, ptrdiff_t d, ptrdiff_t first,
                           ptrdiff_t last, const REAL *X, const double *origin, const double *share,
                           const double *root, double *F, float *P, double *center,
                           double *squares) {
  ptrdiff_t i = 0;
  for (; i + ROWS <= n; i += ROWS)
    NAME(rows)(ROWS, single, d, first, last, X + i * d, origin, share + i, root + i, F + i * d,
               single ? P + i * d : P, center, squares);
  for (; i < n; i++)
    NAME(rows)(1, single, d, first, last, X + i * d, origin, share + i, root + i, F + i * d,
               single ? P + i * d : P, center, squares);
}

static void NAME(rows_about)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t first, ptrdiff_t last,
                             const REAL *X, const double *origin, const double *share,
                             const double *root, double *F, float *P, double *center,
                             double *squares) {
  for (ptrdiff_t j = first; j < last; j++) center[j] = squares[j] = 0;
  if (P) NAME(all_rows)(1, n, d, first, last, X, origin, share, root, F, P, center, squares);
  else NAME(all_rows)(0, n, d, first, last, X, origin, share, root, F, P, center, squares);
}

#endif
