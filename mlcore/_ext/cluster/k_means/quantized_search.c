/* A pass of Lloyd's algorithm in 8-bit integers, for processors that add four products of them to
   each lane at once (AVX-512 VNNI); once per precision. See quantized_search.pyx.

   Lanes are centres; a sample's codes, negated, are broadcast by fours. The sum that starts with
   |q|^2 / 2 then is, but for a constant of the sample, half the squared distance of the codes, an
   exact integer. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "cluster/k_means/quantized_search.h"

#include "shared/table.h"

#if defined(MLCORE_TARGET_AVX512)
#define VNNI __attribute__((target("avx512vnni")))

enum {
  ABREAST = 8, /* samples that share the loads of a tile */
  GROUPS = QUANTIZED_TILE / QUANTIZED_LANES,
  MOST = 128,          /* candidates of a sample; more are compared with all centres */
  NONE = (1 << 30) - 1 /* above every sum of codes */
};
#define SURELY (1 + 1e-9) /* more than the rounding of a distance in double precision */

/* A sample's search: `base` plus a sum of codes is half a squared distance, `error` bounds the
   rounding of a distance to any centre; all in steps. */
typedef struct {
  double base, error;
  int32_t limit, window; /* sums of interest; those that may be nearest */
  int32_t least, next, nearest;
  int count, any;
} sample_search;

/* The greatest sum of a code whose distance is at most `distance`. */
static inline int32_t sum_within(const sample_search *w, double distance) {
  const double sum = 0.5 * distance * distance * SURELY - w->base + 1;
  return sum < NONE ? (int32_t)sum : NONE;
}

/* A distance that the distance of codes with this sum, or more, is not below. */
static inline double distance_of(const sample_search *w, int32_t sum) {
  const double half = sum + w->base;
  return half > 0 ? sqrt(2 * half) * (2 - SURELY) : 0;
}

/* Keep the candidates that may still be nearest, if the list is nearly full. */
static void make_room(sample_search *w, int32_t *at, int32_t *sums) {
  int kept = 0;
  for (int c = 0; c < w->count; c++) {
    at[kept] = at[c];
    sums[kept] = sums[c];
    kept += sums[c] <= w->window;
  }
  w->count = kept;
  w->any |= kept > MOST - QUANTIZED_TILE;
  if (w->any) w->count = 0;
}

/* Take the sums of a tile that are of interest. */
VNNI static void take_tile(sample_search *w, const int32_t *tile, const int32_t *places,
                           int32_t *at, int32_t *sums) {
  if (w->count > MOST - QUANTIZED_TILE) make_room(w, at, sums);
  for (int g = 0; g < GROUPS; g++) {
    const __m512i v = _mm512_loadu_si512(tile + g * QUANTIZED_LANES);
    unsigned left = _mm512_cmple_epi32_mask(v, _mm512_set1_epi32(w->limit));
    for (; left; left &= left - 1) {
      const int place = g * QUANTIZED_LANES + __builtin_ctz(left);
      const int32_t sum = tile[place];
      if (sum < w->least) {
        w->next = w->least;
        w->least = sum;
        w->nearest = places[place];
        const double upper = sqrt(2 * (sum + w->base) + 1) + w->error;
        const int32_t window = sum_within(w, upper * SURELY + w->error);
        if (window < w->window) w->window = window;
      } else if (sum < w->next) w->next = sum;
      if (sum <= w->window && !w->any) {
        at[w->count] = places[place];
        sums[w->count++] = sum;
      }
    }
  }
  w->limit = w->window > w->next ? w->window : w->next;
}

/* Sums of ABREAST samples with a tile; returns a bit for each sample with one of interest. */
VNNI static inline unsigned sum_tile(ptrdiff_t quads, const int8_t *codes, const uint8_t *tile,
                                     const int32_t *halves, const sample_search *w, int32_t *out) {
  __m512i sum[ABREAST][GROUPS];
  unsigned hit = 0;
  for (int g = 0; g < GROUPS; g++)
    for (int r = 0; r < ABREAST; r++) sum[r][g] = _mm512_loadu_si512(halves + g * QUANTIZED_LANES);
  for (ptrdiff_t f = 0; f < quads; f++, tile += 4 * QUANTIZED_TILE, codes += 4) {
    __m512i c[GROUPS];
    for (int g = 0; g < GROUPS; g++) c[g] = _mm512_loadu_si512(tile + g * 64);
    for (int r = 0; r < ABREAST; r++) {
      int32_t four;
      memcpy(&four, codes + r * 4 * quads, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
      for (int g = 0; g < GROUPS; g++) sum[r][g] = _mm512_dpbusd_epi32(sum[r][g], c[g], x);
    }
  }
  for (int r = 0; r < ABREAST; r++) {
    const __m512i low = _mm512_min_epi32(_mm512_min_epi32(sum[r][0], sum[r][1]), sum[r][2]);
    hit |= (unsigned)(_mm512_cmple_epi32_mask(low, _mm512_set1_epi32(w[r].limit)) != 0) << r;
  }
  if (hit)
    for (int r = 0; r < ABREAST; r++)
      for (int g = 0; g < GROUPS; g++)
        _mm512_storeu_si512(out + r * QUANTIZED_TILE + g * QUANTIZED_LANES, sum[r][g]);
  return hit;
}

/* Compare the samples of a batch with all centres of a set; `codes` has whole ABREAST samples. */
VNNI static void scan(ptrdiff_t quads, const coded_centers *set, int count, const int8_t *codes,
                      sample_search *w, int32_t (*at)[MOST], int32_t (*sums)[MOST]) {
  int32_t out[ABREAST * QUANTIZED_TILE];
  for (ptrdiff_t t = 0; t < set->n_tiles; t++)
    for (int r = 0; r < count; r += ABREAST) {
      unsigned hit =
          sum_tile(quads, codes + r * 4 * quads, set->codes + t * 4 * quads * QUANTIZED_TILE,
                   set->halves + t * QUANTIZED_TILE, w + r, out);
      for (; hit; hit &= hit - 1) {
        const int i = __builtin_ctz(hit);
        take_tile(w + r + i, out + i * QUANTIZED_TILE, set->places + t * QUANTIZED_TILE, at[r + i],
                  sums[r + i]);
      }
    }
}

#define LOOPS "cluster/k_means/quantized_search.c"
#include "shared/both_precisions.h"

SIMD_TABLE(quantized_search, .usable = has_vnni, .f = {.search = search_f},
           .d = {.search = search_d})
#else
static int unusable(void) { return 0; }

SIMD_TABLE(quantized_search, .usable = unusable)
#endif

#else
#include "cluster/k_means/relabel_loops.h"
#include "cluster/wide_distance_loops.h"
#include "shared/precision.h"

#if IS_DOUBLE
#define LOAD_SOME(mask, p) _mm512_maskz_loadu_pd(mask, p)
#else
#undef LOAD_SOME
#define LOAD_SOME(mask, p) _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, p))
#endif

/* The codes of a sample, negated, and the start of its search, before any centre is known. */
static void NAME(encode)(const quantized_pass *s, const REAL *x, int8_t *codes, sample_search *w) {
  const __m512d inverse = _mm512_set1_pd(1 / s->step), most = _mm512_set1_pd(127);
  __m512d squares = _mm512_setzero_pd(), rest = squares;
  __m512i total = _mm512_setzero_si512();
  for (ptrdiff_t f = 0; f < 4 * s->quads; f += 8) {
    const ptrdiff_t left = s->d - f;
    const __mmask8 in = left >= 8 ? 255 : left > 0 ? (1 << left) - 1 : 0;
    const __m512d value = _mm512_mul_pd(
        _mm512_sub_pd(_mm512_maskz_loadu_pd(in, s->origin + f), LOAD_SOME(in, x + f)), inverse);
    const __m512d within =
        _mm512_min_pd(_mm512_max_pd(value, _mm512_sub_pd(_mm512_setzero_pd(), most)), most);
    const __m256i code = _mm512_cvtpd_epi32(within);
    const __m512d rounded = _mm512_cvtepi32_pd(code), off = _mm512_sub_pd(value, rounded);
    squares = _mm512_fmadd_pd(rounded, rounded, squares);
    rest = _mm512_fmadd_pd(off, off, rest);
    total = _mm512_add_epi64(total, _mm512_cvtepi32_epi64(code));
    const __m128i bytes = _mm256_cvtepi32_epi8(code);
    const ptrdiff_t room = 4 * s->quads - f;
    memcpy(codes + f, &bytes, room < 8 ? room : 8);
  }
  w->base = 0.5 * _mm512_reduce_add_pd(squares) - 128.0 * _mm512_reduce_add_epi64(total);
  w->error = sqrt(_mm512_reduce_add_pd(rest)) * SURELY + s->error;
  w->limit = w->window = w->least = w->next = NONE;
  w->nearest = -1;
  w->count = w->any = 0;
}

/* Compare a sample's own centre and the candidates in double precision. Sets the squared distances
   from the nearest and the next, and returns the label. */
static int32_t NAME(nearest_of)(const quantized_pass *s, const sample_search *w, const REAL *x,
                                const coded_centers *set, int32_t own, const int32_t *at,
                                const int32_t *sums, double *best, double *next, int64_t *tally) {
  const REAL *centers = s->centers;
  const ptrdiff_t count = w->any ? set->n_tiles * QUANTIZED_TILE : w->count;
  int32_t label = own;
  *next = INFINITY;
  *best = own < 0 ? INFINITY : NAME(wide_squared_distance)(s->d, x, centers + own * s->d);
  for (ptrdiff_t c = 0; c < count; c++) {
    const int32_t j = w->any ? set->places[c] : at[c];
    if (j < 0 || j == own || (!w->any && sums[c] > w->window)) continue;
    const double squared = NAME(wide_squared_distance)(s->d, x, centers + j * s->d);
    ++tally[1];
    if (squared < *best || (squared == *best && j < label)) {
      *next = *best;
      *best = squared;
      label = j;
    } else if (squared < *next) *next = squared;
  }
  return label;
}

/* The label and the bounds of a sample that was compared with a set. */
static void NAME(conclude)(const quantized_pass *s, const lloyd_pass *pass, const sample_search *w,
                           int64_t i, const coded_centers *set, const int32_t *at,
                           const int32_t *sums, double *totals, double *counts, int64_t *tally) {
  const int32_t own = s->labels[i];
  double best = 0, next = INFINITY;
  int32_t label = own;
  if (w->count > 0 || w->any) {
    label = NAME(nearest_of)(s, w, (const REAL *)s->X + i * s->d, set, own, at, sums, &best, &next,
                             tally);
    s->upper[i] = above((float)sqrt(best));
  }
  next = sqrt(next);
  /* All others are as far as the next, or the nearest, by codes; or they are no candidates, or
     known. */
  double lower = (distance_of(w, label == w->nearest ? w->next : w->least) - w->error) * s->step;
  if (label != own && own >= 0 && next < lower) lower = next;
  double outside = w->any ? INFINITY : (distance_of(w, w->window) - w->error) * s->step;
  if (next < outside) outside = next;
  if (lower < outside) lower = outside;
  if (set != &s->all && s->lower[i] < lower) lower = s->lower[i];
  s->lower[i] = below((float)(lower < FARTHEST ? lower : FARTHEST));
  if (label != own) NAME(relabel)(pass, i, label, totals, counts, tally);
}

/* Search a set for the nearest centres of some samples, QUANTIZED_BATCH at most. */
static void NAME(batch)(const quantized_pass *s, const lloyd_pass *pass, const coded_centers *set,
                        int count, const int64_t *rows, int8_t *codes, double *totals,
                        double *counts, int64_t *tally) {
  sample_search w[QUANTIZED_BATCH];
  int32_t at[QUANTIZED_BATCH][MOST], sums[QUANTIZED_BATCH][MOST];
  for (int r = 0; r < count; r++) {
    const int64_t i = rows[r];
    NAME(encode)(s, (const REAL *)s->X + i * s->d, codes + r * 4 * s->quads, w + r);
    if (s->labels[i] >= 0)
      w[r].window = sum_within(w + r, s->upper[i] / s->step * SURELY + w[r].error);
    if (set != &s->all)
      w[r].least = w[r].next = sum_within(w + r, s->lower[i] / s->step * SURELY + w[r].error);
    w[r].limit = w[r].window > w[r].next ? w[r].window : w[r].next;
  }
  for (int r = count; r % ABREAST != 0; r++) w[r].limit = INT32_MIN;
  scan(s->quads, set, count, codes, w, at, sums);
  for (int r = 0; r < count; r++)
    NAME(conclude)(s, pass, w + r, rows[r], set, at[r], sums[r], totals, counts, tally);
}

static void NAME(search)(const quantized_pass *s, ptrdiff_t start, ptrdiff_t stop, int8_t *codes,
                         double *totals, double *counts, int64_t *tally) {
  enum { WINDOW = 1024 };
  const REAL *X = s->X, *centers = s->centers;
  lloyd_pass pass = {.d = s->d, .X = X, .weights = s->weights, .labels = s->labels};
  int64_t rows[2][WINDOW]; /* to compare with the centres that moved, and with all */
  for (ptrdiff_t begin = start; begin < stop; begin += WINDOW) {
    int kept[2] = {0};
    for (ptrdiff_t i = begin; i < begin + WINDOW && i < stop; i++) {
      int any = s->first;
      if (!any) {
        const int32_t j = s->labels[i];
        if (!s->still[j])
          s->upper[i] = above(
              (float)sqrt(NAME(wide_squared_distance)(s->d, X + i * s->d, centers + j * s->d)));
        s->lower[i] = below(s->lower[i] - s->less);
        any = !(s->upper[i] < s->lower[i]);
      }
      rows[any][kept[any]++] = i;
    }
    for (int any = s->moved.n_tiles > 0 ? 0 : 1; any < 2; any++)
      for (int t = 0; t < kept[any]; t += QUANTIZED_BATCH)
        NAME(batch)(s, &pass, any ? &s->all : &s->moved,
                    kept[any] - t < QUANTIZED_BATCH ? kept[any] - t : QUANTIZED_BATCH,
                    rows[any] + t, codes, totals, counts, tally);
    tally[2] += kept[1];
  }
}
#undef LOAD_SOME
#endif
