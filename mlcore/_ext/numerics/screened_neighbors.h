/* Nearest neighbours of points with many features (see screened_neighbors.c). */
#ifndef MLCORE_SCREENED_NEIGHBORS_H
#define MLCORE_SCREENED_NEIGHBORS_H

#include <stddef.h>
#include <stdint.h>

enum { SCREEN_BLOCK = 64 }; /* queries searched together, and samples of a panel */

/* Samples and queries with their images on the screen, which are in an order of neighbourhoods:
   `order` and `query_order` are the rows of X and Q that they are of. */
typedef struct {
  ptrdiff_t n, d, m, panels, n_queries, k; /* m: coordinates on the screen */
  const void *X, *Q;                       /* double, or float if `single` */
  const int64_t *order, *query_order;
  const float *screen, *halves;               /* panels, and half squared norms; inf: padding */
  const float *center_panels, *center_halves; /* the same of the centres of the panels */
  const double *radius, *longest;             /* of each panel: about its centre; largest norm */
  const float *rows;                          /* the queries on the screen */
  double scale;                               /* of distances on the screen */
  double rounding; /* of half a squared distance there, in units of (|x| + |y|)² */
  int single;
  int lower;  /* distances on the screen are only lower bounds */
  int others; /* queries are the samples, each of which looks for other ones */
} screened_search;

/* `scratch_size`: values of each type that a search takes. `search_block`: the k nearest samples of
   a block of queries as rows of `indices` and `distances`; returns the pairs that the screen left
   to compare. With `local`, images are formed anew about the first query of the block: that takes
   about three times as long, and leaves few pairs of near rows far from the origin. */
typedef struct {
  ptrdiff_t (*scratch_size)(ptrdiff_t panels, ptrdiff_t m, ptrdiff_t k);
  ptrdiff_t (*search_block)(const screened_search *s, ptrdiff_t block, int local, double *reals,
                            int64_t *integers, int64_t *indices, double *distances);
} screened_neighbors_loops;

extern const screened_neighbors_loops *screened_neighbors_table;

#endif
