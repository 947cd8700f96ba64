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

/* potentials[t] += sum of w min(nearest, |x - candidate t|^2), the potential with candidate t as
   one more seed; or nearest itself, for one candidate that is taken (potentials NULL). Lanes are
   samples; `panel` is scratch, PANEL d. */
static void NAME(seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const REAL *X,
                       const REAL *candidates, const double *weights, REAL *nearest, REAL *panel,
                       double *potentials) {
  for (ptrdiff_t i = 0; i < n; i += PANEL) {
    const int rows = n - i < PANEL ? (int)(n - i) : PANEL;
    NAME(transpose)(X + i * d, d, rows, d, panel, PANEL);
    for (ptrdiff_t t = 0; t < n_candidates; t++) {
      const REAL *c = candidates + t * d;
      REAL squared[PANEL];
      for (int from = 0; from < PANEL; from += 2 * LANES) {
        const REAL *x = panel + from;
        VEC sum[2] = {{0}};
        for (ptrdiff_t f = 0; f < d; f++, x += PANEL)
          for (int b = 0; b < 2; b++) {
            const VEC difference = LOAD(x + b * LANES) - c[f];
            sum[b] += difference * difference;
          }
        for (int b = 0; b < 2; b++) STORE(squared + from + b * LANES, sum[b]);
      }
      double part[4] = {0};
      for (int r = 0; r < rows; r++) {
        const REAL left = squared[r] < nearest[i + r] ? squared[r] : nearest[i + r];
        if (potentials == NULL) nearest[i + r] = left;
        else part[r & 3] += weights != NULL ? weights[i + r] * left : left;
      }
      if (potentials != NULL) potentials[t] += (part[0] + part[1]) + (part[2] + part[3]);
    }
  }
}

#endif
