/* The EM step of a mixture of Gaussians on rows with missing values (see correlated_rows.c). */
#ifndef MLCORE_CORRELATED_ROWS_H
#define MLCORE_CORRELATED_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { INCOMPLETE_BATCH = 16 }; /* rows that are taken together */

typedef struct {
  ptrdiff_t d, k, side;               /* side: d * d, or 0 if all components have one matrix */
  const double *log_weights, *halves; /* (k,); half the log determinant of each covariance */
  const double *means;                /* (k, d) */
  const double *covariances, *precisions, *factors; /* (k, d, d); precision = factor factor' */
  const uint8_t *poor; /* (k,): whether the covariance is too badly conditioned for its inverse */
  double added;        /* to variances by the M-step, which imputed values do not count */
} incomplete_mixture;

/* Values of scratch for a thread. */
static inline ptrdiff_t incomplete_scratch(ptrdiff_t k, ptrdiff_t d) {
  return (k * (d + 1) + 3 * d + 2) * INCOMPLETE_BATCH + 2 * d * d;
}

typedef struct {
  void (*batch)(const incomplete_mixture *g, ptrdiff_t n, const double *X, const double *weight,
                const int64_t *patterns, double *scratch, double *stats, double *density,
                double *proba, double *imputed);
} correlated_rows_loops;

extern const correlated_rows_loops *correlated_rows_table;

#endif
