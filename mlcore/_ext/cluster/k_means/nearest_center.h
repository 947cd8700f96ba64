/* Lloyd's algorithm with bounds by groups of centres (see nearest_center.c). */
#ifndef MLCORE_NEAREST_CENTER_H
#define MLCORE_NEAREST_CENTER_H

#include <stddef.h>
#include <stdint.h>
#include "cluster/k_means/lloyd_pass.h"

#define LLOYD_LOOPS(real)                                                                         \
  /* samples start..stop of a pass; `values` is scratch, LLOYD_BATCH for each place */            \
  void (*lloyd)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, real *values, double *sums, \
                double *counts, int64_t *changed);

typedef struct {
  struct { LLOYD_LOOPS(float) } f;
  struct { LLOYD_LOOPS(double) } d;
} nearest_center_loops;

extern const nearest_center_loops *nearest_center_table;

#endif
