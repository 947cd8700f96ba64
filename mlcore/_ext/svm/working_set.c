/* Sequential minimal optimisation inside a working set; included once per precision.

   Minimise 1/2 beta'K beta + q'beta + epsilon |beta|_1 over beta in a box, the sum of each group
   fixed. With the gradient G = K beta + q, up[t] - G[t] is minus the derivative upwards of beta[t]
   in I_up, the variables that can increase (-inf for others), and low[t] - G[t] minus that
   downwards in I_low, those that can decrease (+inf for others); epsilon is in `up` and `low`. A
   group is optimal when its maximum over I_up is no more than its minimum over I_low. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "svm/working_set.h"

#include "shared/table.h"

#define LOOPS "svm/working_set.c"
#include "shared/both_precisions.h"

SIMD_TABLE(working_set, .f = {.smo = smo_f}, .d = {.smo = smo_d})

#else
#include "svm/working_set.h"
#include "shared/precision.h"

/* Prefetch across pages, where the hardware stops: a fifth to a third of SVR and of SVC with C = 10
   on 6,000 to 8,000 samples, whose rows of K are in memory (smo.py::OverlappingClasses shows 3 %). */
enum { NAME(AHEAD) = 4096 / sizeof(REAL) };

/* Update up[t] and low[t] for a new beta[t]. At beta = 0 the term epsilon |beta| has a kink. */
static inline void NAME(refresh)(smo_working_set *s, int64_t t) {
  const double b = s->beta[t];
  ((REAL *)s->up)[t] =
      b < s->upper[t] ? (REAL)(b >= 0 ? -s->epsilon : s->epsilon) : -(REAL)INFINITY;
  ((REAL *)s->low)[t] = b > s->lower[t] ? (REAL)(b > 0 ? -s->epsilon : s->epsilon) : (REAL)INFINITY;
}

#ifndef MLCORE_WHOLE
#define MLCORE_WHOLE
static inline int64_t whole(int64_t t, int64_t lanes) { return (t + lanes - 1) / lanes * lanes; }
#endif

typedef struct {
  REAL best, least; /* maximum over I_up, minimum over I_low */
  int64_t at;       /* the variable of the maximum */
} NAME(extremes);

/* G += ci ki + cj kj over [start, stop), and the extremes of the result, in one pass. */
static inline NAME(extremes) NAME(update)(smo_working_set *s, int64_t start, int64_t stop, REAL ci,
                                          const REAL *ki, REAL cj, const REAL *kj) {
  REAL *restrict G = s->G;
  const REAL *restrict up = s->up, *restrict low = s->low;
  NAME(extremes) e = {-(REAL)INFINITY, (REAL)INFINITY, start};
  const int64_t first = whole(start, LANES) < stop ? whole(start, LANES) : stop;
  const int64_t last = first + (stop - first) / LANES * LANES;
  /* the ends that fill no vector */
  for (int64_t t = start; t < stop; t = t + 1 == first ? last : t + 1) {
    if (t == first) t = last;
    if (t == stop) break;
    G[t] += ci * ki[t] + cj * kj[t];
    const REAL up_value = up[t] - G[t], low_value = low[t] - G[t];
    if (up_value > e.best) e.best = up_value, e.at = t;
    if (low_value < e.least) e.least = low_value;
  }
  /* Two independent halves, so that a comparison need not wait for the one before: one takes 1.02
     (SVC) to 1.09 times as long (SVR, 4,000 samples, AVX2). */
  VEC best[2], least[2];
  INTVEC at[2] = {{0}, {0}}, here = {0};
  best[0] = best[1] = (VEC){0} - (REAL)INFINITY;
  least[0] = least[1] = (VEC){0} + (REAL)INFINITY;
  for (int lane = 0; lane < LANES; lane++) here[lane] = (INT)(first + lane);
  for (int64_t t = first; t < last;) {
    const int both = t + 2 * LANES <= last;
#define HALF(h)                                                           \
  {                                                                       \
    __builtin_prefetch(kj + t + NAME(AHEAD));                             \
    const VEC g = LOAD(G + t) + ci * LOAD(ki + t) + cj * LOAD(kj + t);    \
    STORE(G + t, g);                                                      \
    const VEC up_value = LOAD(up + t) - g, low_value = LOAD(low + t) - g; \
    const MASK better = GREATER(up_value, best[h]);                       \
    best[h] = SELECT(better, up_value, best[h]);                          \
    at[h] = CHOOSE(better, here, at[h]);                                  \
    least[h] = NAME(min)(low_value, least[h]);                            \
    here += LANES, t += LANES;                                            \
  }
    HALF(0)
    if (both) HALF(1)
#undef HALF
  }
  const MASK better = GREATER(best[1], best[0]);
  best[0] = SELECT(better, best[1], best[0]);
  at[0] = CHOOSE(better, at[1], at[0]);
  const REAL top = NAME(highest)(best[0]), bottom = NAME(lowest)(NAME(min)(least[0], least[1]));
  if (top > e.best) e.best = top, e.at = NAME(where)(best[0], top, at[0]);
  if (bottom < e.least) e.least = bottom;
  return e;
}

typedef struct {
  int64_t j;
  REAL top, bottom;
} NAME(choice);

/* The partner of i in [start, stop) of the largest predicted decrease, violation^2 / (Kii + Kjj -
   2 Kij), if that is better than `best` (Fan, Chen and Lin, JMLR 6, 2005). Fractions are
   compared by cross-multiplication: no division. */
static inline NAME(choice)
    NAME(partner)(const smo_working_set *s, int64_t start, int64_t stop, REAL gain, REAL Kii,
                  const REAL *ki, REAL least_curvature, NAME(choice) best) {
  const REAL *restrict G = s->G, *restrict low = s->low, *restrict diagonal = s->diagonal;
  const int64_t first = whole(start, LANES) < stop ? whole(start, LANES) : stop;
  const int64_t last = first + (stop - first) / LANES * LANES;
  for (int64_t t = start; t < stop; t = t + 1 == first ? last : t + 1) {
    if (t == first) t = last;
    if (t == stop) break;
    const REAL gap = gain + (G[t] - low[t]);
    REAL curvature = (Kii + diagonal[t]) - 2 * ki[t];
    if (!(curvature > least_curvature)) curvature = least_curvature;
    if (gap > 0 && (best.j < 0 || gap * gap * best.bottom > best.top * curvature))
      best.j = t, best.top = gap * gap, best.bottom = curvature;
  }
  VEC top[2], bottom[2];
  INTVEC at[2], here = {0};
  top[0] = top[1] = (VEC){0};
  bottom[0] = bottom[1] = (VEC){0} + 1;
  at[0] = at[1] = (INTVEC){0} - 1;
  for (int lane = 0; lane < LANES; lane++) here[lane] = (INT)(first + lane);
  for (int64_t t = first; t < last;) {
    const int both = t + 2 * LANES <= last;
#define HALF(h)                                                                               \
  {                                                                                           \
    __builtin_prefetch(ki + t + NAME(AHEAD));                                                 \
    const VEC gap = NAME(max)((VEC){0}, gain + (LOAD(G + t) - LOAD(low + t)));                \
    const VEC curvature =                                                                     \
        NAME(max)((VEC){0} + least_curvature, (Kii + LOAD(diagonal + t)) - 2 * LOAD(ki + t)); \
    const VEC square = gap * gap;                                                             \
    const MASK better = GREATER(square * bottom[h], top[h] * curvature);                      \
    top[h] = SELECT(better, square, top[h]);                                                  \
    bottom[h] = SELECT(better, curvature, bottom[h]);                                         \
    at[h] = CHOOSE(better, here, at[h]);                                                      \
    here += LANES, t += LANES;                                                                \
  }
    HALF(0)
    if (both) HALF(1)
#undef HALF
  }
  const MASK better = GREATER(top[1] * bottom[0], top[0] * bottom[1]);
  at[0] = CHOOSE(better, at[1], at[0]);
  const VEC ratio = SELECT(better, top[1], top[0]) / SELECT(better, bottom[1], bottom[0]);
  const REAL most = NAME(highest)(ratio);
  if (most > 0 && most * best.bottom > best.top)
    best.j = NAME(where)(ratio, most, at[0]), best.top = most, best.bottom = 1;
  return best;
}

/* The curvature below which a pair's is rounding: 1e-12 in the unit of the kernel. */
static REAL NAME(least_curvature)(const smo_working_set *s) {
  REAL most = 0;
  for (int p = 0; p < s->n_spans; p++)
    for (int64_t t = s->begin[p]; t < s->end[p]; t++) {
      const REAL size = ((const REAL *)s->diagonal)[t];
      if (size > most) most = size;
      if (-size > most) most = -size;
    }
  return (REAL)1e-12 * (most > 0 ? most : 1);
}

/* Steps until the working set's violation is at most tol, or max_steps; returns the steps made. */
static int64_t NAME(smo)(smo_working_set *s, double tol, int64_t max_steps) {
  const REAL *K = s->K, *diagonal = s->diagonal;
  REAL *G = s->G;
  const REAL *ki = K, *kj = K;
  const REAL least_curvature = NAME(least_curvature)(s);
  REAL ci = 0, cj = 0;
  int64_t steps = 0;
  for (;; steps++) {
    const NAME(extremes) none = {-(REAL)INFINITY, (REAL)INFINITY, -1};
    NAME(extremes) found[2] = {none, none};
    for (int p = 0; p < s->n_spans; p++) {
      const NAME(extremes) e = NAME(update)(s, s->begin[p], s->end[p], ci, ki, cj, kj);
      NAME(extremes) *f = &found[s->group[p]];
      if (e.best > f->best) f->best = e.best, f->at = e.at;
      if (e.least < f->least) f->least = e.least;
    }
    const int group =
        (double)found[1].best - found[1].least > (double)found[0].best - found[0].least;
    const NAME(extremes) worst = found[group];
    const double violation = (double)worst.best - (double)worst.least;
    s->violation = violation;
    ci = cj = 0;
    if (!(violation > tol) || steps >= max_steps) return steps;
    const int64_t i = worst.at;
    ki = K + i * s->stride;
    NAME(choice) choice = {-1, 0, 1};
    for (int p = 0; p < s->n_spans; p++)
      if (s->group[p] == group)
        choice = NAME(partner)(s, s->begin[p], s->end[p], worst.best, diagonal[i], ki,
                               least_curvature, choice);
    const int64_t j = choice.j;
    if (j < 0) return steps;
    kj = K + j * s->stride;
    double curvature = (double)diagonal[i] + (double)diagonal[j] - 2.0 * (double)ki[j];
    if (!(curvature > least_curvature)) curvature = least_curvature;
    double step =
        ((double)((REAL *)s->up)[i] - (double)G[i] - ((double)((REAL *)s->low)[j] - (double)G[j])) /
        curvature;
    /* Up to the first bound, or the kink at zero, where the value is exact. */
    const double bi = s->beta[i], bj = s->beta[j];
    const double end_i = s->epsilon > 0 && bi < 0 ? 0.0 : s->upper[i];
    const double end_j = s->epsilon > 0 && bj > 0 ? 0.0 : s->lower[j];
    const double room_i = end_i - bi, room_j = bj - end_j;
    double new_i, new_j;
    if (step >= room_i && room_i <= room_j) {
      step = room_i;
      new_i = end_i;
      new_j = room_i == room_j ? end_j : fmax(bj - step, end_j);
    } else if (step >= room_j) {
      step = room_j;
      new_i = fmin(bi + step, end_i);
      new_j = end_j;
    } else {
      new_i = bi + step;
      new_j = bj - step;
    }
    /* the step is below rounding: no further decrease is possible */
    if (new_i == bi && new_j == bj) return steps;
    ci = (REAL)(new_i - bi);
    cj = (REAL)(new_j - bj);
    s->beta[i] = new_i;
    s->beta[j] = new_j;
    NAME(refresh)(s, i);
    NAME(refresh)(s, j);
  }
}

#endif
