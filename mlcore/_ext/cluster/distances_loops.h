/* Distances from products and from differences, and their sums; included once per precision. */

#include "shared/precision.h"

#ifndef LEAST /* below it, squared distances have lost digits to underflow */
#define LEAST (sizeof(REAL) == 4 ? (REAL)0x1p-80 : (REAL)0x1p-900)
#endif

static ptrdiff_t NAME(distances)(ptrdiff_t n, REAL x_norm, const REAL *y_norms, REAL near,
                                 int squared, REAL *row) {
  enum { L = VECTOR_BYTES / sizeof(REAL) };
  const VEC least = (VEC){0} + LEAST, lost = (VEC){0} - 1;
  ptrdiff_t far = 0, j = 0;
  for (; j + L <= n; j += L) {
    const VEC norms = LOAD(y_norms + j) + x_norm, value = LOAD(row + j) + norms;
    const MASK kept = GREATER(value, norms * near + least);
    STORE(row + j, SELECT(kept, squared ? value : NAME(sqrt)(value), lost));
    far += __builtin_popcount(BITS(kept));
  }
  for (; j < n; j++) {
    const REAL norms = y_norms[j] + x_norm, value = row[j] + norms;
    const int kept = value > norms * near + LEAST;
    row[j] = !kept ? -1 : squared ? value : NAME(root)(value);
    far += kept;
  }
  return n - far;
}

/* Sums of `m` rows, which stay in registers; those of the columns are read and written once for
   all. */
INLINE void NAME(add_rows)(const int m, ptrdiff_t columns, const REAL *tile, ptrdiff_t stride,
                           const double *row_weights, const double *column_weights, ptrdiff_t k,
                           double *row_sums, double *column_sums) {
  enum { L = VECTOR_BYTES / 8, MOST = 4 };
  vdouble sum[MOST];
  double rest[MOST] = {0};
  for (int r = 0; r < m; r++) sum[r] = (vdouble){0};
  ptrdiff_t j = 0;
  for (; j + L <= columns; j += L) {
    const vdouble weights = load_d(column_weights + j);
    vdouble column = load_d(column_sums + j);
    for (int r = 0; r < m; r++) {
      const vdouble value = WIDEN(tile + r * stride + j);
      sum[r] += weights * value;
      column += row_weights[r] * value;
    }
    store_d(column_sums + j, column);
  }
  for (; j < columns; j++)
    for (int r = 0; r < m; r++) {
      const double value = tile[r * stride + j];
      rest[r] += column_weights[j] * value;
      column_sums[j] += row_weights[r] * value;
    }
  for (int r = 0; r < m; r++) {
    row_sums[r * k] += add_lanes_d(rest[r], sum[r]);
  }
}

static void NAME(add)(ptrdiff_t rows, ptrdiff_t columns, const REAL *tile, ptrdiff_t stride,
                      const double *row_weights, const double *column_weights, ptrdiff_t k,
                      double *row_sums, double *column_sums) {
  ptrdiff_t i = 0;
  /* one at a time, silhouettes of 8,000 samples take 1.03 to 1.08 times as long (AVX2) */
  for (; i + 4 <= rows; i += 4)
    NAME(add_rows)(4, columns, tile + i * stride, stride, row_weights + i, column_weights, k,
                   row_sums + i * k, column_sums);
  for (; i < rows; i++)
    NAME(add_rows)(1, columns, tile + i * stride, stride, row_weights + i, column_weights, k,
                   row_sums + i * k, column_sums);
}

/* Distances of `m` rows at a time, which share each load of the others. */
INLINE double NAME(differences_of)(const int m, ptrdiff_t first, ptrdiff_t n, ptrdiff_t d,
                                   const REAL *columns, ptrdiff_t stride, int squared, REAL *out) {
  enum { L = VECTOR_BYTES / 8, MOST = 8 };
  vdouble most = {0};
  double rest = 0;
  for (ptrdiff_t j = first; j < n; j += L) {
    vdouble sum[MOST];
    for (int r = 0; r < m; r++) sum[r] = (vdouble){0};
    for (ptrdiff_t f = 0; f < d; f++) {
      const REAL *x = columns + f * stride;
      const vdouble y = WIDEN(x + j);
      for (int r = 0; r < m; r++) {
        const vdouble difference = y - (double)x[first + r];
        sum[r] += difference * difference;
      }
    }
    for (int r = 0; r < m; r++) {
      const vdouble value = squared ? sum[r] : sqrt_d(sum[r]);
      REAL *row = out + (first + r) * n + j;
      if (j + L <= n) {
        most = max_d(most, value);
        NAME(narrow)(row, value);
        continue;
      }
      for (ptrdiff_t lane = 0; j + lane < n; lane++) {
        rest = value[lane] > rest ? value[lane] : rest;
        row[lane] = (REAL)value[lane];
      }
    }
  }
  const double found = highest_d(most);
  return (REAL)(found > rest ? found : rest);
}

static double NAME(differences)(ptrdiff_t first, ptrdiff_t last, ptrdiff_t n, ptrdiff_t d,
                                const REAL *columns, ptrdiff_t stride, int squared, REAL *out) {
  if (last - first == 8) return NAME(differences_of)(8, first, n, d, columns, stride, squared, out);
  double most = 0;
  for (ptrdiff_t i = first; i < last; i++) {
    const double found = NAME(differences_of)(1, i, n, d, columns, stride, squared, out);
    most = found > most ? found : most;
  }
  return most;
}
