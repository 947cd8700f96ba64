/* Passes over a matrix of which each entry is used twice: for the sum of its row, and, times a
   factor that depends on this sum, for the sum of its column. A strip of rows stays in the caches
   in between, so that an update of rows and columns takes one reading of the matrix.

   Included for each type of its entries, see entry.h. */

#include "cluster/entry.h"
#include "cluster/sinkhorn.h"

#ifndef SINKHORN_ROWS
#include "shared/log.h"

#define SINKHORN_ROWS (VECTOR_BYTES == 64 ? 8 : 4) /* rows whose sums fit the registers */
#define LOGARITHMS_f 1
#define LOGARITHMS_d 1
#define LOGARITHMS_short 0
static const double units_of_log_2 = 0x1.71547652b82fep0; /* 1 / ln 2 */

static void row_evidence(ptrdiff_t m, const double *P, const double *y, double target,
                         double *total, double *x, double *largest, double *q, double *image) {
  enum { L = LANES_d };
  vdouble sums = {0}, products = {0}, tops = {0};
  ptrdiff_t j = 0;
  for (; j + L <= m; j += L) {
    const vdouble p = load_d(P + j);
    sums += p;
    tops = max_d(tops, p);
    products += p * load_d(y + j);
    store_d(q + j, load_d(q + j) + p);
  }
  double sum = lane_sum_d(sums), product = lane_sum_d(products), top = highest_d(tops);
  for (; j < m; j++) {
    sum += P[j];
    if (P[j] > top) top = P[j];
    product += P[j] * y[j];
    q[j] += P[j];
  }
  const double step = (target - sum - product) / sum;
  for (j = 0; j < m; j++) image[j] += step * P[j];
  *total = sum;
  *largest = top;
  *x = step;
}
#endif

/* `n` rows. */
INLINE void NAME(strip)(const int mode, const int n, ptrdiff_t m, const ENTRY *K, ptrdiff_t stride,
                        const SUM *x, const double *targets, double power, double *totals,
                        double *factors, SUM *columns) {
  SUMS sums[SINKHORN_ROWS] = {{0}};
  SUM factor[SINKHORN_ROWS];
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
    if (mode == SINKHORN_WEIGHT) factors[r] = targets[r] * sum;
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
  for (; i + SINKHORN_ROWS <= n_rows; i += SINKHORN_ROWS)
    NAME(strip)(mode, SINKHORN_ROWS, m, K + i * stride, stride, x, targets + i, power, totals + i,
                factors + i, columns);
  for (; i < n_rows; i++)
    NAME(strip)(mode, 1, m, K + i * stride, stride, x, targets + i, power, totals + i, factors + i,
                columns);
}

#if NAME(LOGARITHMS)
static void NAME(log_rows)(ptrdiff_t n_rows, ptrdiff_t m, const REAL *L, ptrdiff_t stride,
                           double scale, const double *b, const double *log_targets, double power,
                           double *a, double *row, double *columns) {
  enum { STEP = LANES_d };
  for (ptrdiff_t i = 0; i < n_rows; i++, L += stride) {
    /* Exponents, and their maximum. */
    vdouble tops = (vdouble){0} - INFINITY;
    double top = -INFINITY, sum = 0;
    ptrdiff_t j = 0;
    for (; j + STEP <= m; j += STEP) {
      const vdouble z = scale * WIDEN(L + j) + load_d(b + j);
      tops = max_d(tops, z);
      store_d(row + j, z);
    }
    for (; j < m; j++) {
      row[j] = scale * L[j] + b[j];
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

static void NAME(scaled_row)(int logs, ptrdiff_t m, const REAL *K, double scale, double a,
                             const double *b, double *P, double *logarithm) {
  enum { STEP = LANES_d };
  vdouble sums = {0};
  double sum = 0;
  ptrdiff_t j = 0;
  for (; j + STEP <= m; j += STEP) {
    const vdouble k = WIDEN(K + j), bj = load_d(b + j), zero = {0};
    const vdouble l = logs ? scale * k : log_d(k);
    const vdouble p = logs ? exp2_d((l + (a + bj)) * units_of_log_2) : k * (a * bj);
    sums += select_d(greater_d(p, zero), p * l, zero);
    store_d(P + j, p);
  }
  for (; j < m; j++) {
    P[j] = logs ? exp(scale * K[j] + (a + b[j])) : K[j] * (a * b[j]);
    if (P[j] > 0) sum += P[j] * (logs ? scale * K[j] : log(K[j]));
  }
  *logarithm += sum + lane_sum_d(sums);
}

static void NAME(narrow_row)(ptrdiff_t m, const double *P, REAL *out) {
  for (ptrdiff_t j = 0; j < m; j++) out[j] = (REAL)P[j];
}
#endif
