/* A tile of a matrix product in single precision, compared with bounds while it is in registers. */
#include "numerics/half_squares.h"

#include "shared/table.h"

enum {
  ROWS = HALF_SQUARES_ROWS,
  BESIDE = VECTOR_BYTES == 64 ? 4 : 2, /* vectors of the panel whose sums fit the registers */
  WIDTH = BESIDE * LANES_f
};

static void half_squares(ptrdiff_t m, int count, const float *const *rows, const float *panel,
                         const float *halves, const float *limits, float *values, uint64_t *hits) {
  const float *x[ROWS];
  for (int r = 0; r < ROWS; r++) x[r] = rows[r < count ? r : count - 1];
  for (int r = 0; r < count; r++) hits[r] = 0;
  for (int part = 0; part < PANEL_FLOAT; part += WIDTH) {
    vfloat sum[ROWS][BESIDE];
    for (int b = 0; b < BESIDE; b++) {
      const vfloat half = load_f(halves + part + b * LANES_f);
      for (int r = 0; r < ROWS; r++) sum[r][b] = half;
    }
    for (ptrdiff_t f = 0; f < m; f++) {
      vfloat y[BESIDE];
      for (int b = 0; b < BESIDE; b++) y[b] = load_f(panel + f * PANEL_FLOAT + part + b * LANES_f);
      for (int r = 0; r < ROWS; r++)
        for (int b = 0; b < BESIDE; b++) sum[r][b] -= x[r][f] * y[b];
    }
    for (int r = 0; r < ROWS && r < count; r++) {
      const vfloat limit = (vfloat){0} + limits[r];
      uint64_t far = 0;
      for (int b = 0; b < BESIDE; b++)
        far |= (uint64_t)lane_bits_f(greater_f(sum[r][b], limit)) << (b * LANES_f);
      const uint64_t near = (far ^ (~(uint64_t)0 >> (64 - WIDTH)));
      if (near == 0) continue;
      hits[r] |= near << part;
      for (int b = 0; b < BESIDE; b++)
        store_f(values + r * PANEL_FLOAT + part + b * LANES_f, sum[r][b]);
    }
  }
}

SIMD_TABLE(half_squares, .half_squares = half_squares)
