/* The EM step of a mixture of Gaussians (see gaussian_loops.h). */
#ifndef MLCORE_GAUSSIAN_H
#define MLCORE_GAUSSIAN_H

#include <stddef.h>
#include <stdint.h>
#include "shared/panel.h"

/* A mixture of Gaussians and where its moments are taken (see gaussian_loops.h). Arrays of the
   samples' type, C order: means, from the origin, and centres (k, d); factors, with precision =
   factor factorᵀ: (k, d, d) upper triangular, (k, d) or (k,). Tied: means are those of (x - origin)
   rotation, rotation (d, d) upper triangular, factors 1. */
enum { GAUSSIAN_FULL, GAUSSIAN_TIED, GAUSSIAN_DIAGONAL, GAUSSIAN_SPHERICAL };
/* Rows of a block, and of a part of it whose second moments are summed at once. */
enum { GAUSSIAN_ROWS = 1024, GAUSSIAN_PIECE = 128 };
enum { GAUSSIAN_PIECE_BYTES = 16384, GAUSSIAN_GROUP_BYTES = 131072 };
/* Panels whose densities are computed together: those that fit the second-level cache. */
static inline ptrdiff_t gaussian_panels(ptrdiff_t d) {
  if (d * PANEL_BYTES * 2 > GAUSSIAN_GROUP_BYTES) return 1;
  return d * PANEL_BYTES * 32 < GAUSSIAN_GROUP_BYTES ? 32
                                                     : GAUSSIAN_GROUP_BYTES / (d * PANEL_BYTES);
}
/* Up to this number of features, all panels of a block are kept and moments are summed from them;
   centres are then relative to the origin. */
enum { GAUSSIAN_FEW = 12 };
static inline ptrdiff_t gaussian_kept(int kind, ptrdiff_t d) {
  return kind == GAUSSIAN_FULL || d <= GAUSSIAN_FEW ? gaussian_panels(d) : 1;
}
/* Values of scratch that hold k integers of 8 bytes and k of 4. */
static inline ptrdiff_t gaussian_lists(ptrdiff_t k) { return (k * 3 + 15) / 16 * 16; }

typedef struct {
  int kind;
  ptrdiff_t d, k;
  const double *constants; /* log2 of weight and of the density at the mean */
  const void *means, *factors, *centres, *origin, *rotation;
  /* (k, k, d + 1) or NULL: from i to j, factors[j] times the unit vector along (means[i] -
     means[j]) factors[j]; at the end its product with means[j] */
  const void *directions;
} gaussian_mixture;

#define GAUSSIAN_LOOPS(real)                                                               \
  void (*gaussian)(const gaussian_mixture *g, ptrdiff_t n, ptrdiff_t ahead, const real *X, \
                   const real *weight, int32_t *labels, real *scratch, double *stats,      \
                   real *density, real *proba);

typedef struct {
  struct { GAUSSIAN_LOOPS(float) } f;
  struct { GAUSSIAN_LOOPS(double) } d;
} gaussian_loops;

extern const gaussian_loops *gaussian_table;

#endif
