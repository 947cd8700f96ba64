/* Passes over a matrix whose rows and columns are scaled (see scaled_kernel_loops.h). */
#ifndef MLCORE_SCALED_KERNEL_H
#define MLCORE_SCALED_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* factors of a row with the sum t: (target / t)^power, or target t */
enum { SCALED_KERNEL_SOLVE, SCALED_KERNEL_WEIGHT };

enum { SCALED_KERNEL_EVIDENCE = 4 }; /* rows at once */

#define SCALED_KERNEL_LOOPS(real)                                                                             \
  /* sums t = K x of rows, and `columns` += K' factors */                                                     \
  void (*both_sides)(int mode, ptrdiff_t n_rows, ptrdiff_t m, const real *K, ptrdiff_t stride,                \
                     const double *x, const double *targets, double power, double *totals,                    \
                     double *factors, double *columns);                                                       \
  /* a = power (log target - log sum_j exp(scale (L_j - shift) + b_j)) of rows, and `columns` += exp(scale  \
     L + a + b); `row` holds m values */ \
  void (*log_rows)(ptrdiff_t n_rows, ptrdiff_t m, const real *L, ptrdiff_t stride, double scale,              \
                   double shift, const double *b, const double *log_targets, double power,                    \
                   double *a, double *row, double *columns);                                                  \
  /* P = a K b of a row, or with `logs` exp(scale (K - shift) + a + b); adds sum P log K to `logarithm` */    \
  void (*scaled_row)(int logs, ptrdiff_t m, const real *K, double scale, double shift, double a,              \
                     const double *b, double *P, double *logarithm);                                          \
  void (*narrow_row)(ptrdiff_t m, const double *P, real *out);

typedef struct {
  struct { SCALED_KERNEL_LOOPS(float) } f;
  struct { SCALED_KERNEL_LOOPS(double) } d;
  /* of a matrix of 16 bits (`shorten` in scaling.h) */
  void (*both_sides_short)(int mode, ptrdiff_t n_rows, ptrdiff_t m, const uint16_t *K,
                           ptrdiff_t stride, const float *x, const double *targets, double power,
                           double *totals, double *factors, float *columns);
  /* of rows P, at most SCALED_KERNEL_EVIDENCE: totals, largest entries, x = (target - total - P y) /
     total, and q += P'1, image += P'x */
  void (*evidence)(ptrdiff_t n_rows, ptrdiff_t m, const double *P, const double *y,
                   const double *targets, double *totals, double *x, double *largest, double *q,
                   double *image);
} scaled_kernel_loops;

extern const scaled_kernel_loops *scaled_kernel_table;

#endif
