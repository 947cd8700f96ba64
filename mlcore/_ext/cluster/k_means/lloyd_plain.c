/* A pass of Lloyd's algorithm that compares a sample with every centre, or skips it by one bound;
   once per precision.

   Lanes are samples: a panel holds PANEL of them feature by feature, against CENTERS centres at a
   time; k is padded to whole CENTERS with half norms of infinity. Compared is |c|^2 / 2 - x.c as in
   nearest_center.c, with the same rounding. Panels hold some features at a time, so that they stay
   in the first cache: passes over 1,000 features took twice as long.

   Samples in double precision are screened in single, which takes two thirds of the time
   (k_means.py::Lloyd, no clusters, AVX2): only those whose two nearest centres differ by no more
   than rounding are searched again. `gaps` are lower bounds on the distance to the second nearest
   centre less that to the nearest, before any centre moved: with passed[j] the movements so far of
   centre j and of any other, added up, the gap is gaps[i] - passed[j], and above limits[j] -
   passed[j] the label stays. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "cluster/k_means/lloyd_plain.h"

#include "shared/table.h"

#define LOOPS "cluster/k_means/lloyd_plain.c"
#include "shared/both_precisions.h"

SIMD_TABLE(lloyd_plain, .f = {.lloyd_plain = lloyd_plain_f, .own_distances = own_distances_f},
           .d = {.lloyd_plain = lloyd_plain_d, .own_distances = own_distances_d})

#else
#include "cluster/k_means/lloyd_pass.h"
#include "shared/precision.h"
#include "cluster/k_means/relabel_loops.h"
#include "cluster/wide_distance_loops.h"
#include "shared/transpose_loops.h"

#ifndef CENTERS
#define CENTERS 4
#define ABREAST (VECTOR_BYTES == 64 ? 4 : 2)
enum { WINDOW = 4096 }; /* samples filtered at once */
/* features of a panel, which follow `from` */
typedef struct { ptrdiff_t from, depth; } features;

static inline features features_from(ptrdiff_t from, ptrdiff_t d) {
  return (features){from, d - from < LLOYD_DEPTH ? d - from : LLOYD_DEPTH};
}

/* bytes of a row that are prefetched; the processor then prefetches the rest */
enum { FETCHED = 512 };
/* Memory that the next panel reads, to be prefetched, which takes an eighth less time without
   clusters (k_means.py::Lloyd, AVX2): `count` places, at distances of `step` bytes
   or at `rows`, and the lines up to `after` bytes from each. */
typedef struct {
  const char *from;
  ptrdiff_t step, after;
  const int32_t *rows;
  int count;
} later_rows;

static inline later_rows rows_later(const void *X, ptrdiff_t bytes, const int32_t *rows) {
  later_rows later = {X, bytes, 0, rows, PANEL_FLOAT};
  if (64 % bytes != 0 || (uintptr_t)X % bytes != 0)
    later.after = bytes < FETCHED ? bytes - 1 : FETCHED;
  if (rows[PANEL_FLOAT - 1] - rows[0] == PANEL_FLOAT - 1) {
    later.from += rows[0] * bytes;
    later.rows = NULL;
    later.step = 64;
    later.after = 0;
    later.count = (int)(PANEL_FLOAT * bytes / 64);
  }
  return later;
}

static inline void fetch(const later_rows *later, int i) {
  const char *place = later->from + (later->rows != NULL ? later->rows[i] : i) * later->step;
  __builtin_prefetch(place);
  for (ptrdiff_t at = later->after; at > 0; at -= 64) __builtin_prefetch(place + at);
}

/* Store `first` + the place of each label that differs, and return their number. A whole vector is
   written. */
static inline int differing(const int32_t *a, const int32_t *b, int32_t first, int32_t *at) {
  enum { L = VECTOR_BYTES / 4 };
#if VECTOR_BYTES == 64
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __mmask16 m = _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
  _mm512_storeu_si512(
      at, _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, _mm512_set1_epi32(first))));
  return __builtin_popcount(m);
#else
  int n = 0;
  for (int i = 0; i < L; i++) {
    at[n] = first + i;
    n += a[i] != b[i];
  }
  return n;
#endif
}
#endif

/* The label and value of the nearest centre, and the value of the next, at the last features; sums
   over those before are in `partial`, (k, PANEL). Meanwhile `later` is fetched from memory. */
INLINE void NAME(nearest_of)(const int whole, features now, ptrdiff_t d, ptrdiff_t k,
                             const REAL *panel, const REAL *centers, const REAL *half_norms,
                             const later_rows *later, REAL *partial, int32_t *label, REAL *best,
                             REAL *second) {
  const int at_once = (int)((later->count * CENTERS + k - 1) / k);
  const int first = whole || now.from == 0, last = whole || now.from + now.depth == d;
  const ptrdiff_t depth = whole ? d : now.depth;
  int fetched = 0;
  for (int from = 0; from < PANEL; from += ABREAST * LANES) {
    VEC low[ABREAST], next[ABREAST];
    INTVEC at[ABREAST];
    for (int b = 0; b < ABREAST; b++) {
      low[b] = next[b] = (VEC){0} + (REAL)INFINITY;
      at[b] = (INTVEC){0};
    }
    for (ptrdiff_t c = 0; c < k; c += CENTERS) {
      for (int stop = fetched + at_once; fetched < stop && fetched < later->count; fetched++)
        fetch(later, fetched);
      VEC sum[CENTERS][ABREAST];
      const REAL *center = centers + c * d + now.from, *x = panel + from;
      REAL *before = partial + c * PANEL + from;
      for (int i = 0; i < CENTERS; i++)
        for (int b = 0; b < ABREAST; b++)
          sum[i][b] = first ? (VEC){0} + half_norms[c + i] : LOAD(before + i * PANEL + b * LANES);
      for (ptrdiff_t f = 0; f < depth; f++, x += PANEL)
        for (int i = 0; i < CENTERS; i++) {
          const REAL value = center[i * d + f];
          for (int b = 0; b < ABREAST; b++) sum[i][b] -= value * LOAD(x + b * LANES);
        }
      if (!last) {
        for (int i = 0; i < CENTERS; i++)
          for (int b = 0; b < ABREAST; b++) STORE(before + i * PANEL + b * LANES, sum[i][b]);
        continue;
      }
      for (int i = 0; i < CENTERS; i++)
        for (int b = 0; b < ABREAST; b++) {
          const VEC value = sum[i][b];
          at[b] = CHOOSE(GREATER(low[b], value), (INTVEC){0} + (INT)(c + i), at[b]);
          next[b] = NAME(min)(NAME(max)(low[b], value), next[b]);
          low[b] = NAME(min)(low[b], value);
        }
    }
    for (int b = 0; last && b < ABREAST; b++) {
      INT lane[LANES];
      memcpy(lane, at + b, sizeof lane);
      for (int i = 0; i < LANES; i++) label[from + b * LANES + i] = (int32_t)lane[i];
      STORE(best + from + b * LANES, low[b]);
      STORE(second + from + b * LANES, next[b]);
    }
  }
}

/* The same; all features at once have a loop of their own, for few features a tenth faster. */
static void NAME(nearest)(features now, ptrdiff_t d, ptrdiff_t k, const REAL *panel,
                          const REAL *centers, const REAL *half_norms, const later_rows *later,
                          REAL *partial, int32_t *label, REAL *best, REAL *second) {
#define NEAREST(whole)                                                                        \
  NAME(nearest_of)(whole, now, d, k, panel, centers, half_norms, later, partial, label, best, \
                   second)
  if (now.depth == d) NEAREST(1);
  else NEAREST(0);
#undef NEAREST
}

/* The squared norms of samples over features up to these, from those over the features before. */
static inline VEC NAME(squares)(features now, const REAL *panel, const REAL *norms, int from) {
  VEC norm = now.from ? LOAD(norms + from) : (VEC){0};
  for (ptrdiff_t f = 0; f < now.depth; f++)
    norm += LOAD(panel + f * PANEL + from) * LOAD(panel + f * PANEL + from);
  return norm;
}

static void NAME(add_squares)(features now, const REAL *panel, REAL *norms) {
  for (int from = 0; from < PANEL; from += LANES)
    STORE(norms + from, NAME(squares)(now, panel, norms, from));
}

/* From the values of the two nearest centres: a lower bound on the difference of their distances,
   and the rounding of a squared distance. `longest` grows to the largest squared norm. */
static void NAME(gap)(features last, int count, const REAL *panel, const REAL *norms,
                      const REAL *best, const REAL *second, double error, double farthest,
                      REAL *slack, REAL *gap, float *longest) {
  const VEC relative = (VEC){0} + (REAL)error, constant = (VEC){0} + (REAL)(error * farthest),
            zero = {0};
  VEC high = zero;
  for (int from = 0; from < PANEL; from += LANES) {
    const VEC norm = NAME(squares)(last, panel, norms, from);
    const VEC rounding = relative * norm + constant;
    /* the extremes are their second argument where it is NaN */
    const VEC u = NAME(max)(norm + 2 * LOAD(best + from) + rounding, zero);
    const VEC l = NAME(max)(norm + 2 * LOAD(second + from) - rounding, zero);
    const VEC upper = NAME(sqrt)(u), lower = NAME(sqrt)(NAME(min)(l, zero + (REAL)FARTHEST));
    const VEC least = lower - upper - (lower + upper) * (REAL)WIDER;
    STORE(slack + from, rounding);
    STORE(gap + from, SELECT(GREATER(least, zero), least, zero));
    if (from + LANES <= count) high = NAME(max)(norm, high);
    else
      for (int lane = 0; lane < count - from; lane++)
        if (norm[lane] > *longest) *longest = (float)norm[lane];
  }
  if ((float)NAME(highest)(high) > *longest) *longest = (float)NAME(highest)(high);
}

/* Copy features of rows of X side by side, at a stride of `width` values: unchanged, or in single
   precision less the origin. */
#define BESIDE(name, type, value)                                                           \
  static void NAME(name)(const lloyd_pass *s, features now, const int32_t *rows, int count, \
                         type *restrict slab) {                                             \
    const double *restrict origin = s->origin == NULL ? NULL : s->origin + now.from;        \
    (void)origin;                                                                           \
    for (int r = 0; r < count; r++, slab += s->width) {                                     \
      const REAL *restrict x = (const REAL *)s->X + rows[r] * s->d + now.from;              \
      for (ptrdiff_t f = 0; f < now.depth; f++) slab[f] = (type)(value);                    \
    }                                                                                       \
  }
BESIDE(beside, REAL, x[f])

#ifdef HAS_ZIP
/* panel[f, r] = X[rows[r], f], for a vector's length of features at least. */
static void NAME(transpose_rows)(const REAL *X, ptrdiff_t d, ptrdiff_t depth, const int32_t *rows,
                                 int count, REAL *panel) {
  enum { L = LANES };
  for (int r = 0; r < count; r += L)
    for (ptrdiff_t f = 0; f < depth; f += L) {
      const ptrdiff_t from = f + L <= depth ? f : depth - L;
      VEC v[L];
      for (int i = 0; i < L; i++) v[i] = LOAD(X + rows[r + i] * d + from);
      NAME(turn)(v);
      for (int i = 0; i < L; i++) STORE(panel + (from + i) * PANEL + r, v[i]);
    }
}
#endif

/* Labels and gaps of up to PANEL rows. */
static void NAME(compare)(const lloyd_pass *s, const int32_t *rows, int count, REAL *scratch,
                          REAL *partial, int32_t *label, REAL *gap, float *longest) {
  const ptrdiff_t d = s->d, width = s->width, step = width < 16 ? PANEL : 16;
  const int in_place = width == d || d > LLOYD_DEPTH; /* rows need no padding */
  REAL *panel = scratch + PANEL * width, norms[PANEL], best[PANEL], second[PANEL], slack[PANEL];
  later_rows later = rows_later(s->X, d * sizeof(REAL), rows + count);
  features now = {0};
  for (ptrdiff_t from = 0; from < d; from += LLOYD_DEPTH) {
    now = features_from(from, d);
    const REAL *X = (const REAL *)s->X + from;
    if (rows[count - 1] - rows[0] == count - 1 && in_place)
      NAME(transpose)(X + rows[0] * d, d, count, now.depth, panel, PANEL);
#ifdef HAS_ZIP
    else if (in_place && now.depth >= LANES)
      NAME(transpose_rows)(X, d, now.depth, rows, count, panel);
#endif
    else
      for (int r = 0; r < count; r += step) {
        const int some = count - r < step ? count - r : step;
        NAME(beside)(s, now, rows + r, some, scratch);
        NAME(transpose)(scratch, width, some, width < 16 ? width : now.depth, panel + r, PANEL);
      }
    NAME(nearest)(now, d, s->k, panel, s->centers, s->half_norms, &later, partial, label, best,
                  second);
    if (s->gaps != NULL && from + now.depth < d) NAME(add_squares)(now, panel, norms);
    later.count = 0;
  }
  if (s->gaps != NULL)
    NAME(gap)(now, count, panel, norms, best, second, s->error, s->farthest, slack, gap, longest);
}

#if IS_DOUBLE
BESIDE(beside_single, float, x[f] - origin[f])

/* Labels and gaps of up to PANEL_FLOAT rows, in single precision where that decides; returns the
   number of rows for which it did not. */
static int NAME(screen)(const lloyd_pass *s, const int32_t *rows, int count, REAL *scratch,
                        REAL *partial, int32_t *label, float *gap, float *longest) {
  const ptrdiff_t d = s->d, width = s->width, step = width < 16 ? PANEL_FLOAT : 16;
  float *slab = (float *)scratch, *panel = slab + PANEL_FLOAT * width;
  float norms[PANEL_FLOAT], best[PANEL_FLOAT], second[PANEL_FLOAT], slack[PANEL_FLOAT];
  int32_t left[2 * PANEL_FLOAT], place[PANEL_FLOAT];
  int n_left = 0, any = 0;
  later_rows later = rows_later(s->X, d * sizeof(REAL), rows + count);
  features now = {0};
  for (ptrdiff_t from = 0; from < d; from += LLOYD_DEPTH) {
    now = features_from(from, d);
    if (width == d && d <= 8 && count == PANEL_FLOAT && rows[count - 1] - rows[0] == count - 1) {
      const REAL *x = (const REAL *)s->X + rows[0] * d;
      for (ptrdiff_t v = 0; v < PANEL_FLOAT * d; v += 8)
        for (int i = 0; i < 8; i++) slab[v + i] = (float)(x[v + i] - s->origin[i]);
      transpose_f(slab, d, PANEL_FLOAT, d, panel, PANEL_FLOAT);
    } else
      for (int r = 0; r < count; r += step) {
        const int some = count - r < step ? count - r : step;
        NAME(beside_single)(s, now, rows + r, some, slab);
        transpose_f(slab, width, some, width < 16 ? width : now.depth, panel + r, PANEL_FLOAT);
      }
    nearest_f(now, d, s->k, panel, s->single_centers, s->single_halves, &later, (float *)partial,
              label, best, second);
    if (from + now.depth < d) add_squares_f(now, panel, norms);
    later.count = 0;
  }
  gap_f(now, count, panel, norms, best, second, s->single_error, s->single_farthest, slack, gap,
        longest);
  for (int r = 0; r < PANEL_FLOAT; r++) any |= !(2 * (second[r] - best[r]) > slack[r]);
  if (!any) return 0;
  for (int r = 0; r < count; r++) {
    left[n_left] = rows[r];
    place[n_left] = r;
    n_left += !(2 * (second[r] - best[r]) > slack[r]);
  }
  for (int r = n_left; r < n_left + PANEL_FLOAT; r++) left[r] = rows[0];
  for (int t = 0; t < n_left; t += PANEL) {
    const int some = n_left - t < PANEL ? n_left - t : PANEL;
    int32_t found[PANEL];
    REAL gaps[PANEL];
    float ignored = 0;
    NAME(compare)(s, left + t, some, scratch + 64 * width, partial, found, gaps, &ignored);
    for (int r = 0; r < some; r++) {
      label[place[t + r]] = found[r];
      gap[place[t + r]] = (float)gaps[r];
    }
  }
  return n_left;
}
#endif

/* Store the samples whose labels may change, padded to whole panels, and return their number. */
static int NAME(unsettled)(const lloyd_pass *s, int size, int32_t *rows) {
  int kept = 0, i = 0;
  if (s->filtered) {
    for (; i + VECTOR_BYTES / 4 <= size; i += VECTOR_BYTES / 4) {
      kept += compress_rest_f(load_f(s->gaps + i), look_up_f(s->limits, s->k, s->labels + i), i,
                              rows + kept);
    }
    for (; i < size; i++) rows[kept++] = i;
  }
  if (!s->filtered || kept > size - size / 4) /* nearly all: take all, which lie side by side */
    for (kept = 0; kept < size; kept++) rows[kept] = kept;
  for (int r = 0; r < PANEL_FLOAT; r++) rows[kept + r] = size - 1;
  return kept;
}

/* New labels and gaps of some rows. */
static void NAME(take)(const lloyd_pass *s, const int32_t *rows, int count, int32_t *label,
                       const float *gap, double *sums, double *counts, int64_t *tally) {
  enum { L = VECTOR_BYTES / 4 };
  const int together = count == PANEL_FLOAT && rows[count - 1] - rows[0] == count - 1;
  int32_t changed[2 * PANEL_FLOAT], old[PANEL_FLOAT];
  float passed[PANEL_FLOAT];
  int n_changed = 0;
  if (!together)
    for (int r = 0; r < count; r++) old[r] = s->labels[rows[r]];
  for (int r = count; r < PANEL_FLOAT; r++) old[r] = label[r];
  for (int r = 0; r < PANEL_FLOAT; r += L)
    n_changed +=
        differing(together ? s->labels + rows[r] : old + r, label + r, r, changed + n_changed);
  for (int c = 0; c < n_changed; c++)
    NAME(relabel)(s, rows[changed[c]], label[changed[c]], sums, counts, tally);
  if (s->gaps == NULL) return;
  for (int r = count; r < PANEL_FLOAT; r++) label[r] = 0;
  for (int r = 0; r < PANEL_FLOAT; r += L)
    store_f(passed + r, look_up_f(s->passed, s->k, label + r));
  for (int r = 0; r < count; r++) passed[r] = below(gap[r] + passed[r]);
  if (together) memcpy(s->gaps + rows[0], passed, sizeof passed);
  else
    for (int r = 0; r < count; r++) s->gaps[rows[r]] = passed[r];
}

/* tally: labels changed, samples screened, and samples that the screen left undecided. */
static void NAME(lloyd_plain)(const lloyd_pass *whole, ptrdiff_t start, ptrdiff_t stop,
                              REAL *scratch, double *sums, double *counts, int64_t *tally,
                              float *longest) {
  int32_t rows[WINDOW + PANEL_FLOAT], label[PANEL_FLOAT];
  REAL *partial = scratch + LLOYD_SCRATCH * whole->width;
  for (ptrdiff_t begin = start; begin < stop; begin += WINDOW) {
    lloyd_pass s = *whole;
    s.n -= begin;
    s.X = (const REAL *)s.X + begin * s.d;
    s.labels += begin;
    if (s.gaps != NULL) s.gaps += begin;
    if (s.weights != NULL) s.weights += begin;
    const int kept =
        NAME(unsettled)(&s, stop - begin < WINDOW ? (int)(stop - begin) : WINDOW, rows);
    for (int t = 0, count; t < kept; t += count) {
      const int32_t *row = rows + t;
#if IS_DOUBLE
      float single[PANEL_FLOAT];
      REAL gap[PANEL];
      if (s.single_centers != NULL) {
        count = kept - t < PANEL_FLOAT ? kept - t : PANEL_FLOAT;
        tally[1] += count;
        tally[2] += NAME(screen)(&s, row, count, scratch, partial, label, single, longest);
      } else {
        count = kept - t < PANEL ? kept - t : PANEL;
        NAME(compare)(&s, row, count, scratch, partial, label, gap, longest);
        if (s.gaps != NULL)
          for (int r = 0; r < count; r++) single[r] = (float)gap[r];
      }
#else
      float single[PANEL];
      count = kept - t < PANEL ? kept - t : PANEL;
      NAME(compare)(&s, row, count, scratch, partial, label, single, longest);
#endif
      NAME(take)(&s, row, count, label, single, sums, counts, tally);
    }
  }
}

/* out[i] = |x_i - c|^2 with the centre of its label, in double precision. */
static void NAME(own_distances)(ptrdiff_t d, ptrdiff_t n, const REAL *X, const REAL *centers,
                                const int32_t *labels, double *out) {
  for (ptrdiff_t i = 0; i < n; i++)
    out[i] = NAME(wide_squared_distance)(d, X + i * d, centers + labels[i] * d);
}

#endif
