/* Rows that know the same features; included once per precision. */

#include "decomposition/probabilistic_factor.h"
#include "shared/precision.h"

/* z of a row from its differences r to the mean; returns |r - W z|^2 / noise + |z|^2. */
static double NAME(scores)(const probabilistic_model *m, ptrdiff_t q, const int64_t *at,
                           const double *M, const double *r, double *z) {
  const ptrdiff_t k = m->k;
  for (ptrdiff_t j = 0; j < k; j++) z[j] = 0;
  for (ptrdiff_t t = 0; t < q; t++) {
    const double *w = m->loadings + at[t] * k;
    for (ptrdiff_t j = 0; j < k; j++) z[j] += r[t] * w[j];
  }
  solve(k, 0, M, z);
  double off = 0, size = 0;
  for (ptrdiff_t t = 0; t < q; t++) {
    const double *w = m->loadings + at[t] * k;
    double rest = r[t];
    for (ptrdiff_t j = 0; j < k; j++) rest -= w[j] * z[j];
    off += rest * rest;
  }
  for (ptrdiff_t j = 0; j < k; j++) size += z[j] * z[j];
  return off / m->noise + size;
}

/* Add a row's products to the sums of features, and its (1, z) to the group's moments. */
static void NAME(add_row)(ptrdiff_t p, ptrdiff_t q, const int64_t *at, double w, const double *r,
                          const double *z, double *moments, const probabilistic_sums *sums) {
  for (ptrdiff_t i = 0; i < p; i++) {
    double *row = moments + i * (i + 1) / 2;
    const double c = w * z[i];
    for (ptrdiff_t j = 0; j <= i; j++) row[j] += c * z[j];
  }
  for (ptrdiff_t t = 0; t < q; t++) {
    double *product = sums->product + at[t] * p;
    const double c = w * r[t];
    for (ptrdiff_t j = 0; j < p; j++) product[j] += c * z[j];
    sums->squares[at[t]] += c * r[t];
  }
}

static int NAME(group)(const probabilistic_model *m, ptrdiff_t n, const int64_t *order,
                       const REAL *X, const double *weights, double *scratch, int64_t *at,
                       const probabilistic_sums *sums, double *density, REAL *imputed) {
  const ptrdiff_t d = m->d, k = m->k, p = k + m->centred, t = p * (p + 1) / 2;
  double *M = scratch, *z = M + k * k + 1, *column = z + k, *r = column + k, *moments = r + d;
  ptrdiff_t q = 0;
  for (ptrdiff_t f = 0; f < d; f++) {
    const REAL x = X[order[0] * d + f];
    at[q] = f;
    q += x == x;
  }
  const double log_det = factor_of(m, q, at, M);
  if (!(log_det == log_det)) return -1;
  /* logarithms: 2 pi to the number of features, noise to those that components do not span */
  const double constant =
      (double)q * 1.8378770664093454836 + (double)(q - k) * log(m->noise) + log_det;
  double mass = 0;
  z[-1] = 1;
  if (sums != NULL)
    for (ptrdiff_t i = 0; i < t; i++) moments[i] = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL *x = X + order[i] * d;
    for (ptrdiff_t f = 0; f < q; f++)
      r[f] = ((double)x[at[f]] - m->origin[at[f]]) * m->unit[at[f]] - m->mean[at[f]];
    const double log_density = -0.5 * (constant + NAME(scores)(m, q, at, M, r, z));
    if (density != NULL) density[i] = log_density;
    if (sums != NULL) {
      const double w = weights != NULL ? weights[order[i]] : 1;
      mass += w;
      sums->total[0] += w * log_density;
      NAME(add_row)(p, q, at, w, r, z - m->centred, moments, sums);
    }
    if (imputed == NULL) continue;
    for (ptrdiff_t f = 0; f < d; f++) {
      if (x[f] == x[f]) continue;
      double expected = m->mean[f];
      for (ptrdiff_t j = 0; j < k; j++) expected += m->loadings[f * k + j] * z[j];
      imputed[order[i] * d + f] = (REAL)(m->origin[f] + expected / m->unit[f]);
    }
  }
  if (sums != NULL) add_group(m, q, at, mass, M, column, moments, sums);
  return 0;
}
