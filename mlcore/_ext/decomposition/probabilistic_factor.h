/* Factors and moments that rows with the same known features share, in double precision. */
#ifndef MLCORE_PROBABILISTIC_FACTOR_H
#define MLCORE_PROBABILISTIC_FACTOR_H

#include <math.h>

#include "decomposition/probabilistic_pca.h"

/* Lower triangle by columns of the Cholesky factor of the k x k matrix M, in place; its log
   determinant, or NaN. */
static double factor(ptrdiff_t k, double *M) {
  double log_det = 0;
  for (ptrdiff_t j = 0; j < k; j++) {
    double *column = M + j * k;
    if (!(column[j] > 0)) return NAN;
    const double root = sqrt(column[j]);
    log_det += 2 * log(root);
    for (ptrdiff_t i = j; i < k; i++) column[i] /= root;
    for (ptrdiff_t l = j + 1; l < k; l++) {
      double *next = M + l * k;
      const double c = column[l];
      for (ptrdiff_t i = l; i < k; i++) next[i] -= c * column[i];
    }
  }
  return log_det;
}

/* b := M^-1 b by the factor; entries before `first` are 0. */
static void solve(ptrdiff_t k, ptrdiff_t first, const double *M, double *b) {
  for (ptrdiff_t j = first; j < k; j++) {
    const double *column = M + j * k;
    const double y = b[j] /= column[j];
    for (ptrdiff_t i = j + 1; i < k; i++) b[i] -= y * column[i];
  }
  for (ptrdiff_t j = k; j-- > 0;) {
    const double *column = M + j * k;
    double y = b[j];
    for (ptrdiff_t i = j + 1; i < k; i++) y -= column[i] * b[i];
    b[j] = y / column[j];
  }
}

/* The factor of M = noise I + W'W over q features, and ln det M. */
static double factor_of(const probabilistic_model *m, ptrdiff_t q, const int64_t *at, double *M) {
  const ptrdiff_t k = m->k;
  for (ptrdiff_t i = 0; i < k * k; i++) M[i] = 0;
  for (ptrdiff_t t = 0; t < q; t++) {
    const double *w = m->loadings + at[t] * k;
    for (ptrdiff_t j = 0; j < k; j++) {
      double *column = M + j * k;
      const double c = w[j];
      for (ptrdiff_t i = j; i < k; i++) column[i] += c * w[i];
    }
  }
  for (ptrdiff_t j = 0; j < k; j++) M[j * k + j] += m->noise;
  return factor(k, M);
}

/* Add the moments of (1, z) for all rows of a group to the sums of the features they know. */
static void add_group(const probabilistic_model *m, ptrdiff_t q, const int64_t *at, double mass,
                      const double *M, double *column, double *moments,
                      const probabilistic_sums *sums) {
  const ptrdiff_t k = m->k, c = m->centred, p = k + c, t = p * (p + 1) / 2;
  for (ptrdiff_t j = 0; j < k; j++) { /* the covariance noise M^-1 */
    for (ptrdiff_t i = 0; i < k; i++) column[i] = i == j;
    solve(k, j, M, column);
    for (ptrdiff_t i = j; i < k; i++)
      moments[(i + c) * (i + c + 1) / 2 + j + c] += mass * m->noise * column[i];
  }
  sums->total[1] += mass;
  for (ptrdiff_t i = 0; i < t; i++) sums->total[2 + i] += moments[i];
  for (ptrdiff_t f = 0; f < q; f++) {
    double *second = sums->second + at[f] * t;
    for (ptrdiff_t i = 0; i < t; i++) second[i] += moments[i];
  }
}

#endif
