/* Minimum spanning trees of points of few features (see spanning_tree.c). */
#ifndef MLCORE_SPANNING_TREE_H
#define MLCORE_SPANNING_TREE_H

#include <stddef.h>
#include <stdint.h>

enum { TREE_LEAF = 32, TREE_FEATURES = 10 }; /* points of a leaf; the most features */

/* A k-d tree of points in its order, one panel to a leaf, padded with infinity. Nodes are in
   preorder: the left child is the next; a box is its d least coordinates and its d largest.
   Components have numbers 0, 1, ... */
typedef struct {
  ptrdiff_t leaves, d;
  const double *panels, *boxes;
  const int64_t *right;             /* child of a node; of a leaf, its number, from -1 down */
  const int64_t *node;              /* of a leaf */
  const int64_t *component, *whole; /* of a point; of all points of a node, or -1 */
  /* squared distance of a point within which there is no other component */
  double *bound;
  /* squared length of the shortest edge so far that leaves a component */
  double *best;
  int64_t *source, *target; /* its ends, the first of them in the component */
} point_tree;

/* A minimum spanning tree as it grows: what is not yet in it has places, panels of 64 side by side,
   in which a screen of `m` coordinates a sample shows distances in single precision. Places have a
   squared length to the nearest sample in the tree, and a limit on the screen within which there
   may be a nearer. */
typedef struct {
  /* places; the sample that joined last; features; coordinates on the screen */
  ptrdiff_t left, last, d, m;
  /* by how much, and how many times, a length on the screen may be too long */
  double slack, growth;
  const double *X;
  float *panels, *query, *limit; /* padded to whole panels; limits there are infinite */
  double *key;
  int64_t *nearest, *name; /* the sample in the tree; the sample at the place */
  int32_t *found;
} span_tree;

/* Shortest edges that leave the components, from the leaves first, first + 1, ... until much work
   is done; where it ended. */
typedef struct {
  ptrdiff_t (*nearest_others)(point_tree *t, ptrdiff_t first);
  ptrdiff_t (*grow_tree)(span_tree *t, ptrdiff_t steps, int64_t *edges, double *lengths);
} spanning_tree_loops;

extern const spanning_tree_loops *spanning_tree_table;

#endif
