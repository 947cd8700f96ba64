/* The squared distance of two samples; included once per precision. */

#include "shared/precision.h"

/* |x - c|^2 of one sample; lanes are features. */
static inline REAL NAME(squared_distance)(ptrdiff_t d, const REAL *x, const REAL *c) {
  VEC sum[4] = {{0}};
  REAL total = 0;
  ptrdiff_t f = 0;
  for (; f + 4 * LANES <= d; f += 4 * LANES)
    for (int b = 0; b < 4; b++) {
      const VEC difference = LOAD(x + f + b * LANES) - LOAD(c + f + b * LANES);
      sum[b] += difference * difference;
    }
  for (; f + LANES <= d; f += LANES) {
    const VEC difference = LOAD(x + f) - LOAD(c + f);
    sum[0] += difference * difference;
  }
  for (; f < d; f++) total += (x[f] - c[f]) * (x[f] - c[f]);
  return d < LANES ? total : total + NAME(lane_sum)((sum[0] + sum[1]) + (sum[2] + sum[3]));
}
