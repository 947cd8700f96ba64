/* Sparse rows times one vector, or a block of 4 or 8 (see sparse_products.c). */
#ifndef MLCORE_SPARSE_PRODUCTS_H
#define MLCORE_SPARSE_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#define SPARSE_PRODUCTS_LOOPS(real)                                                                \
  /* out[i] = a_i V, rows from `first` to `last` */                                                \
  void (*rows_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,                       \
                     const int32_t *indices, const real *values, const double *V, ptrdiff_t width, \
                     double *out);                                                                 \
  /* out += sum_i a_i' t_i and sums += sum_i left[i] t_i, where t_i = a_i V - left[i] shift */     \
  void (*gram_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *indptr,                       \
                     const int32_t *indices, const real *values, const double *left,               \
                     const double *shift, const double *V, ptrdiff_t width, double *out,           \
                     double *sums);                                                                \
  /* out[c] += 1, w, w e, w e², with e = a_ic - center[c] and w = weight[i], for all n rows */     \
  void (*column_sums)(ptrdiff_t n, const int64_t *indptr, const int32_t *indices,                  \
                      const real *values, const double *weight, const double *center,              \
                      double *out);                                                                \
  /* out[c] += 1, w a_ic, w a_ic², t a_ic, with w = weight[i] and t = target[i], for all n rows */ \
  void (*target_sums)(ptrdiff_t n, const int64_t *indptr, const int32_t *indices,                  \
                      const real *values, const double *weight, const double *target,              \
                      double *out);

typedef struct {
  struct { SPARSE_PRODUCTS_LOOPS(float) } f;
  struct { SPARSE_PRODUCTS_LOOPS(double) } d;
} sparse_products_loops;

extern const sparse_products_loops *sparse_products_table;

#endif
