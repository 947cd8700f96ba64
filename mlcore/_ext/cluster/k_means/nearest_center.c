/* One pass of Lloyd's algorithm over a chunk of samples; included once per precision. See
   nearest_center.pyx.

   A group is GROUP centres side by side, feature by feature: group[f * GROUP + lane], 64 bytes a
   feature. Lanes are centres; the values of a sample are broadcast, and ROWS samples share each
   load. Compared is |c|^2 / 2 - x.c, the half squared distance without the sample's own norm; of
   equal values the lower index wins.

   Bounds are floats in both precisions, see relabel_loops.h. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "cluster/k_means/nearest_center.h"

#include "shared/table.h"

#define LOOPS "cluster/k_means/nearest_center.c"
#include "shared/both_precisions.h"

SIMD_TABLE(nearest_center, .f = {.lloyd = lloyd_f}, .d = {.lloyd = lloyd_d})

#else
#include "cluster/k_means/nearest_center.h"
#include "shared/precision.h"
#include "cluster/k_means/relabel_loops.h"
#include "cluster/squared_distance_loops.h"

#ifndef GROUP_BYTES
#define GROUP_BYTES 64
#define ROWS (VECTOR_BYTES == 64 ? 8 : VECTOR_BYTES == 32 ? 4 : 2)
/* samples filtered at once, searched at once, prefetched ahead: without, float32 takes a tenth longer
   (300,000 x 20, 16 to 64 centres, AVX2) */
enum { BLOCK = 1024, BATCH = LLOYD_BATCH, AHEAD = 16 };

typedef float vfloat4 __attribute__((vector_size(16)));
typedef int32_t vint4 __attribute__((vector_size(16)));
typedef float vfloat4_any __attribute__((vector_size(16), aligned(4), may_alias));

/* Bit mask of the groups whose lower bound is at most u; `least` is the least bound. */
static inline uint64_t groups_within(int n_groups, const float *bound, const float *moved, float u,
                                     float *least) {
  uint64_t within = 0;
  vfloat4 low = (vfloat4){0} + INFINITY;
  for (int g = 0; g < n_groups; g += 4) {
    const vfloat4 b = *(const vfloat4_any *)(bound + g) - *(const vfloat4_any *)(moved + g);
    const vint4 far = b > u;
    const vint4 less = b < low;
    low = (vfloat4)((less & (vint4)b) | (~less & (vint4)low));
#ifdef __SSE2__
    within |= (uint64_t)(15 ^ __builtin_ia32_movmskps((vfloat4)far)) << g;
#else
    for (int lane = 0; lane < 4; lane++) within |= (uint64_t)(1 + far[lane]) << (g + lane);
#endif
  }
  const float a = low[0] < low[1] ? low[0] : low[1], b = low[2] < low[3] ? low[2] : low[3];
  *least = a < b ? a : b;
  return within;
}
#endif

enum { NAME(GROUP) = GROUP_BYTES / sizeof(REAL), NAME(PARTS) = GROUP_BYTES / VECTOR_BYTES };

INLINE void NAME(group_rows)(int count, ptrdiff_t d, const int64_t *rows, const REAL *X,
                             const REAL *group, const REAL *half_norms, REAL *out, ptrdiff_t stride,
                             const int32_t *dest) {
  VEC sum[ROWS][NAME(PARTS)];
  const REAL *x[ROWS];
  for (int r = 0; r < count; r++) {
    x[r] = X + rows[r] * d;
    for (int p = 0; p < NAME(PARTS); p++) sum[r][p] = LOAD(half_norms + p * LANES);
  }
  for (ptrdiff_t f = 0; f < d; f++, group += NAME(GROUP))
    for (int p = 0; p < NAME(PARTS); p++) {
      const VEC c = LOAD(group + p * LANES);
      for (int r = 0; r < count; r++) sum[r][p] -= x[r][f] * c;
    }
  for (int r = 0; r < count; r++)
    for (int p = 0; p < NAME(PARTS); p++) STORE(out + dest[r] * stride + p * LANES, sum[r][p]);
}

/* out[dest[r], :] = |c|^2 / 2 - x.c of sample rows[r] with a group of centres. */
static void NAME(group_values)(ptrdiff_t d, ptrdiff_t n_rows, const int64_t *rows, const REAL *X,
                               const REAL *group, const REAL *half_norms, REAL *out,
                               ptrdiff_t stride, const int32_t *dest) {
  ptrdiff_t r = 0;
  for (; r + ROWS <= n_rows; r += ROWS)
    NAME(group_rows)(ROWS, d, rows + r, X, group, half_norms, out, stride, dest + r);
  for (; r < n_rows; r++)
    NAME(group_rows)(1, d, rows + r, X, group, half_norms, out, stride, dest + r);
}

static inline REAL NAME(lowest_of_group)(const REAL *values) {
  VEC low = LOAD(values);
  for (int p = 1; p < NAME(PARTS); p++) low = NAME(min)(low, LOAD(values + p * LANES));
  return NAME(lowest)(low);
}

/* The lowest index among the centres of a group that have this value. */
static inline int32_t NAME(index_in_group)(const REAL *values, const INT *places, REAL value) {
  int64_t index = INT64_MAX;
  for (int p = 0; p < NAME(PARTS); p++) {
    INTVEC at;
    memcpy(&at, places + p * LANES, sizeof at);
    const VEC v = LOAD(values + p * LANES);
    if (NAME(PARTS) == 1 || NAME(lowest)(v) == value) {
      const int64_t i = NAME(where)(v, value, at);
      index = i < index ? i : index;
    }
  }
  return (int32_t)index;
}

/* The nearest centre from one sample's values with the groups in `asked`, and their lowest values;
   in the group of the nearest, the lowest of the other centres. */
static inline int32_t NAME(rank)(const lloyd_pass *s, uint64_t asked, const REAL *values,
                                 REAL *lowest, REAL *best) {
  const INT *places = s->places;
  REAL least = (REAL)INFINITY;
  int32_t label = INT32_MAX;
  uint64_t nearest = 0;
  for (uint64_t left = asked; left; left &= left - 1) {
    const int g = __builtin_ctzll(left);
    lowest[g] = NAME(lowest_of_group)(values + g * NAME(GROUP));
    least = lowest[g] < least ? lowest[g] : least;
  }
  for (uint64_t left = asked; left; left &= left - 1) {
    const int g = __builtin_ctzll(left);
    nearest |= (uint64_t)(lowest[g] == least) << g;
  }
  for (; nearest; nearest &= nearest - 1) { /* nearly always one */
    const int g = __builtin_ctzll(nearest);
    const int32_t at =
        NAME(index_in_group)(values + g * NAME(GROUP), places + g * NAME(GROUP), least);
    label = at < label ? at : label;
  }
  const int g = s->home[label];
  VEC next = (VEC){0} + (REAL)INFINITY;
  for (int p = 0; p < NAME(PARTS); p++) {
    INTVEC at;
    memcpy(&at, places + g * NAME(GROUP) + p * LANES, sizeof at);
    const VEC v = LOAD(values + g * NAME(GROUP) + p * LANES);
    const INTVEC same = (INTVEC)(at == (INTVEC){0} + (INT)label);
    next =
        NAME(min)(next, (VEC)((same & (INTVEC)((VEC){0} + (REAL)INFINITY)) | (~same & (INTVEC)v)));
  }
  lowest[g] = NAME(lowest)(next);
  *best = least;
  return label;
}

/* New bounds of a sample, from its values with the groups in `asked`; sums follow where its label
   changes. */
static inline void NAME(settle)(const lloyd_pass *s, int64_t i, uint64_t asked, int32_t label,
                                const REAL *lowest, REAL best, double *sums, double *counts,
                                int64_t *changed) {
  const REAL norm = ((const REAL *)s->norms)[i], slack = (REAL)s->slack;
  float *bound = s->bounds + i * s->stride, lower = INFINITY;
  if (label != s->labels[i]) NAME(relabel)(s, i, label, sums, counts, changed);
  const float squared = (float)(norm + 2 * best + slack);
  s->upper[i] = above(above(sqrtf(squared > 0 ? squared : 0)) - s->own_moved[label]);
  for (; asked; asked &= asked - 1) {
    const int g = __builtin_ctzll(asked);
    /* infinite if no other centre is in the group */
    const float squared = (float)(norm + 2 * lowest[g] - slack);
    lower = below(sqrtf(squared > 0 ? squared < FARTHEST ? squared : FARTHEST : 0));
    bound[g] = below(lower + s->group_moved[g]);
  }
  if (s->n_groups > 1) groups_within(s->n_groups, bound, s->group_moved, 0, &lower);
  s->lower[i] = below(below(lower) + s->others_moved[label]);
}

/* Compare the samples of a batch with the groups in `asked`. */
static void NAME(search)(const lloyd_pass *s, int count, const int64_t *rows, const uint64_t *asked,
                         REAL *values, double *sums, double *counts, int64_t *changed) {
  const ptrdiff_t stride = s->n_groups * NAME(GROUP);
  int64_t part[BATCH]; /* the rows to compare with one group, and their places in the batch */
  int32_t dest[BATCH];
  REAL lowest[LLOYD_GROUPS] = {0}, best;
  for (int g = 0; g < s->n_groups; g++) {
    int size = 0;
    for (int r = 0; r < count; r++) {
      part[size] = rows[r];
      dest[size] = r;
      size += asked[r] >> g & 1;
    }
    NAME(group_values)(s->d, size, part, s->X, (const REAL *)s->groups + g * s->d * NAME(GROUP),
                       (const REAL *)s->half_norms + g * NAME(GROUP), values + g * NAME(GROUP),
                       stride, dest);
  }
  for (int r = 0; r < count; r++) {
    const int32_t label = NAME(rank)(s, asked[r], values + r * stride, lowest, &best);
    NAME(settle)(s, rows[r], asked[r], label, lowest, best, sums, counts, changed);
  }
}

/* Keep the samples of a block whose lower bound does not exceed their upper bound (Hamerly);
   returns their number. */
static inline int NAME(crossing)(const lloyd_pass *s, ptrdiff_t begin, ptrdiff_t end,
                                 int64_t *rows) {
  const float slack = above((float)s->slack);
  int kept = 0;
  for (ptrdiff_t i = begin; i < end; i++) {
    const int32_t j = s->labels[i];
    const float u = above(s->upper[i] + s->own_moved[j]),
                l = below(s->lower[i] - s->others_moved[j]);
    rows[kept] = i;
    kept += !((u * u + slack) * (1 + WIDER) < l * l) | (l <= 0);
  }
  return kept;
}

/* Keep the rows for which the bound of some group does not exceed the upper bound; returns their
   number. */
static inline int NAME(by_groups)(const lloyd_pass *s, int count, int64_t *rows) {
  const float slack = above((float)s->slack);
  int kept = 0;
  for (int t = 0; t < count; t++) {
    const int64_t i = rows[t];
    const int32_t j = s->labels[i];
    float u = above(s->upper[i] + s->own_moved[j]), least;
    if (t + AHEAD < count) __builtin_prefetch(s->bounds + rows[t + AHEAD] * s->stride);
    u = above(sqrtf(above(u * u + slack)));
    rows[kept] = i;
    kept += groups_within(s->n_groups, s->bounds + i * s->stride, s->group_moved, u, &least) != 0;
    s->lower[i] = below(below(least) + s->others_moved[j]);
  }
  return kept;
}

static inline int NAME(by_distance)(const lloyd_pass *s, int count, int64_t *rows,
                                    uint64_t *asked) {
  const REAL *X = s->X, *centers = s->centers;
  const float slack = above((float)s->slack);
  const uint64_t every = ((uint64_t)2 << (s->n_groups - 1)) - 1;
  int kept = 0;
  for (int t = 0; t < count; t++) {
    const int64_t i = rows[t];
    const int32_t j = s->labels[i];
    if (t + AHEAD < count) __builtin_prefetch(X + rows[t + AHEAD] * s->d);
    const float squared =
        (float)NAME(squared_distance)(s->d, X + i * s->d, centers + j * s->d) * (1 + 1e-5f);
    const float u = above(sqrtf(above(squared + slack)));
    float least;
    uint64_t within;
    if (s->n_groups > 1)
      within =
          groups_within(s->n_groups, s->bounds + i * s->stride, s->group_moved, u, &least) & every;
    else within = !(u < below(s->lower[i] - s->others_moved[j]));
    s->upper[i] = above(above(sqrtf(squared)) - s->own_moved[j]);
    rows[kept] = i;
    asked[kept] = within | (uint64_t)1 << s->home[j];
    kept += (within != 0) & !(u < s->half_gap[j]);
  }
  return kept;
}

static void NAME(lloyd)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, REAL *values,
                        double *sums, double *counts, int64_t *changed) {
  int64_t rows[BLOCK];
  uint64_t asked[BLOCK];
  const uint64_t every = ((uint64_t)2 << (s->n_groups - 1)) - 1;
  for (ptrdiff_t begin = start; begin < stop; begin += BLOCK) {
    const ptrdiff_t end = begin + BLOCK < stop ? begin + BLOCK : stop;
    int kept = 0;
    if (s->first)
      for (; kept < end - begin; kept++) {
        rows[kept] = begin + kept;
        asked[kept] = every;
      }
    else {
      kept = NAME(crossing)(s, begin, end, rows);
      if (s->n_groups > 1) kept = NAME(by_groups)(s, kept, rows);
      kept = NAME(by_distance)(s, kept, rows, asked);
    }
    for (int t = 0; t < kept; t += BATCH)
      NAME(search)(s, kept - t < BATCH ? kept - t : BATCH, rows + t, asked + t, values, sums,
                   counts, changed);
  }
}

#endif
