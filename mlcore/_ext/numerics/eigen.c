/* A basis, whose rows are vectors, times a block of 4 or 8 vectors, in one reading: BLAS takes the
   time of as many products with one vector, 2 to 3 times as long (OpenBLAS, AVX-512). */

#include "numerics/eigen.h"

#include "shared/table.h"

enum {
  ROWS = 8,     /* of the basis at a time */
  COLUMNS = 512 /* of these, whose part of the block stays in the first cache */
};

/* The values of a block in a row are one vector: of AVX-512 one register for 8. */
typedef double four __attribute__((vector_size(32)));
typedef double eight __attribute__((vector_size(64)));
typedef four four_any __attribute__((aligned(8), may_alias));
typedef eight eight_any __attribute__((aligned(8), may_alias));

#define PRODUCTS(type, width)                                                              \
  INLINE void along_##type(const int rows, ptrdiff_t n, ptrdiff_t stride, const double *V, \
                           double *C, const double *W) {                                   \
    type sums[ROWS];                                                                       \
    for (int i = 0; i < rows; i++) sums[i] = *(const type##_any *)(C + i * width);         \
    for (ptrdiff_t j = 0; j < n; j++) {                                                    \
      const type w = *(const type##_any *)(W + j * width);                                 \
      for (int i = 0; i < rows; i++) sums[i] += V[i * stride + j] * w;                     \
    }                                                                                      \
    for (int i = 0; i < rows; i++) *(type##_any *)(C + i * width) = sums[i];               \
  }                                                                                        \
  INLINE void less_##type(const int rows, ptrdiff_t n, ptrdiff_t stride, const double *V,  \
                          const double *C, double *W) {                                    \
    type factors[ROWS];                                                                    \
    for (int i = 0; i < rows; i++) factors[i] = *(const type##_any *)(C + i * width);      \
    for (ptrdiff_t j = 0; j < n; j++) {                                                    \
      type w = *(const type##_any *)(W + j * width);                                       \
      for (int i = 0; i < rows; i++) w -= V[i * stride + j] * factors[i];                  \
      *(type##_any *)(W + j * width) = w;                                                  \
    }                                                                                      \
  }                                                                                        \
  INLINE void all_along_##type(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, \
                               double *C) {                                                \
    memset(C, 0, (size_t)(m * width) * sizeof *C);                                         \
    for (ptrdiff_t first = 0; first < n; first += COLUMNS) {                               \
      const ptrdiff_t count = n - first < COLUMNS ? n - first : COLUMNS;                   \
      EACH_ROWS(along_##type, width, m, count, n, V + first, C, W + first * width)         \
    }                                                                                      \
  }                                                                                        \
  INLINE void all_less_##type(ptrdiff_t m, ptrdiff_t n, const double *V, const double *C,  \
                              ptrdiff_t first, ptrdiff_t last, double *W) {                \
    for (; first < last; first += COLUMNS) {                                               \
      const ptrdiff_t count = last - first < COLUMNS ? last - first : COLUMNS;             \
      EACH_ROWS(less_##type, width, m, count, n, V + first, C, W + first * width)          \
    }                                                                                      \
  }

/* All rows, as many at a time as there are registers for. */
#define EACH_ROWS(function, width, m, n, stride, V, C, ...)                \
  ptrdiff_t i = 0;                                                         \
  for (; i + ROWS <= m; i += ROWS)                                         \
    function(ROWS, n, stride, V + i * stride, C + i * width, __VA_ARGS__); \
  for (; i < m; i++) function(1, n, stride, V + i * stride, C + i * width, __VA_ARGS__);

PRODUCTS(four, 4)
PRODUCTS(eight, 8)

/* Two blocks of 4 in one reading of the basis. */
INLINE void along_both(const int rows, ptrdiff_t n, ptrdiff_t stride, const double *V, double *C,
                       const double *W, const double *U) {
  four of_w[ROWS], of_u[ROWS];
  for (int i = 0; i < rows; i++) {
    of_w[i] = *(const four_any *)(C + i * 8);
    of_u[i] = *(const four_any *)(C + i * 8 + 4);
  }
  for (ptrdiff_t j = 0; j < n; j++) {
    const four w = *(const four_any *)(W + j * 4), u = *(const four_any *)(U + j * 4);
    for (int i = 0; i < rows; i++) {
      of_w[i] += V[i * stride + j] * w;
      of_u[i] += V[i * stride + j] * u;
    }
  }
  for (int i = 0; i < rows; i++) {
    *(four_any *)(C + i * 8) = of_w[i];
    *(four_any *)(C + i * 8 + 4) = of_u[i];
  }
}

static void both_along(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, const double *U,
                       double *C) {
  memset(C, 0, (size_t)(m * 8) * sizeof *C);
  for (ptrdiff_t first = 0; first < n; first += COLUMNS) {
    const ptrdiff_t count = n - first < COLUMNS ? n - first : COLUMNS;
    EACH_ROWS(along_both, 8, m, count, n, V + first, C, W + first * 4, U + first * 4)
  }
}

static void rows_along(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, ptrdiff_t width,
                       double *C) {
  if (width == 4) all_along_four(m, n, V, W, C);
  else all_along_eight(m, n, V, W, C);
}

static void less_rows(ptrdiff_t m, ptrdiff_t n, const double *V, const double *C, ptrdiff_t width,
                      ptrdiff_t first, ptrdiff_t last, double *W) {
  if (width == 4) all_less_four(m, n, V, C, first, last, W);
  else all_less_eight(m, n, V, C, first, last, W);
}

SIMD_TABLE(eigen, .rows_along = rows_along, .both_along = both_along, .less_rows = less_rows)
