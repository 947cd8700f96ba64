/* Sparse rows times a table, checked as they are read (see sparse_scores.c). */
#ifndef MLCORE_SPARSE_SCORES_H
#define MLCORE_SPARSE_SCORES_H

#include <stddef.h>
#include <stdint.h>

/* What of an entry counts: its value; its value, at least 0; 1 if it is above a threshold; its
   value, 0 or 1. */
enum { SCORES_VALUE, SCORES_COUNT, SCORES_ABOVE, SCORES_BINARY };
/* Values of the block of scores that a call works on, and one row more. */
enum { SCORES_BLOCK = 2048 };

/* out (., k) of rows from `first` to `last` = start (width,) + the rows times table (d, width), of
   which the columns from k on are padding to a multiple of 4, or their softmax. `block` has
   SCORES_BLOCK + width values; present (d / 64 + d / 4096 + 2,) and sums (2 d,), both 0 at first,
   and order (d,) are scratch. The result is 0 if a row is refused: see sparse_scores.pyx for what
   is. */
#define SCORES(name, real, index)                                                                  \
  int (*name)(ptrdiff_t first, ptrdiff_t last, const real *data, const index *columns,             \
              const index *starts, ptrdiff_t n_entries, int kind, double threshold, double limit,  \
              ptrdiff_t d, const double *table, const double *start, ptrdiff_t k, ptrdiff_t width, \
              int softmax, double *block, uint64_t *present, double *sums, index *order,           \
              double *out);

typedef struct {
  SCORES(scores_f_int32, float, int32_t)
  SCORES(scores_f_int64, float, int64_t)
  SCORES(scores_d_int32, double, int32_t)
  SCORES(scores_d_int64, double, int64_t)
  SCORES(scores_l_int32, int64_t, int32_t)
  SCORES(scores_l_int64, int64_t, int64_t)
} sparse_scores_loops;

extern const sparse_scores_loops *sparse_scores_table;

#endif
