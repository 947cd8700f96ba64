/* Potentials of candidate centres in k-means++; included once per precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "numerics/greedy_seeds.h"

#include "shared/table.h"

#define LOOPS "numerics/greedy_seeds.c"
#include "shared/both_precisions.h"

SIMD_TABLE(greedy_seeds, .f = {.seed = seed_f}, .d = {.seed = seed_d})

#else
#include "shared/precision.h"
#include "shared/transpose_loops.h"

/* The sum of w min(squared, nearest), in double precision. */
static double NAME(potential)(int count, const REAL *squared, const REAL *nearest,
                              const double *weights) {
  enum { WIDE = LANES_d };
  vdouble sum[2] = {{0}};
  double rest = 0;
  int r = 0;
  for (; r + 2 * WIDE <= count; r += 2 * WIDE)
    for (int b = 0; b < 2; b++) {
      const int at = r + b * WIDE;
      const vdouble left = min_d(WIDEN(squared + at), WIDEN(nearest + at));
      sum[b] += weights != NULL ? load_d(weights + at) * left : left;
    }
  for (; r < count; r++) {
    const double left = squared[r] < nearest[r] ? squared[r] : nearest[r];
    rest += weights != NULL ? weights[r] * left : left;
  }
  return add_lanes_d(rest, sum[0] + sum[1]);
}

/* squared[t, r] = |x_r - candidate t|^2 over some features of a panel's samples; with `more`, added
   to what is there. Lanes are samples. */
static void NAME(add_squared)(ptrdiff_t d, ptrdiff_t depth, ptrdiff_t n_candidates,
                              const REAL *panel, const REAL *candidates, int more, REAL *squared) {
  enum { ABREAST = 4 }; /* vectors, whose sums wait for none of the others */
  for (ptrdiff_t t = 0; t < n_candidates; t++, candidates += d, squared += PANEL)
    for (int from = 0; from < PANEL; from += ABREAST * LANES) {
      const REAL *x = panel + from;
      VEC sum[ABREAST] = {{0}};
      if (more)
        for (int b = 0; b < ABREAST; b++) sum[b] = LOAD(squared + from + b * LANES);
      for (ptrdiff_t f = 0; f < depth; f++, x += PANEL)
        for (int b = 0; b < ABREAST; b++) {
          const VEC difference = LOAD(x + b * LANES) - candidates[f];
          sum[b] += difference * difference;
        }
      for (int b = 0; b < ABREAST; b++) STORE(squared + from + b * LANES, sum[b]);
    }
}

/* potentials[t] += sum of w min(nearest, |x - candidate t|^2), the potential with candidate t as
   one more seed; or nearest itself, for one candidate that is taken (potentials NULL). `scratch` is
   PANEL (min(d, SEED_DEPTH) + n_candidates): panels of all features leave the first cache, which
   took twice as long with 1,000 of them. */
static void NAME(seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const REAL *X,
                       const REAL *candidates, const double *weights, REAL *nearest, REAL *scratch,
                       double *potentials) {
  REAL *panel = scratch + PANEL * n_candidates;
  for (ptrdiff_t i = 0; i < n; i += PANEL) {
    const int rows = n - i < PANEL ? (int)(n - i) : PANEL;
    for (ptrdiff_t f = 0; f < d; f += SEED_DEPTH) {
      const ptrdiff_t depth = d - f < SEED_DEPTH ? d - f : SEED_DEPTH;
      NAME(transpose)(X + i * d + f, d, rows, depth, panel, PANEL);
      NAME(add_squared)(d, depth, n_candidates, panel, candidates + f, f > 0, scratch);
    }
    const REAL *squared = scratch;
    for (ptrdiff_t t = 0; t < n_candidates; t++, squared += PANEL) {
      if (potentials == NULL)
        for (int r = 0; r < rows; r++)
          nearest[i + r] = squared[r] < nearest[i + r] ? squared[r] : nearest[i + r];
      else
        potentials[t] +=
            NAME(potential)(rows, squared, nearest + i, weights != NULL ? weights + i : NULL);
    }
  }
}

#endif
