/* Envelopes of losses at the residuals of all rows (see band_newton.pyx). */
#ifndef MLCORE_BAND_NEWTON_H
#define MLCORE_BAND_NEWTON_H

#include <stddef.h>

/* All vectors have n values. */
typedef struct {
  /* sums[0] := sum of -beta q and sums[1] := that of sigma q² of rows in the band, at residuals
     e - t q. Of every `stride`-th vector of rows, or, if that is 1, of all. */
  void (*slope)(ptrdiff_t n, ptrdiff_t stride, const double *e, const double *q,
                const double *offset, const double *sigma, const double *lower, const double *upper,
                double eps, double t, double *sums);
  /* Sets beta and the band, 1 or 0; sums[0] := sum of envelopes, and sums[1] := that of beta. */
  void (*evaluate)(ptrdiff_t n, const double *e, const double *offset, const double *sigma,
                   const double *lower, const double *upper, double eps, double *beta, char *band,
                   double *sums);
  /* sums[0] := sum of plain losses at e, and sums[1] := that of their brackets with beta. */
  void (*plain_gap)(ptrdiff_t n, const double *e, const double *beta, const double *lower,
                    const double *upper, double eps, double *sums);
} band_newton_loops;

extern const band_newton_loops *band_newton_table;

#endif
