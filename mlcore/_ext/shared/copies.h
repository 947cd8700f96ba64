/* Copies of a finished tile to its place. */
#ifndef MLCORE_COPIES_H
#define MLCORE_COPIES_H

#include <stddef.h>
#include <stdint.h>

/* out[dest[r]] = from[r], rows of `columns` values; without `dest` to consecutive rows. With
   `past`, writes past the caches, which cannot hold the target: a Gram matrix of 6,000 samples
   takes 1.3 to 2 times as long without (gram.py::DenseGram, AVX2). */
#define COPIES_LOOPS(real)                                                                 \
  void (*copy)(ptrdiff_t rows, ptrdiff_t columns, const real *from, ptrdiff_t from_stride, \
               real *out, ptrdiff_t stride, const int64_t *dest, int past);

typedef struct {
  struct { COPIES_LOOPS(float) } f;
  struct { COPIES_LOOPS(double) } d;
} copies_loops;

extern const copies_loops *copies_table;

#endif
