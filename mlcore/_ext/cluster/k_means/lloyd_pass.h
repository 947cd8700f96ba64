/* Arguments of one pass of Lloyd's algorithm, for both of its loops. */
#ifndef MLCORE_LLOYD_PASS_H
#define MLCORE_LLOYD_PASS_H

#include <stddef.h>
#include <stdint.h>
#include "shared/panel.h"

/* One pass of Lloyd's algorithm (nearest_center.pyx); arrays without a type are of the samples'
   precision. */
enum { LLOYD_GROUPS = 64, LLOYD_BATCH = 128, LLOYD_SCRATCH = 128, LLOYD_DEPTH = 128 };

/* Stride of rows side by side in the scratch of lloyd_plain.c, and the values of that scratch. */
static inline ptrdiff_t lloyd_width(ptrdiff_t d) {
  if (d >= 16) return d < LLOYD_DEPTH ? d : LLOYD_DEPTH;
  ptrdiff_t width = 1;
  while (width < d) width *= 2;
  return width;
}

static inline ptrdiff_t lloyd_scratch(ptrdiff_t d, ptrdiff_t k, ptrdiff_t bytes) {
  return LLOYD_SCRATCH * lloyd_width(d) + (d > LLOYD_DEPTH ? k * PANEL_BYTES / bytes : 0);
}

typedef struct {
  ptrdiff_t d, stride; /* features; between the rows of `bounds` */
  int n_groups, first;
  double slack;
  const void *X, *norms, *centers, *groups, *half_norms;
  const void *places;  /* the centre at each place of the groups, integers as wide as the values */
  const int32_t *home; /* the group of each centre */
  const double *weights;
  /* By label: the movement of its centre, the largest of any other, and half the distance to the
     nearest other centre. By group: the largest movement of its centres. */
  const float *own_moved, *others_moved, *half_gap, *group_moved;
  int32_t *labels;
  float *upper, *lower, *bounds;
  /* For lloyd_plain.c: */
  /* samples in X; centres with padding; stride of rows side by side */
  ptrdiff_t n, k, width;
  /* relative rounding of a squared distance; the largest |c|^2 */
  double error, farthest;
  /* the same in single precision, relative to `origin` */
  double single_error, single_farthest;
  const float *single_centers, *single_halves; /* NULL: no screening */
  const double *origin;
  const float *passed, *limits;
  float *gaps; /* NULL: none are kept */
  int filtered;
} lloyd_pass;

#endif
