/* A dense matrix times a few vectors (see product_loops.h). */
#ifndef MLCORE_PRODUCT_H
#define MLCORE_PRODUCT_H

#include <stddef.h>

#define PRODUCT_LOOPS(real)                                                                        \
  /* out = K V, in double precision */                                                             \
  void (*product)(ptrdiff_t n_rows, ptrdiff_t n, const real *K, ptrdiff_t stride, const double *V, \
                  ptrdiff_t width, double *out);

typedef struct {
  struct { PRODUCT_LOOPS(float) } f;
  struct { PRODUCT_LOOPS(double) } d;
  /* in single precision */
  void (*single)(ptrdiff_t n_rows, ptrdiff_t n, const float *K, ptrdiff_t stride, const float *V,
                 ptrdiff_t width, float *out);
} product_loops;

extern const product_loops *product_table;

#endif
