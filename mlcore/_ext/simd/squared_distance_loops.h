/* The squared distance of two samples; included once per precision. */

/* Halves are added to halves, in a fixed order. */
static inline REAL NAME(lane_sum)(VEC v) {
#if VECTOR_BYTES == 64
  return REDUCE_ADD(v);
#else
  REAL lane[NAME(LANES)];
  memcpy(lane, &v, sizeof v);
  for (int half = NAME(LANES) / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lane[i] += lane[i + half];
  return lane[0];
#endif
}

/* |x - c|^2 of one sample; lanes are features. */
static inline REAL NAME(squared_distance)(ptrdiff_t d, const REAL *x, const REAL *c) {
  VEC sum[4] = {{0}};
  REAL total = 0;
  ptrdiff_t f = 0;
  for (; f + 4 * NAME(LANES) <= d; f += 4 * NAME(LANES))
    for (int b = 0; b < 4; b++) {
      const VEC apart = LOAD(x + f + b * NAME(LANES)) - LOAD(c + f + b * NAME(LANES));
      sum[b] += apart * apart;
    }
  for (; f + NAME(LANES) <= d; f += NAME(LANES)) {
    const VEC apart = LOAD(x + f) - LOAD(c + f);
    sum[0] += apart * apart;
  }
  for (; f < d; f++) total += (x[f] - c[f]) * (x[f] - c[f]);
  return d < NAME(LANES) ? total : total + NAME(lane_sum)((sum[0] + sum[1]) + (sum[2] + sum[3]));
}
