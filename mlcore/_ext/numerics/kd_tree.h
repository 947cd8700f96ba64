/* K-d trees of points (kd_tree.pyx), and searches on them (kd_tree.c). */
#ifndef MLCORE_KD_TREE_H
#define MLCORE_KD_TREE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KD_LEAF = 32,    /* points in a leaf */
  KD_FEATURES = 14 /* of a search, at most */
};

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

/* Queries in panels like those of a k-d tree of samples; `order` is that of the samples. */
typedef struct {
  kd_tree tree;
  ptrdiff_t n, n_queries;
  const int64_t *order;
  const double *queries;
  const int64_t *query_order;
  int others; /* queries are the samples, each of which looks for other ones */
} tree_search;

/* `room`: places of a list for k. `search_leaf`: the k nearest samples of the queries of one panel,
   in order of distance, then of row, as rows of `indices` and `distances` (n_queries, k); returns
   the panels visited. Scratch: KD_LEAF times room(k) + 1 values of each type. */
typedef struct {
  ptrdiff_t (*room)(ptrdiff_t k);
  ptrdiff_t (*search_leaf)(const tree_search *s, ptrdiff_t panel, ptrdiff_t k, double *squares,
                           int64_t *rows, int64_t *indices, double *distances);
} kd_tree_loops;

extern const kd_tree_loops *kd_tree_table;

#endif
