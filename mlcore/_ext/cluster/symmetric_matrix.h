/* Passes over the lower triangle of a symmetric matrix (see symmetric_matrix_loops.h). */
#ifndef MLCORE_SYMMETRIC_MATRIX_H
#define MLCORE_SYMMETRIC_MATRIX_H

#include <stddef.h>
#include <stdint.h>

/* Row sums of a pass over a symmetric matrix, with T_ij = K_ij + u_i + u_j: of K_ij x_j; of
   the positive T_ij, and of their squares; of x_j where T_ij is positive. */
enum { SYMMETRIC_PRODUCT, SYMMETRIC_POSITIVE, SYMMETRIC_ACTIVE };

/* Terms of rows first..last of the lower triangle: `rows` receives sums for these rows, `columns`
   the mirrored terms for rows 0..last. */
#define SYMMETRIC_LOOPS(real)                                                                   \
  void (*symmetric)(int mode, ptrdiff_t first, ptrdiff_t last, const real *K, ptrdiff_t stride, \
                    const double *x, const double *u, double *rows, double *columns,            \
                    double *squares);

typedef struct {
  struct { SYMMETRIC_LOOPS(float) } f;
  struct { SYMMETRIC_LOOPS(double) } d;
  /* the product with a matrix of 16 bits (`shorten` in scaling.h) */
  void (*symmetric_short)(int mode, ptrdiff_t first, ptrdiff_t last, const uint16_t *K,
                          ptrdiff_t stride, const float *x, const float *u, float *rows,
                          float *columns, float *squares);
} symmetric_matrix_loops;

extern const symmetric_matrix_loops *symmetric_matrix_table;

#endif
