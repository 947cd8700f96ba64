/* Transposes (see transpose_loops.h). */
#ifndef MLCORE_TRANSPOSE_H
#define MLCORE_TRANSPOSE_H

#include <stddef.h>

#define TRANSPOSE_LOOPS(real)                                                                   \
  /* to[c, r] = from[r, c] */                                                                   \
  void (*transpose)(const real *from, ptrdiff_t from_stride, ptrdiff_t rows, ptrdiff_t columns, \
                    real *to, ptrdiff_t to_stride);

typedef struct {
  struct { TRANSPOSE_LOOPS(float) } f;
  struct { TRANSPOSE_LOOPS(double) } d;
} transpose_loops;

extern const transpose_loops *transpose_table;

#endif
