/* Sparse rows times a vector or a block of vectors; included once per precision.

   A row of the block is one or two groups of 4 doubles, which stay in registers: 4 vectors take
   1.3 times as long as one, a fifth of the time of SciPy's products (PCA of tf-idf, AVX2). */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "numerics/sparse_products.h"

#include "shared/table.h"

typedef double group __attribute__((vector_size(32)));
typedef double group_any __attribute__((vector_size(32), aligned(8), may_alias));
#define GROUP(p) (*(group_any *)(p))
#define GROUP_OF(p) (*(const group_any *)(p))

#define LOOPS "numerics/sparse_products.c"
#include "shared/both_precisions.h"

SIMD_TABLE(sparse_products, .f = {.rows_times = rows_times_f, .gram_times = gram_times_f},
           .d = {.rows_times = rows_times_d, .gram_times = gram_times_d})

#else
#include "numerics/sparse_products.h"
#include "shared/precision.h"

/* t += the row from `at` to `end` times V, of `groups` groups. */
INLINE void NAME(add_row)(int64_t at, int64_t end, const int32_t *indices, const REAL *values,
                          const double *V, const int groups, group *t) {
  for (; at < end; at++) {
    const double value = (double)values[at];
    const group many = {value, value, value, value};
    const double *v = V + (ptrdiff_t)indices[at] * 4 * groups;
    for (int g = 0; g < groups; g++) t[g] += many * GROUP_OF(v + 4 * g);
  }
}

INLINE void NAME(rows_of)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                          const int32_t *indices, const REAL *values, const double *V,
                          const int groups, double *out) {
  for (ptrdiff_t i = first; i < last; i++) {
    group t[2] = {{0}, {0}};
    NAME(add_row)(indptr[i], indptr[i + 1], indices, values, V, groups, t);
    for (int g = 0; g < groups; g++) GROUP(out + (i * groups + g) * 4) = t[g];
  }
}

INLINE void NAME(gram_of)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                          const int32_t *indices, const REAL *values, const double *left,
                          const double *shift, const double *V, const int groups, double *out,
                          double *sums) {
  group total[2] = {{0}, {0}};
  for (ptrdiff_t i = first; i < last; i++) {
    const group size = {left[i], left[i], left[i], left[i]};
    group t[2];
    for (int g = 0; g < groups; g++) t[g] = -size * GROUP_OF(shift + 4 * g);
    NAME(add_row)(indptr[i], indptr[i + 1], indices, values, V, groups, t);
    for (int g = 0; g < groups; g++) total[g] += size * t[g];
    for (int64_t at = indptr[i]; at < indptr[i + 1]; at++) {
      const double value = (double)values[at];
      const group many = {value, value, value, value};
      double *w = out + (ptrdiff_t)indices[at] * 4 * groups;
      for (int g = 0; g < groups; g++) GROUP(w + 4 * g) += many * t[g];
    }
  }
  for (int g = 0; g < groups; g++) GROUP(sums + 4 * g) += total[g];
}

/* The entries of a row times those of v. */
INLINE double NAME(row_of_one)(int64_t at, int64_t end, const int32_t *indices, const REAL *values,
                               const double *v) {
  double even = 0, odd = 0; /* one sum would wait for every addition */
  for (; at + 2 <= end; at += 2) {
    even += (double)values[at] * v[indices[at]];
    odd += (double)values[at + 1] * v[indices[at + 1]];
  }
  if (at < end) even += (double)values[at] * v[indices[at]];
  return even + odd;
}

static void NAME(rows_of_one)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                              const int32_t *indices, const REAL *values, const double *v,
                              double *out) {
  for (ptrdiff_t i = first; i < last; i++)
    out[i] = NAME(row_of_one)(indptr[i], indptr[i + 1], indices, values, v);
}

static void NAME(gram_of_one)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                              const int32_t *indices, const REAL *values, const double *left,
                              double shift, const double *v, double *restrict out, double *sums) {
  double total = 0;
  for (ptrdiff_t i = first; i < last; i++) {
    const int64_t begin = indptr[i], end = indptr[i + 1];
    const double t = NAME(row_of_one)(begin, end, indices, values, v) - left[i] * shift;
    total += left[i] * t;
    for (int64_t at = begin; at < end; at++) out[indices[at]] += (double)values[at] * t;
  }
  *sums += total;
}

static void NAME(rows_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                             const int32_t *indices, const REAL *values, const double *V,
                             ptrdiff_t width, double *out) {
  if (width == 1) NAME(rows_of_one)(first, last, indptr, indices, values, V, out);
  else if (width == 4) NAME(rows_of)(first, last, indptr, indices, values, V, 1, out);
  else NAME(rows_of)(first, last, indptr, indices, values, V, 2, out);
}

static void NAME(gram_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                             const int32_t *indices, const REAL *values, const double *left,
                             const double *shift, const double *V, ptrdiff_t width, double *out,
                             double *sums) {
  if (width == 1)
    NAME(gram_of_one)(first, last, indptr, indices, values, left, *shift, V, out, sums);
  else if (width == 4)
    NAME(gram_of)(first, last, indptr, indices, values, left, shift, V, 1, out, sums);
  else NAME(gram_of)(first, last, indptr, indices, values, left, shift, V, 2, out, sums);
}

#endif
