/* The natural logarithm of vectors. */
#ifndef MLCORE_LOG_H
#define MLCORE_LOG_H

#include "shared/vector.h"

/* log x for normal x > 0 = e ln 2 + log m, m in [sqrt 1/2, sqrt 2), log m = 2 artanh((m - 1) / (m +
   1)) by its series: the first term left out is below 1e-17. */
typedef uint64_t vuint64 __attribute__((vector_size(VECTOR_BYTES)));
static inline vdouble log_d(vdouble x) {
  const uint64_t half_root = 0x3fe6a09e667f3bcdu, bias = (uint64_t)1023 << 52;
  const vuint64 bits = (vuint64)x, exponent = (bits - half_root + bias) >> 52;
  const vdouble m = (vdouble)(bits - (exponent << 52) + bias);
  const vdouble e = (vdouble)(exponent | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const vdouble s = (m - 1.0) / (m + 1.0), z = s * s;
  vdouble q = (vdouble){0} + 1.0 / 21;
  q = q * z + 1.0 / 19;
  q = q * z + 1.0 / 17;
  q = q * z + 1.0 / 15;
  q = q * z + 1.0 / 13;
  q = q * z + 1.0 / 11;
  q = q * z + 1.0 / 9;
  q = q * z + 1.0 / 7;
  q = q * z + 1.0 / 5;
  q = q * z + 1.0 / 3;
  return e * 0x1.62e42fefa39efp-1 + 2.0 * (s + s * (z * q));
}

#endif
