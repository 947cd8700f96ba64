/* Sparse rows times vectors of several classes, both ways (see class_rows.c). */
#ifndef MLCORE_CLASS_ROWS_H
#define MLCORE_CLASS_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* A row has `count` values x in some columns. Of c classes, V and out are (., c), z is (c,):
   scores      z += the sum of x V[column], from = V, to = z
   add         out[column] += x z, from = z, to = out
   add_squares out[column] += x^2 z, from = z, to = out */
#define ROW(name, real, index)                                                    \
  void (*name)(ptrdiff_t count, const real *x, const index *columns, ptrdiff_t c, \
               const double *from, double *to);

typedef struct {
  ROW(scores_f_int32, float, int32_t)
  ROW(scores_f_int64, float, int64_t)
  ROW(scores_d_int32, double, int32_t)
  ROW(scores_d_int64, double, int64_t)
  ROW(add_f_int32, float, int32_t)
  ROW(add_f_int64, float, int64_t)
  ROW(add_d_int32, double, int32_t)
  ROW(add_d_int64, double, int64_t)
  ROW(add_squares_f_int32, float, int32_t)
  ROW(add_squares_f_int64, float, int64_t)
  ROW(add_squares_d_int32, double, int32_t)
  ROW(add_squares_d_int64, double, int64_t)
} class_rows_loops;

extern const class_rows_loops *class_rows_table;

#endif
