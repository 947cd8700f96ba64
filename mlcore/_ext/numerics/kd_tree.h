/* K-d trees of points (kd_tree.pyx). */
#ifndef MLCORE_KD_TREE_H
#define MLCORE_KD_TREE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { KD_LEAF = 32 }; /* points in a leaf */

/* Points in the order of the leaves, one panel each, padded with infinity. Nodes are in preorder:
   the left child is the next; a box is its d least, then d largest values. */
typedef struct {
  ptrdiff_t leaves, d;
  const double *panels, *boxes;
  const int64_t *right; /* child of a node; of a leaf, its number, from -1 down */
  const int64_t *node;  /* of a leaf */
} kd_tree;

/* Squared distance of two boxes. */
static inline double box_square(ptrdiff_t d, const double *a, const double *b) {
  double sum = 0;
  for (ptrdiff_t f = 0; f < d; f++) {
    const double under = a[f] - b[d + f], over = b[f] - a[d + f];
    double gap = under > over ? under : over;
    gap = 0.5 * (gap + fabs(gap)); /* at least 0: exact, and no jump to guess */
    sum += gap * gap;
  }
  return sum;
}

#endif
