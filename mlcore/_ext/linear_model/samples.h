/* Rows less the means of their columns (see samples.c). */
#ifndef MLCORE_SAMPLES_H
#define MLCORE_SAMPLES_H

#include <stddef.h>

/* Columns from `first` to `last` of X (n, d): F = root (X - origin - center), by rows, and P, the
   same in float32 unless it is NULL; the center is the sum of X - origin times `share` (n,), or 0
   if that is NULL. And their squares. */
#define SAMPLES_LOOPS(real)                                                                      \
  void (*centred_rows)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t first, ptrdiff_t last, const real *X, \
                       const double *origin, const double *share, const double *root, double *F, \
                       float *P, double *center, double *squares);

typedef struct {
  struct { SAMPLES_LOOPS(float) } f;
  struct { SAMPLES_LOOPS(double) } d;
} samples_loops;

extern const samples_loops *samples_table;

#endif
