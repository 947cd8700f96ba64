/* Sums of rows by class, the values checked as they are added (see class_counts.c). */
#ifndef MLCORE_CLASS_COUNTS_H
#define MLCORE_CLASS_COUNTS_H

#include <stddef.h>
#include <stdint.h>

/* What of a row is added: its values, which are at least 0; the number of those above a threshold;
   zeros and ones. */
enum { COUNTS_SUM, COUNTS_ABOVE, COUNTS_BINARY };

/* Rows first..last of CSR, or of X (n, d), are added to those of their classes in table (c, d),
   times their weights, which are 1 if NULL. Marks (d,) and sums (d,), 0, are scratch of the last two
   kinds. The result is 0 if a row is refused, the table then
   being left in between: see class_counts.pyx for what is. */
#define COUNTS_SPARSE(name, real, index)                                                  \
  int (*name)(ptrdiff_t first, ptrdiff_t last, const real *data, const index *columns,    \
              const index *starts, ptrdiff_t n_entries, const intptr_t *codes,            \
              const double *weights, int kind, double threshold, real limit, ptrdiff_t d, \
              double *table, uint8_t *marks, double *sums);
#define COUNTS_DENSE(name, real)                                                          \
  int (*name)(ptrdiff_t first, ptrdiff_t last, const real *X, const intptr_t *codes,      \
              const double *weights, int kind, double threshold, real limit, ptrdiff_t d, \
              double *table);

typedef struct {
  COUNTS_SPARSE(sparse_f_int32, float, int32_t)
  COUNTS_SPARSE(sparse_f_int64, float, int64_t)
  COUNTS_SPARSE(sparse_d_int32, double, int32_t)
  COUNTS_SPARSE(sparse_d_int64, double, int64_t)
  COUNTS_SPARSE(sparse_l_int32, int64_t, int32_t)
  COUNTS_SPARSE(sparse_l_int64, int64_t, int64_t)
  COUNTS_DENSE(dense_f, float)
  COUNTS_DENSE(dense_d, double)
} class_counts_loops;

extern const class_counts_loops *class_counts_table;

#endif
