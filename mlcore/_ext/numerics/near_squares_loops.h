/* Squared distances in double precision of rows in either; included once per precision. */

#include "shared/precision.h"

/* In any order of the features: lanes are features. */
static double NAME(quick_square)(ptrdiff_t d, const REAL *x, const REAL *y) {
  vdouble sum[4] = {{0}};
  double total = 0;
  ptrdiff_t f = 0;
  for (; f + 4 * LANES_d <= d; f += 4 * LANES_d)
    for (int b = 0; b < 4; b++) {
      const vdouble difference = WIDEN(x + f + b * LANES_d) - WIDEN(y + f + b * LANES_d);
      sum[b] += difference * difference;
    }
  for (; f < d; f++) total += ((double)x[f] - (double)y[f]) * ((double)x[f] - (double)y[f]);
  return total + lane_sum_d((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Of x and four samples, feature by feature. */
static void NAME(four_squares)(ptrdiff_t d, const REAL *x, const REAL *const *y, double *squares) {
  double sum[4] = {0};
  for (ptrdiff_t f = 0; f < d; f++)
    for (int r = 0; r < 4; r++) {
      const double difference = (double)x[f] - (double)y[r][f];
      sum[r] += difference * difference;
    }
  memcpy(squares, sum, sizeof sum);
}
