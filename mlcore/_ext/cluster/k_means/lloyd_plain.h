/* Lloyd's algorithm by comparison with every centre (see lloyd_plain.c). */
#ifndef MLCORE_LLOYD_PLAIN_H
#define MLCORE_LLOYD_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include "cluster/k_means/lloyd_pass.h"

#define LLOYD_PLAIN_LOOPS(real)                                                            \
  /* samples start..stop of a pass; `scratch` as lloyd_scratch tells */                    \
  void (*lloyd_plain)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, real *scratch, \
                      double *sums, double *counts, int64_t *tally, float *longest);       \
  void (*own_distances)(ptrdiff_t d, ptrdiff_t n, const real *X, const real *centers,      \
                        const int32_t *labels, double *out);

typedef struct {
  struct { LLOYD_PLAIN_LOOPS(float) } f;
  struct { LLOYD_PLAIN_LOOPS(double) } d;
} lloyd_plain_loops;

extern const lloyd_plain_loops *lloyd_plain_table;

#endif
