/* Scores of dense rows and sums of rows, of few columns (see tall_newton.pyx). */
#ifndef MLCORE_TALL_NEWTON_H
#define MLCORE_TALL_NEWTON_H

#include <stddef.h>

#define TALL_NEWTON_LOOPS(real)                                                             \
  /* f_i = b + x_i theta */                                                                 \
  void (*scores)(ptrdiff_t rows, ptrdiff_t d, const real *X, const double *theta, double b, \
                 double *f);                                                                \
  /* sums[k] += sum of v_ik x_i, for the columns k = 0, 1 of v (rows, 2); sums is (2, d) */ \
  void (*add)(ptrdiff_t rows, ptrdiff_t d, const real *X, const double *v, double *sums);

typedef struct {
  struct { TALL_NEWTON_LOOPS(float) } f;
  struct { TALL_NEWTON_LOOPS(double) } d;
} tall_newton_loops;

extern const tall_newton_loops *tall_newton_table;

#endif
