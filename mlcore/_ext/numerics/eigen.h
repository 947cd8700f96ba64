/* A basis times few vectors (see eigen.c). */
#ifndef MLCORE_EIGEN_H
#define MLCORE_EIGEN_H

#include <stddef.h>

/* Rows of the basis V (m, n) and blocks of width 4 or 8: C (m, width) = V W, and W (n, width) less
   V'C, of its rows from `first` to `last`. Of two blocks of width 4, C (m, 8). */
typedef struct {
  void (*rows_along)(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, ptrdiff_t width,
                     double *C);
  void (*both_along)(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, const double *U,
                     double *C);
  void (*less_rows)(ptrdiff_t m, ptrdiff_t n, const double *V, const double *C, ptrdiff_t width,
                    ptrdiff_t first, ptrdiff_t last, double *W);
} eigen_loops;

extern const eigen_loops *eigen_table;

#endif
