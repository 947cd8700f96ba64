/* Sums of rows of K with weights (see gram_rows.c). */
#ifndef MLCORE_GRAM_ROWS_H
#define MLCORE_GRAM_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define GRAM_ROWS_LOOPS(real)                                                                   \
  /* g[j] += sum_r a[r] rows[slots[r], j] for j in [start, stop) */                             \
  void (*accumulate)(ptrdiff_t n_rows, const int64_t *slots, const double *a, const real *rows, \
                     ptrdiff_t stride, ptrdiff_t start, ptrdiff_t stop, double *g);

typedef struct {
  struct { GRAM_ROWS_LOOPS(float) } f;
  struct { GRAM_ROWS_LOOPS(double) } d;
} gram_rows_loops;

extern const gram_rows_loops *gram_rows_table;

#endif
