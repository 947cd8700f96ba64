/* Passes over a matrix of which each entry is used twice: for the sum of its row, and, times a
   factor that depends on this sum, for the sum of its column. A strip of rows stays in the caches
   in between, so that an update of rows and columns takes one reading of the matrix.

   Included for each type of its entries, see entry.h. */

#include "cluster/entry.h"
#include "cluster/scaled_kernel.h"

#ifndef SCALED_KERNEL_ROWS
#include "shared/log.h"

enum { EVIDENCE_ROWS = SCALED_KERNEL_EVIDENCE };
#define SCALED_KERNEL_ROWS (VECTOR_BYTES == 64 ? 8 : 4) /* rows whose sums fit the registers */
#define LOGARITHMS_f 1
#define LOGARITHMS_d 1
#define LOGARITHMS_short 0
static const double units_of_log_2 = 0x1.71547652b82fep0; /* 1 / ln 2 */

/* Of `n` rows. */
INLINE void evidence_of_rows(const int n, ptrdiff_t m, const double *P, const double *y,
                             const double *targets, double *totals, double *x, double *largest,
                             double *q, double *image) {
  enum { L = LANES_d };
  vdouble sums[EVIDENCE_ROWS] = {{0}}, products[EVIDENCE_ROWS] = {{0}}, tops[EVIDENCE_ROWS] = {{0}};
  ptrdiff_t j = 0;
  for (; j + L <= m; j += L) {
    const vdouble yj = load_d(y + j);
    vdouble column = load_d(q + j);
    for (int r = 0; r < n; r++) {
      const vdouble p = load_d(P + r * m + j);
      sums[r] += p;
      tops[r] = max_d(tops[r], p);
      products[r] += p * yj;
      column += p;
    }
    store_d(q + j, column);
  }
  for (int r = 0; r < n; r++) {
    double sum = lane_sum_d(sums[r]), product = lane_sum_d(products[r]), top = highest_d(tops[r]);
    for (ptrdiff_t i = j; i < m; i++) {
      const double p = P[r * m + i];
      sum += p;
      if (p > top) top = p;
      product += p * y[i];
      q[i] += p;
    }
    totals[r] = sum;
    largest[r] = top;
    x[r] = (targets[r] - sum - product) / sum;
  }
  for (j = 0; j + L <= m; j += L) {
    vdouble column = load_d(image + j);
    for (int r = 0; r < n; r++) column += x[r] * load_d(P + r * m + j);
    store_d(image + j, column);
  }
  for (; j < m; j++)
    for (int r = 0; r < n; r++) image[j] += x[r] * P[r * m + j];
}

static void evidence(ptrdiff_t n_rows, ptrdiff_t m, const double *P, const double *y,
                     const double *targets, double *totals, double *x, double *largest, double *q,
                     double *image) {
  if (n_rows == EVIDENCE_ROWS)
    evidence_of_rows(EVIDENCE_ROWS, m, P, y, targets, totals, x, largest, q, image);
  else
    for (ptrdiff_t i = 0; i < n_rows; i++)
      evidence_of_rows(1, m, P + i * m, y, targets + i, totals + i, x + i, largest + i, q, image);
}
#endif

/* `n` rows. */
INLINE void NAME(strip)(const int mode, const int n, ptrdiff_t m, const ENTRY *K, ptrdiff_t stride,
                        const SUM *x, const double *targets, double power, double *totals,
                        double *factors, SUM *columns) {
  SUMS sums[SCALED_KERNEL_ROWS] = {{0}};
  SUM factor[SCALED_KERNEL_ROWS];
  ptrdiff_t j = 0;
  for (; j + ENTRY_STEP <= m; j += ENTRY_STEP) {
    const SUMS xj = NAME(load_sums)(x + j);
    for (int r = 0; r < n; r++) sums[r] += WIDEN(K + r * stride + j) * xj;
  }
  for (int r = 0; r < n; r++) {
    double sum = 0;
    for (int lane = 0; lane < ENTRY_STEP; lane++) sum += sums[r][lane];
    for (ptrdiff_t i = j; i < m; i++) sum += NAME(number)(K[r * stride + i]) * x[i];
    totals[r] = sum;
    if (mode == SCALED_KERNEL_WEIGHT) factors[r] = targets[r] * sum;
    else factors[r] = power == 1.0 ? targets[r] / sum : pow(targets[r] / sum, power);
    factor[r] = (SUM)factors[r];
  }
  for (j = 0; j + ENTRY_STEP <= m; j += ENTRY_STEP) {
    SUMS column = NAME(load_sums)(columns + j);
    for (int r = 0; r < n; r++) column += WIDEN(K + r * stride + j) * factor[r];
    NAME(store_sums)(columns + j, column);
  }
  for (; j < m; j++)
    for (int r = 0; r < n; r++) columns[j] += NAME(number)(K[r * stride + j]) * factor[r];
}

static void NAME(both_sides)(int mode, ptrdiff_t n_rows, ptrdiff_t m, const ENTRY *K,
                             ptrdiff_t stride, const SUM *x, const double *targets, double power,
                             double *totals, double *factors, SUM *columns) {
  ptrdiff_t i = 0;
  for (; i + SCALED_KERNEL_ROWS <= n_rows; i += SCALED_KERNEL_ROWS)
    NAME(strip)(mode, SCALED_KERNEL_ROWS, m, K + i * stride, stride, x, targets + i, power,
                totals + i, factors + i, columns);
  for (; i < n_rows; i++)
    NAME(strip)(mode, 1, m, K + i * stride, stride, x, targets + i, power, totals + i, factors + i,
                columns);
}

#if NAME(LOGARITHMS)
static void NAME(log_rows)(ptrdiff_t n_rows, ptrdiff_t m, const REAL *L, ptrdiff_t stride,
                           double scale, double shift, const double *b, const double *log_targets,
                           double power, double *a, double *row, double *columns) {
  enum { STEP = LANES_d };
  for (ptrdiff_t i = 0; i < n_rows; i++, L += stride) {
    /* Exponents, and their maximum. */
    vdouble tops = (vdouble){0} - INFINITY;
    double top = -INFINITY, sum = 0;
    ptrdiff_t j = 0;
    for (; j + STEP <= m; j += STEP) {
      const vdouble z = scale * (WIDEN(L + j) - shift) + load_d(b + j);
      tops = max_d(tops, z);
      store_d(row + j, z);
    }
    for (; j < m; j++) {
      row[j] = scale * (L[j] - shift) + b[j];
      if (row[j] > top) top = row[j];
    }
    const double highest = highest_d(tops);
    if (highest > top) top = highest;
    /* Terms relative to the largest. */
    vdouble sums = {0};
    for (j = 0; j + STEP <= m; j += STEP) {
      const vdouble e = exp2_d((load_d(row + j) - top) * units_of_log_2);
      sums += e;
      store_d(row + j, e);
    }
    for (; j < m; j++) {
      row[j] = exp(row[j] - top);
      sum += row[j];
    }
    sum += lane_sum_d(sums);
    const double log_sum = top + log(sum);
    a[i] = power * (log_targets[i] - log_sum);
    const double factor = exp(a[i] + top);
    for (j = 0; j < m; j++) columns[j] += factor * row[j];
  }
}

static void NAME(scaled_row)(int logs, ptrdiff_t m, const REAL *K, double scale, double shift,
                             double a, const double *b, double *P, double *logarithm) {
  enum { STEP = LANES_d };
  vdouble sums = {0};
  double sum = 0;
  ptrdiff_t j = 0;
  for (; j + STEP <= m; j += STEP) {
    const vdouble k = WIDEN(K + j), bj = load_d(b + j), zero = {0};
    const vdouble l = logs ? scale * (k - shift) : log_d(k);
    const vdouble p = logs ? exp2_d((l + (a + bj)) * units_of_log_2) : k * (a * bj);
    sums += select_d(greater_d(p, zero), p * l, zero);
    store_d(P + j, p);
  }
  for (; j < m; j++) {
    const double l = logs ? scale * (K[j] - shift) : log(K[j]);
    P[j] = logs ? exp(l + (a + b[j])) : K[j] * (a * b[j]);
    if (P[j] > 0) sum += P[j] * l;
  }
  *logarithm += sum + lane_sum_d(sums);
}

static void NAME(narrow_row)(ptrdiff_t m, const double *P, REAL *out) {
  for (ptrdiff_t j = 0; j < m; j++) out[j] = (REAL)P[j];
}
#endif
