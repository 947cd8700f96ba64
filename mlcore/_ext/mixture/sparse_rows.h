/* Binary features as groups of bits (see sparse_rows.c). */
#ifndef MLCORE_SPARSE_ROWS_H
#define MLCORE_SPARSE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { BIT_GROUP = 4 }; /* features in a group */

#define BITS_LOOPS(real)                                                                           \
  int64_t (*bits)(ptrdiff_t d, const real *x, const uint8_t *mode, real threshold, uint8_t *codes, \
                  int64_t *missing, int *others);

typedef struct {
  struct { BITS_LOOPS(float) } f;
  struct { BITS_LOOPS(double) } d;
} sparse_rows_loops;

extern const sparse_rows_loops *sparse_rows_table;

#endif
