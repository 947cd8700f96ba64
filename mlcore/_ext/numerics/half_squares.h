/* Half squared distances of rows from a panel of samples (see half_squares.c). */
#ifndef MLCORE_HALF_SQUARES_H
#define MLCORE_HALF_SQUARES_H

#include <stddef.h>
#include <stdint.h>

enum { HALF_SQUARES_ROWS = 6 }; /* together, at most */

/* `half_squares`: values[r, j] = |y_j|²/2 - x_r.y_j for 64 samples y_j, feature by feature in
   `panel`, and a bit in hits[r] for those that are at most limits[r]; `values` of rows without a
   bit are not set. */
typedef struct {
  void (*half_squares)(ptrdiff_t m, int count, const float *const *rows, const float *panel,
                       const float *halves, const float *limits, float *values, uint64_t *hits);
} half_squares_loops;

extern const half_squares_loops *half_squares_table;

#endif
