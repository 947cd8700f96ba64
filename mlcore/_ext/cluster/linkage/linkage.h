/* Agglomerative clustering (see linkage.c). */
#ifndef MLCORE_LINKAGE_H
#define MLCORE_LINKAGE_H

#include <stddef.h>
#include <stdint.h>

enum {
  LINKAGE_SINGLE,
  LINKAGE_COMPLETE,
  LINKAGE_AVERAGE,
  LINKAGE_WEIGHTED,
  LINKAGE_WARD, /* this and what follows merge squared distances */
  LINKAGE_CENTROID,
  LINKAGE_MEDIAN
};
enum { LINKAGE_QUERIES = 8 };

/* Clusters by their points, those of one together, and centres, also as padded panels. */
typedef struct {
  int kind; /* average, complete or Ward */
  ptrdiff_t n, d;
  double slack; /* by how much distances of centres may be off */
  const int64_t *start;
  const double *points, *centres, *panels;
  /* Padded. Ward: 1 / size. Else the mean square of the points' distances from the centre; and the
     largest distance. */
  const double *variance, *radius;
} cluster_set;

/* Clusters by a symmetric matrix of their distances, infinite on its diagonal; `m` rows, of which
   `left` are not `gone` (infinity, else 0). Arrays are as long as a row. In a round `next` pairs
   become one cluster each, `first` and `second` of na and nb samples, at `distance`; rows before
   `at` are formed. */
typedef struct {
  int kind;
  ptrdiff_t m, stride, left, next, at;
  double *D, *gone, *size, *value;
  int32_t *nearest, *first, *second;
  uint8_t *stale;
  int64_t *name;
  double *na, *nb, *distance;
  double *row, *both, *x, *y; /* scratch */
} cluster_matrix;

typedef struct {
  void (*nearest_clusters)(const cluster_set *s, ptrdiff_t n_queries, const int64_t *queries,
                           int32_t *found, double *squares, int64_t *nearest, double *value);
  void (*cluster_row)(const cluster_set *s, const double *point_panels, ptrdiff_t a, double *sums,
                      double *row);
  void (*square_tile)(ptrdiff_t d, ptrdiff_t rows, ptrdiff_t n_panels, const double *X,
                      const double *panels, ptrdiff_t stride, double *tile);
  ptrdiff_t (*merge_nearest)(cluster_matrix *s, int64_t *merged, double *heights);
} linkage_loops;

extern const linkage_loops *linkage_table;

#endif
