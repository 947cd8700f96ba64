/* Pending copies of rows, done in parts between other work (see copies_loops.h). */
#ifndef MLCORE_COPIES_H
#define MLCORE_COPIES_H

#include <stddef.h>
#include <stdint.h>

/* Rows still to be copied, a part of a row at a time, so that memory works while the processor
   computes. */
typedef struct {
  ptrdiff_t rows, columns, from_stride, stride;
  ptrdiff_t at; /* values of the next row that are already copied */
  const void *from;
  void *out;
  const int64_t *dest; /* the rows of `out`; NULL: consecutive rows */
} simd_copies;

#define COPIES_LOOPS(real)                                                            \
  /* copies all; with `past`, writes past the caches, which cannot hold the target */ \
  void (*copy)(simd_copies * waiting, int past);

typedef struct {
  struct { COPIES_LOOPS(float) } f;
  struct { COPIES_LOOPS(double) } d;
} copies_loops;

extern const copies_loops *copies_table;

#endif
