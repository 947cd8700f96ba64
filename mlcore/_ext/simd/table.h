/* The vectorised loops, one table of them per instruction set; `simd_table()` picks at run time. */
#ifndef MLCORE_TABLE_H
#define MLCORE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Columns of one panel: samples side by side, feature by feature, so that a vector holds one feature of several
   samples. 256 bytes a feature: four 64-byte accumulators cover the latency of a fused multiply-add. */
enum { PANEL_BYTES = 256, PANEL_FLOAT = 64, PANEL_DOUBLE = 32 };

enum {
  KERNEL_LINEAR,
  KERNEL_POLYNOMIAL,
  KERNEL_RBF,
  KERNEL_SIGMOID,
  KERNEL_COSINE,
  KERNEL_LAPLACIAN,
  KERNEL_CHI2,
  KERNEL_RBF_DIFFERENCES /* rbf of few features, from differences: nothing cancels */
};

typedef struct {
  int kind;
  int degree;
  double gamma, coef0;
} kernel_spec;

/* A working set of the dual problem (see smo_loops.h): its variables are the slots in up to SPANS spans, each of
   group 0 or 1; other slots are not touched. */
enum { SPANS = 4 };
typedef struct {
  int n_spans, group[SPANS];
  int64_t begin[SPANS], end[SPANS];
  int64_t stride; /* between the rows of K */
  const void *K;
  void *G, *up, *low; /* gradient, and its offsets where a variable may rise or fall */
  const void *diagonal;
  double *beta;
  const double *lower, *upper;
  double epsilon, violation;
} smo_working_set;

/* Counts of words in documents, and rows of the tables of the aspect model (see latent_class_loops.h). */
typedef struct {
  ptrdiff_t stride; /* values of a padded row of each table */
  const int32_t *runs, *rows; /* of each entry: its run's own row (NULL: the first) and its member's */
  const void *counts;
  const void *own, *members;
  double *own_sums, *sums; /* sums, of the members, may be NULL */
} latent_class_entries;

/* Rows that wait to be copied, a part of a row at a time between other work: memory takes them meanwhile. */
typedef struct {
  ptrdiff_t rows, columns, from_stride, stride;
  ptrdiff_t at; /* values of the next row that are copied already */
  const void *from;
  void *out;
  const int64_t *dest; /* the rows of `out`, or NULL: one after the other */
} simd_copies;

/* A mixture of Gaussians and where its moments are taken (see gaussian_loops.h). Arrays of the samples' type, C order:
   means, from the origin, and centres (k, d); factors, with precision = factor factorᵀ: (k, d, d) upper triangular, (k, d)
   or (k,). Tied: means are those of (x - origin) rotation, rotation (d, d) upper triangular, factors 1. */
enum { GAUSSIAN_FULL, GAUSSIAN_TIED, GAUSSIAN_DIAGONAL, GAUSSIAN_SPHERICAL };
enum { GAUSSIAN_ROWS = 1024, GAUSSIAN_PIECE = 128 }; /* of a block; of the part of it whose second moments are taken at once */
enum { GAUSSIAN_PIECE_BYTES = 16384, GAUSSIAN_GROUP_BYTES = 131072 };
/* Panels whose densities are taken together: those that stay in the second cache. */
#define GAUSSIAN_PANELS(d)                                                 \
  ((d) * PANEL_BYTES * 2 > GAUSSIAN_GROUP_BYTES    ? 1                     \
   : (d) * PANEL_BYTES * 32 < GAUSSIAN_GROUP_BYTES ? 32                    \
                                                   : GAUSSIAN_GROUP_BYTES / ((d) * PANEL_BYTES))
/* Of so many features, moments are taken from the panels, which are all kept for them, and centres are from the origin. */
enum { GAUSSIAN_FEW = 12 };
#define GAUSSIAN_KEPT(kind, d) ((kind) == GAUSSIAN_FULL || (d) <= GAUSSIAN_FEW ? GAUSSIAN_PANELS(d) : 1)
#define GAUSSIAN_LISTS(k) (((k) * 3 + 15) / 16 * 16) /* values of scratch that hold k integers of 8 bytes and k of 4 */
typedef struct {
  int kind;
  ptrdiff_t d, k;
  const double *constants; /* log2 of weight and of the density at the mean */
  const void *means, *factors, *centres, *origin, *rotation;
  /* (k, k, d + 1) or NULL: from i to j, factors[j] times the unit vector along (means[i] - means[j]) factors[j]; at the end its
     product with means[j] */
  const void *apart;
} gaussian_mixture;
/* One pass of Lloyd's algorithm (k_means.pyx); arrays without a type are of the samples' precision. */
enum { LLOYD_GROUPS = 64, LLOYD_BATCH = 128, LLOYD_SCRATCH = 128 };
typedef struct {
  ptrdiff_t d, stride; /* features; between the rows of `bounds` */
  int n_groups, first;
  double slack;
  const void *X, *norms, *centers, *groups, *half_norms;
  const void *places;  /* the centre at each place of the groups, integers as wide as the values */
  const int32_t *home; /* the group of each centre */
  const double *weights;
  const float *away, *near, *drift, *apart;
  int32_t *labels;
  float *upper, *lower, *bounds;
  /* For lloyd_plain_loops.h: */
  ptrdiff_t n, k, width;                       /* samples in X; centres with padding; between rows side by side */
  double error, farthest;                      /* relative rounding of a squared distance; the largest |c|^2 */
  double single_error, single_farthest;        /* the same in single precision, measured from `origin` */
  const float *single_centers, *single_halves; /* NULL: there is no screen */
  const double *origin;
  const float *passed, *limits;
  float *gaps; /* NULL: none are kept */
  int filtered;
} lloyd_pass;

/* Rows as lists of entries (a column, a value), and the log densities that the components of a mixture give them:
   start + sum of value * table[column]; `stride` components side by side, those beyond `n_components` at -infinity. */
typedef struct {
  ptrdiff_t n_components, stride;
  ptrdiff_t length;        /* entries of every row, where indptr is NULL */
  const int64_t *indptr;
  const int32_t *columns;
  const double *values;  /* NULL: all are 1 */
  const double *weights; /* of the rows; NULL: all are 1 */
  const double *start, *table;
  /* What the rows remember of the pass before, or NULL: components near the largest, in lines; a bound on the log densities
     of the others; and how far values of `start`, and of each row of `table`, have risen since at most. */
  uint64_t *near;
  double *bounds;
  double start_rise;
  const double *rises;
  const double *trials;
  /* The component that a row belongs to alone, or -1; sums of such rows are kept `held` values behind the others. Or NULL. */
  int32_t *alone;
  ptrdiff_t held;
  /* What components are certain of and rows lack, `start_lacks` plus the entries' values times `lacks`; or NULL: nothing. */
  const double *start_lacks, *lacks;
} sparse_rows;

/* What becomes of a row's responsibilities: lines of components to be added to the sums; and the component in whose held
   sums the row was, and is now, or < 0. */
typedef struct {
  uint64_t near;
  int32_t was, is;
} row_share;

/* Samples and their medoids (see medoid_loops.h); arrays without a type are of the samples' precision. What is in a row:
   distances, or distances to be squared; or inner products, and wanted are distances, their squares or their fourth powers. */
enum { MEDOID_VALUES, MEDOID_SQUARES, MEDOID_ROOTS, MEDOID_PRODUCTS, MEDOID_FOURTHS };
typedef struct {
  int form;
  ptrdiff_t n, k;
  const void *near, *second; /* what the nearest and the next medoid cost */
  const void *limits;        /* up to this value of its row, from it less half the candidate's norm for products, it takes part */
  const void *norms;         /* squared, for products */
  const double *weights;     /* NULL: all are 1 */
  const int32_t *labels;
  const double *removal; /* by slot: what it would cost to remove the medoid */
} medoid_pass;

/* Agglomerative clustering (see linkage_loops.h). A minimum spanning tree as it grows: what is not yet in it has places,
   panels of 64 side by side, in which a screen of `m` coordinates a sample shows distances in single precision. Places
   have a squared length to the nearest sample in the tree, and a limit on the screen within which there may be a nearer. */
typedef struct {
  ptrdiff_t left, last, d, m; /* places; the sample that joined last; features; coordinates on the screen */
  double slack, growth;       /* by how much, and how many times, a length on the screen may be too long */
  const double *X;
  float *panels, *query, *limit; /* padded to whole panels; limits there are infinite */
  double *key;
  int64_t *nearest, *name; /* the sample in the tree; the sample at the place */
  int32_t *found;
} span_tree;

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
  /* Padded. Ward: 1 / size. Else the mean square of the points' distances from the centre; and the largest distance. */
  const double *spread, *radius;
} cluster_set;

/* Clusters by a symmetric matrix of their distances, infinite on its diagonal; `m` rows, of which `left` are not `gone`
   (infinity, else 0). Arrays are as long as a row. In a round `next` pairs become one cluster each, `first` and `second` of na
   and nb samples, that are `apart`; rows before `at` are formed. */
typedef struct {
  int kind;
  ptrdiff_t m, stride, left, next, at;
  double *D, *gone, *size, *value;
  int32_t *nearest, *first, *second;
  uint8_t *stale;
  int64_t *name;
  double *na, *nb, *apart;
  double *row, *both, *x, *y; /* scratch */
} cluster_matrix;

enum { MIX_BATCH = 16, BIT_GROUP = 4 };

/* What a pass over a symmetric matrix sums up (see symmetric_loops.h), T_ij = K_ij + u_i + u_j: K_ij x_j; the positive T_ij,
   and their squares; x_j where T_ij is positive. */
enum { SYMMETRIC_PRODUCT, SYMMETRIC_POSITIVE, SYMMETRIC_ACTIVE };

#define LOOPS(real)                                                                                                  \
  /* out[dest[r], :lanes] = k(row r, column of the panel), for `n_rows` rows given as lists of non-zeros; in between,  \
     rows of waiting[0] and then waiting[1] are copied */                                                             \
  void (*panel)(const kernel_spec *k, ptrdiff_t d, ptrdiff_t n_rows, const int64_t *rows, const int64_t *indptr,                   \
                const int32_t *indices, const real *values, const real *row_terms, const real *panel,                 \
                const real *column_terms, int lanes, real *out, ptrdiff_t stride, const int64_t *dest,                  \
                simd_copies *waiting);                                                                                \
  void (*transpose)(const real *from, ptrdiff_t from_stride, ptrdiff_t rows, ptrdiff_t columns, real *to,            \
                    ptrdiff_t to_stride);                                                                             \
  /* all that waits; `past` the caches where the target is too large for them */                                      \
  void (*copy)(simd_copies *waiting, int past);                                                                        \
  /* in place: inner products -> kernel values, one row */                                                            \
  void (*finish)(const kernel_spec *k, ptrdiff_t n, real row_term, const real *column_terms, real *row);              \
  void (*exponential)(ptrdiff_t n, const real *x, real *y);                                                           \
  /* g[j] += sum_r a[r] rows[slots[r], j] for j in [start, stop) */                                                   \
  void (*accumulate)(ptrdiff_t n_rows, const int64_t *slots, const double *a, const real *rows, ptrdiff_t stride,     \
                     ptrdiff_t start, ptrdiff_t stop, double *g);                                                     \
  int64_t (*smo)(smo_working_set *s, double tol, int64_t max_steps);                                                 \
  void (*gaussian)(const gaussian_mixture *g, ptrdiff_t n, ptrdiff_t ahead, const real *X, const real *weight,         \
                   int32_t *labels, real *scratch, double *stats, real *density, real *proba);                                          \
  double (*latent_class)(const latent_class_entries *s, ptrdiff_t first, ptrdiff_t last);                               \
  int64_t (*bits)(ptrdiff_t d, const real *x, const uint8_t *usual, real threshold, uint8_t *codes, int64_t *missing,  \
                  int *others);                                                                                       \
  /* samples start..stop of a pass; `values` is scratch, LLOYD_BATCH times the places */                              \
  void (*lloyd)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, real *values, double *sums, double *counts,     \
                int64_t *changed);                                                                                    \
  /* the same, every centre compared; `scratch` is LLOYD_SCRATCH times the width */                                \
  void (*lloyd_plain)(const lloyd_pass *s, ptrdiff_t start, ptrdiff_t stop, real *scratch, double *sums,              \
                      double *counts, int64_t *tally, float *longest);                                                \
  void (*own_distances)(ptrdiff_t d, ptrdiff_t n, const real *X, const real *centers, const int32_t *labels,          \
                        double *out);                                                                                 \
  void (*seed)(ptrdiff_t d, ptrdiff_t n, ptrdiff_t n_candidates, const real *X, const real *candidates,               \
               const double *weights, real *nearest, real *panel, double *potentials);                               \
  /* change of the objective if the sample `self`, whose row is given, took the place of the medoid in `slot`, the best;     \
     `losses` is scratch, 4 k */                                                                                         \
  double (*medoid_change)(const medoid_pass *s, const real *row, ptrdiff_t self, double *losses, int32_t *slot);                                                        \
  /* a tile against its mirrored one, and its sums (see scaling_loops.h) */                                             \
  void (*mirrored)(ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t diagonal, const real *K, ptrdiff_t stride,         \
                  const real *turned, ptrdiff_t turned_stride, double close, double *rows, double *columns,           \
                  double *extremes);                                                                                  \
  /* out = x_i K x_j in 16 bits, rows first..last up to the diagonal */                                                 \
  void (*shorten)(ptrdiff_t first, ptrdiff_t last, const real *K, ptrdiff_t stride, const double *x, uint16_t *out);     \
  void (*rescale)(int shift, ptrdiff_t n_rows, ptrdiff_t n_columns, const real *K, ptrdiff_t stride,                   \
                  const double *x_rows, const double *x, real *out, ptrdiff_t out_stride);                              \
  /* what rows first..last of the lower triangle give to themselves and, mirrored, to the rows 0..last */               \
  void (*symmetric)(int mode, ptrdiff_t first, ptrdiff_t last, const real *K, ptrdiff_t stride, const double *x,        \
                    const double *u, double *rows, double *columns, double *squares);                                   \
  void (*product)(ptrdiff_t n_rows, ptrdiff_t n, const real *K, ptrdiff_t stride, const double *V, ptrdiff_t width,   \
                  double *out);

typedef struct { LOOPS(float) } simd_loops_float;
typedef struct { LOOPS(double) } simd_loops_double;
typedef struct {
  simd_loops_float f;
  simd_loops_double d;
  /* Responsibilities r of rows [first, last): totals[0] += r, totals[1] += trials r, sums[column] += value r, unless
     `sums` is NULL. Returns the log-likelihood. `log_density` and `out` (responsibilities) may be NULL; `batch` is scratch, MIX_BATCH strides. */
  double (*expect)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch, double *sums, double *totals,
                   double *log_density, double *out);
  /* The same in two steps: up to MIX_BATCH rows without the sums by column; then the sums of columns [left, right) from
     any number of rows whose `batch` and `shares` lie side by side. Entries are in order of their columns. */
  double (*responsibilities)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch, row_share *shares,
                             double *totals);
  void (*add_rows)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, const double *batch, const row_share *shares,
                   ptrdiff_t left, ptrdiff_t right, double *sums);
  void (*mixture_table)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride, const double *p,
                        ptrdiff_t p_stride, const double *end, int logarithms, double *table, double *rises);
  void (*mixture_shares)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride, const double *counts,
                         ptrdiff_t counts_stride, const double *end, double alpha, const double *trials,
                         ptrdiff_t trials_stride, double *table);
  void (*mixture_advance)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t stride, ptrdiff_t tables, ptrdiff_t kinds,
                          ptrdiff_t size, double alpha, const double *rates, double *sums, double *p, double *table,
                          double *rises);
  /* the same product, of a matrix that was shortened */
  void (*symmetric_short)(int mode, ptrdiff_t first, ptrdiff_t last, const uint16_t *K, ptrdiff_t stride,
                          const float *x, const float *u, float *rows, float *columns, float *squares);
  ptrdiff_t (*grow_tree)(span_tree *t, ptrdiff_t steps, int64_t *edges, double *lengths);
  void (*nearest_clusters)(const cluster_set *s, ptrdiff_t n_queries, const int64_t *queries, int32_t *found,
                           double *squares, int64_t *nearest, double *value);
  void (*cluster_row)(const cluster_set *s, const double *point_panels, ptrdiff_t a, double *sums, double *row);
  void (*square_tile)(ptrdiff_t d, ptrdiff_t rows, ptrdiff_t n_panels, const double *X, const double *panels,
                      ptrdiff_t stride, double *tile);
  ptrdiff_t (*merge_nearest)(cluster_matrix *s, int64_t *merged, double *heights);
  double (*apart)(ptrdiff_t d, const double *x, const double *y);
  const char *name;
} simd_loops;

const simd_loops *simd_table(void);

#endif
