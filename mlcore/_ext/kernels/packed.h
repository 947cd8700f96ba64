/* Values of kernels (see packed_loops.h). */
#ifndef MLCORE_PACKED_H
#define MLCORE_PACKED_H

#include <stddef.h>
#include <stdint.h>

enum {
  KERNEL_LINEAR,
  KERNEL_POLYNOMIAL,
  KERNEL_RBF,
  KERNEL_SIGMOID,
  KERNEL_COSINE,
  KERNEL_LAPLACIAN,
  KERNEL_CHI2,
  KERNEL_RBF_DIFFERENCES /* rbf of few features, from differences: no cancellation */
};

typedef struct {
  int kind;
  int degree;
  double gamma, coef0;
} kernel_spec;

/* `panel`: out[dest[r], :lanes] = k(row r, column of the panel), for `n_rows` rows given as lists
   of non-zeros.
   `finish`: one row of inner products becomes kernel values, in place. */
#define KERNEL_LOOPS(real)                                                                     \
  void (*panel)(const kernel_spec *k, ptrdiff_t d, ptrdiff_t n_rows, const int64_t *rows,      \
                const int64_t *indptr, const int32_t *indices, const real *values,             \
                const real *row_terms, const real *panel, const real *column_terms, int lanes, \
                real *out, ptrdiff_t stride, const int64_t *dest);                             \
  void (*finish)(const kernel_spec *k, ptrdiff_t n, real row_term, const real *column_terms,   \
                 real *row);

typedef struct {
  struct { KERNEL_LOOPS(float) } f;
  struct { KERNEL_LOOPS(double) } d;
} packed_loops;

extern const packed_loops *packed_table;

#endif
