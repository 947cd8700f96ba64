/* The change of the objective of k-medoids by a swap; included once per
   precision.

   Most samples are farther from a candidate than from their two nearest medoids and take no part:
   they are filtered out a vector at a time, and only the others, a few in a hundred, are visited
   one by one. With few medoids hardly any are filtered out: then all are visited, a vector at a
   time for every slot: filtering takes 1.2 (10 medoids) to 1.5 times as long (5, 3,000 samples, AVX2).
   See fasterpam.pyx. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "cluster/fasterpam.h"

#include "shared/table.h"

#define LOOPS "cluster/fasterpam.c"
#include "shared/both_precisions.h"

SIMD_TABLE(fasterpam, .f = {.medoid_change = medoid_change_f},
           .d = {.medoid_change = medoid_change_d})

#else
#include "cluster/fasterpam.h"
#include "shared/precision.h"

enum { NAME(MEDOID_CHUNK) = 1024, NAME(FEW_MEDOIDS) = 10 };

/* Store the samples of a chunk that may take part, and return their number. */
static inline int NAME(within_reach)(ptrdiff_t size, const REAL *row, const REAL *limits,
                                     int products, REAL half, int32_t *at) {
  const VEC shift = (VEC){0} + half;
  ptrdiff_t i = 0;
  int kept = 0;
  if (products) {
    for (; i + LANES <= size; i += LANES)
      kept += NAME(compress_rest)(LOAD(limits + i) + shift, LOAD(row + i), (int32_t)i, at + kept);
    for (; i < size; i++) {
      at[kept] = (int32_t)i;
      kept += !(limits[i] + half > row[i]);
    }
  } else {
    for (; i + LANES <= size; i += LANES)
      kept += NAME(compress_rest)(LOAD(row + i), LOAD(limits + i), (int32_t)i, at + kept);
    for (; i < size; i++) {
      at[kept] = (int32_t)i;
      kept += !(row[i] > limits[i]);
    }
  }
  return kept;
}

INLINE void NAME(count_in)(const medoid_pass *s, int form, int kept, ptrdiff_t first,
                           const int32_t *at, const REAL *row, REAL norm, ptrdiff_t self,
                           double *gain, double *losses) {
  const REAL *near = s->near, *second = s->second, *norms = s->norms;
  for (int t = 0; t < kept; t++) {
    const ptrdiff_t o = first + at[t];
    REAL d = row[o];
    if (form >= MEDOID_ROOTS) {
      d = norm + norms[o] - 2 * d;
      d = d > 0 && o != self ? d : 0;
      if (form == MEDOID_ROOTS) d = NAME(root)(d);
    }
    if (form == MEDOID_SQUARES || form == MEDOID_FOURTHS) d = d * d;
    const REAL a = near[o], b = second[o];
    double less = (double)(d < a ? d : a) - a, more = (double)(d < a ? a : d < b ? d : b) - b;
    if (s->weights != NULL) {
      less *= s->weights[o];
      more *= s->weights[o];
    }
    *gain += less;
    losses[s->labels[o]] += more;
  }
}

/* As `count_in`, for `size` samples in whole vectors and up to FEW_MEDOIDS slots; rows hold costs
   or their roots. */
INLINE void NAME(count_all)(const medoid_pass *s, const int k, ptrdiff_t size, const REAL *row,
                            double *gain, double *losses) {
  enum { WIDE = VECTOR_BYTES / sizeof(double) };
  typedef int32_t labels_of __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
  const REAL *near = s->near, *second = s->second;
  vdouble gains = {0}, lost[NAME(FEW_MEDOIDS)] = {{0}};
  for (ptrdiff_t i = 0; i < size; i += LANES) {
    const VEC value = LOAD(row + i), d = s->form == MEDOID_SQUARES ? value * value : value;
    const VEC a = LOAD(near + i), b = LOAD(second + i);
    REAL low[LANES], middle[LANES];
    STORE(low, NAME(min)(d, a));
    STORE(middle, NAME(min)(NAME(max)(d, a), b));
    for (int part = 0; part < LANES; part += WIDE) {
      const ptrdiff_t at = i + part;
      vdouble less = WIDEN(low + part) - WIDEN(near + at),
              more = WIDEN(middle + part) - WIDEN(second + at);
      if (s->weights != NULL) {
        less *= load_d(s->weights + at);
        more *= load_d(s->weights + at);
      }
      gains += less;
      const vint64 label = __builtin_convertvector(*(const labels_of *)(s->labels + at), vint64);
      for (int slot = 0; slot < k; slot++)
        lost[slot] += (vdouble)((vint64)more & (vint64)(label == slot));
    }
  }
  for (int lane = 0; lane < WIDE; lane++) {
    *gain += gains[lane];
    for (int slot = 0; slot < k; slot++) losses[slot] += lost[slot][lane];
  }
}

static double NAME(medoid_change)(const medoid_pass *s, const REAL *row, ptrdiff_t self,
                                  double *losses, int32_t *slot) {
  const REAL norm = s->form >= MEDOID_ROOTS ? ((const REAL *)s->norms)[self] : 0;
  const REAL *limits = s->limits;
  double gain = 0;
  int32_t at[NAME(MEDOID_CHUNK) + VECTOR_BYTES / sizeof(REAL)];
  memset(losses, 0, s->k * sizeof *losses);
  ptrdiff_t begun = 0;
  if (s->k <= NAME(FEW_MEDOIDS) && s->form < MEDOID_ROOTS) {
    begun = s->n - s->n % LANES;
    switch (s->k) {
#define SLOTS(k) \
  case k: NAME(count_all)(s, k, begun, row, &gain, losses); break;
      SLOTS(1)
      SLOTS(2)
      SLOTS(3)
      SLOTS(4)
      SLOTS(5)
      SLOTS(6)
      SLOTS(7)
      SLOTS(8)
      SLOTS(9)
      SLOTS(10)
#undef SLOTS
    }
  }
  for (ptrdiff_t first = begun; first < s->n; first += NAME(MEDOID_CHUNK)) {
    const ptrdiff_t size = s->n - first < NAME(MEDOID_CHUNK) ? s->n - first : NAME(MEDOID_CHUNK);
    const int kept = NAME(within_reach)(size, row + first, limits + first, s->form >= MEDOID_ROOTS,
                                        norm / 2, at);
    switch (s->form) {
#define FORM(form) \
  case form: NAME(count_in)(s, form, kept, first, at, row, norm, self, &gain, losses); break;
      FORM(MEDOID_VALUES)
      FORM(MEDOID_SQUARES)
      FORM(MEDOID_ROOTS)
      FORM(MEDOID_PRODUCTS)
      FORM(MEDOID_FOURTHS)
#undef FORM
    }
  }
  double best = INFINITY;
  *slot = 0;
  for (ptrdiff_t i = 0; i < s->k; i++) {
    const double total = s->removal[i] + losses[i];
    if (total < best) best = total, *slot = (int32_t)i;
  }
  return best + gain;
}

#endif
