/* A dense matrix times a few vectors (see product_loops.h). */
#ifndef MLCORE_PRODUCT_H
#define MLCORE_PRODUCT_H

#include <stddef.h>

typedef struct {
  void (*f)(ptrdiff_t n_rows, ptrdiff_t n, const float *K, ptrdiff_t stride, const float *V,
            ptrdiff_t width, float *out);
  void (*d)(ptrdiff_t n_rows, ptrdiff_t n, const double *K, ptrdiff_t stride, const double *V,
            ptrdiff_t width, double *out);
  void (*widened)(ptrdiff_t n_rows, ptrdiff_t n, const float *K, ptrdiff_t stride, const double *V,
                  ptrdiff_t width, double *out);
} product_loops;

extern const product_loops *product_table;

#endif
