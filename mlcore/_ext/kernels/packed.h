/* Values of kernels (see packed_loops.h). */
#ifndef MLCORE_PACKED_H
#define MLCORE_PACKED_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel_formulas.h"

#define KERNEL_CODE(code, name, sum) KERNEL_##code,
enum { KERNEL_LIST(KERNEL_CODE) KERNEL_COUNT };
#undef KERNEL_CODE

static inline const char *kernel_name(int kind) {
#define KERNEL_NAME(code, name, sum) name,
  static const char *const names[] = {KERNEL_LIST(KERNEL_NAME)};
#undef KERNEL_NAME
  return names[kind];
}

/* True if sums over features start from column_terms. */
static inline int kernel_starts_at_columns(int kind) {
  enum { PRODUCTS, TERMS, EXCESSES };
#define KERNEL_SUM(code, name, sum) \
  case KERNEL_##code: return sum == EXCESSES;
  switch (kind) { KERNEL_LIST(KERNEL_SUM) }
#undef KERNEL_SUM
  return 0;
}

static inline float plus_shared_f(int kind, float sum, float x, float y) {
  return KERNEL_PLUS_SHARED(kind, sum, x, y);
}
static inline double plus_shared_d(int kind, double sum, double x, double y) {
  return KERNEL_PLUS_SHARED(kind, sum, x, y);
}

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
