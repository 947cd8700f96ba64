/* Scores, losses and gradients of logistic regression (see logistic.c). */
#ifndef MLCORE_LOGISTIC_PASS_H
#define MLCORE_LOGISTIC_PASS_H

#include <stddef.h>
#include <stdint.h>

/* Rows B (rows, width), parameters theta (c, width), scores Z and residuals R (rows, c); the width
   is a multiple of a vector's lanes. */
typedef struct {
  /* out = (x - shift) * scale */
  void (*copy_f)(ptrdiff_t d, const float *x, const double *shift, const double *scale,
                 double *out);
  void (*copy_d)(ptrdiff_t d, const double *x, const double *shift, const double *scale,
                 double *out);
  /* Z += B theta' */
  void (*scores)(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t c, const double *B, const double *theta,
                 double *Z);
  /* The same with the parameters of a column side by side, by_class (columns, padded), where classes
     are padded to whole vectors. */
  void (*scores_by_class)(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t columns, ptrdiff_t c,
                          ptrdiff_t padded, const double *B, const double *by_class, double *Z);
  /* G += R' B */
  void (*gradient)(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t c, const double *B, const double *R,
                   double *G);
  /* sums += s' B and squares += s' B^2 */
  void (*moments)(ptrdiff_t rows, ptrdiff_t width, const double *B, const double *s, double *sums,
                  double *squares);
  /* Residuals s (p - y), for y = 0 or 1, and the roots of s p (1 - p) from scores z; `wrong` counts
     rows on the wrong side. Arrays are of 128 values, those beyond `rows` of weight 0. With `equal`
     all other weights are 1. */
  double (*binary)(ptrdiff_t rows, int equal, const double *z, const double *sign, const double *s,
                   double *r, double *root, ptrdiff_t *wrong);
  /* From scores Z of several classes, probabilities Z and residuals R; Z ends in whole vectors.
     `wrong` counts rows on the wrong side, `below` (rows,) is scratch. */
  double (*several)(ptrdiff_t rows, ptrdiff_t c, const int64_t *codes, const double *s, double *Z,
                    double *R, double *below, ptrdiff_t *wrong);
} logistic_pass_loops;

extern const logistic_pass_loops *logistic_pass_table;

#endif
