/* Products of sparse rows with dense columns, the nearest column, and means of rows (see
   sparse_assignment.c). */
#ifndef MLCORE_SPARSE_ASSIGNMENT_H
#define MLCORE_SPARSE_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

/* Columns of a cache line, of doubles and of floats; rows of a batch. */
enum { SPARSE_GROUP = 8, SPARSE_LINE = 16, SPARSE_BATCH = 64 };

/* Rows in CSR format, and centres as columns. */
typedef struct {
  const int64_t *indptr;
  const void *indices, *data;
  /* half the squared norms; infinite from the last centre to a multiple of SPARSE_LINE */
  const float *columns, *halves;
  ptrdiff_t stride;
  /* the largest norm of a centre; a bound on the rounding of a squared distance */
  double longest, slack;
  /* squared, of the rows; of each label, as in sparse_assignment.pyx */
  const double *norms, *passed;
  int filtered;
  int32_t *labels;
  double *gaps; /* NULL where none are kept */
} sparse_search;

typedef struct {
  /* out[j] = sum over t < count of data[t] columns[indices[t] * stride + j], for j < stride */
  void (*products)(ptrdiff_t count, const void *data, const void *indices, const double *columns,
                   ptrdiff_t stride, double *out);
  /* Labels and gaps of the rows first to last, at most SPARSE_BATCH. `unsure` receives the rows
     that single precision cannot decide, which stay unchanged; returns their number. `scratch`
     holds `stride` values, rounded up to SPARSE_LINE. */
  int (*nearest)(const sparse_search *s, ptrdiff_t first, ptrdiff_t last, float *scratch,
                 int32_t *unsure);
} sparse_row_loops;

/* Of rows of float or double and indices of 32 or 64 bits; means of SPARSE_GROUP columns. */
typedef struct {
  sparse_row_loops f_int32, f_int64, d_int32, d_int64;
  /* Columns become sums / mass, where there is mass, rounded to single precision if `single`. out,
     in groups: squared norms, squared moves, and products of the sums with the columns before. */
  void (*means)(ptrdiff_t d, ptrdiff_t stride, const double *sums, const double *mass, int single,
                double *columns, float *singles, double *out);
} sparse_assignment_loops;

extern const sparse_assignment_loops *sparse_assignment_table;

#endif
