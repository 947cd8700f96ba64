/* Kernel values from packed samples; included once per precision.

   A panel holds PANEL samples, value by value of each feature: panel[f * PANEL + lane]. A row is a
   list of its non-zeros, so one loop serves sparse rows, dense rows with many zeros, and rows of
   few features.

   What is summed over the features, and the kernel's value from the sum: kernel_formulas.h. */

#include "kernels/packed.h"
#include "shared/precision.h"

#ifndef TOGETHER
#define TOGETHER (VECTOR_BYTES == 64 ? 4 : 1) /* rows whose sums fit the registers */
#endif

#include "kernels/kernel_formulas.h"

/* Not inlined: its constants would take the registers of the caller's sums. rbf has a loop of its
   own, without which it takes an eighth to a fifth longer (6,000 x 20 to 60, AVX2). */
NOINLINE void NAME(finish_lanes)(const kernel_spec *k, const VEC *sum, REAL row_term,
                                 const REAL *column_terms, int lanes, REAL *to) {
  REAL whole[PANEL] __attribute__((aligned(64)));
  REAL *block = lanes == PANEL ? to : whole;
  if (k->kind == KERNEL_RBF) {
    const kernel_spec fixed = {KERNEL_RBF, 0, k->gamma, 0};
    for (int b = 0; b < NAME(BLOCKS); b++)
      STORE(block + b * LANES,
            NAME(value)(&fixed, sum[b], row_term, LOAD(column_terms + b * LANES)));
  } else
    for (int b = 0; b < NAME(BLOCKS); b++)
      STORE(block + b * LANES, NAME(value)(k, sum[b], row_term, LOAD(column_terms + b * LANES)));
  if (lanes != PANEL) memcpy(to, whole, lanes * sizeof(REAL));
}

INLINE void NAME(panel_rows)(const kernel_spec *k, int kind, ptrdiff_t d, ptrdiff_t n_rows,
                             const int64_t *rows, const int64_t *indptr, const int32_t *indices,
                             const REAL *values, const REAL *row_terms, const REAL *panel,
                             const REAL *column_terms, int lanes, REAL *out, ptrdiff_t stride,
                             const int64_t *dest) {
  VEC origin[NAME(BLOCKS)];
  for (int b = 0; b < NAME(BLOCKS); b++)
    origin[b] = kernel_starts_at_columns(kind) ? LOAD(column_terms + b * LANES) : (VEC){0};
  ptrdiff_t r = 0;
  while (r < n_rows) {
    int full = 0;
    while (full < TOGETHER && r + full < n_rows &&
           indptr[rows[r + full] + 1] - indptr[rows[r + full]] == d)
      full++;
    if (full == TOGETHER) { /* rows without zeros share each load of the panel */
      VEC sums[TOGETHER][NAME(BLOCKS)];
      const REAL *x[TOGETHER];
      for (int i = 0; i < TOGETHER; i++) {
        x[i] = values + indptr[rows[r + i]];
        for (int b = 0; b < NAME(BLOCKS); b++) sums[i][b] = origin[b];
      }
      for (ptrdiff_t f = 0; f < d; f++)
        for (int i = 0; i < TOGETHER; i++) NAME(visit)(kind, x[i][f], panel + f * PANEL, sums[i]);
      for (int i = 0; i < TOGETHER; i++, r++) {
        NAME(finish_lanes)(k, sums[i], row_terms[rows[r]], column_terms, lanes,
                           out + (dest ? dest[r] : r) * stride);
      }
    } else {
      const int64_t stop = indptr[rows[r] + 1];
      VEC sum[NAME(BLOCKS)];
      for (int b = 0; b < NAME(BLOCKS); b++) sum[b] = origin[b];
      for (int64_t t = indptr[rows[r]]; t < stop; t++)
        NAME(visit)(kind, values[t], panel + (ptrdiff_t)indices[t] * PANEL, sum);
      NAME(finish_lanes)(k, sum, row_terms[rows[r]], column_terms, lanes,
                         out + (dest ? dest[r] : r) * stride);
      r++;
    }
  }
}

/* As `panel_rows`, for products of many features. A panel is then larger than the first-level cache,
   so BATCH rows visit FEATURES of its features at a time, their sums kept in memory: at once would
   take a seventh longer (3,000 x 2,000, a fifth of it non-zero, AVX2). */
NOINLINE void NAME(panel_batches)(const kernel_spec *k, ptrdiff_t d, ptrdiff_t n_rows,
                                  const int64_t *rows, const int64_t *indptr,
                                  const int32_t *indices, const REAL *values, const REAL *row_terms,
                                  const REAL *panel, const REAL *column_terms, int lanes, REAL *out,
                                  ptrdiff_t stride, const int64_t *dest) {
  enum { BATCH = 32, FEATURES = 80 };
  for (ptrdiff_t first = 0; first < n_rows; first += BATCH) {
    const int have = n_rows - first < BATCH ? (int)(n_rows - first) : BATCH;
    VEC sums[BATCH][NAME(BLOCKS)] = {{{0}}};
    int64_t at[BATCH];
    for (int i = 0; i < have; i++) at[i] = indptr[rows[first + i]];
    for (ptrdiff_t limit = FEATURES; limit < d + FEATURES; limit += FEATURES)
      for (int i = 0; i < have; i++) {
        const int64_t stop = indptr[rows[first + i] + 1];
        int64_t t = at[i];
        if (t == stop || indices[t] >= limit) continue;
        VEC sum[NAME(BLOCKS)];
        for (int b = 0; b < NAME(BLOCKS); b++) sum[b] = sums[i][b];
        do {
          NAME(visit)(KERNEL_LINEAR, values[t], panel + (ptrdiff_t)indices[t] * PANEL, sum);
          t++;
        } while (t < stop && indices[t] < limit);
        for (int b = 0; b < NAME(BLOCKS); b++) sums[i][b] = sum[b];
        at[i] = t;
      }
    for (int i = 0; i < have; i++) {
      const ptrdiff_t r = first + i;
      NAME(finish_lanes)(k, sums[i], row_terms[rows[r]], column_terms, lanes,
                         out + (dest ? dest[r] : r) * stride);
    }
  }
}

static void NAME(panel)(const kernel_spec *k, ptrdiff_t d, ptrdiff_t n_rows, const int64_t *rows,
                        const int64_t *indptr, const int32_t *indices, const REAL *values,
                        const REAL *row_terms, const REAL *panel, const REAL *column_terms,
                        int lanes, REAL *out, ptrdiff_t stride, const int64_t *dest) {
#define ROWS(kind)                                                                      \
  NAME(panel_rows)(k, kind, d, n_rows, rows, indptr, indices, values, row_terms, panel, \
                   column_terms, lanes, out, stride, dest)
#define ROWS_PRODUCTS(code)
#define ROWS_TERMS(code) \
  case KERNEL_##code: ROWS(KERNEL_##code); break;
#define ROWS_EXCESSES(code) ROWS_TERMS(code)
#define ROWS_OF(code, name, sum) ROWS_##sum(code)
  switch (k->kind) {
    KERNEL_LIST(ROWS_OF)
  default: /* inner products, each kernel's own formula at their end */
    if (d <= 128) ROWS(KERNEL_LINEAR);
    else
      NAME(panel_batches)(k, d, n_rows, rows, indptr, indices, values, row_terms, panel,
                          column_terms, lanes, out, stride, dest);
  }
#undef ROWS_OF
#undef ROWS_EXCESSES
#undef ROWS_TERMS
#undef ROWS_PRODUCTS
#undef ROWS
}

static void NAME(finish)(const kernel_spec *k, ptrdiff_t n, REAL row_term, const REAL *column_terms,
                         REAL *row) {
  ptrdiff_t j = 0;
  if (k->kind == KERNEL_RBF) { /* free of the switch: a fifth less time (5,000 x 784, AVX2) */
    kernel_spec fixed = *k;
    fixed.kind = KERNEL_RBF;
    for (; j + LANES <= n; j += LANES)
      STORE(row + j, NAME(value)(&fixed, LOAD(row + j), row_term, LOAD(column_terms + j)));
  } else if (k->kind == KERNEL_LINEAR) return;
  for (; j < n; j += LANES) {
    const size_t bytes = (size_t)(n - j < LANES ? n - j : LANES) * sizeof(REAL);
    VEC v = {0}, c = {0};
    memcpy(&v, row + j, bytes);
    memcpy(&c, column_terms + j, bytes);
    v = NAME(value)(k, v, row_term, c);
    memcpy(row + j, &v, bytes);
  }
}
