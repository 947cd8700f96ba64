/* A centred copy of rows, in two readings: less than half of the time of NumPy's operations (72
   rows of 7129 columns, AVX-512). Included once per precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "linear_model/samples.h"

#include "shared/table.h"

enum { ROWS = 4 }; /* at a time: sums are loaded and stored once for these */

#define LOOPS "linear_model/samples.c"
#include "shared/both_precisions.h"

SIMD_TABLE(samples, .f = {.centred_rows = centred_rows_f}, .d = {.centred_rows = centred_rows_d})

#else
#include "linear_model/samples.h"
#include "shared/precision.h"

INLINE void NAME(add_rows)(const int rows, ptrdiff_t d, ptrdiff_t first, ptrdiff_t last,
                           const REAL *x, const double *origin, const double *share,
                           double *restrict center) {
  for (ptrdiff_t j = first; j < last; j++) {
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += share[i] * ((double)x[i * d + j] - origin[j]);
    center[j] += sum;
  }
}

INLINE void NAME(centre_rows)(const int rows, const int single, ptrdiff_t d, ptrdiff_t first,
                              ptrdiff_t last, const REAL *x, const double *origin,
                              const double *root, const double *center, double *restrict f,
                              float *restrict p, double *restrict squares) {
  for (ptrdiff_t j = first; j < last; j++) {
    double sum = 0;
    for (int i = 0; i < rows; i++) {
      const double value = root[i] * (((double)x[i * d + j] - origin[j]) - center[j]);
      f[i * d + j] = value;
      if (single) p[i * d + j] = (float)value;
      sum += value * value;
    }
    squares[j] += sum;
  }
}

INLINE void NAME(centre_all)(const int single, ptrdiff_t n, ptrdiff_t d, ptrdiff_t first,
                             ptrdiff_t last, const REAL *X, const double *origin,
                             const double *root, const double *center, double *F, float *P,
                             double *squares) {
  ptrdiff_t i = 0;
  for (; i + ROWS <= n; i += ROWS)
    NAME(centre_rows)(ROWS, single, d, first, last, X + i * d, origin, root + i, center, F + i * d,
                      single ? P + i * d : P, squares);
  for (; i < n; i++)
    NAME(centre_rows)(1, single, d, first, last, X + i * d, origin, root + i, center, F + i * d,
                      single ? P + i * d : P, squares);
}

static void NAME(centred_rows)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t first, ptrdiff_t last,
                               const REAL *X, const double *origin, const double *share,
                               const double *root, double *F, float *P, double *center,
                               double *squares) {
  for (ptrdiff_t j = first; j < last; j++) center[j] = squares[j] = 0;
  ptrdiff_t i = 0;
  if (share) {
    for (; i + ROWS <= n; i += ROWS)
      NAME(add_rows)(ROWS, d, first, last, X + i * d, origin, share + i, center);
    for (; i < n; i++) NAME(add_rows)(1, d, first, last, X + i * d, origin, share + i, center);
  }
  if (P) NAME(centre_all)(1, n, d, first, last, X, origin, root, center, F, P, squares);
  else NAME(centre_all)(0, n, d, first, last, X, origin, root, center, F, P, squares);
}

#endif
