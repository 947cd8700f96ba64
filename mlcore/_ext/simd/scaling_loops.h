/* Tiles of a symmetric matrix: is it symmetric, what are its sums, and what becomes of it. Once per precision. */

/* Compares the entries of a tile with their mirrored ones, in `turned`: the most by which |a - b| passes
   `close` max(|a|, |b|), and the least entry; and adds up its rows and columns. Where the tile is on the diagonal, its
   first `diagonal` columns of row 0 (none below 0), and one more of each row after, count. */
static void NAME(mirrored)(ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t diagonal, const REAL *K, ptrdiff_t stride,
                          const REAL *turned, ptrdiff_t turned_stride, double close, double *rows, double *columns,
                          double *extremes) {
  enum { L = VECTOR_BYTES / sizeof(double) };
  vdouble worst = {0}, least = {0};
  double far = extremes[0], low = extremes[1];
  for (ptrdiff_t r = 0; r < n_rows; r++, K += stride, turned += turned_stride) {
    const ptrdiff_t n = diagonal + r < n_columns ? diagonal + r : n_columns;
    if (n < 0) continue;
    vdouble sum = {0};
    ptrdiff_t j = 0;
    for (; j + L <= n; j += L) {
      const vdouble a = NAME(widen)(K + j), b = NAME(widen)(turned + j);
      const vdouble apart = max_d(a - b, b - a), size = max_d(max_d(a, -a), max_d(b, -b));
      worst = max_d(apart - close * size, worst);
      least = min_d(a, least);
      sum += a;
      store_d(columns + j, load_d(columns + j) + a);
    }
    double own = 0;
    for (int lane = 0; lane < L; lane++) own += sum[lane];
    for (; j < n; j++) {
      const double a = K[j], b = turned[j], excess = fabs(a - b) - close * fmax(fabs(a), fabs(b));
      if (excess > far) far = excess;
      if (a < low) low = a;
      own += a;
      columns[j] += a;
    }
    if (n < n_columns) { /* on the diagonal */
      own += K[n];
      if (K[n] < low) low = K[n];
    }
    rows[r] += own;
  }
  for (int lane = 0; lane < L; lane++) {
    if (worst[lane] > far) far = worst[lane];
    if (least[lane] < low) low = least[lane];
  }
  extremes[0] = far;
  extremes[1] = low;
}

/* out = x_i K x_j in 16 bits: as single precision is, without the sign and the last 15. Entries of 1e-19 or less, which no
   sum of 1 notices, are 0. */
static void NAME(shorten)(ptrdiff_t first, ptrdiff_t last, const REAL *K, ptrdiff_t stride, const double *x,
                          uint16_t *out) {
  for (ptrdiff_t i = first; i < last; i++) {
    const REAL *from = K + i * stride;
    uint16_t *to = out + i * stride;
    const double xi = x[i];
    for (ptrdiff_t j = 0; j <= i; j++) {
      const float value = (float)(from[j] * (xi * x[j]));
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      bits = value > 0x1p-63f ? bits + 0x4000 : 0;
      to[j] = (uint16_t)(bits >> 15);
    }
  }
}

/* out = x_i K x_j, or with `shift` max(0, K + x_i + x_j). */
static void NAME(rescale)(int shift, ptrdiff_t n_rows, ptrdiff_t n_columns, const REAL *K, ptrdiff_t stride,
                          const double *x_rows, const double *x, REAL *out, ptrdiff_t out_stride) {
  for (ptrdiff_t r = 0; r < n_rows; r++, K += stride, out += out_stride) {
    const double xi = x_rows[r];
    if (shift)
      for (ptrdiff_t j = 0; j < n_columns; j++) {
        const double value = K[j] + (xi + x[j]);
        out[j] = (REAL)(value > 0 ? value : 0);
      }
    else
      for (ptrdiff_t j = 0; j < n_columns; j++) out[j] = (REAL)(K[j] * (xi * x[j]));
  }
}
