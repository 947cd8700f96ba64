/* Logistic losses of two classes, from scores of rows. */
#ifndef MLCORE_BINARY_LOSSES_H
#define MLCORE_BINARY_LOSSES_H

#include "shared/log.h"

#define LOG2_E 0x1.71547652b82fep0

/* e^-|z| keeps the digits of losses and of p (1 - p) near 0. Without weights one logarithm is taken
   of the product of 8 factors 1 + e; what their rounding loses is added as a correction. `curve`
   becomes s p (1 - p), or with `roots` its roots. */
INLINE double binary_losses(const int roots, ptrdiff_t rows, int equal, const double *z,
                            const double *sign, const double *s, double *r, double *curve,
                            ptrdiff_t *wrong) {
  const vdouble zero = {0}, one = zero + 1.0;
  vdouble loss = zero, product = one;
  ptrdiff_t count = 0;
  int factors = 0;
  for (ptrdiff_t i = 0; i < rows; i += LANES_d) {
    const vdouble t = load_d(z + i) * load_d(sign + i), w = load_d(s + i);
    const mask_d right = greater_d(t, zero);
    const vdouble below = select_d(right, zero, zero - t); /* max(-t, 0) */
    const vdouble e = exp2_d((select_d(right, zero - t, t)) * LOG2_E);
    const vdouble u = one + e, inverse = one / u;
    const vdouble other = select_d(right, e * inverse, inverse); /* 1 - p of the row's class */
    store_d(r + i, (zero - load_d(sign + i)) * w * other);
    store_d(curve + i, roots ? sqrt_d(w * e) * inverse : w * e * inverse * inverse);
    const mask_d weighs = greater_d(w, zero);
    count += __builtin_popcount(lane_bits_d(weighs) & ~lane_bits_d(right));
    const vdouble rest = below + (e - (u - one)) * inverse;
    if (equal) {
      product *= select_d(weighs, u, one);
      loss += select_d(weighs, rest, zero);
      if (++factors == 8) {
        loss += log_d(product);
        product = one;
        factors = 0;
      }
    } else {
      loss += w * (log_d(u) + rest);
    }
  }
  loss += log_d(product);
  *wrong += count;
  return lane_sum_d(loss);
}

#endif
