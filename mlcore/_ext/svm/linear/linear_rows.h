/* Values of dense rows that are not 0, and squared lengths. */
#ifndef MLCORE_LINEAR_ROWS_H
#define MLCORE_LINEAR_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define LINEAR_ROWS_LOOPS(real)                                                 \
  /* Their number */                                                            \
  ptrdiff_t (*filled)(ptrdiff_t d, const real *x);                              \
  /* Copies them, and their columns; a place more is written. */                \
  void (*compress)(ptrdiff_t d, const real *x, double *data, int32_t *columns); \
  /* of_rows_i = |x_i|², and of_columns += x_i² */                              \
  void (*squares)(ptrdiff_t rows, ptrdiff_t d, const real *X, double *of_rows, double *of_columns);

typedef struct {
  struct { LINEAR_ROWS_LOOPS(float) } f;
  struct { LINEAR_ROWS_LOOPS(double) } d;
} linear_rows_loops;

extern const linear_rows_loops *linear_rows_table;

#endif
