/* Symmetric products of packed columns; included once per precision.

   A tile of the result is STEP rows by one panel, and stays in registers over all rows of data.
   They are multiplied in the type of the data, and summed in double precision. */

#include "precision.h"
#include "scatter.h"

#ifndef SCATTER_STEP
/* As many sums as registers allow; at least 8 are needed against the latency of an addition. */
#define SCATTER_VECTORS (VECTOR_BYTES == 32 ? 3 : 2)
#define SCATTER_STEP (VECTOR_BYTES == 64 ? 8 : 4)
#define SCATTER_PANEL(suffix) (SCATTER_VECTORS * LANES_##suffix)
#endif
#define WIDTH SCATTER_VECTORS *LANES
#define ROWS NAME(SCATTER_ROWS)

static void NAME(pack)(ptrdiff_t width, const REAL *line, const REAL *near, REAL root,
                       REAL *panels) {
  const VEC w = (VEC){0} + root;
  for (ptrdiff_t at = 0; at < width; at += WIDTH, panels += ROWS * WIDTH)
    for (int v = 0; v < WIDTH; v += LANES)
      STORE(panels + v, w * (LOAD(line + at + v) - LOAD(near + at + v)));
}

static void NAME(products)(ptrdiff_t rows, const REAL *panels, ptrdiff_t b, ptrdiff_t first,
                           ptrdiff_t last, double *C, ptrdiff_t stride) {
  const REAL *B = panels + b * ROWS * WIDTH;
  for (ptrdiff_t i = first; i < last; i += SCATTER_STEP) {
    const REAL *A = panels + i / (WIDTH)*ROWS * (WIDTH) + i % (WIDTH);
    double *to = C + i * stride + b * WIDTH;
    for (int r = 0; r < SCATTER_STEP; r++)
      for (int v = 0; v < WIDTH; v += 8) __builtin_prefetch(to + r * stride + v, 1);
    VEC sum[SCATTER_STEP][SCATTER_VECTORS] = {{{0}}};
    for (ptrdiff_t r = 0; r < rows; r++) {
      VEC x[SCATTER_VECTORS];
      for (int v = 0; v < SCATTER_VECTORS; v++) x[v] = LOAD(B + r * WIDTH + v * LANES);
      for (int c = 0; c < SCATTER_STEP; c++) {
        const REAL a = A[r * WIDTH + c];
        for (int v = 0; v < SCATTER_VECTORS; v++) sum[c][v] += a * x[v];
      }
    }
    for (int c = 0; c < SCATTER_STEP; c++) {
      REAL tile[WIDTH];
      for (int v = 0; v < SCATTER_VECTORS; v++) STORE(tile + v * LANES, sum[c][v]);
      for (int v = 0; v < WIDTH; v += LANES_d)
        store_d(to + c * stride + v, load_d(to + c * stride + v) + WIDEN(tile + v));
    }
  }
}

static void NAME(sums)(ptrdiff_t rows, const REAL *panel, const REAL *root, const int64_t *codes,
                       double *sums, ptrdiff_t stride) {
  if (!codes) {
    VEC sum[SCATTER_VECTORS] = {{0}};
    for (ptrdiff_t r = 0; r < rows; r++)
      for (int v = 0; v < SCATTER_VECTORS; v++)
        sum[v] += LOAD(panel + r * WIDTH + v * LANES) * (root ? root[r] : 1);
    for (int v = 0; v < SCATTER_VECTORS; v++)
      for (int lane = 0; lane < LANES; lane++) sums[v * LANES + lane] += sum[v][lane];
    return;
  }
  for (ptrdiff_t r = 0; r < rows; r++) {
    double *to = sums + codes[r] * stride;
    for (int v = 0; v < WIDTH; v += LANES_d)
      store_d(to + v, load_d(to + v) + WIDEN(panel + r * WIDTH + v) * (root ? root[r] : 1));
  }
}

#undef ROWS
#undef WIDTH
