/* Densities of a mixture of Gaussians, a panel of samples at a time; included once per precision by
   gaussian_loops.h, which tells the whole. */

#include "mixture/gaussian.h"
#include "shared/precision.h"

/* strips, vectors of samples, at a time, 4 sums of each */
enum { NAME(TILE) = VECTOR_BYTES == 64 ? 4 : 2 };
#ifndef DROP
#define DROP 64
#define HALF_LOG2_E 0.72134752044448170368
#define LN_2 0.69314718055994530942

/* Memory to prefetch, a little at a time between other work. */
typedef struct {
  const char *at, *end;
  ptrdiff_t step;
} gaussian_wanted;

static inline void gaussian_ask(gaussian_wanted *wanted) {
  const char *stop =
      wanted->end - wanted->at > wanted->step ? wanted->at + wanted->step : wanted->end;
  for (; wanted->at < stop; wanted->at += 64) __builtin_prefetch(wanted->at, 0, 2);
}
#endif

/* log2 of a density; a distance that overflowed, or became infinity minus infinity on its way, is
   the largest there is. */
static inline VEC NAME(log_density)(REAL constant, VEC norm) {
  const REAL largest = sizeof(REAL) == 8 ? (REAL)4e307 : (REAL)8e37;
  return constant - (REAL)HALF_LOG2_E * NAME(min)(norm, (VEC){0} + largest);
}

/* log2 x, x positive and normal: x = 2^n m, log m = 2 atanh((m - 1) / (m + 1)), |.| < 0.172. */
static inline VEC NAME(log2)(VEC x) {
  const INT root_half = sizeof(REAL) == 8 ? (INT)0x3fe6a09e667f3bcd : (INT)0x3f3504f3;
  const int shift = sizeof(REAL) == 8 ? 52 : 23;
  INTVEC n = ((INTVEC)x - root_half) >> shift;
  VEC m = (VEC)((INTVEC)x - (n << shift)), f = (m - 1) / (m + 1), f2 = f * f, q = (VEC){0};
  for (int t = sizeof(REAL) == 8 ? 10 : 4; t >= 0; t--)
    q = q * f2 + (REAL)(2.8853900817779268147 / (2 * t + 1));
  return __builtin_convertvector(n, VEC) + f * q;
}

/* Columns c0..c0+C of (x - mean) P for V strips, P upper triangular: squares added to `norm`, or
   stored. */
INLINE void NAME(columns)(int V, int C, ptrdiff_t d, ptrdiff_t c0, const REAL *const *x,
                          const REAL *mean, const REAL *P, VEC *norm, REAL *z) {
  VEC sum[4][NAME(TILE)];
  for (int c = 0; c < C; c++)
    for (int v = 0; v < V; v++) sum[c][v] = (VEC){0};
  for (ptrdiff_t r = 0; r < c0; r++) {
    const REAL *p = P + r * d + c0;
    const REAL m = norm ? mean[r] : 0;
    VEC t[NAME(TILE)];
    for (int v = 0; v < V; v++) t[v] = LOAD(x[v] + r * PANEL) - m;
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] += t[v] * p[c];
  }
#pragma GCC unroll 4
  for (int r = 0; r < C; r++) {
    const REAL *p = P + (c0 + r) * d + c0;
    const REAL m = norm ? mean[c0 + r] : 0;
    VEC t[NAME(TILE)];
    for (int v = 0; v < V; v++) t[v] = LOAD(x[v] + (c0 + r) * PANEL) - m;
#pragma GCC unroll 4
    for (int c = r; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] += t[v] * p[c];
  }
  for (int c = 0; c < C; c++)
    for (int v = 0; v < V; v++) {
      if (norm) norm[v] += sum[c][v] * sum[c][v];
      else STORE(z + (c0 + c) * PANEL + v * LANES, sum[c][v]);
    }
}

/* None of the samples can reach its floor with squares of `norm` and more to come. Without the test
   far components take 1.6 times as long (300,000 x 20, 20 components, AVX2). */
INLINE int NAME(hopeless)(int V, REAL constant, const VEC *norm, const VEC *floor) {
  int possible = 0;
  for (int v = 0; v < V; v++)
    possible |= ANY(GREATER(constant - (REAL)HALF_LOG2_E * norm[v], floor[v]));
  return !possible;
}

/* 0 when it was given up. */
INLINE int NAME(triangle)(int V, ptrdiff_t d, const REAL *const *x, const REAL *mean, const REAL *P,
                          VEC *norm, REAL *z, REAL constant, const VEC *floor,
                          gaussian_wanted *wanted) {
  ptrdiff_t c = 0;
  for (; c + 4 <= d; c += 4) {
    if (norm) gaussian_ask(wanted);
    NAME(columns)(V, 4, d, c, x, mean, P, norm, z);
    if (norm && NAME(hopeless)(V, constant, norm, floor)) return 0;
  }
  if (d - c == 3) NAME(columns)(V, 3, d, c, x, mean, P, norm, z);
  if (d - c == 2) NAME(columns)(V, 2, d, c, x, mean, P, norm, z);
  if (d - c == 1) NAME(columns)(V, 1, d, c, x, mean, P, norm, z);
  return 1;
}

NOINLINE void NAME(rotate)(ptrdiff_t d, const REAL *panel, const REAL *P, REAL *z) {
  for (int b = 0; b < PANEL; b += NAME(TILE) * LANES) {
    const REAL *x[NAME(TILE)];
    for (int v = 0; v < NAME(TILE); v++) x[v] = panel + b + v * LANES;
    NAME(triangle)(NAME(TILE), d, x, NULL, P, NULL, z + b, 0, NULL, NULL);
  }
}

/* Some panels of samples, ordered by the component that suited them best: strips of LANES samples,
   numbered through. */
typedef struct {
  const gaussian_mixture *g;
  ptrdiff_t first, panels;
  const int32_t *labels;
  const REAL *samples;
  /* log2 of joint densities below which a component is left out; of each panel, (k, PANEL) */
  REAL *floor, *out;
  uint64_t *live; /* the panels in which a component may count */
} NAME(group);

static inline const REAL *NAME(strip)(const NAME(group) * q, ptrdiff_t s) {
  return q->samples + s / NAME(BLOCKS) * q->g->d * PANEL + s % NAME(BLOCKS) * LANES;
}

static inline REAL *NAME(value)(const NAME(group) * q, ptrdiff_t j, ptrdiff_t s) {
  return q->out + (s / NAME(BLOCKS) * q->g->k + j) * PANEL + s % NAME(BLOCKS) * LANES;
}

/* log2 of the joint density for V strips, or upper bounds below their floors. */
INLINE void NAME(full_density)(int V, const NAME(group) * q, ptrdiff_t j, const int32_t *strips,
                               gaussian_wanted *wanted) {
  const gaussian_mixture *g = q->g;
  const ptrdiff_t d = g->d;
  const REAL *mean = (const REAL *)g->means + j * d, *P = (const REAL *)g->factors + j * d * d,
             *x[NAME(TILE)];
  const REAL constant = (REAL)g->constants[j];
  VEC norm[NAME(TILE)] = {{0}}, floor[NAME(TILE)];
  for (int v = 0; v < V; v++)
    x[v] = NAME(strip)(q, strips[v]), floor[v] = LOAD(q->floor + strips[v] * LANES);
  const int possible = NAME(triangle)(V, d, x, mean, P, norm, NULL, constant, floor, wanted);
  for (int v = 0; v < V; v++)
    STORE(NAME(value)(q, j, strips[v]), NAME(log_density)(constant, norm[v]));
  for (int v = 0; possible && v < V; v++)
    q->live[j] |= (uint64_t)1 << (q->first + strips[v] / NAME(BLOCKS));
}

NOINLINE void NAME(full_densities)(const NAME(group) * q, ptrdiff_t j, ptrdiff_t n,
                                   const int32_t *strips, gaussian_wanted *wanted) {
  ptrdiff_t t = 0;
  for (; t + NAME(TILE) <= n; t += NAME(TILE))
    NAME(full_density)(NAME(TILE), q, j, strips + t, wanted);
  if (NAME(TILE) == 4 && t + 2 <= n) {
    NAME(full_density)(2, q, j, strips + t, wanted);
    t += 2;
  }
  if (t < n) NAME(full_density)(1, q, j, strips + t, wanted);
}

/* The same for diagonal covariances and a single panel: too little work to treat
   its strips one by one. */
NOINLINE void NAME(diagonal_densities)(const NAME(group) * q, ptrdiff_t j,
                                       gaussian_wanted *wanted) {
  enum { V = NAME(TILE), PART = 8 };
  const ptrdiff_t d = q->g->d;
  const REAL *mean = (const REAL *)q->g->means + j * d,
             *factor = (const REAL *)q->g->factors + j * d;
  const REAL constant = (REAL)q->g->constants[j];
  gaussian_ask(wanted);
  for (int b = 0; b < NAME(BLOCKS); b += V) {
    VEC norm[V] = {{0}}, floor[V];
    ptrdiff_t start = 0;
    for (int v = 0; v < V; v++) floor[v] = LOAD(q->floor + (b + v) * LANES);
    for (; start < d; start += PART) {
      const ptrdiff_t stop = start + PART < d ? start + PART : d;
      for (ptrdiff_t f = start; f < stop; f++)
        for (int v = 0; v < V; v++) {
          const VEC t = (LOAD(q->samples + f * PANEL + (b + v) * LANES) - mean[f]) * factor[f];
          norm[v] += t * t;
        }
      if (NAME(hopeless)(V, constant, norm, floor)) break;
    }
    if (start >= d) q->live[j] |= (uint64_t)1 << q->first;
    for (int v = 0; v < V; v++)
      STORE(NAME(value)(q, j, b + v), NAME(log_density)(constant, norm[v]));
  }
}

static inline void NAME(evaluate)(const NAME(group) * q, ptrdiff_t j, ptrdiff_t n,
                                  const int32_t *strips, gaussian_wanted *wanted) {
  if (q->g->kind == GAUSSIAN_FULL) NAME(full_densities)(q, j, n, strips, wanted);
  else if (n > 0) NAME(diagonal_densities)(q, j, wanted);
}

/* Lower bounds on |Pᵀ (x - m)| for C components from j and the strips first..last: its part along
   the direction from component i. The larger of this and of the value there, which strips from
   `fresh` on do not have yet. Without these bounds far components take 1.3 times as long (300,000 x
   20, 20 components, AVX2). */
INLINE void NAME(along)(int C, const NAME(group) * q, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first,
                        ptrdiff_t last, ptrdiff_t fresh) {
  enum { V = NAME(TILE) };
  const ptrdiff_t d = q->g->d;
  const REAL *way = (const REAL *)q->g->directions + (i * q->g->k + j) * (d + 1);
  for (ptrdiff_t start = first; start <= last; start += V) {
    const REAL *x[V];
    VEC sum[4][V];
    for (int v = 0; v < V; v++) x[v] = NAME(strip)(q, start + v < last ? start + v : last);
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] = (VEC){0} - way[c * (d + 1) + d];
    for (ptrdiff_t f = 0; f < d; f++) {
      VEC t[V];
      for (int v = 0; v < V; v++) t[v] = LOAD(x[v] + f * PANEL);
      for (int c = 0; c < C; c++)
        for (int v = 0; v < V; v++) sum[c][v] += t[v] * way[c * (d + 1) + f];
    }
    for (int v = 0; v < V && start + v <= last; v++)
      for (int c = 0; c < C; c++) {
        REAL *to = NAME(value)(q, j + c, start + v);
        STORE(to, NAME(max)(start + v < fresh ? LOAD(to) : (VEC){0}, sum[c][v]));
      }
  }
}

NOINLINE void NAME(ways)(const NAME(group) * q, ptrdiff_t i, ptrdiff_t first, ptrdiff_t last,
                         ptrdiff_t fresh) {
  ptrdiff_t j = 0;
  for (; j + 4 <= q->g->k; j += 4) NAME(along)(4, q, i, j, first, last, fresh);
  for (; j < q->g->k; j++) NAME(along)(1, q, i, j, first, last, fresh);
}

/* log2 of the joint densities of a group, of components that may count. */
static void NAME(densities)(const NAME(group) * q, gaussian_wanted *wanted) {
  const ptrdiff_t n_strips = q->panels * NAME(BLOCKS);
  struct {
    int32_t label, first, last; /* strips with rows of the label */
  } runs[GAUSSIAN_ROWS + 1];
  int32_t strips[GAUSSIAN_ROWS / LANES];
  ptrdiff_t n_runs = 0;
  for (ptrdiff_t i = 0; i < q->panels * PANEL; i++) {
    if (i == 0 || q->labels[i] != q->labels[i - 1]) {
      runs[n_runs].label = q->labels[i];
      runs[n_runs++].first = (int32_t)(i / LANES);
    }
    runs[n_runs - 1].last = (int32_t)(i / LANES);
    q->floor[i] = -INFINITY;
  }
  runs[n_runs].label = -1;
  const int directed = q->g->directions && 2 * n_runs <= n_strips + 2;
  /* all strips go together */
  for (ptrdiff_t t = 0; q->g->kind == GAUSSIAN_DIAGONAL && t < n_runs; t++)
    runs[t].first = 0, runs[t].last = (int32_t)n_strips - 1;
  for (ptrdiff_t t = 0; directed && t < n_runs; t++)
    NAME(ways)(q, runs[t].label, runs[t].first, runs[t].last, t ? runs[t - 1].last + 1 : 0);
  for (ptrdiff_t t = 0; t < n_runs; t++) {
    ptrdiff_t count = 0;
    for (int32_t s = runs[t].first; s <= runs[t].last; s++) strips[count++] = s;
    NAME(evaluate)(q, runs[t].label, count, strips, wanted);
  }
  for (ptrdiff_t t = 0; t < n_runs; t++)
    for (ptrdiff_t s = runs[t].first; s <= runs[t].last; s++) {
      REAL *floor = q->floor + s * LANES;
      STORE(floor, NAME(max)(LOAD(floor), LOAD(NAME(value)(q, runs[t].label, s)) - (REAL)DROP));
    }
  for (ptrdiff_t j = 0, t = 0; j < q->g->k; j++) {
    const int own = runs[t].label == j;
    const ptrdiff_t first = own ? runs[t].first : n_strips, last = own ? runs[t].last : n_strips;
    const REAL constant = (REAL)q->g->constants[j];
    ptrdiff_t count = 0;
    t += own;
    for (ptrdiff_t s = 0; s < n_strips; s++) {
      if (s == first) s = last + 1;
      if (s >= n_strips) break;
      REAL *value = NAME(value)(q, j, s);
      strips[count] = (int32_t)s;
      if (directed) {
        const VEC way = LOAD(value), norm = way * way, floor = LOAD(q->floor + s * LANES);
        count += !NAME(hopeless)(1, constant, &norm, &floor);
        STORE(value, (VEC){0} - INFINITY);
      } else count++;
    }
    NAME(evaluate)(q, j, count, strips, wanted);
  }
}

/* C components from j at once, scaled by factors (k,). */
INLINE void NAME(spheres)(int C, const gaussian_mixture *g, ptrdiff_t j, const REAL *panel,
                          REAL *out) {
  enum { V = NAME(TILE) };
  const ptrdiff_t d = g->d;
  const REAL *mean = (const REAL *)g->means + j * d, *factor = (const REAL *)g->factors + j;
  for (int b = 0; b < NAME(BLOCKS); b += V) {
    VEC sum[4][V];
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] = (VEC){0};
    for (ptrdiff_t f = 0; f < d; f++) {
      VEC x[V];
      for (int v = 0; v < V; v++) x[v] = LOAD(panel + f * PANEL + (b + v) * LANES);
      for (int c = 0; c < C; c++)
        for (int v = 0; v < V; v++) {
          const VEC t = x[v] - mean[c * d + f];
          sum[c][v] += t * t;
        }
    }
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++)
        STORE(out + c * PANEL + (b + v) * LANES,
              NAME(log_density)((REAL)g->constants[j + c], factor[c] * factor[c] * sum[c][v]));
  }
}

NOINLINE void NAME(sphere_densities)(const gaussian_mixture *g, const REAL *panel, REAL *out,
                                     gaussian_wanted *wanted) {
  ptrdiff_t j = 0;
  for (; j + 4 <= g->k; j += 4) {
    for (int t = 0; t < 4; t++) gaussian_ask(wanted);
    NAME(spheres)(4, g, j, panel, out + j * PANEL);
  }
  for (; j < g->k; j++) NAME(spheres)(1, g, j, panel, out + j * PANEL);
}

/* Full covariances of D features, all in registers: so little work that no strip and no component
   is left out beforehand. In general they take 1.1 to 1.2 times as long (1,000,000 x 2 and 4, 5
   components, AVX2). */
INLINE void NAME(few_density)(int D, const gaussian_mixture *g, ptrdiff_t j, const REAL *panel,
                              REAL *out) {
  const REAL *mean = (const REAL *)g->means + j * D, *P = (const REAL *)g->factors + j * D * D;
  const REAL constant = (REAL)g->constants[j];
  for (int b = 0; b < PANEL; b += LANES) {
    VEC t[4], norm = {0};
    for (int r = 0; r < D; r++) t[r] = LOAD(panel + r * PANEL + b) - mean[r];
    for (int c = 0; c < D; c++) {
      VEC sum = t[0] * P[c];
      for (int r = 1; r <= c; r++) sum += t[r] * P[r * D + c];
      norm += sum * sum;
    }
    STORE(out + b, NAME(log_density)(constant, norm));
  }
}

NOINLINE void NAME(few_densities)(const gaussian_mixture *g, const REAL *panel, REAL *out,
                                  gaussian_wanted *wanted) {
  for (ptrdiff_t j = 0; j < g->k; j++, out += PANEL) {
    gaussian_ask(wanted);
    if (g->d == 1) NAME(few_density)(1, g, j, panel, out);
    if (g->d == 2) NAME(few_density)(2, g, j, panel, out);
    if (g->d == 3) NAME(few_density)(3, g, j, panel, out);
    if (g->d == 4) NAME(few_density)(4, g, j, panel, out);
  }
}

/* In place: log2 of the joint densities of a panel -> weighted responsibilities; returns sum_i w_i
   log2 p(x_i). Components that may count have `bit` set in `live`; it is left to those that do, and
   others are not written. `density` receives log2 p(x_i), `labels` the likeliest component; `list`:
   scratch (k,). */
NOINLINE double NAME(normalise)(ptrdiff_t k, int32_t *list, const REAL *weight, REAL *log_joint,
                                REAL *density, int32_t *labels, uint64_t *live, uint64_t bit) {
  enum { V = NAME(TILE), L = LANES };
  INT likeliest[PANEL] __attribute__((aligned(64)));
  VEC total = (VEC){0};
  ptrdiff_t count = 0, kept = 0;
  for (ptrdiff_t j = 0; j < k; j++) {
    list[count] = (int32_t)j;
    count += (live[j] & bit) != 0;
  }
  for (int b = 0; b < PANEL; b += V * L) {
    VEC top[V];
    for (int v = 0; v < V; v++) top[v] = LOAD(log_joint + list[0] * PANEL + b + v * L);
    for (ptrdiff_t t = 1; t < count; t++)
      for (int v = 0; v < V; v++)
        top[v] = NAME(max)(top[v], LOAD(log_joint + list[t] * PANEL + b + v * L));
    for (int v = 0; v < V; v++) STORE(density + b + v * L, top[v]);
  }
  for (ptrdiff_t t = 0; t < count; t++) {
    const int32_t j = list[t];
    int any = 0;
    for (int b = 0; b < PANEL; b += L)
      any |=
          ANY(GREATER(LOAD(log_joint + j * PANEL + b) - LOAD(density + b), (VEC){0} - (REAL)DROP));
    list[kept] = j;
    kept += any;
    live[j] &= any ? ~(uint64_t)0 : ~bit;
  }
  for (int b = 0; b < PANEL; b += V * L) {
    VEC top[V], sum[V];
    INTVEC at[V];
    for (int v = 0; v < V; v++)
      top[v] = LOAD(density + b + v * L), sum[v] = (VEC){0}, at[v] = (INTVEC){0};
    for (ptrdiff_t t = kept - 1; t >= 0; t--) { /* downwards: of equals the first is the label */
      REAL *own = log_joint + list[t] * PANEL + b;
      for (int v = 0; v < V; v++) {
        const VEC x = LOAD(own + v * L) - top[v],
                  e = SELECT(GREATER(x, (VEC){0} - (REAL)DROP), NAME(exp2)(x), (VEC){0});
        at[v] = CHOOSE(GREATER(x, (VEC){0} - (REAL)1e-30), (INTVEC){0} + (INT)list[t], at[v]);
        sum[v] += e;
        STORE(own + v * L, e);
      }
    }
    for (int v = 0; v < V; v++) {
      const VEC w = LOAD(weight + b + v * L), log_p = top[v] + NAME(log2)(sum[v]);
      sum[v] = w / sum[v];
      total += w * log_p;
      STORE(density + b + v * L, log_p);
      memcpy(likeliest + b + v * L, &at[v], sizeof(VEC));
    }
    for (ptrdiff_t t = 0; t < kept; t++) {
      REAL *own = log_joint + list[t] * PANEL + b;
      for (int v = 0; v < V; v++) STORE(own + v * L, LOAD(own + v * L) * sum[v]);
    }
  }
  for (int i = 0; i < PANEL; i++) labels[i] = (int32_t)likeliest[i];
  return NAME(add_lanes)(0, total);
}
