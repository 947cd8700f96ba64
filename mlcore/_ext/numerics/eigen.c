/* A basis, whose rows are vectors, times a block of 4 or 8 vectors, in one reading: BLAS takes the
   time of as many products with one vector, 2 to 3 times as long (OpenBLAS, AVX-512). */

#include "numerics/eigen.h"

#include "shared/table.h"

enum {
  ROWS = 8,     /* of the basis at a time */
  COLUMNS = 512 /* of these, whose part of the block stays in the first cache */
};

typedef double group __attribute__((vector_size(32)));
typedef double group_any __attribute__((vector_size(32), aligned(8), may_alias));
#define GROUP(p) (*(group_any *)(p))
#define GROUP_OF(p) (*(const group_any *)(p))

INLINE void along_of(const int rows, const int groups, ptrdiff_t n, ptrdiff_t stride,
                     const double *V, double *C, const double *W) {
  group sums[2 * ROWS];
  for (int s = 0; s < rows * groups; s++) sums[s] = GROUP_OF(C + 4 * s);
  for (ptrdiff_t j = 0; j < n; j++)
    for (int i = 0; i < rows; i++) {
      const double v = V[i * stride + j];
      const group many = {v, v, v, v};
      for (int g = 0; g < groups; g++)
        sums[i * groups + g] += many * GROUP_OF(W + (j * groups + g) * 4);
    }
  for (int s = 0; s < rows * groups; s++) GROUP(C + 4 * s) = sums[s];
}

INLINE void less_of(const int rows, const int groups, ptrdiff_t n, ptrdiff_t stride,
                    const double *V, const double *C, double *W) {
  group factors[2 * ROWS];
  for (int s = 0; s < rows * groups; s++) factors[s] = GROUP_OF(C + 4 * s);
  for (ptrdiff_t j = 0; j < n; j++)
    for (int g = 0; g < groups; g++) {
      group w = GROUP_OF(W + (j * groups + g) * 4);
      for (int i = 0; i < rows; i++) {
        const double v = V[i * stride + j];
        const group many = {v, v, v, v};
        w -= many * factors[i * groups + g];
      }
      GROUP(W + (j * groups + g) * 4) = w;
    }
}

/* All rows, as many at a time as there are registers for. */
#define EACH_ROWS(function, groups, m, n, stride, V, C, W)                    \
  ptrdiff_t i = 0;                                                            \
  for (; i + ROWS <= m; i += ROWS)                                            \
    function(ROWS, groups, n, stride, V + i * stride, C + i * 4 * groups, W); \
  for (; i < m; i++) function(1, groups, n, stride, V + i * stride, C + i * 4 * groups, W);

INLINE void all_along(const int groups, ptrdiff_t m, ptrdiff_t n, const double *V, const double *W,
                      double *C) {
  memset(C, 0, (size_t)(m * 4 * groups) * sizeof *C);
  for (ptrdiff_t first = 0; first < n; first += COLUMNS) {
    const ptrdiff_t count = n - first < COLUMNS ? n - first : COLUMNS;
    const double *block = W + first * 4 * groups;
    EACH_ROWS(along_of, groups, m, count, n, V + first, C, block)
  }
}

INLINE void all_less(const int groups, ptrdiff_t m, ptrdiff_t n, const double *V, const double *C,
                     ptrdiff_t first, ptrdiff_t last, double *W) {
  for (; first < last; first += COLUMNS) {
    const ptrdiff_t count = last - first < COLUMNS ? last - first : COLUMNS;
    double *block = W + first * 4 * groups;
    EACH_ROWS(less_of, groups, m, count, n, V + first, C, block)
  }
}

static void rows_along(ptrdiff_t m, ptrdiff_t n, const double *V, const double *W, ptrdiff_t width,
                       double *C) {
  if (width == 4) all_along(1, m, n, V, W, C);
  else all_along(2, m, n, V, W, C);
}

static void less_rows(ptrdiff_t m, ptrdiff_t n, const double *V, const double *C, ptrdiff_t width,
                      ptrdiff_t first, ptrdiff_t last, double *W) {
  if (width == 4) all_less(1, m, n, V, C, first, last, W);
  else all_less(2, m, n, V, C, first, last, W);
}

SIMD_TABLE(eigen, .rows_along = rows_along, .less_rows = less_rows)
