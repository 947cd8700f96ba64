/* Moments of a mixture of Gaussians of few features, from the panels that its densities were taken
   from, with a vector's lanes over samples as there; included once per precision by
   gaussian_loops.h.

   Lanes over features would be mostly empty, and rows that count would be looked for one by one:
   the moments of 3 features took 10 ns for a pair of row and component on AVX2, and take less than
   1 (full covariances, 20 components). Vectors of samples whose responsibilities are all 0 are left
   out. */

#include "mixture/gaussian.h"
#include "shared/precision.h"

/* The panels of a block, and a component's responsibilities for it: `live` tells in which any is
   not 0. */
typedef struct {
  uint64_t live;
  ptrdiff_t d, stride; /* values from a panel's responsibilities to those of the next */
  const REAL *samples, *resp, *centre; /* from the origin */
} NAME(panel_part);

NOINLINE double NAME(panel_mass)(const NAME(panel_part) * q) {
  VEC sum[4] = {{0}};
  for (uint64_t live = q->live; live; live &= live - 1) {
    const REAL *resp = q->resp + __builtin_ctzll(live) * q->stride;
    for (int b = 0; b < NAME(BLOCKS); b += 4)
      for (int v = 0; v < 4; v++) sum[v] += LOAD(resp + (b + v) * LANES);
  }
  return NAME(add_lanes)(0, (sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* F features from f: first += sum r (x - centre) and, when `squares`, second += sum r (x -
   centre)². */
INLINE void NAME(panel_axes)(int F, int squares, const NAME(panel_part) * q, ptrdiff_t f,
                             double *first, double *second) {
  const int S = F <= 2 ? 2 : 1; /* sums side by side, against the latency of additions */
  VEC a[2][4] = {{{0}}}, b[2][4] = {{{0}}};
  for (uint64_t live = q->live; live; live &= live - 1) {
    const ptrdiff_t p = __builtin_ctzll(live);
    const REAL *resp = q->resp + p * q->stride, *x = q->samples + (p * q->d + f) * PANEL;
    for (int at = 0; at < PANEL; at += S * LANES)
      for (int s = 0; s < S; s++) {
        const VEC r = LOAD(resp + at + s * LANES);
        if (!ANY(GREATER(r, (VEC){0}))) continue;
        for (int c = 0; c < F; c++) {
          const VEC t = LOAD(x + c * PANEL + at + s * LANES) - q->centre[f + c], w = t * r;
          a[s][c] += w;
          if (squares) b[s][c] += w * t;
        }
      }
  }
  for (int c = 0; c < F; c++) {
    first[f + c] += NAME(add_lanes)(0, a[0][c] + a[1][c]);
    if (squares) second[f + c] += NAME(add_lanes)(0, b[0][c] + b[1][c]);
  }
}

/* R features from f with each of C from g: second (d, d) += sum r (x - centre)(x - centre)ᵀ. Where
   f = g the upper half, and first too. */
INLINE void NAME(panel_tile)(int R, int C, int diagonal, const NAME(panel_part) * q, ptrdiff_t f,
                             ptrdiff_t g, double *first, double *second) {
  const ptrdiff_t d = q->d;
  VEC a[4] = {{0}}, sum[4][4] = {{{0}}};
  for (uint64_t live = q->live; live; live &= live - 1) {
    const ptrdiff_t p = __builtin_ctzll(live);
    const REAL *resp = q->resp + p * q->stride, *x = q->samples + p * d * PANEL;
    for (int at = 0; at < PANEL; at += LANES) {
      const VEC r = LOAD(resp + at);
      if (!ANY(GREATER(r, (VEC){0}))) continue;
      VEC t[4];
      for (int c = 0; c < C; c++) t[c] = LOAD(x + (g + c) * PANEL + at) - q->centre[g + c];
      for (int i = 0; i < R; i++) {
        const VEC w = (diagonal ? t[i] : LOAD(x + (f + i) * PANEL + at) - q->centre[f + i]) * r;
        if (diagonal) a[i] += w;
        for (int c = diagonal ? i : 0; c < C; c++) sum[i][c] += w * t[c];
      }
    }
  }
  for (int i = 0; i < R; i++) {
    if (diagonal) first[f + i] += NAME(add_lanes)(0, a[i]);
    for (int c = diagonal ? i : 0; c < C; c++)
      second[(f + i) * d + g + c] += NAME(add_lanes)(0, sum[i][c]);
  }
}

NOINLINE void NAME(panel_axis_moments)(int squares, const NAME(panel_part) * q, double *first,
                                       double *second) {
  ptrdiff_t f = 0;
#define AXES(F)                                         \
  squares ? NAME(panel_axes)(F, 1, q, f, first, second) \
          : NAME(panel_axes)(F, 0, q, f, first, second)
  for (; f + 4 <= q->d; f += 4) AXES(4);
  if (q->d - f == 3) AXES(3);
  if (q->d - f == 2) AXES(2);
  if (q->d - f == 1) AXES(1);
#undef AXES
}

NOINLINE void NAME(panel_full_moments)(const NAME(panel_part) * q, double *first, double *second) {
  const ptrdiff_t d = q->d;
  for (ptrdiff_t g = 0; g < d; g += 4) {
#define TILES(C)                                                                          \
  for (ptrdiff_t f = 0; f < g; f += 2) NAME(panel_tile)(2, C, 0, q, f, g, first, second); \
  NAME(panel_tile)(C, C, 1, q, g, g, first, second)
    if (d - g >= 4) {
      TILES(4);
    } else if (d - g == 3) {
      TILES(3);
    } else if (d - g == 2) {
      TILES(2);
    } else {
      TILES(1);
    }
#undef TILES
  }
}
