/* Tiles of a symmetric matrix: symmetry check, sums, and scaling; included once per
   precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "cluster/scaling.h"

#include "shared/table.h"

#define LOOPS "cluster/scaling.c"
#include "shared/both_precisions.h"

SIMD_TABLE(scaling, .f = {.mirrored = mirrored_f, .shorten = shorten_f, .rescale = rescale_f},
           .d = {.mirrored = mirrored_d, .shorten = shorten_d, .rescale = rescale_d})

#else
#include "shared/precision.h"

/* Sums and least entry of the first `n` columns of a row; returns true if all equal those in
   `turned`. */
INLINE int NAME(mirrored_row)(ptrdiff_t n, const REAL *K, const REAL *turned, double *row,
                              double *columns, double *low) {
  enum { L = VECTOR_BYTES / sizeof(double) };
  vdouble least = {0}, sums = {0};
  vint64 differ = {0};
  int same = 1;
  ptrdiff_t j = 0;
  for (; j + L <= n; j += L) {
    const vdouble a = WIDEN(K + j), b = WIDEN(turned + j);
    differ |= (vint64)a ^ (vint64)b;
    least = min_d(a, least);
    sums += a;
    store_d(columns + j, load_d(columns + j) + a);
  }
  double sum = add_lanes_d(0, sums);
  for (; j < n; j++) {
    const REAL a = K[j];
    same &= a == turned[j];
    if (a < *low) *low = a;
    sum += a;
    columns[j] += a;
  }
  *row += sum;
  for (int lane = 0; lane < L; lane++) {
    same &= differ[lane] == 0;
    if (least[lane] < *low) *low = least[lane];
  }
  return same;
}

/* Add up rows and columns of a tile, find its least entry, and compare it with its transpose,
   `turned`: extremes[0] is raised to the largest |a - b| - `close` max(|a|, |b|), infinite if one
   is not finite; extremes[1] is lowered to the least entry. In a tile on the diagonal, the first
   `diagonal` columns of row 0 count (none below 0), and one more in each row after. Equal bits are
   tried first, because nearly all matrices are symmetric to the last bit. */
static void NAME(mirrored)(ptrdiff_t n_rows, ptrdiff_t n_columns, ptrdiff_t diagonal, const REAL *K,
                           ptrdiff_t stride, const REAL *turned, ptrdiff_t turned_stride,
                           double close, double *rows, double *columns, double *extremes) {
  double far = extremes[0], low = extremes[1];
  int same = 1;
  for (ptrdiff_t r = 0; r < n_rows; r++) {
    const ptrdiff_t n = diagonal + r < n_columns ? diagonal + r : n_columns;
    if (n < 0) continue;
    same &=
        NAME(mirrored_row)(n, K + r * stride, turned + r * turned_stride, rows + r, columns, &low);
    if (n == n_columns) continue;
    if (K[r * stride + n] < low) low = K[r * stride + n]; /* on the diagonal */
    rows[r] += K[r * stride + n];
  }
  for (ptrdiff_t r = 0; r < n_rows && !same; r++)
    for (ptrdiff_t j = 0; j < n_columns && j < diagonal + r; j++) {
      const double a = K[r * stride + j], b = turned[r * turned_stride + j];
      const double excess = fabs(a - b) - close * fmax(fabs(a), fabs(b));
      if (!(excess <= far)) far = excess >= far ? excess : INFINITY;
    }
  extremes[0] = far;
  extremes[1] = low;
}

/* out = xi K x_j in 16 bits, of `n` columns: single precision without the sign and the last 15 bits.
   Entries up to 1e-19, too small to change a sum of 1, are 0. */
static void NAME(shorten)(ptrdiff_t n, const REAL *K, double xi, const double *x, uint16_t *out) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const float value = (float)(K[j] * (xi * x[j]));
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value > 0x1p-63f ? bits + 0x4000 : 0;
    out[j] = (uint16_t)(bits >> 15);
  }
}

/* out = x_i K x_j, or with `shift` max(0, K + x_i + x_j). */
static void NAME(rescale)(int shift, ptrdiff_t n_rows, ptrdiff_t n_columns, const REAL *K,
                          ptrdiff_t stride, const double *x_rows, const double *x, REAL *out,
                          ptrdiff_t out_stride) {
  for (ptrdiff_t r = 0; r < n_rows; r++, K += stride, out += out_stride) {
    const double xi = x_rows[r];
    if (shift)
      for (ptrdiff_t j = 0; j < n_columns; j++) {
        const double value = K[j] + (xi + x[j]);
        out[j] = (REAL)(value > 0 ? value : 0);
      }
    else
      for (ptrdiff_t j = 0; j < n_columns; j++) out[j] = (REAL)(K[j] * (xi * x[j]));
  }
}

#endif
