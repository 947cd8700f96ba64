/* Symmetric products of packed columns; included once per precision.

   A tile of the result is STEP rows by one panel, and stays in registers over all rows of data.
   They are multiplied in the type of the data, and summed in double precision. Rows that are 0 in
   all columns of a step change no sum, so that lists of the others save their time. */

#include "shared/precision.h"
#include "numerics/scatter.h"

#ifndef SCATTER_STEP
/* As many sums as registers allow; at least 8 are needed against the latency of an addition. */
#define SCATTER_VECTORS (VECTOR_BYTES == 32 ? 3 : 2)
#define SCATTER_STEP (VECTOR_BYTES == 64 ? 8 : 4)
#endif
#define WIDTH SCATTER_VECTORS *LANES
#define ROWS NAME(SCATTER_ROWS)
/* where column c, of those from a step or a panel on, lies after the first one */
#define COLUMN(c) ((c) / LANES * LANES * ROWS + (c) % LANES)

static void NAME(pack)(ptrdiff_t width, const REAL *line, const REAL *near, REAL root,
                       REAL *strips) {
  enum { PAGE = 4096 / sizeof(REAL) }; /* processors do not fetch the next one: .75 of the time */
  const VEC w = (VEC){0} + root;
  for (ptrdiff_t at = 0; at < width; at += LANES) {
    __builtin_prefetch(line + at + PAGE);
    STORE(strips + at * ROWS, w * (LOAD(line + at) - LOAD(near + at)));
  }
}

static void NAME(list_rows)(ptrdiff_t rows, const REAL *panel, uint16_t *lists) {
  enum { SIDE = SCATTER_STEP < LANES ? SCATTER_STEP : LANES }; /* columns side by side */
  for (int c = 0; c < WIDTH; c += SCATTER_STEP, lists += ROWS + 1) {
    uint16_t n = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
      uint64_t bits[SIDE * sizeof(REAL) / 8], any = 0;
      for (int side = 0; side < SCATTER_STEP; side += SIDE) {
        memcpy(bits, panel + COLUMN(c + side) + r * LANES, sizeof bits);
        for (size_t k = 0; k < sizeof bits / 8; k++) any |= bits[k];
      }
      lists[n + 1] = (uint16_t)(r * LANES);
      n += any != 0;
    }
    lists[0] = n;
  }
}

/* sum[c, :] += A[r, c] B[r, :] over `rows` rows, or those of a list. */
INLINE void NAME(add_rows)(ptrdiff_t rows, const uint16_t *list, const REAL *A, const REAL *B,
                           VEC sum[SCATTER_STEP][SCATTER_VECTORS]) {
  for (ptrdiff_t r = 0; r < rows; r++) {
    const ptrdiff_t at = list ? list[r] : r * LANES;
    VEC x[SCATTER_VECTORS];
    for (int v = 0; v < SCATTER_VECTORS; v++) x[v] = LOAD(B + v * LANES * ROWS + at);
    for (int c = 0; c < SCATTER_STEP; c++) {
      const REAL a = A[COLUMN(c) + at];
      for (int v = 0; v < SCATTER_VECTORS; v++) sum[c][v] += a * x[v];
    }
  }
}

static void NAME(products)(ptrdiff_t rows, const REAL *strips, const uint16_t *lists, ptrdiff_t b,
                           ptrdiff_t first, ptrdiff_t last, double *C, ptrdiff_t stride) {
  const REAL *B = strips + b * (WIDTH)*ROWS;
  for (ptrdiff_t i = first; i < last; i += SCATTER_STEP) {
    const REAL *A = strips + COLUMN(i);
    const uint16_t *list = lists ? lists + i / SCATTER_STEP * (ROWS + 1) : NULL;
    if (list && list[0] == 0) continue;
    double *to = C + i * stride + b * WIDTH;
    for (int r = 0; r < SCATTER_STEP; r++)
      for (int v = 0; v < WIDTH; v += 8) __builtin_prefetch(to + r * stride + v, 1);
    VEC sum[SCATTER_STEP][SCATTER_VECTORS] = {{{0}}};
    if (list && list[0] < rows) NAME(add_rows)(list[0], list + 1, A, B, sum);
    else NAME(add_rows)(rows, NULL, A, B, sum);
    for (int c = 0; c < SCATTER_STEP; c++) {
      REAL tile[WIDTH];
      for (int v = 0; v < SCATTER_VECTORS; v++) STORE(tile + v * LANES, sum[c][v]);
      for (int v = 0; v < WIDTH; v += LANES_d)
        store_d(to + c * stride + v, load_d(to + c * stride + v) + WIDEN(tile + v));
    }
  }
}

static void NAME(column_sums)(ptrdiff_t rows, const REAL *panel, const REAL *root,
                              const int64_t *codes, double *sums, ptrdiff_t stride) {
  if (!codes) {
    VEC sum[SCATTER_VECTORS] = {{0}};
    for (ptrdiff_t r = 0; r < rows; r++)
      for (int v = 0; v < SCATTER_VECTORS; v++)
        sum[v] += LOAD(panel + v * LANES * ROWS + r * LANES) * (root ? root[r] : 1);
    for (int v = 0; v < SCATTER_VECTORS; v++)
      for (int lane = 0; lane < LANES; lane++) sums[v * LANES + lane] += sum[v][lane];
    return;
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    double *to = sums + codes[r] * stride;
    for (int v = 0; v < WIDTH; v += LANES_d)
      store_d(to + v, load_d(to + v) + WIDEN(panel + COLUMN(v) + r * LANES) * (root ? root[r] : 1));
  }
}

#undef COLUMN
#undef ROWS
#undef WIDTH
