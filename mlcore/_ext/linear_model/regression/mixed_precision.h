/* Sparse rows in groups times a vector, in float32 (see mixed_precision.c). */
#ifndef MLCORE_MIXED_PRECISION_H
#define MLCORE_MIXED_PRECISION_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  /* out[16 g + lane] = the sum over the entries of a lane of group g, from `first` to `last`, of
     the value times v (size,) at its place. Entries of a group are side by side, from starts[g] to
     starts[g + 1], and `out` and v have at least 32 places. */
  void (*groups_times)(ptrdiff_t first, ptrdiff_t last, const int64_t *starts,
                       const int32_t *places, const float *values, const float *v, ptrdiff_t size,
                       float *out);
} mixed_precision_loops;

extern const mixed_precision_loops *mixed_precision_table;

#endif
