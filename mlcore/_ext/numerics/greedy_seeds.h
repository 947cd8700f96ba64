/* Potentials of candidate centres in k-means++ (see greedy_seeds.c). */
#ifndef MLCORE_GREEDY_SEEDS_H
#define MLCORE_GREEDY_SEEDS_H

#include <stddef.h>

enum { SEED_DEPTH = 128 }; /* features of a panel */

#define SEED_LOOPS(real)                                                                    \
  void (*seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const real *X,             \
               const real *candidates, const double *weights, real *nearest, real *scratch, \
               double *potentials);

typedef struct {
  struct { SEED_LOOPS(float) } f;
  struct { SEED_LOOPS(double) } d;
} greedy_seeds_loops;

extern const greedy_seeds_loops *greedy_seeds_table;

#endif
