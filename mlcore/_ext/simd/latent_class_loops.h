/* The E-step of the aspect model on the non-zeros of a count matrix; included once per precision by loops.c.

   A word's row of u and a document's row of t hold the components side by side, padded with zeros to 64 bytes. The
   probability of word w in document d is p = u_w . t_d; then with ratio = count / p the sums of the M-step are
   t_sums_d = sum_w ratio u_w and u_sums_w = sum_d weight_d ratio t_d. Words are visited as many at a time, up to WORDS, as the
   first-level cache holds rows of both tables for. */

#ifndef MLCORE_LOG
#define MLCORE_LOG
/* log x for normal x > 0 = e ln 2 + log m, m in [sqrt 1/2, sqrt 2), log m = 2 artanh((m - 1) / (m + 1)) by its series:
   the first term left out is below 1e-17. */
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
enum { WORDS = 64, CACHED = 24576, LINE_GROUP = 4 /* lines of a row whose sums fit the registers */ };
#endif

enum {
  NAME(LINE) = 64 / sizeof(REAL),
  NAME(VECTORS) = 64 / VECTOR_BYTES,
  NAME(DOUBLES) = VECTOR_BYTES / sizeof(double),
  NAME(LEAST_EXPONENT) = sizeof(REAL) == 4 ? -100 : -900, /* sums of 1 / p stay finite */
};

/* x[0] ... x[LANES - 1] -> the sums of their lanes, each in its own lane. */
static inline __attribute__((always_inline)) VEC NAME(sums_of_lanes)(VEC *x) {
#ifdef ZIP_LOW
  for (int half = NAME(LANES) / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) x[i] = ZIP_LOW(x[i], x[i + half]) + ZIP_HIGH(x[i], x[i + half]);
  return x[0];
#else
  VEC sums = {0};
  for (int i = 0; i < NAME(LANES); i++)
    for (int lane = 0; lane < NAME(LANES); lane++) sums[i] += x[i][lane];
  return sums;
#endif
}

/* p[i] (+)= u[rows[i]] . t over `lines` lines, for n words, a multiple of LANES. */
static inline __attribute__((always_inline)) void NAME(dots)(int lines, int n, const ptrdiff_t *rows, const REAL *u,
                                                             const double *u_sums, const REAL *t, int add, REAL *p) {
  VEC document[LINE_GROUP * NAME(VECTORS)];
  for (int b = 0; b < lines * NAME(VECTORS); b++) document[b] = LOAD(t + b * NAME(LANES));
  for (int i = 0; i < n; i += NAME(LANES)) {
    VEC sums[NAME(LANES)];
    for (int lane = 0; lane < NAME(LANES); lane++) {
      const REAL *word = u + rows[i + lane];
      VEC sum = LOAD(word) * document[0];
      for (int b = 1; b < lines * NAME(VECTORS); b++) sum += LOAD(word + b * NAME(LANES)) * document[b];
      sums[lane] = sum;
      if (u_sums != NULL)
        for (int b = 0; b < lines * NAME(LINE); b += 8) __builtin_prefetch(u_sums + rows[i + lane] + b, 1);
    }
    const VEC sum = NAME(sums_of_lanes)(sums);
    STORE(p + i, add ? LOAD(p + i) + sum : sum);
  }
}

/* t_sums += sum_i ratio[i] u[rows[i]], and u_sums[rows[i]] += weight ratio[i] t. */
static inline __attribute__((always_inline)) void NAME(spread)(int lines, int n, const ptrdiff_t *rows,
                                                               const REAL *ratio, double weight, const REAL *u,
                                                               const REAL *t, double *u_sums, double *t_sums) {
  enum { WIDE = LINE_GROUP * 64 / sizeof(REAL) / NAME(DOUBLES) };
  const int wide = lines * NAME(LINE) / NAME(DOUBLES);
  VEC sums[LINE_GROUP * NAME(VECTORS)];
  vdouble document[WIDE];
  for (int b = 0; b < lines * NAME(VECTORS); b++) sums[b] = (VEC){0};
  for (int b = 0; b < wide; b++) document[b] = weight * WIDEN(t + b * NAME(DOUBLES));
  for (int i = 0; i < n; i++) {
    const REAL *word = u + rows[i];
    for (int b = 0; b < lines * NAME(VECTORS); b++) sums[b] += ratio[i] * LOAD(word + b * NAME(LANES));
    if (u_sums == NULL) continue;
    double *word_sums = u_sums + rows[i];
    for (int b = 0; b < wide; b++)
      store_d(word_sums + b * NAME(DOUBLES), load_d(word_sums + b * NAME(DOUBLES)) + (double)ratio[i] * document[b]);
  }
  REAL lanes[LINE_GROUP * 64 / sizeof(REAL)];
  for (int b = 0; b < lines * NAME(VECTORS); b++) STORE(lanes + b * NAME(LANES), sums[b]);
  for (int b = 0; b < wide; b++)
    store_d(t_sums + b * NAME(DOUBLES), load_d(t_sums + b * NAME(DOUBLES)) + WIDEN(lanes + b * NAME(DOUBLES)));
}

#define LINES(call)                                                                                                  \
  for (ptrdiff_t at = 0, left = s->stride / NAME(LINE); left > 0; left -= LINE_GROUP, at += LINE_GROUP * NAME(LINE)) \
    switch (left) {                                                                                                  \
    case 1: { enum { lines = 1 }; call; break; }                                                                     \
    case 2: { enum { lines = 2 }; call; break; }                                                                     \
    case 3: { enum { lines = 3 }; call; break; }                                                                     \
    default: { enum { lines = LINE_GROUP }; call; }                                                                  \
    }

/* The sums over documents first ... last - 1; returns sum weight count log p. A p below 2^LEAST_EXPONENT counts as that in the logarithm, and gives no ratio. */
static double NAME(latent_class)(const latent_class_counts *s, ptrdiff_t first, ptrdiff_t last) {
  const REAL *counts = s->counts, *u = s->u, *tables_t = s->t;
  const VEC least = (VEC){0} + (REAL)ldexp(1.0, NAME(LEAST_EXPONENT));
  const ptrdiff_t cached = CACHED / (s->stride * (ptrdiff_t)(sizeof(REAL) + sizeof(double)));
  const int batch = cached > WORDS ? WORDS : cached < 16 ? 16 : (int)cached;
  vdouble total = {0};
  for (ptrdiff_t d = first; d < last; d++) {
    const REAL *t = tables_t + d * s->stride;
    double *t_sums = s->t_sums + d * s->stride;
    const double weight = s->weights[d];
    vdouble log_likelihood = {0};
    for (int64_t begin = s->rows[d], end = s->rows[d + 1]; begin < end; begin += batch) {
      const int n = end - begin < batch ? (int)(end - begin) : batch;
      const int whole_n = (n + NAME(LANES) - 1) / NAME(LANES) * NAME(LANES);
      ptrdiff_t rows[WORDS];
      REAL p[WORDS], ratio[WORDS];
      for (int i = 0; i < n; i++) rows[i] = s->words[begin + i] * s->stride;
      memcpy(ratio, counts + begin, n * sizeof(REAL));
      for (int i = n; i < whole_n; i++) rows[i] = rows[0], ratio[i] = 0;
      LINES(NAME(dots)(lines, whole_n, rows, u + at, s->u_sums == NULL ? NULL : s->u_sums + at, t + at, at > 0, p))
      for (int i = 0; i < whole_n; i += NAME(LANES)) {
        const VEC x = LOAD(p + i), c = LOAD(ratio + i), safe = NAME(max)(least, x);
        STORE(p + i, safe);
        for (int half = 0; half < NAME(LANES); half += NAME(DOUBLES))
          log_likelihood += WIDEN(ratio + i + half) * log_d(WIDEN(p + i + half));
        STORE(ratio + i, SELECT(GREATER(least, x), (VEC){0}, c / safe));
      }
      LINES(NAME(spread)(lines, n, rows, ratio, weight, u + at, t + at, s->u_sums == NULL ? NULL : s->u_sums + at,
                         t_sums + at))
    }
    total += weight * log_likelihood;
  }
  double sum = 0;
  for (int lane = 0; lane < NAME(DOUBLES); lane++) sum += total[lane];
  return sum;
}
#undef LINES
