/* EM of probabilistic principal components over known values (see probabilistic_pca.c). */
#ifndef MLCORE_PROBABILISTIC_PCA_H
#define MLCORE_PROBABILISTIC_PCA_H

#include <stddef.h>
#include <stdint.h>

/* x_f is mean_f + W_f z + noise, all of (x - origin) unit; z is standard normal, (k,). */
typedef struct {
  ptrdiff_t d, k;
  int centred; /* whether the mean is a parameter: moments are of (1, z), not of z */
  double noise;
  const double *loadings, *mean, *origin, *unit; /* W (d, k); (d,) */
} probabilistic_model;

/* Sums over rows, with p = k + centred and t = p (p + 1) / 2, lower triangles by rows. */
typedef struct {
  double *total;   /* (2 + t): log density, weight, second moments of z */
  double *second;  /* (d, t): the moments of the rows that know a feature */
  double *product; /* (d, p): x less its mean times these */
  double *squares; /* (d,): of x less its mean */
} probabilistic_sums;

#define PROBABILISTIC_LOOPS(real)                                                               \
  /* Rows order[0..n) of X, which know the same features; NULL where an output is not wanted: \
     sums, log densities (by place in `order`), rows with what is expected for NaN. `weights` \
     is NULL for ones; `scratch` holds k k + 2 k + 1 + d + t values, `at` d. Returns -1    \
     where the noise is too small for a factor. */ \
  int (*group)(const probabilistic_model *m, ptrdiff_t n, const int64_t *order, const real *X,  \
               const double *weights, double *scratch, int64_t *at,                             \
               const probabilistic_sums *sums, double *density, real *imputed);

typedef struct {
  struct { PROBABILISTIC_LOOPS(float) } f;
  struct { PROBABILISTIC_LOOPS(double) } d;
} probabilistic_pca_loops;

extern const probabilistic_pca_loops *probabilistic_pca_table;

#endif
