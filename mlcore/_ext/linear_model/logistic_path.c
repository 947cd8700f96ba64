/* Sums of logistic regression over rows whose columns lie one beside the other. A vector holds some
   rows of one column, so that no sum is taken over the lanes but once a block. */

#include "linear_model/logistic_path.h"

#include "linear_model/binary_losses.h"
#include "shared/table.h"

#define TILE 4                              /* columns of a tile of the Hessian */
#define ACROSS (VECTOR_BYTES == 64 ? 4 : 2) /* so that its sums stay in registers */

/* Z = X' theta + b, for some vectors of rows at once. */
static void block_scores(ptrdiff_t width, const double *X, const double *theta, double b,
                         double *z) {
  enum { AT_ONCE = 8 };
  for (ptrdiff_t i = 0; i < PATH_ROWS; i += AT_ONCE * LANES_d) {
    vdouble sum[AT_ONCE];
    for (int v = 0; v < AT_ONCE; v++) sum[v] = (vdouble){0} + b;
    for (ptrdiff_t j = 0; j < width; j++)
      for (int v = 0; v < AT_ONCE; v++)
        sum[v] += theta[j] * load_d(X + j * PATH_ROWS + i + v * LANES_d);
    for (int v = 0; v < AT_ONCE; v++) store_d(z + i + v * LANES_d, sum[v]);
  }
}

/* Sums of r and of h times four columns. */
static void block_products(ptrdiff_t width, const double *X, const double *r, const double *h,
                           double *of_r, double *of_h) {
  for (ptrdiff_t j = 0; j < width; j += TILE) {
    vdouble one[TILE] = {{0}}, two[TILE] = {{0}};
    for (ptrdiff_t i = 0; i < PATH_ROWS; i += LANES_d) {
      const vdouble a = load_d(r + i), b = load_d(h + i);
      for (int k = 0; k < TILE; k++) {
        const vdouble x = load_d(X + (j + k) * PATH_ROWS + i);
        one[k] += a * x;
        two[k] += b * x;
      }
    }
    for (int k = 0; k < TILE; k++) {
      of_r[j + k] += lane_sum_d(one[k]);
      of_h[j + k] += lane_sum_d(two[k]);
    }
  }
  vdouble one = {0}, two = {0};
  for (ptrdiff_t i = 0; i < PATH_ROWS; i += LANES_d) {
    one += load_d(r + i);
    two += load_d(h + i);
  }
  of_r[width] += lane_sum_d(one);
  of_h[width] += lane_sum_d(two);
}

static double sums(ptrdiff_t blocks, ptrdiff_t width, const double *X, const double *theta,
                   double b, int equal, const double *sign, const double *s, double *z, double *h,
                   double *r, double *out) {
  double loss = 0;
  ptrdiff_t wrong = 0;
  for (ptrdiff_t j = 0; j < 2 * (width + 1); j++) out[j] = 0;
  for (ptrdiff_t k = 0; k < blocks; k++) {
    const ptrdiff_t at = k * PATH_ROWS;
    block_scores(width, X + at * width, theta, b, z + at);
    loss += binary_losses(0, PATH_ROWS, equal, z + at, sign + at, s + at, r, h + at, &wrong);
    block_products(width, X + at * width, r, h + at, out, out + width + 1);
  }
  return loss;
}

/* The products of 4 columns X with some columns Y. */
static void tile(const double *X, const double *Y, ptrdiff_t width, double *H) {
  vdouble sum[TILE][ACROSS] = {{{0}}};
  for (ptrdiff_t i = 0; i < PATH_ROWS; i += LANES_d) {
    vdouble y[ACROSS];
    for (int b = 0; b < ACROSS; b++) y[b] = load_d(Y + b * PATH_ROWS + i);
    for (int a = 0; a < TILE; a++) {
      const vdouble x = load_d(X + a * PATH_ROWS + i);
      for (int b = 0; b < ACROSS; b++) sum[a][b] += x * y[b];
    }
  }
  for (int a = 0; a < TILE; a++)
    for (int b = 0; b < ACROSS; b++) H[a * width + b] += lane_sum_d(sum[a][b]);
}

static void hessian(ptrdiff_t blocks, ptrdiff_t width, const double *X, const double *h,
                    double *work, double *H) {
  for (ptrdiff_t k = 0; k < blocks; k++) {
    const double *B = X + k * PATH_ROWS * width;
    for (ptrdiff_t j = 0; j < width; j++)
      for (ptrdiff_t i = 0; i < PATH_ROWS; i += LANES_d)
        store_d(work + j * PATH_ROWS + i,
                load_d(B + j * PATH_ROWS + i) * load_d(h + k * PATH_ROWS + i));
    for (ptrdiff_t a = 0; a < width; a += TILE)
      for (ptrdiff_t b = a; b < width; b += ACROSS)
        tile(work + a * PATH_ROWS, B + b * PATH_ROWS, width, H + a * width + b);
  }
}

static void entropies(ptrdiff_t blocks, const double *z, const double *sign, const double *s,
                      double *out) {
  const vdouble zero = {0}, far = zero - 4.143; /* the margin of a probability below 1/64 */
  vdouble near = zero, rest = zero;
  for (ptrdiff_t i = 0; i < blocks * PATH_ROWS; i += LANES_d) {
    const vdouble t = load_d(z + i) * load_d(sign + i), w = load_d(s + i);
    const mask_d is_near = greater_d(t, far);
    /* ln(1 + e^-t) <= e^t - t for t < 0 */
    const vdouble x = select_d(is_near, zero - t, t);
    const vdouble e = exp2_d(min_d(x, zero - far) * LOG2_E);
    near += select_d(is_near, w * e, zero);
    rest += select_d(is_near, zero, w * (e - t));
  }
  out[0] = lane_sum_d(near);
  out[1] = lane_sum_d(rest);
}

static void factor(ptrdiff_t n, ptrdiff_t width, double *A) {
  for (ptrdiff_t k = 0; k < n; k++) {
    double *row = A + k * width;
    const double root = row[k] > 0 ? sqrt(row[k]) : INFINITY, inverse = 1 / root;
    row[k] = root;
    for (ptrdiff_t j = k + 1; j < n; j++) row[j] *= inverse;
    for (ptrdiff_t i = k + 1; i < n; i++) {
      double *to = A + i * width;
      const double u = row[i], least = 1e-14 * to[i];
      for (ptrdiff_t j = i; j < n; j++) to[j] -= u * row[j];
      to[i] = to[i] > least ? to[i] : least;
    }
  }
}

static void solve(ptrdiff_t n, ptrdiff_t width, const double *U, double *x) {
  for (ptrdiff_t k = 0; k < n; k++) {
    const double *row = U + k * width, y = x[k] / row[k];
    x[k] = y;
    for (ptrdiff_t j = k + 1; j < n; j++) x[j] -= y * row[j];
  }
  for (ptrdiff_t k = n - 1; k >= 0; k--) {
    const double *row = U + k * width;
    double y = x[k];
    for (ptrdiff_t j = k + 1; j < n; j++) y -= row[j] * x[j];
    x[k] = y / row[k];
  }
}

SIMD_TABLE(logistic_path, .sums = sums, .hessian = hessian, .entropies = entropies,
           .factor = factor, .solve = solve)
