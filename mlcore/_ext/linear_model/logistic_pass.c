/* Products of rows with few parameter vectors, both ways, and the logistic loss of scores. All is
   computed in double precision. */

#include "linear_model/logistic_pass.h"

#include <math.h>

#include "linear_model/binary_losses.h"
#include "shared/table.h"

/* 20 sums stay in the 32 registers of AVX-512, 12 or 8 in the 16 of the others. */
#define SCORE_ROWS 4
#define CLASSES (VECTOR_BYTES == 64 ? 5 : 2)
#define STRIPS 4
#define VECTORS 2 /* of classes side by side */

/* Else GCC loads a value again for each of its products, and loads take the time. */
#if defined(__x86_64__)
#define IN_REGISTER(x, from) \
  do {                       \
    x = load_d(from);        \
    __asm__("" : "+x"(x));   \
  } while (0)
#else
#define IN_REGISTER(x, from) x = load_d(from)
#endif

/* Rows are fetched ahead: while one block is multiplied, the processor does not see the next. */
#define COPY(suffix, real)                                                                        \
  static void copy_##suffix(ptrdiff_t d, const real *x, const double *shift, const double *scale, \
                            double *out) {                                                        \
    ptrdiff_t j = 0;                                                                              \
    for (; j + 8 <= d; j += 8) {                                                                  \
      __builtin_prefetch((const char *)(x + j) + 2048);                                           \
      for (int v = 0; v < 8; v += LANES_d)                                                        \
        store_d(out + j + v,                                                                      \
                (widen_##suffix(x + j + v) - load_d(shift + j + v)) * load_d(scale + j + v));     \
    }                                                                                             \
    for (; j < d; j++) out[j] = (x[j] - shift[j]) * scale[j];                                     \
  }
COPY(f, float)
COPY(d, double)

/* Z += B theta' for some classes, `have` rows and some columns. */
INLINE void scores_of(const int classes, ptrdiff_t have, ptrdiff_t columns, ptrdiff_t width,
                      ptrdiff_t c, const double *B, const double *theta, double *Z) {
  const double *row[SCORE_ROWS];
  vdouble sum[SCORE_ROWS][CLASSES] = {{{0}}};
  for (int i = 0; i < SCORE_ROWS; i++) row[i] = B + (i < have ? i : have - 1) * width;
  for (ptrdiff_t j = 0; j < columns; j += LANES_d) {
    vdouble x[SCORE_ROWS];
    for (int i = 0; i < SCORE_ROWS; i++) IN_REGISTER(x[i], row[i] + j);
    for (int k = 0; k < classes; k++) {
      const vdouble w = load_d(theta + k * width + j);
      for (int i = 0; i < SCORE_ROWS; i++) sum[i][k] += w * x[i];
    }
  }
  for (int i = 0; i < have; i++)
    for (int k = 0; k < classes; k++) Z[i * c + k] += lane_sum_d(sum[i][k]);
}

INLINE void gradient_of(const int classes, const int strips, ptrdiff_t rows, ptrdiff_t width,
                        ptrdiff_t c, const double *B, const double *R, double *G) {
  vdouble sum[STRIPS][CLASSES];
  for (int v = 0; v < strips; v++)
    for (int k = 0; k < classes; k++) sum[v][k] = load_d(G + k * width + v * LANES_d);
  for (ptrdiff_t i = 0; i < rows; i++) {
    vdouble x[STRIPS];
    for (int v = 0; v < strips; v++) IN_REGISTER(x[v], B + i * width + v * LANES_d);
    for (int k = 0; k < classes; k++) {
      const double r = R[i * c + k];
      for (int v = 0; v < strips; v++) sum[v][k] += r * x[v];
    }
  }
  for (int v = 0; v < strips; v++)
    for (int k = 0; k < classes; k++) store_d(G + k * width + v * LANES_d, sum[v][k]);
}

/* Call a function for all classes, as many at once as sums fit the registers. */
#define FOR_CLASSES(function, ...)                                 \
  switch (c - k < CLASSES ? c - k : CLASSES) {                     \
  case 1: function(1, __VA_ARGS__); break;                         \
  case 2: function(2, __VA_ARGS__); break;                         \
  case 3: function(CLASSES < 3 ? CLASSES : 3, __VA_ARGS__); break; \
  case 4: function(CLASSES < 4 ? CLASSES : 4, __VA_ARGS__); break; \
  default: function(CLASSES, __VA_ARGS__);                         \
  }

/* Few columns of few rows stay in the first cache for all classes. */
static void scores(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t c, const double *B,
                   const double *theta, double *Z) {
  enum { COLUMNS = 512 };
  for (ptrdiff_t top = 0; top < rows; top += SCORE_ROWS) {
    const ptrdiff_t have = rows - top < SCORE_ROWS ? rows - top : SCORE_ROWS;
    for (ptrdiff_t j = 0; j < width; j += COLUMNS) {
      const ptrdiff_t columns = width - j < COLUMNS ? width - j : COLUMNS;
      for (ptrdiff_t k = 0; k < c; k += CLASSES)
        FOR_CLASSES(scores_of, have, columns, width, c, B + top * width + j, theta + k * width + j,
                    Z + top * c + k)
    }
  }
}

/* Z += the scores of some rows in whole vectors of classes, from class k on. */
INLINE void scores_of_vectors(const int vectors, ptrdiff_t have, ptrdiff_t width, ptrdiff_t columns,
                              ptrdiff_t c, ptrdiff_t padded, ptrdiff_t k, const double *B,
                              const double *by_class, double *Z) {
  const double *row[SCORE_ROWS];
  vdouble sum[SCORE_ROWS][VECTORS] = {{{0}}};
  for (int i = 0; i < SCORE_ROWS; i++) row[i] = B + (i < have ? i : have - 1) * width;
  for (ptrdiff_t j = 0; j < columns; j++)
    for (int v = 0; v < vectors; v++) {
      const vdouble w = load_d(by_class + j * padded + k + v * LANES_d);
      for (int i = 0; i < SCORE_ROWS; i++) sum[i][v] += row[i][j] * w;
    }
  for (int i = 0; i < have; i++)
    for (int v = 0; v < vectors; v++) {
      const ptrdiff_t first = k + v * LANES_d;
      double *z = Z + i * c + first;
      if (c - first >= LANES_d) store_d(z, load_d(z) + sum[i][v]);
      else
        for (ptrdiff_t lane = 0; lane < c - first; lane++) z[lane] += sum[i][v][lane];
    }
}

static void scores_by_class(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t columns, ptrdiff_t c,
                            ptrdiff_t padded, const double *B, const double *by_class, double *Z) {
  for (ptrdiff_t top = 0; top < rows; top += SCORE_ROWS) {
    const ptrdiff_t have = rows - top < SCORE_ROWS ? rows - top : SCORE_ROWS;
    const double *block = B + top * width;
    ptrdiff_t k = 0;
    for (; k + VECTORS * LANES_d <= padded; k += VECTORS * LANES_d)
      scores_of_vectors(VECTORS, have, width, columns, c, padded, k, block, by_class, Z + top * c);
    for (; k < padded; k += LANES_d)
      scores_of_vectors(1, have, width, columns, c, padded, k, block, by_class, Z + top * c);
  }
}

static void gradient(ptrdiff_t rows, ptrdiff_t width, ptrdiff_t c, const double *B, const double *R,
                     double *G) {
  ptrdiff_t j = 0;
  for (; j + STRIPS * LANES_d <= width; j += STRIPS * LANES_d)
    for (ptrdiff_t k = 0; k < c; k += CLASSES)
      FOR_CLASSES(gradient_of, STRIPS, rows, width, c, B + j, R + k, G + k * width + j)
  for (; j < width; j += LANES_d)
    for (ptrdiff_t k = 0; k < c; k += CLASSES)
      FOR_CLASSES(gradient_of, 1, rows, width, c, B + j, R + k, G + k * width + j)
}

static void moments(ptrdiff_t rows, ptrdiff_t width, const double *B, const double *s, double *sums,
                    double *squares) {
  for (ptrdiff_t j = 0; j < width; j += LANES_d) {
    vdouble sum = load_d(sums + j), square = load_d(squares + j);
    for (ptrdiff_t i = 0; i < rows; i++) {
      const vdouble x = load_d(B + i * width + j), w = s[i] * x;
      sum += w;
      square += w * x;
    }
    store_d(sums + j, sum);
    store_d(squares + j, square);
  }
}

static double binary(ptrdiff_t rows, int equal, const double *z, const double *sign,
                     const double *s, double *r, double *root, ptrdiff_t *wrong) {
  return binary_losses(1, rows, equal, z, sign, s, r, root, wrong);
}

/* The other classes' part of a sum is never what is left of the whole: it may be far smaller. */
static double several(ptrdiff_t rows, ptrdiff_t c, const int64_t *codes, const double *s, double *Z,
                      double *R, double *below, ptrdiff_t *wrong) {
  const ptrdiff_t whole = c - c % LANES_d;
  double loss = 0;
  for (ptrdiff_t i = 0; i < rows; i++) {
    double *z = Z + i * c, top = z[c - 1];
    if (whole) {
      vdouble most = load_d(z);
      for (ptrdiff_t k = LANES_d; k < whole; k += LANES_d) most = max_d(most, load_d(z + k));
      top = highest_d(most);
    }
    for (ptrdiff_t k = whole; k < c; k++) top = z[k] > top ? z[k] : top;
    below[i] = top - z[codes[i]];
    for (ptrdiff_t k = 0; k < whole; k += LANES_d) store_d(z + k, load_d(z + k) - top);
    for (ptrdiff_t k = whole; k < c; k++) z[k] -= top;
  }
  for (ptrdiff_t i = 0; i < rows * c; i += LANES_d) store_d(Z + i, exp2_d(load_d(Z + i) * LOG2_E));
  for (ptrdiff_t i = 0; i < rows; i++) {
    double *z = Z + i * c, *r = R + i * c;
    const double own = z[codes[i]];
    vdouble sum = {0}, most = {0};
    z[codes[i]] = 0;
    for (ptrdiff_t k = 0; k < whole; k += LANES_d) {
      const vdouble e = load_d(z + k);
      sum += e;
      most = max_d(most, e);
    }
    double others = lane_sum_d(sum), top = highest_d(most);
    for (ptrdiff_t k = whole; k < c; k++) {
      others += z[k];
      top = z[k] > top ? z[k] : top;
    }
    const double total = others + own;
    *wrong += top >= own;
    loss += s[i] * (below[i] == 0 ? log1p(others) : log(total) + below[i]);
    for (ptrdiff_t k = 0; k < whole; k += LANES_d) {
      const vdouble p = load_d(z + k) / total;
      store_d(z + k, p);
      store_d(r + k, s[i] * p);
    }
    for (ptrdiff_t k = whole; k < c; k++) {
      z[k] /= total;
      r[k] = s[i] * z[k];
    }
    z[codes[i]] = own / total;
    r[codes[i]] = -s[i] * (others / total);
  }
  return loss;
}

SIMD_TABLE(logistic_pass, .copy_f = copy_f, .copy_d = copy_d, .scores = scores,
           .scores_by_class = scores_by_class, .gradient = gradient, .moments = moments,
           .binary = binary, .several = several)
