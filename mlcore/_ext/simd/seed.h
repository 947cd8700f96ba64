/* Potentials of candidate centres in k-means++ (see seed_loops.h). */
#ifndef MLCORE_SEED_H
#define MLCORE_SEED_H

#include <stddef.h>

#define SEED_LOOPS(real)                                                                  \
  void (*seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const real *X,           \
               const real *candidates, const double *weights, real *nearest, real *panel, \
               double *potentials);

typedef struct {
  struct { SEED_LOOPS(float) } f;
  struct { SEED_LOOPS(double) } d;
} seed_loops;

extern const seed_loops *seed_table;

#endif
