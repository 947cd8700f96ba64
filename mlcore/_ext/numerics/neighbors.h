/* Nearest neighbours of points (see neighbors.c). */
#ifndef MLCORE_NEIGHBORS_H
#define MLCORE_NEIGHBORS_H

#include "numerics/kd_tree.h"

#include <stddef.h>
#include <stdint.h>

enum { NEIGHBOR_FEATURES = 16 }; /* of a k-d tree, at most */

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
} neighbors_loops;

extern const neighbors_loops *neighbors_table;

#endif
