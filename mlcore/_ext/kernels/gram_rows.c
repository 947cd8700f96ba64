/* Sums of rows with weights; included once per precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "kernels/gram_rows.h"

#include "shared/table.h"

#define LOOPS "kernels/gram_rows.c"
#include "shared/both_precisions.h"

SIMD_TABLE(gram_rows, .f = {.accumulate = accumulate_f}, .d = {.accumulate = accumulate_d})

#else
#include "shared/precision.h"

/* g[j] += sum_i c[i] k[i][j], in the order of i; n is a constant where this is inlined. */
INLINE void NAME(add_rows)(const int n, const REAL *const *k, const double *c, ptrdiff_t start,
                           ptrdiff_t stop, double *restrict g) {
  enum { L = VECTOR_BYTES / sizeof(double) };
  const ptrdiff_t last = start + (stop - start) / L * L;
  for (ptrdiff_t j = start; j < last; j += L) {
    vdouble sum = load_d(g + j);
    for (int i = 0; i < n; i++) sum += c[i] * WIDEN(k[i] + j);
    store_d(g + j, sum);
  }
  for (ptrdiff_t j = last; j < stop; j++)
    for (int i = 0; i < n; i++) g[j] += c[i] * (double)k[i][j];
}

/* Sums in double precision, in the order of the rows. */
static void NAME(accumulate)(ptrdiff_t n_rows, const int64_t *slots, const double *a,
                             const REAL *rows, ptrdiff_t stride, ptrdiff_t start, ptrdiff_t stop,
                             double *g) {
  enum { AT_ONCE = 8 };
  const REAL *k[AT_ONCE];
  for (ptrdiff_t r = 0; r < n_rows;) {
    const int have = n_rows - r < AT_ONCE ? 1 : AT_ONCE;
    for (int i = 0; i < have; i++) k[i] = rows + slots[r + i] * stride;
    if (have == AT_ONCE) NAME(add_rows)(AT_ONCE, k, a + r, start, stop, g);
    else NAME(add_rows)(1, k, a + r, start, stop, g);
    r += have;
  }
}

#endif
