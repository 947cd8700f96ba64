/* EM over rows as lists of entries, for mixtures of discrete distributions (see mixture.c). */
#ifndef MLCORE_SPARSE_E_STEP_H
#define MLCORE_SPARSE_E_STEP_H

#include <stddef.h>
#include <stdint.h>

enum { MIX_BATCH = 16 };

/* Rows as lists of entries (a column, a value), and the log densities that the components of a
   mixture give them: start + sum of value * table[column]; `stride` components side by side, those
   beyond `n_components` at -infinity. */
typedef struct {
  ptrdiff_t n_components, stride;
  ptrdiff_t length; /* entries of every row, where indptr is NULL */
  const int64_t *indptr;
  const int32_t *columns;
  const double *values;  /* NULL: all are 1 */
  const double *weights; /* of the rows; NULL: all are 1 */
  const double *start, *table;
  /* From the pass before, or NULL: for each row the lines of components near the largest, and a
     bound on the log densities of the others; the largest rise since then of a value of `start`,
     and of each row of `table`. */
  uint64_t *near;
  double *bounds;
  double start_rise;
  const double *rises;
  const double *row_totals; /* of each row, or NULL */
  /* The component that a row is hard-assigned to, or -1; sums of such rows are kept `hard_sums`
     values behind the others. NULL: no row is. */
  int32_t *hard;
  ptrdiff_t hard_sums;
  /* The number of features with probability 1 that the row does not have is `start_impossible` plus
     the sum of value * impossible[column]: any makes it impossible. NULL: there are none. */
  const double *start_impossible, *impossible;
} sparse_rows;

/* The lines of components that a row's responsibilities are added to; and the component that it was
   hard-assigned to, and is now, or < 0. */
typedef struct {
  uint64_t near;
  int32_t was, is;
} row_assignment;

typedef struct {
  /* Responsibilities r of rows [first, last): totals[0] += r, totals[1] += row_totals r,
     sums[column] += value r, unless `sums` is NULL. Returns the log-likelihood. `log_density` and `out`
     (responsibilities) may be NULL; `batch` is scratch, MIX_BATCH strides. */
  double (*expect)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch,
                   double *sums, double *totals, double *log_density, double *out);
  /* The same in two steps: up to MIX_BATCH rows without the sums by column; then the sums of
     columns [left, right) from any number of rows whose `batch` and `assignments` lie side by side.
     Entries are in order of their columns. */
  double (*responsibilities)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch,
                             row_assignment *assignments, double *totals);
  void (*add_rows)(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, const double *batch,
                   const row_assignment *assignments, ptrdiff_t left, ptrdiff_t right,
                   double *sums);
  void (*fill_rows)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride, const double *p,
                    ptrdiff_t p_stride, const double *end, int logarithms, double *table,
                    double *rises);
  void (*smooth_rows)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride,
                      const double *counts, ptrdiff_t counts_stride, const double *end,
                      double alpha, const double *totals, ptrdiff_t totals_stride, double *table);
  void (*advance_rows)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t stride, ptrdiff_t tables,
                       ptrdiff_t kinds, ptrdiff_t size, double alpha, const double *rates,
                       double *sums, double *p, double *table, double *rises);
} sparse_e_step_loops;

extern const sparse_e_step_loops *sparse_e_step_table;

#endif
