/* The E-step of the aspect model on the non-zeros of a count matrix; included once per precision.

   A word's row of u and a document's row of t hold the components side by side, padded with zeros
   to 64 bytes. The probability of word w in document d is p = u_w . t_d; then with ratio = count /
   p the sums of the M-step are t_sums_d = sum_w ratio u_w and u_sums_w = sum_d ratio t_d. Entries
   come in runs of the same word, or of the same document: its row, the run's own, stays in
   registers, and so does its sum; the other row is a member's of the run. Entries are visited as
   many at a time, up to ENTRIES, as the first-level cache holds members' rows for: always ENTRIES
   would take a tenth longer from 50 components on (4,000 x 8,000, AVX2). */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "mixture/plsa.h"

#include "shared/table.h"

#define LOOPS "mixture/plsa.c"
#include "shared/both_precisions.h"

SIMD_TABLE(plsa, .f = {.visit = visit_f}, .d = {.visit = visit_d})

#else
#include "mixture/plsa.h"
#include "shared/log.h"
#include "shared/precision.h"

#ifndef MLCORE_PLSA_LOOPS
#define MLCORE_PLSA_LOOPS
/* LINE_GROUP: lines of a row whose sums fit the registers. */
enum { ENTRIES = 64, CACHED = 24576, LINE_GROUP = 4 };
#endif

enum {
  NAME(LINE) = 64 / sizeof(REAL),
  NAME(VECTORS) = 64 / VECTOR_BYTES,
  NAME(DOUBLES) = VECTOR_BYTES / sizeof(double),
  NAME(LEAST_EXPONENT) = sizeof(REAL) == 4 ? -100 : -900, /* sums of 1 / p stay finite */
};

/* p[i] (+)= own[runs[i]] . members[rows[i]] over `lines` lines, for n entries, a multiple of
   LANES. */
INLINE void NAME(dots)(int lines, int n, const ptrdiff_t *runs, const ptrdiff_t *rows,
                       const REAL *own, const REAL *members, int add, REAL *p) {
  const int vectors = lines * NAME(VECTORS);
  for (int i = 0; i < n; i += LANES) {
    VEC sums = {0};
    for (int lane = 0; lane < LANES; lane++) {
      const REAL *member = members + rows[i + lane], *run = own + runs[i + lane];
      VEC x = LOAD(member) * LOAD(run);
      for (int b = 1; b < vectors; b++) x += LOAD(member + b * LANES) * LOAD(run + b * LANES);
      for (int part = 0; part < LANES; part++) sums[lane] += x[part];
    }
    STORE(p + i, add ? LOAD(p + i) + sums : sums);
  }
}

/* own_sums[runs[i]] += ratio[i] members[rows[i]] and, where they are wanted, sums[rows[i]] +=
   ratio[i] own[runs[i]]. */
INLINE void NAME(add_shares)(int lines, int n, const ptrdiff_t *runs, const ptrdiff_t *rows,
                             const REAL *ratio, const REAL *own, const REAL *members,
                             double *own_sums, double *sums) {
  enum { WIDE = LINE_GROUP * 64 / sizeof(REAL) / NAME(DOUBLES) };
  const int vectors = lines * NAME(VECTORS), wide = lines * NAME(LINE) / NAME(DOUBLES);
  for (int i = 0; i < n;) {
    const ptrdiff_t at = runs[i];
    VEC sum[LINE_GROUP * NAME(VECTORS)];
    vdouble run[WIDE];
    for (int b = 0; b < vectors; b++) sum[b] = (VEC){0};
    for (int b = 0; b < wide; b++) run[b] = WIDEN(own + at + b * NAME(DOUBLES));
    do {
      const REAL *member = members + rows[i];
      for (int b = 0; b < vectors; b++) sum[b] += ratio[i] * LOAD(member + b * LANES);
      if (sums != NULL) {
        double *to = sums + rows[i];
        for (int b = 0; b < wide; b++)
          store_d(to + b * NAME(DOUBLES),
                  load_d(to + b * NAME(DOUBLES)) + (double)ratio[i] * run[b]);
      }
    } while (++i < n && runs[i] == at);
    REAL lanes[LINE_GROUP * 64 / sizeof(REAL)];
    for (int b = 0; b < vectors; b++) STORE(lanes + b * LANES, sum[b]);
    double *to = own_sums + at;
    for (int b = 0; b < wide; b++)
      store_d(to + b * NAME(DOUBLES),
              load_d(to + b * NAME(DOUBLES)) + WIDEN(lanes + b * NAME(DOUBLES)));
  }
}

#define LINES(call)                                               \
  for (ptrdiff_t at = 0, left = s->stride / NAME(LINE); left > 0; \
       left -= LINE_GROUP, at += LINE_GROUP * NAME(LINE))         \
    switch (left) {                                               \
    case 1: {                                                     \
      enum { lines = 1 };                                         \
      call;                                                       \
      break;                                                      \
    }                                                             \
    case 2: {                                                     \
      enum { lines = 2 };                                         \
      call;                                                       \
      break;                                                      \
    }                                                             \
    case 3: {                                                     \
      enum { lines = 3 };                                         \
      call;                                                       \
      break;                                                      \
    }                                                             \
    default: {                                                    \
      enum { lines = LINE_GROUP };                                \
      call;                                                       \
    }                                                             \
    }

/* The sums over entries first ... last - 1; returns sum count log p, -inf where p is 0 and the
   count is not. Any other p below 2^LEAST_EXPONENT counts as that in the logarithm; and neither
   gives a ratio. */
static double NAME(visit)(const plsa_entries *s, ptrdiff_t first, ptrdiff_t last) {
  const REAL *own = s->own, *members = s->members;
  const VEC least = (VEC){0} + (REAL)ldexp(1.0, NAME(LEAST_EXPONENT));
  const vdouble lowest = (vdouble){0} + ldexp(1.0, NAME(LEAST_EXPONENT));
  const ptrdiff_t cached =
      CACHED / (s->stride * (ptrdiff_t)(sizeof(REAL) + sizeof(double))) / 16 * 16;
  const int batch = cached > ENTRIES ? ENTRIES : cached < 16 ? 16 : (int)cached;
  vdouble total = {0};
  for (ptrdiff_t begin = first; begin < last; begin += batch) {
    const int n = last - begin < batch ? (int)(last - begin) : batch;
    const int whole_n = (n + LANES - 1) / LANES * LANES;
    const REAL *counts = (const REAL *)s->counts + begin;
    ptrdiff_t runs[ENTRIES], rows[ENTRIES];
    REAL p[ENTRIES], ratio[ENTRIES], rest[ENTRIES];
    for (int i = 0; i < n; i++) rows[i] = s->rows[begin + i] * s->stride;
    for (int i = 0; i < n; i++) runs[i] = s->runs == NULL ? 0 : s->runs[begin + i] * s->stride;
    if (n < whole_n) {
      memcpy(rest, counts, n * sizeof(REAL));
      for (int i = n; i < whole_n; i++) runs[i] = runs[n - 1], rows[i] = rows[n - 1], rest[i] = 0;
      counts = rest;
    }
    LINES(NAME(dots)(lines, whole_n, runs, rows, own + at, members + at, at > 0, p))
    for (int i = 0; i < whole_n; i += LANES) {
      const VEC x = LOAD(p + i), safe = NAME(max)(least, x);
      for (int half = 0; half < LANES; half += NAME(DOUBLES)) {
        const vdouble q = WIDEN(p + i + half), count = WIDEN(counts + i + half);
        const vdouble never =
            select_d(greater_d(count, (vdouble){0}), (vdouble){0} - INFINITY, (vdouble){0});
        total += select_d(greater_d(q, (vdouble){0}), count * log_d(max_d(lowest, q)), never);
      }
      STORE(ratio + i, SELECT(GREATER(least, x), (VEC){0}, LOAD(counts + i) / safe));
    }
    LINES(NAME(add_shares)(lines, n, runs, rows, ratio, own + at, members + at, s->own_sums + at,
                           s->sums == NULL ? NULL : s->sums + at))
  }
  return add_lanes_d(0, total);
}
#undef LINES

#endif
