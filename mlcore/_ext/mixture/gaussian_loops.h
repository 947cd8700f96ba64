/* One step of EM for a mixture of Gaussians, on a block of rows; included once per precision.

   Densities are taken with a vector's lanes over samples, from a copy of the block in panels (a
   feature of PANEL samples, then the next feature); moments with lanes over features, from the
   rows, or, of few features, from these panels, see gaussian_panel_moments_loops.h. A mean or
   centre is subtracted from the sample first of all, so nothing cancels but what the mean itself
   moves in one step.

   Most responsibilities are 0 to every digit, less than 2^-DROP. The rows of a block are taken in
   order of the component that suited them best in the step before; a strip, a vector of them, then
   needs few components: it begins with those of its own rows. What a density has so far is an upper
   bound: a component is left out where it is below 2^-DROP of the best for all the rows of the
   strips that it is taken for, several at a time so that the arithmetic never waits. Moments visit
   the rows that count, one by one. All this leaves out only what is 0 in the result. */

#include "mixture/gaussian.h"
#include "mixture/gaussian_density_loops.h"
#include "mixture/gaussian_panel_moments_loops.h"
#include "shared/precision.h"
#include "shared/transpose_loops.h"

#define PAD(d) (((d) + 64 / sizeof(REAL) - 1) / (64 / sizeof(REAL)) * (64 / sizeof(REAL)))
/* second moments: rows of a tile, of up to 3 vectors */
enum { NAME(SIDE) = VECTOR_BYTES == 64 ? 8 : 4 };

/* Collect the rows (from `from`) and responsibilities of a component where these are not 0; their
   sum is added to `mass`. Returns the number of rows. `live`: the panels that have such rows. */
NOINLINE ptrdiff_t NAME(collect)(uint64_t live, ptrdiff_t stride, const REAL *resp,
                                 const int32_t *from, int32_t *rows, REAL *r, double *mass) {
  ptrdiff_t count = 0;
  VEC sum[NAME(BLOCKS)] = {{0}};
  for (; live; live &= live - 1) {
    const ptrdiff_t p = __builtin_ctzll(live);
    for (int b = 0; b < NAME(BLOCKS); b++) {
      const REAL *own = resp + p * stride + b * LANES;
      const int32_t *places = from + p * PANEL + b * LANES;
      const VEC x = LOAD(own);
      sum[b] += x;
#ifdef MLCORE_TARGET_AVX512
      count += NAME(compress)(x, places, rows + count, r + count);
#else
      if (!ANY(GREATER(x, (VEC){0}))) continue;
      for (int lane = 0; lane < LANES; lane++) {
        rows[count] = places[lane];
        r[count] = own[lane];
        count += own[lane] > 0;
      }
#endif
    }
  }
  for (int b = 1; b < NAME(BLOCKS); b++) sum[0] += sum[b];
  *mass += NAME(add_lanes)(0, sum[0]);
  return count;
}

/* V vectors of features: first += sum r (x - centre) and, when `squares`, second += sum r (x -
   centre)². */
INLINE void NAME(axis_sums)(int V, int squares, ptrdiff_t d, ptrdiff_t count, const int32_t *rows,
                            const REAL *r, const REAL *X, const REAL *centre, double *first,
                            double *second) {
  const int S = V <= 2 ? 2 : 1; /* sums side by side, against the latency of additions */
  VEC c[4], a[2][4] = {{{0}}}, b[2][4] = {{{0}}};
  for (int v = 0; v < V; v++) c[v] = LOAD(centre + v * LANES);
  ptrdiff_t i = 0;
  for (; i + S <= count; i += S)
    for (int s = 0; s < S; s++)
      for (int v = 0; v < V; v++) {
        const VEC t = LOAD(X + rows[i + s] * d + v * LANES) - c[v];
        const VEC w = t * r[i + s];
        if (squares) b[s][v] += w * t;
        a[s][v] += w;
      }
  if (i < count)
    for (int v = 0; v < V; v++) {
      const VEC t = LOAD(X + rows[i] * d + v * LANES) - c[v], w = t * r[i];
      a[0][v] += w;
      if (squares) b[0][v] += w * t;
    }
  for (int v = 0; v < V; v++) {
    a[0][v] += a[1][v];
    b[0][v] += b[1][v];
    for (int lane = 0; lane < LANES; lane++) {
      first[v * LANES + lane] += a[0][v][lane];
      if (squares) second[v * LANES + lane] += b[0][v][lane];
    }
  }
}

INLINE void NAME(axis_moments_if)(int squares, ptrdiff_t d, ptrdiff_t count, const int32_t *rows,
                                  const REAL *r, const REAL *X, const REAL *centre, double *first,
                                  double *second) {
  ptrdiff_t f = 0;
#define SUMS(V) \
  NAME(axis_sums)(V, squares, d, count, rows, r, X + f, centre + f, first + f, second + f)
  for (; f + 4 * LANES <= d; f += 4 * LANES) SUMS(4);
  if (f + 2 * LANES <= d) {
    SUMS(2);
    f += 2 * LANES;
  }
  if (f + LANES <= d) {
    SUMS(1);
    f += LANES;
  }
#undef SUMS
  for (; f < d; f++) {
    REAL a = 0, b = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
      const REAL t = X[rows[i] * d + f] - centre[f], w = t * r[i];
      a += w;
      b += w * t;
    }
    first[f] += a;
    if (squares) second[f] += b;
  }
}

NOINLINE void NAME(axis_moments)(int squares, ptrdiff_t d, ptrdiff_t count, const int32_t *rows,
                                 const REAL *r, const REAL *X, const REAL *centre, double *first,
                                 double *second) {
  if (squares) NAME(axis_moments_if)(1, d, count, rows, r, X, centre, first, second);
  else NAME(axis_moments_if)(0, d, count, rows, r, X, centre, first, second);
}

/* Rows a..a+SIDE and W vectors from column b of H += tᵀ t, over `count` rows of t, from column a on
   in `ta`. */
INLINE void NAME(moment_tile)(int W, ptrdiff_t side, ptrdiff_t count, const REAL *ta, const REAL *t,
                              REAL *H) {
  enum { A = NAME(SIDE) };
  VEC sum[A][3];
  for (int a = 0; a < A; a++)
    for (int v = 0; v < W; v++) sum[a][v] = LOAD(H + a * side + v * LANES);
  for (ptrdiff_t i = 0; i < count; i++) {
    VEC x[3];
    for (int v = 0; v < W; v++) x[v] = LOAD(t + i * side + v * LANES);
    for (int a = 0; a < A; a++)
      for (int v = 0; v < W; v++) sum[a][v] += x[v] * ta[i * side + a];
  }
  for (int a = 0; a < A; a++)
    for (int v = 0; v < W; v++) STORE(H + a * side + v * LANES, sum[a][v]);
}

/* V vectors of features: t = sqrt(r) (x - centre), side by side, and first += sum r (x -
   centre). */
INLINE void NAME(weighted)(int V, ptrdiff_t d, ptrdiff_t count, const int32_t *rows,
                           const REAL *root, const REAL *X, const REAL *centre, ptrdiff_t side,
                           REAL *t, REAL *first) {
  VEC c[4], sum[4];
  for (int v = 0; v < V; v++) c[v] = LOAD(centre + v * LANES), sum[v] = LOAD(first + v * LANES);
  for (ptrdiff_t i = 0; i < count; i++)
    for (int v = 0; v < V; v++) {
      const VEC x = (LOAD(X + rows[i] * d + v * LANES) - c[v]) * root[i];
      STORE(t + i * side + v * LANES, x);
      sum[v] += x * root[i];
    }
  for (int v = 0; v < V; v++) STORE(first + v * LANES, sum[v]);
}

/* first += sum r t, second (d, d), upper half, += sum r t tᵀ, t = x - centre. Scratch: PIECE + d +
   1 rows of PAD(d). */
NOINLINE void NAME(full_moments)(ptrdiff_t d, ptrdiff_t count, const int32_t *rows, const REAL *r,
                                 const REAL *X, const REAL *centre, REAL *scratch, double *first,
                                 double *second) {
  enum { L = LANES };
  const ptrdiff_t side = PAD(d);
  /* rows that stay in the first cache */
  ptrdiff_t most = GAUSSIAN_PIECE_BYTES / (side * (ptrdiff_t)sizeof(REAL));
  most = most < GAUSSIAN_PIECE ? most > 16 ? most : 16 : GAUSSIAN_PIECE;
  REAL root[GAUSSIAN_PIECE], *t = scratch, *H = t + GAUSSIAN_PIECE * side, *h1 = H + side * side;
  memset(H, 0, (size_t)((side + 1) * side) * sizeof(REAL));
  for (ptrdiff_t start = 0; start < count; start += most) {
    const ptrdiff_t piece = count - start < most ? count - start : most;
    ptrdiff_t f = 0;
    for (ptrdiff_t i = 0; i < piece; i++) root[i] = NAME(root)(r[start + i]);
#define WEIGHTED(V) \
  NAME(weighted)(V, d, piece, rows + start, root, X + f, centre + f, side, t + f, h1 + f)
    for (; f + 4 * L <= d; f += 4 * L) WEIGHTED(4);
    for (; f + L <= d; f += L) WEIGHTED(1);
#undef WEIGHTED
    if (f < side)
      for (ptrdiff_t i = 0; i < piece; i++) {
        REAL *to = t + i * side;
        for (ptrdiff_t e = f; e < d; e++) {
          to[e] = (X[rows[start + i] * d + e] - centre[e]) * root[i];
          h1[e] += to[e] * root[i];
        }
        for (ptrdiff_t e = d; e < side; e++) to[e] = 0;
      }
    for (ptrdiff_t a = 0; a < d; a += NAME(SIDE)) {
      ptrdiff_t b = a / L * L;
      for (; b + 3 * L <= side; b += 3 * L)
        NAME(moment_tile)(3, side, piece, t + a, t + b, H + a * side + b);
      if (b + 2 * L <= side) NAME(moment_tile)(2, side, piece, t + a, t + b, H + a * side + b);
      else if (b + L <= side) NAME(moment_tile)(1, side, piece, t + a, t + b, H + a * side + b);
    }
  }
  for (ptrdiff_t a = 0; a < d; a++) {
    first[a] += h1[a];
    for (ptrdiff_t b = a; b < d; b++) second[a * d + b] += H[a * side + b];
  }
}

/* The order of a block's rows by their labels, stable: `from` tells where they are. `place`:
   scratch (k,). */
static void NAME(sort_rows)(ptrdiff_t k, ptrdiff_t n, const REAL *weight, const int32_t *labels,
                            int32_t *place, int32_t *from, int32_t *sorted, REAL *w) {
  memset(place, 0, (size_t)k * sizeof(int32_t));
  for (ptrdiff_t i = 0; i < n; i++) place[labels[i]]++;
  for (ptrdiff_t j = 0, before = 0; j < k; j++) {
    const int32_t count = place[j];
    place[j] = (int32_t)before;
    before += count;
  }
  for (ptrdiff_t i = 0; i < n; i++) {
    const int32_t to = place[labels[i]]++;
    from[to] = (int32_t)i;
    sorted[to] = labels[i];
    w[to] = weight ? weight[i] : 1;
  }
}

/* A panel of the rows at `from`, less `origin`. */
NOINLINE void NAME(gather)(ptrdiff_t d, ptrdiff_t n, const REAL *X, const int32_t *from,
                           const REAL *origin, REAL *panel) {
  enum { L = LANES };
  if (n < PANEL) memset(panel, 0, (size_t)(d * PANEL) * sizeof(REAL));
  for (ptrdiff_t r = 0; r < n; r += L) {
    ptrdiff_t f = 0;
#ifdef HAS_ZIP
    for (; r + L <= n && f + L <= d; f += L) {
      VEC v[L];
      for (int i = 0; i < L; i++) v[i] = LOAD(X + from[r + i] * d + f) - LOAD(origin + f);
      NAME(turn)(v);
      for (int i = 0; i < L; i++) STORE(panel + (f + i) * PANEL + r, v[i]);
    }
#endif
    for (; f < d; f++)
      for (ptrdiff_t i = r; i < n && i < r + L; i++)
        panel[f * PANEL + i] = X[from[i] * d + f] - origin[f];
  }
}

/* `ahead`: rows after these n, asked from memory in time for the next call, without which spherical
   and tied mixtures take a sixth longer (400,000 x 20, 10 components, AVX2). `stats` (moments),
   `density` (n) and `proba` (n, k) may be NULL: not asked for. `proba` wants `weight` NULL. */
static void NAME(gaussian)(const gaussian_mixture *g, ptrdiff_t n, ptrdiff_t ahead, const REAL *X,
                           const REAL *weight, int32_t *labels, REAL *scratch, double *stats,
                           REAL *density, REAL *proba) {
  const ptrdiff_t d = g->d, k = g->k, panels = (n + PANEL - 1) / PANEL;
  uint64_t *live = (uint64_t *)scratch;
  int32_t *list = (int32_t *)(live + k), rows[GAUSSIAN_ROWS], from[GAUSSIAN_ROWS],
          sorted[GAUSSIAN_ROWS], found[GAUSSIAN_ROWS];
  const int few = d <= GAUSSIAN_FEW, fewest = g->kind == GAUSSIAN_FULL && d <= 4 && !g->directions;
  /* components of all panels */
  const int all = fewest || g->kind == GAUSSIAN_TIED || g->kind == GAUSSIAN_SPHERICAL;
  const ptrdiff_t most = g->kind == GAUSSIAN_FULL && !fewest ? gaussian_panels(d) : 1;
  REAL *samples = scratch + gaussian_lists(k),
       *turned = samples + gaussian_kept(g->kind, d) * d * PANEL, *resp = turned + d * PANEL,
       *w = resp + k * GAUSSIAN_ROWS, *r = w + GAUSSIAN_ROWS, *rest = r + GAUSSIAN_ROWS;
  double log_likelihood = 0;
  NAME(sort_rows)(k, n, weight, labels, list, from, sorted, w);
  for (ptrdiff_t i = n; i < panels * PANEL; i++) w[i] = 0, from[i] = 0, sorted[i] = sorted[n - 1];
  for (ptrdiff_t j = 0; j < k; j++) live[j] = all ? ((uint64_t)1 << panels) - 1 : 0;
  for (ptrdiff_t first = 0; first < panels; first += most) {
    const ptrdiff_t count = panels - first < most ? panels - first : most;
    REAL *own = samples + (few ? first * d * PANEL : 0);
    for (ptrdiff_t p = first; p < first + count; p++) {
      const ptrdiff_t lanes = n - p * PANEL < PANEL ? n - p * PANEL : PANEL;
      NAME(gather)(d, lanes, X, from + p * PANEL, (const REAL *)g->origin,
                   own + (p - first) * d * PANEL);
    }
    ptrdiff_t coming = ahead - first * PANEL;
    coming = coming < 0 ? 0 : coming < count * PANEL ? coming : count * PANEL;
    const char *next = (const char *)(X + (coming ? n + first * PANEL : 0) * d);
    const char *end = next + coming * d * (ptrdiff_t)sizeof(REAL);
    /* and about how often there will be an occasion to ask */
    const ptrdiff_t tiles = count * NAME(BLOCKS) / NAME(TILE);
    const ptrdiff_t calls = most > 1 ? tiles * (d + 3) / 4 * 3 / 2 + 1 : k;
    gaussian_wanted wanted = {next, end, ((end - next) / calls + 64) / 64 * 64};
    const NAME(group) group = {
        g,   first, count, sorted + first * PANEL, own, r + first * PANEL, resp + first * k * PANEL,
        live};
    if (g->kind == GAUSSIAN_TIED) NAME(rotate)(d, own, g->rotation, turned);
    if (fewest) NAME(few_densities)(g, own, group.out, &wanted);
    else if (all)
      NAME(sphere_densities)(g, g->kind == GAUSSIAN_TIED ? turned : own, group.out, &wanted);
    else NAME(densities)(&group, &wanted);
    for (; wanted.at < wanted.end;) gaussian_ask(&wanted);
    for (ptrdiff_t p = first; p < first + count; p++)
      log_likelihood += NAME(normalise)(k, list, w + p * PANEL, resp + p * k * PANEL, r + p * PANEL,
                                        found + p * PANEL, live, (uint64_t)1 << p);
  }
  for (ptrdiff_t i = 0; i < n; i++) labels[from[i]] = found[i];
  for (ptrdiff_t i = 0; density && i < n; i++) density[from[i]] = r[i] * (REAL)LN_2;
  for (ptrdiff_t i = 0; proba && i < n; i++)
    for (ptrdiff_t j = 0; j < k; j++)
      proba[from[i] * k + j] =
          live[j] >> i / PANEL & 1 ? resp[(i / PANEL * k + j) * PANEL + i % PANEL] : 0;
  if (!stats) return;
  stats[0] += log_likelihood * LN_2;
  double *mass = stats + 1, *first = mass + k, *second = first + k * d;
  for (ptrdiff_t p = 0, step = few ? GAUSSIAN_PIECE_BYTES / (d * PANEL_BYTES) : panels;
       few && p < panels; p += step) {
    /* panels that stay in the first cache */
    const uint64_t here = (((uint64_t)1 << (step < 32 ? step : 32)) - 1) << p;
    for (ptrdiff_t j = 0; j < k; j++) {
      const NAME(panel_part) part = {live[j] & here,   d,
                                     k * PANEL,        samples,
                                     resp + j * PANEL, (const REAL *)g->centres + j * d};
      mass[j] += NAME(panel_mass)(&part);
      if (g->kind == GAUSSIAN_FULL)
        NAME(panel_full_moments)(&part, first + j * d, second + j * d * d);
      else NAME(panel_axis_moments)(g->kind != GAUSSIAN_TIED, &part, first + j * d, second + j * d);
    }
  }
  if (few) return;
  for (ptrdiff_t j = 0; j < k; j++) {
    const REAL *centre = (const REAL *)g->centres + j * d;
    const ptrdiff_t count =
        NAME(collect)(live[j], k * PANEL, resp + j * PANEL, from, rows, r, mass + j);
    if (g->kind == GAUSSIAN_FULL)
      NAME(full_moments)(d, count, rows, r, X, centre, rest, first + j * d, second + j * d * d);
    else
      NAME(axis_moments)(g->kind != GAUSSIAN_TIED, d, count, rows, r, X, centre, first + j * d,
                         second + j * d);
  }
}
#undef PAD
