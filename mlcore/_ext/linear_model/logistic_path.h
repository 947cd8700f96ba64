/* Sums of logistic regression over rows whose columns lie one beside the other, for few columns. */
#ifndef MLCORE_LOGISTIC_PATH_H
#define MLCORE_LOGISTIC_PATH_H

#include <stddef.h>

/* Rows of a block; their number is also what the rows of all vectors are filled up to. */
enum { PATH_ROWS = 256 };

/* X (blocks, width, PATH_ROWS), the width a multiple of 4; all vectors of rows (blocks PATH_ROWS),
   of weight s = 0 beyond the last. The class of a row is its sign, ±1. */
typedef struct {
  /* Scores z at theta (width,) and intercept b, curvatures h = s p (1 - p), and sums (2, width + 1)
     := of r x and of h x, for residuals r = s (p - y), the last column that of r and h alone.
     Returns the loss. With `equal` all weights but 0 are 1. r: scratch of PATH_ROWS. */
  double (*sums)(ptrdiff_t blocks, ptrdiff_t width, const double *X, const double *theta, double b,
                 int equal, const double *sign, const double *s, double *z, double *h, double *r,
                 double *sums);
  /* H (width, width) += sum of h x x', its upper triangle and some values below it.
     work: (width, PATH_ROWS) */
  void (*hessian)(ptrdiff_t blocks, ptrdiff_t width, const double *X, const double *h, double *work,
                  double *H);
  /* out[0] := sum of s (1 - p) / p of rows whose own class has a probability p >= 1/64, and
     out[1] := sum of s ln(1 / p) of the others, at least. */
  void (*entropies)(ptrdiff_t blocks, const double *z, const double *sign, const double *s,
                    double *out);
  /* A (n, width), of which the upper triangle is given, := U with U'U = A; pivots below 1e-14 of
     what they were are raised to that, and solutions are 0 where they were 0. */
  void (*factor)(ptrdiff_t n, ptrdiff_t width, double *A);
  /* x := (U'U)^-1 x */
  void (*solve)(ptrdiff_t n, ptrdiff_t width, const double *U, double *x);
} logistic_path_loops;

extern const logistic_path_loops *logistic_path_table;

#endif
