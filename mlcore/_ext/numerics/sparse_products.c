/* Sparse rows times a vector or a block of vectors; included once per precision and width.

   A row of the block is one register, or as few as it can be: 4 vectors take 1.3 times as long as
   one, 8 take 1.7 times (PCA of tf-idf, AVX-512), a third of the time of SciPy's products. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "numerics/sparse_products.h"

#include "shared/table.h"

typedef double group_4 __attribute__((vector_size(32)));
typedef double group_8 __attribute__((vector_size(64)));
typedef double group_any_4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double group_any_8 __attribute__((vector_size(64), aligned(8), may_alias));

#define LOOPS "numerics/sparse_products.c"
#include "shared/both_precisions.h"

SIMD_TABLE(sparse_products, .f = {rows_times_f, gram_times_f, column_sums_f, target_sums_f},
           .d = {rows_times_d, gram_times_d, column_sums_d, target_sums_d})

#elif defined(WIDTH) /* and there once for each number of vectors */
#define SIZED(name) NAME(JOIN(name, WIDTH))
#if WIDTH * 8 <= VECTOR_BYTES
#define GROUP JOIN(group, WIDTH)
#define GROUP_ANY JOIN(group_any, WIDTH)
#else
#define GROUP vdouble
#define GROUP_ANY vdouble_any
#endif
#define GROUPS (WIDTH * 8 / (int)sizeof(GROUP))
#define LANES_OF_GROUP (WIDTH / GROUPS)
#define EACH(number) ((number) - (GROUP){0}) /* a group of this number */
#define AT(p, g) (*(GROUP_ANY *)((p) + (g) * LANES_OF_GROUP))
#define OF(p, g) (*(const GROUP_ANY *)((p) + (g) * LANES_OF_GROUP))

/* t += the row from `at` to `end` times V. */
INLINE void SIZED(add_row)(int64_t at, int64_t end, const int32_t *indices, const REAL *values,
                           const double *V, GROUP *t) {
  GROUP odd[GROUPS] = {{0}}; /* one sum would wait for every addition */
  for (; at + 2 <= end; at += 2) {
    const GROUP value = EACH((double)values[at]), next = EACH((double)values[at + 1]);
    const double *v = V + (ptrdiff_t)indices[at] * WIDTH;
    const double *w = V + (ptrdiff_t)indices[at + 1] * WIDTH;
    for (int g = 0; g < GROUPS; g++) t[g] += value * OF(v, g);
    for (int g = 0; g < GROUPS; g++) odd[g] += next * OF(w, g);
  }
  if (at < end) {
    const GROUP value = EACH((double)values[at]);
    for (int g = 0; g < GROUPS; g++) t[g] += value * OF(V + (ptrdiff_t)indices[at] * WIDTH, g);
  }
  for (int g = 0; g < GROUPS; g++) t[g] += odd[g];
}

static void SIZED(rows_of)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                           const int32_t *indices, const REAL *values, const double *V,
                           double *out) {
  for (ptrdiff_t i = first; i < last; i++) {
    GROUP t[GROUPS] = {{0}};
    SIZED(add_row)(indptr[i], indptr[i + 1], indices, values, V, t);
    for (int g = 0; g < GROUPS; g++) AT(out + i * WIDTH, g) = t[g];
  }
}

static void SIZED(gram_of)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                           const int32_t *indices, const REAL *values, const double *left,
                           const double *shift, const double *V, double *out, double *sums) {
  GROUP total[GROUPS] = {{0}};
  for (ptrdiff_t i = first; i < last; i++) {
    const int64_t begin = indptr[i], end = indptr[i + 1];
    const GROUP size = EACH(left[i]);
    GROUP t[GROUPS];
    for (int g = 0; g < GROUPS; g++) t[g] = -size * OF(shift, g);
    SIZED(add_row)(begin, end, indices, values, V, t);
    for (int g = 0; g < GROUPS; g++) total[g] += size * t[g];
    for (int64_t at = begin; at < end; at++) {
      const GROUP value = EACH((double)values[at]);
      double *w = out + (ptrdiff_t)indices[at] * WIDTH;
      for (int g = 0; g < GROUPS; g++) AT(w, g) += value * t[g];
    }
  }
  for (int g = 0; g < GROUPS; g++) AT(sums, g) += total[g];
}

#undef SIZED
#undef GROUP
#undef GROUP_ANY
#undef GROUPS
#undef LANES_OF_GROUP
#undef EACH
#undef AT
#undef OF

#else
#include "numerics/sparse_products.h"
#include "shared/precision.h"

#define WIDTH 4
#include "numerics/sparse_products.c"
#undef WIDTH
#define WIDTH 8
#include "numerics/sparse_products.c"
#undef WIDTH

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
  else if (width == 4) NAME(rows_of_4)(first, last, indptr, indices, values, V, out);
  else NAME(rows_of_8)(first, last, indptr, indices, values, V, out);
}

static void NAME(gram_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,
                             const int32_t *indices, const REAL *values, const double *left,
                             const double *shift, const double *V, ptrdiff_t width, double *out,
                             double *sums) {
  if (width == 1)
    NAME(gram_of_one)(first, last, indptr, indices, values, left, *shift, V, out, sums);
  else if (width == 4)
    NAME(gram_of_4)(first, last, indptr, indices, values, left, shift, V, out, sums);
  else NAME(gram_of_8)(first, last, indptr, indices, values, left, shift, V, out, sums);
}

static void NAME(column_sums)(ptrdiff_t n, const int64_t *indptr, const int32_t *indices,
                              const REAL *values, const double *weight, const double *center,
                              double *out) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double w = weight[i];
    for (int64_t at = indptr[i]; at < indptr[i + 1]; at++) {
      const ptrdiff_t c = indices[at];
      const double e = (double)values[at] - center[c];
      *(group_any_4 *)(out + 4 * c) += (group_4){1, w, w * e, w * (e * e)};
    }
  }
}

static void NAME(target_sums)(ptrdiff_t n, const int64_t *indptr, const int32_t *indices,
                              const REAL *values, const double *weight, const double *target,
                              double *out) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double w = weight[i], t = target[i];
    for (int64_t at = indptr[i]; at < indptr[i + 1]; at++) {
      const double e = (double)values[at];
      *(group_any_4 *)(out + 4 * (ptrdiff_t)indices[at]) += (group_4){1, w * e, w * (e * e), t * e};
    }
  }
}

#endif
