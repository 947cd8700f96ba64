/* Lloyd's algorithm with bounds by groups of centres (see lloyd_loops.h). */
#ifndef MLCORE_LLOYD_H
#define MLCORE_LLOYD_H

#include <stddef.h>
#include <stdint.h>
#include "lloyd_pass.h"

#define LLOYD_LOOPS(real)                                                                         \
  /* samples start..stop of a pass; `values` is scratch, LLOYD_BATCH for each place */            \
  void (*lloyd)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, real *values, double *sums, \
                double *counts, int64_t *changed);

typedef struct {
  struct { LLOYD_LOOPS(float) } f;
  struct { LLOYD_LOOPS(double) } d;
} lloyd_loops;

extern const lloyd_loops *lloyd_table;

#endif
