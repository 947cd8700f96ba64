/* A block of rows is in the first cache when its sums are added. */
#include "svm/linear/tall_newton.h"

#include "shared/table.h"

#define SCORE_ROWS 4
#define STRIPS 4

/* Sums over rows of some vectors of columns stay in registers. */
#define LOOPS(suffix, real)                                                                        \
  INLINE void scores_of_##suffix(const int count, ptrdiff_t d, const real *X, const double *theta, \
                                 double b, double *f) {                                            \
    vdouble sum[SCORE_ROWS] = {{0}};                                                               \
    double rest[SCORE_ROWS] = {0};                                                                 \
    ptrdiff_t j = 0;                                                                               \
    for (; j + LANES_d <= d; j += LANES_d) {                                                       \
      const vdouble w = load_d(theta + j);                                                         \
      for (int i = 0; i < count; i++) sum[i] += w * widen_##suffix(X + i * d + j);                 \
    }                                                                                              \
    for (; j < d; j++)                                                                             \
      for (int i = 0; i < count; i++) rest[i] += theta[j] * X[i * d + j];                          \
    for (int i = 0; i < count; i++) f[i] = b + (lane_sum_d(sum[i]) + rest[i]);                     \
  }                                                                                                \
  static void scores_##suffix(ptrdiff_t rows, ptrdiff_t d, const real *X, const double *theta,     \
                              double b, double *f) {                                               \
    ptrdiff_t i = 0;                                                                               \
    for (; i + SCORE_ROWS <= rows; i += SCORE_ROWS)                                                \
      scores_of_##suffix(SCORE_ROWS, d, X + i * d, theta, b, f + i);                               \
    for (; i < rows; i++) scores_of_##suffix(1, d, X + i * d, theta, b, f + i);                    \
  }                                                                                                \
  INLINE void add_strips_##suffix(const int strips, ptrdiff_t rows, ptrdiff_t d, const real *X,    \
                                  const double *v, double *sums) {                                 \
    vdouble sum[STRIPS][2];                                                                        \
    for (int s = 0; s < strips; s++)                                                               \
      for (int k = 0; k < 2; k++) sum[s][k] = load_d(sums + k * d + s * LANES_d);                  \
    for (ptrdiff_t i = 0; i < rows; i++)                                                           \
      for (int s = 0; s < strips; s++) {                                                           \
        const vdouble x = widen_##suffix(X + i * d + s * LANES_d);                                 \
        sum[s][0] += v[2 * i] * x;                                                                 \
        sum[s][1] += v[2 * i + 1] * x;                                                             \
      }                                                                                            \
    for (int s = 0; s < strips; s++)                                                               \
      for (int k = 0; k < 2; k++) store_d(sums + k * d + s * LANES_d, sum[s][k]);                  \
  }                                                                                                \
  static void add_##suffix(ptrdiff_t rows, ptrdiff_t d, const real *X, const double *v,            \
                           double *sums) {                                                         \
    ptrdiff_t j = 0;                                                                               \
    for (; j + STRIPS * LANES_d <= d; j += STRIPS * LANES_d)                                       \
      add_strips_##suffix(STRIPS, rows, d, X + j, v, sums + j);                                    \
    for (; j + LANES_d <= d; j += LANES_d) add_strips_##suffix(1, rows, d, X + j, v, sums + j);    \
    for (; j < d; j++) {                                                                           \
      double first = sums[j], second = sums[d + j];                                                \
      for (ptrdiff_t i = 0; i < rows; i++) {                                                       \
        first += v[2 * i] * X[i * d + j];                                                          \
        second += v[2 * i + 1] * X[i * d + j];                                                     \
      }                                                                                            \
      sums[j] = first;                                                                             \
      sums[d + j] = second;                                                                        \
    }                                                                                              \
  }
LOOPS(f, float)
LOOPS(d, double)

SIMD_TABLE(tall_newton, .f = {.scores = scores_f, .add = add_f},
           .d = {.scores = scores_d, .add = add_d})
