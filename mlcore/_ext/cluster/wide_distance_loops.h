/* The squared distance of two samples in double precision; included once per precision. */

#include "shared/precision.h"

static inline double NAME(wide_squared_distance)(ptrdiff_t d, const REAL *x, const REAL *c) {
  enum { WIDE = VECTOR_BYTES / sizeof(double) };
  vdouble sum[2] = {{0}};
  double total = 0;
  ptrdiff_t f = 0;
  for (; f + 2 * WIDE <= d; f += 2 * WIDE)
    for (int b = 0; b < 2; b++) {
      const vdouble difference = WIDEN(x + f + b * WIDE) - WIDEN(c + f + b * WIDE);
      sum[b] += difference * difference;
    }
  for (; f < d; f++) total += ((double)x[f] - c[f]) * ((double)x[f] - c[f]);
  return add_lanes_d(total, sum[0] + sum[1]);
}
