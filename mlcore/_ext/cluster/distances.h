/* Distances from inner products or from differences, and sums of distances. */
#ifndef MLCORE_DISTANCES_H
#define MLCORE_DISTANCES_H

#include <stddef.h>

/* `distances`: in place, -2 x.y of one x with n of the y become |x - y|, or its square; -1 where
   the square is less than `near` (|x|^2 + |y|^2) and has lost digits; returns the number of these.
   `add`: weighted sums of a tile over its columns, for each row, `k` values apart in memory, and
   over its rows, for each column. `differences`: rows first..last, at most 8, of the n x n matrix
   of |x_i - x_j|, or of its squares, from column `first` on, added up in double precision; returns
   the largest. `columns` holds the features of the x_i as rows of `stride`
   values, of which n and a vector's length can be read. `squared_distance`: |x - y|^2 of two
   samples. */
#define DISTANCES_LOOPS(real)                                                                   \
  ptrdiff_t (*distances)(ptrdiff_t n, real x_norm, const real *y_norms, real near, int squared, \
                         real *row);                                                            \
  void (*add)(ptrdiff_t rows, ptrdiff_t columns, const real *tile, ptrdiff_t stride,            \
              const double *row_weights, const double *column_weights, ptrdiff_t k,             \
              double *row_sums, double *column_sums);                                           \
  double (*differences)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t n, ptrdiff_t d,              \
                        const real *columns, ptrdiff_t stride, int squared, real *out);

typedef struct {
  struct { DISTANCES_LOOPS(float) } f;
  struct { DISTANCES_LOOPS(double) } d;
  double (*squared_distance)(ptrdiff_t d, const double *x, const double *y);
} distances_loops;

extern const distances_loops *distances_table;

#endif
