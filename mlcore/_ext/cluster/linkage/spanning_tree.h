/* Minimum spanning trees of points (see spanning_tree.c).

   An edge is as long as the distance of its ends or, where points have cores, as the larger one of
   their cores if that is more: their mutual reachability. */
#ifndef MLCORE_SPANNING_TREE_H
#define MLCORE_SPANNING_TREE_H

#include "numerics/kd_tree.h"

#include <stddef.h>
#include <stdint.h>

enum { TREE_FEATURES = 16 }; /* at most */

/* A k-d tree whose points are in components 0, 1, ... */
typedef struct {
  kd_tree tree;
  const int64_t *component, *whole; /* of a point; of all points of a node, -1 if several */
  /* squared length of edges below which none leads from a point to another component */
  double *bound;
  const double *core, *least_core; /* squared, of a point and the least of a node; or NULL */
  /* squared length of the shortest edge so far that leaves a component */
  double *best;
  int64_t *source, *target; /* its ends, the first of them in the component */
} point_tree;

/* A minimum spanning tree as it grows. Samples outside it have places in panels of 64, with `m`
   coordinates each in single precision that screen distances. Each place has the squared length
   `key` to the nearest sample in the tree, and a `limit` on the screened squared length above which
   a new sample cannot be nearer. */
typedef struct {
  /* places; the sample that joined last; features; coordinates for screening */
  ptrdiff_t left, last, d, m;
  /* absolute and relative excess that a screened length may have */
  double slack, growth;
  const double *X, *core;        /* squared, of a sample; or NULL */
  float *panels, *query, *limit; /* padded to whole panels; limits there are infinite */
  double *key;
  int64_t *nearest, *name; /* the sample in the tree; the sample at the place */
  int32_t *found;
} span_tree;

/* `nearest_others`: shortest edges out of the components, from leaf `first` on, until a call's work
   is done; returns the next leaf. `grow_tree`: up to `steps` more edges; returns their number. */
typedef struct {
  ptrdiff_t (*nearest_others)(point_tree *t, ptrdiff_t first);
  ptrdiff_t (*grow_tree)(span_tree *t, ptrdiff_t steps, int64_t *edges, double *lengths);
} spanning_tree_loops;

extern const spanning_tree_loops *spanning_tree_table;

#endif
