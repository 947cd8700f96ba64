/* Sparse rows times vectors of several classes, both ways. The classes of a column lie side by side,
   and are a few vectors that stay in registers while a row is read. */

#include "linear_model/class_rows.h"

#include "shared/table.h"

enum { VECTORS = 5, REST = 4 }; /* registers of sums; classes that are left, at a time */

#define ROWS_OF(suffix, real, index)                                                               \
  INLINE void scores_of_##suffix(const int vectors, ptrdiff_t count, const real *x,                \
                                 const index *columns, ptrdiff_t c, const double *V, double *z) {  \
    vdouble sum[VECTORS];                                                                          \
    for (int v = 0; v < vectors; v++) sum[v] = load_d(z + v * LANES_d);                            \
    for (ptrdiff_t t = 0; t < count; t++) {                                                        \
      const double value = x[t], *w = V + (ptrdiff_t)columns[t] * c;                               \
      for (int v = 0; v < vectors; v++) sum[v] += value * load_d(w + v * LANES_d);                 \
    }                                                                                              \
    for (int v = 0; v < vectors; v++) store_d(z + v * LANES_d, sum[v]);                            \
  }                                                                                                \
  INLINE void rest_of_##suffix(const int classes, ptrdiff_t count, const real *x,                  \
                               const index *columns, ptrdiff_t c, const double *V, double *z) {    \
    double sum[REST];                                                                              \
    for (int k = 0; k < classes; k++) sum[k] = z[k];                                               \
    for (ptrdiff_t t = 0; t < count; t++) {                                                        \
      const double value = x[t], *w = V + (ptrdiff_t)columns[t] * c;                               \
      for (int k = 0; k < classes; k++) sum[k] += value * w[k];                                    \
    }                                                                                              \
    for (int k = 0; k < classes; k++) z[k] = sum[k];                                               \
  }                                                                                                \
  INLINE void add_of_##suffix(const int square, const int vectors, ptrdiff_t count, const real *x, \
                              const index *columns, ptrdiff_t c, const double *z, double *out) {   \
    vdouble part[VECTORS];                                                                         \
    for (int v = 0; v < vectors; v++) part[v] = load_d(z + v * LANES_d);                           \
    for (ptrdiff_t t = 0; t < count; t++) {                                                        \
      const double value = square ? (double)x[t] * x[t] : x[t];                                    \
      double *to = out + (ptrdiff_t)columns[t] * c;                                                \
      for (int v = 0; v < vectors; v++)                                                            \
        store_d(to + v * LANES_d, load_d(to + v * LANES_d) + value * part[v]);                     \
    }                                                                                              \
  }                                                                                                \
  INLINE void add_rest_of_##suffix(const int square, const int classes, ptrdiff_t count,           \
                                   const real *x, const index *columns, ptrdiff_t c,               \
                                   const double *z, double *out) {                                 \
    double part[REST];                                                                             \
    for (int k = 0; k < classes; k++) part[k] = z[k];                                              \
    for (ptrdiff_t t = 0; t < count; t++) {                                                        \
      const double value = square ? (double)x[t] * x[t] : x[t];                                    \
      double *to = out + (ptrdiff_t)columns[t] * c;                                                \
      for (int k = 0; k < classes; k++) to[k] += value * part[k];                                  \
    }                                                                                              \
  }                                                                                                \
  static void scores_##suffix(ptrdiff_t count, const real *x, const index *columns, ptrdiff_t c,   \
                              const double *V, double *z) {                                        \
    FOR_CLASSES(scores_of_##suffix, rest_of_##suffix, , count, x, columns, c, V + k, z + k)        \
  }                                                                                                \
  static void add_##suffix(ptrdiff_t count, const real *x, const index *columns, ptrdiff_t c,      \
                           const double *z, double *out) {                                         \
    FOR_CLASSES(add_of_##suffix, add_rest_of_##suffix, 0 COMMA, count, x, columns, c, z + k,       \
                out + k)                                                                           \
  }                                                                                                \
  static void add_squares_##suffix(ptrdiff_t count, const real *x, const index *columns,           \
                                   ptrdiff_t c, const double *z, double *out) {                    \
    FOR_CLASSES(add_of_##suffix, add_rest_of_##suffix, 1 COMMA, count, x, columns, c, z + k,       \
                out + k)                                                                           \
  }

#define COMMA ,

/* Call a function for all classes, as many at once as there are registers, another for the rest. */
#define FOR_CLASSES(function, rest, first, ...)         \
  ptrdiff_t k = 0;                                      \
  while (k + LANES_d <= c) {                            \
    const ptrdiff_t left = (c - k) / LANES_d;           \
    switch (left < VECTORS ? left : VECTORS) {          \
    case 1: function(first 1, __VA_ARGS__); break;      \
    case 2: function(first 2, __VA_ARGS__); break;      \
    case 3: function(first 3, __VA_ARGS__); break;      \
    case 4: function(first 4, __VA_ARGS__); break;      \
    default: function(first VECTORS, __VA_ARGS__);      \
    }                                                   \
    k += (left < VECTORS ? left : VECTORS) * LANES_d;   \
  }                                                     \
  while (k < c) {                                       \
    const ptrdiff_t left = c - k < REST ? c - k : REST; \
    switch (left) {                                     \
    case 1: rest(first 1, __VA_ARGS__); break;          \
    case 2: rest(first 2, __VA_ARGS__); break;          \
    case 3: rest(first 3, __VA_ARGS__); break;          \
    default: rest(first REST, __VA_ARGS__);             \
    }                                                   \
    k += left;                                          \
  }

ROWS_OF(f_int32, float, int32_t)
ROWS_OF(f_int64, float, int64_t)
ROWS_OF(d_int32, double, int32_t)
ROWS_OF(d_int64, double, int64_t)

#define MEMBERS(suffix)                                             \
  .scores_##suffix = scores_##suffix, .add_##suffix = add_##suffix, \
  .add_squares_##suffix = add_squares_##suffix

SIMD_TABLE(class_rows, MEMBERS(f_int32), MEMBERS(f_int64), MEMBERS(d_int32), MEMBERS(d_int64))
