/* Densities of a mixture of Gaussians, a panel of samples at a time; included once per precision by loops.c, before
   gaussian_loops.h, which tells the whole. */

enum { NAME(TILE) = VECTOR_BYTES == 64 ? 4 : 2 }; /* vectors of samples at a time, 4 sums of each */
#ifndef DROP
#define DROP 64
#define HALF_LOG2_E 0.72134752044448170368
#define LN_2 0.69314718055994530942

/* Memory that is wanted soon: asked for a little at a time, between other work, it costs no time of its own. */
typedef struct {
  const char *at, *end;
  ptrdiff_t step;
} gaussian_wanted;

static inline void gaussian_ask(gaussian_wanted *wanted) {
  const char *stop = wanted->end - wanted->at > wanted->step ? wanted->at + wanted->step : wanted->end;
  for (; wanted->at < stop; wanted->at += 64) __builtin_prefetch(wanted->at, 0, 2);
}
#endif

/* log2 of a density; a distance that overflowed, or became infinity minus infinity on its way, is the largest there is. */
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
  for (int t = sizeof(REAL) == 8 ? 10 : 4; t >= 0; t--) q = q * f2 + (REAL)(2.8853900817779268147 / (2 * t + 1));
  return __builtin_convertvector(n, VEC) + f * q;
}

/* Columns c0..c0+C of (x - mean) P for TILE vectors of samples, P upper triangular: squares added to `norm`, or stored. */
static inline __attribute__((always_inline)) void NAME(columns)(int C, ptrdiff_t d, ptrdiff_t c0, const REAL *x,
                                                                 const REAL *mean, const REAL *P, VEC *norm, REAL *z) {
  enum { V = NAME(TILE) };
  VEC sum[4][V];
  for (int c = 0; c < C; c++)
    for (int v = 0; v < V; v++) sum[c][v] = (VEC){0};
  for (ptrdiff_t r = 0; r < c0; r++) {
    const REAL *p = P + r * d + c0;
    const REAL m = mean ? mean[r] : 0;
    VEC t[V];
    for (int v = 0; v < V; v++) t[v] = LOAD(x + r * PANEL + v * NAME(LANES)) - m;
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] += t[v] * p[c];
  }
#pragma GCC unroll 4
  for (int r = 0; r < C; r++) {
    const REAL *p = P + (c0 + r) * d + c0;
    const REAL m = mean ? mean[c0 + r] : 0;
    VEC t[V];
    for (int v = 0; v < V; v++) t[v] = LOAD(x + (c0 + r) * PANEL + v * NAME(LANES)) - m;
#pragma GCC unroll 4
    for (int c = r; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] += t[v] * p[c];
  }
  for (int c = 0; c < C; c++)
    for (int v = 0; v < V; v++) {
      if (norm)
        norm[v] += sum[c][v] * sum[c][v];
      else
        STORE(z + (c0 + c) * PANEL + v * NAME(LANES), sum[c][v]);
    }
}

/* None of a tile's samples can reach its floor with squares of `norm` and more to come. */
static inline int NAME(hopeless)(REAL constant, const VEC *norm, const REAL *floor) {
  int possible = 0;
  for (int v = 0; v < NAME(TILE); v++)
    possible |= ANY(GREATER(constant - (REAL)HALF_LOG2_E * norm[v], LOAD(floor + v * NAME(LANES))));
  return !possible;
}

/* 0 when it was given up. */
static inline __attribute__((always_inline)) int NAME(triangle)(ptrdiff_t d, const REAL *x, const REAL *mean, const REAL *P,
                                                                 VEC *norm, REAL *z, REAL constant, const REAL *floor) {
  ptrdiff_t c = 0;
  for (; c + 4 <= d; c += 4) {
    NAME(columns)(4, d, c, x, mean, P, norm, z);
    if (norm && NAME(hopeless)(constant, norm, floor)) return 0;
  }
  if (d - c == 3) NAME(columns)(3, d, c, x, mean, P, norm, z);
  if (d - c == 2) NAME(columns)(2, d, c, x, mean, P, norm, z);
  if (d - c == 1) NAME(columns)(1, d, c, x, mean, P, norm, z);
  return 1;
}

static __attribute__((noinline)) void NAME(rotate)(ptrdiff_t d, const REAL *x, const REAL *P, REAL *z) {
  for (int v = 0; v < NAME(BLOCKS); v += NAME(TILE))
    NAME(triangle)(d, x + v * NAME(LANES), NULL, P, NULL, z + v * NAME(LANES), 0, NULL);
}

/* log2 of the joint density, or an upper bound below `floor` for all of a tile; whether any tile's was not given up. */
static __attribute__((noinline)) int NAME(full_density)(const gaussian_mixture *g, ptrdiff_t j, const REAL *panel,
                                                        const REAL *floor, REAL *out) {
  const REAL *mean = (const REAL *)g->means + j * g->d, *P = (const REAL *)g->factors + j * g->d * g->d;
  const REAL constant = (REAL)g->constants[j];
  int possible = 0;
  for (int b = 0; b < NAME(BLOCKS); b += NAME(TILE)) {
    VEC norm[NAME(TILE)] = {{0}};
    possible |= NAME(triangle)(g->d, panel + b * NAME(LANES), mean, P, norm, NULL, constant, floor + b * NAME(LANES));
    for (int v = 0; v < NAME(TILE); v++)
      STORE(out + (b + v) * NAME(LANES), NAME(log_density)(constant, norm[v]));
  }
  return possible;
}

static __attribute__((noinline)) int NAME(diagonal_density)(const gaussian_mixture *g, ptrdiff_t j, const REAL *panel,
                                                            const REAL *floor, REAL *out) {
  enum { V = NAME(TILE), PART = 8 };
  const ptrdiff_t d = g->d;
  const REAL *mean = (const REAL *)g->means + j * d, *factor = (const REAL *)g->factors + j * d;
  const REAL constant = (REAL)g->constants[j];
  int possible = 0;
  for (int b = 0; b < NAME(BLOCKS); b += V) {
    VEC norm[V] = {{0}};
    ptrdiff_t start = 0;
    for (; start < d; start += PART) {
      const ptrdiff_t stop = start + PART < d ? start + PART : d;
      for (ptrdiff_t f = start; f < stop; f++)
        for (int v = 0; v < V; v++) {
          const VEC t = (LOAD(panel + f * PANEL + (b + v) * NAME(LANES)) - mean[f]) * factor[f];
          norm[v] += t * t;
        }
      if (NAME(hopeless)(constant, norm, floor + b * NAME(LANES))) break;
    }
    possible |= start >= d;
    for (int v = 0; v < V; v++) STORE(out + (b + v) * NAME(LANES), NAME(log_density)(constant, norm[v]));
  }
  return possible;
}

/* Whether a panel is seen to be hopeless along the way from the components of its rows to j: |Pᵀ (x - m)| is at least the
   part of it along any direction. */
static int NAME(apart)(const gaussian_mixture *g, ptrdiff_t j, int n_own, const int32_t *own, const REAL *panel,
                       const REAL *floor) {
  enum { V = NAME(TILE) };
  const ptrdiff_t d = g->d;
  const REAL *mean = (const REAL *)g->means + j * d;
  const REAL constant = (REAL)g->constants[j];
  for (int b = 0; b < PANEL; b += V * NAME(LANES)) {
    VEC most[V] = {{0}};
    int gone = 0;
    for (int t = 0; t < n_own && !gone; t++) {
      const REAL *along = (const REAL *)g->apart + (own[t] * g->k + j) * d;
      VEC sum[V] = {{0}};
      for (ptrdiff_t f = 0; f < d; f++)
        for (int v = 0; v < V; v++) sum[v] += (LOAD(panel + f * PANEL + b + v * NAME(LANES)) - mean[f]) * along[f];
      for (int v = 0; v < V; v++) {
        most[v] = NAME(max)(most[v], sum[v]);
        sum[v] = most[v] * most[v];
      }
      gone = NAME(hopeless)(constant, sum, floor + b);
    }
    if (!gone) return 0;
  }
  return 1;
}

static inline int NAME(density)(const gaussian_mixture *g, ptrdiff_t j, const REAL *panel, const REAL *floor, REAL *out) {
  return g->kind == GAUSSIAN_FULL ? NAME(full_density)(g, j, panel, floor, out + j * PANEL)
                                  : NAME(diagonal_density)(g, j, panel, floor, out + j * PANEL);
}

/* `labels`, sorted: the components to begin with. Returns how many are in `list`, ascending: those not given up. */
static ptrdiff_t NAME(densities)(const gaussian_mixture *g, ptrdiff_t lanes, const int32_t *labels, const REAL *panel,
                                 REAL *out, int32_t *list, gaussian_wanted *wanted) {
  REAL floor[PANEL] __attribute__((aligned(64)));
  int32_t own[PANEL + 1];
  int n_own = 0;
  ptrdiff_t count = 0;
  for (int i = 0; i < PANEL; i++) floor[i] = -INFINITY;
  for (ptrdiff_t i = 0; i < lanes; i++)
    if (i == 0 || labels[i] != labels[i - 1]) own[n_own++] = labels[i];
  own[n_own] = -1;
  for (int t = 0; t < n_own; t++) NAME(density)(g, own[t], panel, floor, out);
  for (int b = 0; b < PANEL; b += NAME(LANES)) {
    VEC best = LOAD(floor + b);
    for (int t = 0; t < n_own; t++) best = NAME(max)(best, LOAD(out + own[t] * PANEL + b));
    STORE(floor + b, best - (REAL)DROP);
  }
  const int32_t *next = own;
  for (int32_t j = 0; j < g->k; j++) {
    int possible = j == *next;
    gaussian_ask(wanted);
    if (possible)
      next++;
    else if (!g->apart || n_own > 2 || !NAME(apart)(g, j, n_own, own, panel, floor))
      possible = NAME(density)(g, j, panel, floor, out);
    list[count] = j;
    count += possible;
  }
  return count;
}

/* C components from j at once, scaled by factors (k,). */
static inline __attribute__((always_inline)) void NAME(spheres)(int C, const gaussian_mixture *g, ptrdiff_t j,
                                                                 const REAL *panel, REAL *out) {
  enum { V = NAME(TILE) };
  const ptrdiff_t d = g->d;
  const REAL *mean = (const REAL *)g->means + j * d, *factor = (const REAL *)g->factors + j;
  for (int b = 0; b < NAME(BLOCKS); b += V) {
    VEC sum[4][V];
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++) sum[c][v] = (VEC){0};
    for (ptrdiff_t f = 0; f < d; f++) {
      VEC x[V];
      for (int v = 0; v < V; v++) x[v] = LOAD(panel + f * PANEL + (b + v) * NAME(LANES));
      for (int c = 0; c < C; c++)
        for (int v = 0; v < V; v++) {
          const VEC t = x[v] - mean[c * d + f];
          sum[c][v] += t * t;
        }
    }
    for (int c = 0; c < C; c++)
      for (int v = 0; v < V; v++)
        STORE(out + c * PANEL + (b + v) * NAME(LANES),
              NAME(log_density)((REAL)g->constants[j + c], factor[c] * factor[c] * sum[c][v]));
  }
}

static __attribute__((noinline)) ptrdiff_t NAME(sphere_densities)(const gaussian_mixture *g, const REAL *panel, REAL *out,
                                                                  int32_t *list, gaussian_wanted *wanted) {
  ptrdiff_t j = 0;
  for (; j + 4 <= g->k; j += 4) {
    for (int t = 0; t < 4; t++) gaussian_ask(wanted);
    NAME(spheres)(4, g, j, panel, out + j * PANEL);
  }
  for (; j < g->k; j++) NAME(spheres)(1, g, j, panel, out + j * PANEL);
  for (j = 0; j < g->k; j++) list[j] = (int32_t)j;
  return j;
}

/* In place: log2 of the joint densities of a panel -> weighted responsibilities; returns sum_i w_i log2 p(x_i).
   `list` has the components that may count; those that do have `bit` set in `live`, and others are not written.
   `density` receives log2 p(x_i), `labels` the likeliest component. */
static __attribute__((noinline)) double NAME(normalise)(ptrdiff_t count, int32_t *list, const REAL *weight, REAL *log_joint,
                                                        REAL *density, int32_t *labels, uint64_t *live, uint64_t bit) {
  enum { V = NAME(TILE), L = NAME(LANES) };
  INT likeliest[PANEL] __attribute__((aligned(64)));
  VEC total = (VEC){0};
  for (int b = 0; b < PANEL; b += V * L) {
    VEC top[V];
    for (int v = 0; v < V; v++) top[v] = LOAD(log_joint + list[0] * PANEL + b + v * L);
    for (ptrdiff_t t = 1; t < count; t++)
      for (int v = 0; v < V; v++) top[v] = NAME(max)(top[v], LOAD(log_joint + list[t] * PANEL + b + v * L));
    for (int v = 0; v < V; v++) STORE(density + b + v * L, top[v]);
  }
  ptrdiff_t kept = 0;
  for (ptrdiff_t t = 0; t < count; t++) {
    const int32_t j = list[t];
    int any = 0;
    for (int b = 0; b < PANEL; b += L)
      any |= ANY(GREATER(LOAD(log_joint + j * PANEL + b) - LOAD(density + b), (VEC){0} - (REAL)DROP));
    list[kept] = j;
    kept += any;
    live[j] |= any ? bit : 0;
  }
  for (int b = 0; b < PANEL; b += V * L) {
    VEC top[V], sum[V];
    INTVEC at[V];
    for (int v = 0; v < V; v++) top[v] = LOAD(density + b + v * L), sum[v] = (VEC){0}, at[v] = (INTVEC){0};
    for (ptrdiff_t t = kept - 1; t >= 0; t--) { /* downwards: of equals the first is the label */
      REAL *own = log_joint + list[t] * PANEL + b;
      for (int v = 0; v < V; v++) {
        const VEC x = LOAD(own + v * L) - top[v], e = SELECT(GREATER(x, (VEC){0} - (REAL)DROP), EXP2(x), (VEC){0});
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
  double sum = 0;
  for (int lane = 0; lane < L; lane++) sum += total[lane];
  return sum;
}
