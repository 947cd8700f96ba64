/* Compiled once per target, like loops.c. */
#include "sparse_products.h"

#include "vector.h"

enum { WIDTH = VECTOR_BYTES / 8, MOST = 8 };

/* `m` vectors of sums stay in registers while the row passes by. */
#define PRODUCTS(name, real, place)                                                                                  \
  static inline __attribute__((always_inline)) void name##_some(const int m, ptrdiff_t count, const real *data,      \
                                                                const place *indices, const double *columns,         \
                                                                ptrdiff_t stride, double *out) {                     \
    vdouble sum[MOST];                                                                                               \
    for (int v = 0; v < m; v++) sum[v] = (vdouble){0};                                                               \
    for (ptrdiff_t t = 0; t < count; t++) {                                                                          \
      const double *column = columns + (ptrdiff_t)indices[t] * stride;                                               \
      const vdouble x = (vdouble){0} + (double)data[t];                                                              \
      for (int v = 0; v < m; v++) sum[v] += x * load_d(column + v * WIDTH);                                          \
    }                                                                                                                \
    for (int v = 0; v < m; v++) store_d(out + v * WIDTH, sum[v]);                                                    \
  }                                                                                                                  \
  static void name(ptrdiff_t count, const real *data, const place *indices, const double *columns, ptrdiff_t stride, \
                   double *out) {                                                                                    \
    for (ptrdiff_t j = 0; j < stride;) {                                                                             \
      const ptrdiff_t left = (stride - j) / WIDTH, m = left >= 8 ? 8 : left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1; \
      if (m == 8) name##_some(8, count, data, indices, columns + j, stride, out + j);                                \
      else if (m == 6) name##_some(6, count, data, indices, columns + j, stride, out + j);                           \
      else if (m == 4) name##_some(4, count, data, indices, columns + j, stride, out + j);                           \
      else if (m == 2) name##_some(2, count, data, indices, columns + j, stride, out + j);                           \
      else name##_some(1, count, data, indices, columns + j, stride, out + j);                                       \
      j += m * WIDTH;                                                                                                \
    }                                                                                                                \
  }
PRODUCTS(f_int32, float, int32_t)
PRODUCTS(f_int64, float, int64_t)
PRODUCTS(d_int32, double, int32_t)
PRODUCTS(d_int64, double, int64_t)

const sparse_products TARGET_NAME(sparse_products) = {f_int32, f_int64, d_int32, d_int64};
