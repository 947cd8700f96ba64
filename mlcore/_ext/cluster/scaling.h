/* Tiles of a symmetric matrix: comparison with their transposes, and scaling (see
   scaling.c). */
#ifndef MLCORE_SCALING_H
#define MLCORE_SCALING_H

#include <stddef.h>
#include <stdint.h>

#define SCALING_LOOPS(real)                                                                     \
  /* a tile against its mirror image, and its sums */                                           \
  void (*mirrored)(ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t diagonal, const real *K,    \
                   ptrdiff_t stride, const real *turned, ptrdiff_t turned_stride, double close, \
                   double *rows, double *columns, double *extremes);                            \
  /* out = xi K x_j in 16 bits, `n` columns of a row */                                         \
  void (*shorten)(ptrdiff_t n, const real *K, double xi, const double *x, uint16_t *out);       \
  void (*rescale)(int shift, ptrdiff_t n_rows, ptrdiff_t n_columns, const real *K,              \
                  ptrdiff_t stride, const double *x_rows, const double *x, real *out,           \
                  ptrdiff_t out_stride);

typedef struct {
  struct { SCALING_LOOPS(float) } f;
  struct { SCALING_LOOPS(double) } d;
} scaling_loops;

extern const scaling_loops *scaling_table;

#endif
