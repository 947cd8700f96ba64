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

/* potentials[t] += sum of w min(nearest, |x - candidate t|^2), the potential with candidate t as
   one more seed; or nearest itself, for one candidate that is taken (potentials NULL). Lanes are
   samples; `panel` is scratch, PANEL d. */
static void NAME(seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const REAL *X,
                       const REAL *candidates, const double *weights, REAL *nearest, REAL *panel,
                       double *potentials) {
  enum { ABREAST = 4 }; /* vectors, whose sums wait for none of the others */
  for (ptrdiff_t i = 0; i < n; i += PANEL) {
    const int rows = n - i < PANEL ? (int)(n - i) : PANEL;
    NAME(transpose)(X + i * d, d, rows, d, panel, PANEL);
    for (ptrdiff_t t = 0; t < n_candidates; t++) {
      const REAL *c = candidates + t * d;
      REAL squared[PANEL];
      for (int from = 0; from < PANEL; from += ABREAST * LANES) {
        const REAL *x = panel + from;
        VEC sum[ABREAST] = {{0}};
        for (ptrdiff_t f = 0; f < d; f++, x += PANEL)
          for (int b = 0; b < ABREAST; b++) {
            const VEC difference = LOAD(x + b * LANES) - c[f];
            sum[b] += difference * difference;
          }
        for (int b = 0; b < ABREAST; b++) STORE(squared + from + b * LANES, sum[b]);
      }
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
