/* EM for a mixture of Gaussians on a batch of rows with missing values, NaN.

   With o the known and u the missing features of a row, P = S^-1 and d_o = x_o - m_o, the missing
   values are expected at d_u = -V P_uo d_o with covariance V = P_uu^-1; then |x_o|^2 = d' P d and
   ln det S_oo = ln det S + ln det P_uu (Ghahramani and Jordan 1994, in precisions). Where more
   than half is missing, or the inverse is poor, the same comes from a Cholesky factor of S_oo. Rows
   of a pattern are neighbours and share these factors; lanes of vectors are rows. */
#include "mixture/correlated_rows.h"

#include "shared/table.h"

enum { BATCH = INCOMPLETE_BATCH };
#define LOG_2_PI 1.8378770664093453
#define LARGEST 4e307

/* The features of a pattern: `known` and `missing`, n_known and n_missing of them. */
typedef struct {
  ptrdiff_t first, last; /* its rows */
  ptrdiff_t n_known, n_missing;
  ptrdiff_t *known, *missing;
} pattern;

static void read_pattern(pattern *p, const double *x, ptrdiff_t d) {
  p->n_known = p->n_missing = 0;
  for (ptrdiff_t f = 0; f < d; f++) {
    if (x[f] == x[f]) p->known[p->n_known++] = f;
    else p->missing[p->n_missing++] = f;
  }
}

/* Replace the lower half of A (n, n), the rows and columns `index` of M (d, d), by its Cholesky
   factor; returns half the log determinant, or NaN if A is not positive definite. */
static double cholesky(ptrdiff_t n, const ptrdiff_t *index, const double *M, ptrdiff_t d,
                       double *A) {
  double half = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    const double *row = M + index[i] * d;
    for (ptrdiff_t j = 0; j <= i; j++) {
      double s = row[index[j]];
      for (ptrdiff_t l = 0; l < j; l++) s -= A[i * n + l] * A[j * n + l];
      if (j < i) {
        A[i * n + j] = s / A[j * n + j];
      } else {
        if (!(s > 0)) return NAN;
        A[i * n + i] = sqrt(s);
        half += log(A[i * n + i]);
      }
    }
  }
  return half;
}

/* Y (n, stride), of `count` columns, becomes L^-1 Y. */
static void solve(ptrdiff_t n, const double *L, double *Y, ptrdiff_t stride, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < n; i++) {
    double *y = Y + i * stride;
    for (ptrdiff_t l = 0; l < i; l++)
      for (ptrdiff_t r = 0; r < count; r++) y[r] -= L[i * n + l] * Y[l * stride + r];
    for (ptrdiff_t r = 0; r < count; r++) y[r] /= L[i * n + i];
  }
}

/* Y (n, BATCH), of `count` columns, becomes L'^-1 Y. */
static void solve_transposed(ptrdiff_t n, const double *L, double *Y, ptrdiff_t count) {
  for (ptrdiff_t i = n - 1; i >= 0; i--) {
    double *y = Y + i * BATCH;
    for (ptrdiff_t l = i + 1; l < n; l++)
      for (ptrdiff_t r = 0; r < count; r++) y[r] -= L[l * n + i] * Y[l * BATCH + r];
    for (ptrdiff_t r = 0; r < count; r++) y[r] /= L[i * n + i];
  }
}

/* Y[i] = sum over o of M[to[i]][from[o]] D[from[o]], `count` lanes from `first` on. */
static void product(const double *M, ptrdiff_t d, ptrdiff_t n_to, const ptrdiff_t *to,
                    ptrdiff_t n_from, const ptrdiff_t *from, const double *D, ptrdiff_t count,
                    double *Y) {
  for (ptrdiff_t i = 0; i < n_to; i++) {
    const double *row = M + to[i] * d;
    double *y = Y + i * BATCH;
    if (count <= 2) { /* a pattern of its own for nearly each row */
      for (ptrdiff_t r = 0; r < count; r++) {
        double even = 0, odd = 0;
        ptrdiff_t o = 0;
        for (; o + 1 < n_from; o += 2) {
          even += row[from[o]] * D[from[o] * BATCH + r];
          odd += row[from[o + 1]] * D[from[o + 1] * BATCH + r];
        }
        if (o < n_from) even += row[from[o]] * D[from[o] * BATCH + r];
        y[r] = even + odd;
      }
      continue;
    }
    memset(y, 0, sizeof(double) * (size_t)count);
    for (ptrdiff_t o = 0; o < n_from; o++) {
      const ptrdiff_t f = from[o];
      for (ptrdiff_t r = 0; r < count; r++) y[r] += row[f] * D[f * BATCH + r];
    }
  }
}

/* Whether the precision form serves: then A is the Cholesky factor of P_uu, else of S_oo; `half`
   is half the log determinant of that. */
static int by_precision(const incomplete_mixture *g, ptrdiff_t j, const pattern *p, double *A,
                        double *half) {
  if (2 * p->n_missing <= g->d && !g->poor[j]) {
    *half = cholesky(p->n_missing, p->missing, g->precisions + j * g->side, g->d, A);
    if (*half == *half) return 1;
  }
  *half = cholesky(p->n_known, p->known, g->covariances + j * g->side, g->d, A);
  return 0;
}

/* Set D at the missing features, half the log determinants of S_oo and, by its Cholesky factor
   alone, the norms. */
static void fill(const incomplete_mixture *g, ptrdiff_t j, const pattern *p, double *D, double *A,
                 double *Y, double *norms, double *halves) {
  const ptrdiff_t d = g->d, n = p->n_known, q = p->n_missing, count = p->last - p->first;
  double half;
  D += p->first;
  if (by_precision(g, j, p, A, &half)) {
    product(g->precisions + j * g->side, d, q, p->missing, n, p->known, D, count, Y);
    solve(q, A, Y, BATCH, count);
    solve_transposed(q, A, Y, count);
    for (ptrdiff_t i = 0; i < q; i++)
      for (ptrdiff_t r = 0; r < count; r++) D[p->missing[i] * BATCH + r] = -Y[i * BATCH + r];
    for (ptrdiff_t r = p->first; r < p->last; r++) halves[r] = half + g->halves[j];
    return;
  }
  /* Z: rows of the known features, turned to S_oo^-1 d_o in place of d_o. */
  double *Z = Y + d * BATCH;
  for (ptrdiff_t i = 0; i < n; i++)
    memcpy(Z + i * BATCH, D + p->known[i] * BATCH, sizeof(double) * (size_t)count);
  solve(n, A, Z, BATCH, count);
  for (ptrdiff_t r = 0; r < count; r++) {
    double norm = 0;
    for (ptrdiff_t i = 0; i < n; i++) norm += Z[i * BATCH + r] * Z[i * BATCH + r];
    norms[p->first + r] = norm;
    halves[p->first + r] = half;
  }
  solve_transposed(n, A, Z, count);
  for (ptrdiff_t i = 0; i < q; i++) {
    const ptrdiff_t f = p->missing[i];
    const double *row = g->covariances + j * g->side + f * d;
    double *to = D + f * BATCH;
    for (ptrdiff_t o = 0; o < n; o++)
      for (ptrdiff_t r = 0; r < count; r++) to[r] += row[p->known[o]] * Z[o * BATCH + r];
  }
}

/* Add `mass` times the covariance V of the missing features to `second` (d, d). */
static void add_uncertainty(const incomplete_mixture *g, ptrdiff_t j, const pattern *p, double mass,
                            double *A, double *B, double *second) {
  const ptrdiff_t d = g->d, n = p->n_known, q = p->n_missing;
  double half;
  const int inverse = by_precision(g, j, p, A, &half);
  const ptrdiff_t rows = inverse ? q : n;
  const double *S = g->covariances + j * g->side;
  for (ptrdiff_t l = 0; l < rows; l++)
    for (ptrdiff_t i = 0; i < q; i++)
      B[l * q + i] = inverse ? (double)(l == i) : S[p->known[l] * d + p->missing[i]];
  solve(rows, A, B, q, q);
  for (ptrdiff_t i = 0; i < q; i++) {
    const ptrdiff_t a = p->missing[i];
    for (ptrdiff_t m = 0; m <= i; m++) {
      const ptrdiff_t b = p->missing[m];
      double v = 0;
      for (ptrdiff_t l = inverse ? i : 0; l < rows; l++) v += B[l * q + i] * B[l * q + m];
      if (!inverse) v = S[a * d + b] - v;
      if (i == m) v = fmax(v - g->added, 0);
      second[a * d + b] += mass * v;
    }
  }
}

/* norms[r] = |factor' D_r|^2 where it is not there yet. */
static void whitened_norms(ptrdiff_t d, const double *factor, const double *D, double *norms) {
  double sums[BATCH] = {0};
  for (ptrdiff_t c = 0; c < d; c++) {
    double z[BATCH] = {0};
    for (ptrdiff_t f = 0; f <= c; f++)
      for (int r = 0; r < BATCH; r++) z[r] += factor[f * d + c] * D[f * BATCH + r];
    for (int r = 0; r < BATCH; r++) sums[r] += z[r] * z[r];
  }
  for (int r = 0; r < BATCH; r++) norms[r] = norms[r] < 0 ? sums[r] : norms[r];
}

/* first += sum r D and the lower half of second += sum r D D'. */
static double moments(ptrdiff_t d, const double *r, const double *D, double *first,
                      double *second) {
  enum { VECTORS = BATCH / LANES_d };
  vdouble mass = {0};
  for (int v = 0; v < VECTORS; v++) mass += load_d(r + v * LANES_d);
  for (ptrdiff_t a = 0; a < d; a++) {
    vdouble own[VECTORS], sum = {0};
    for (int v = 0; v < VECTORS; v++) {
      own[v] = load_d(r + v * LANES_d) * load_d(D + a * BATCH + v * LANES_d);
      sum += own[v];
    }
    first[a] = add_lanes_d(first[a], sum);
    for (ptrdiff_t b = 0; b <= a; b++) {
      vdouble s = {0};
      for (int v = 0; v < VECTORS; v++) s += own[v] * load_d(D + b * BATCH + v * LANES_d);
      second[a * d + b] = add_lanes_d(second[a * d + b], s);
    }
  }
  return add_lanes_d(0, mass);
}

/* Fill what is asked for of n rows, at most BATCH: `stats` (log-likelihood, masses (k), first (k,
   d), lower halves of second (k, d, d)) is added to; density (n,), proba (n, k), imputed (n, d). */
static void batch(const incomplete_mixture *g, ptrdiff_t n, const double *X, const double *weight,
                  const int64_t *patterns, double *scratch, double *stats, double *density,
                  double *proba, double *imputed) {
  const ptrdiff_t d = g->d, k = g->k;
  double *all = scratch, *logs = all + k * d * BATCH, *Y = logs + k * BATCH;
  double *norms = Y + 2 * d * BATCH, *halves = norms + BATCH;
  double *A = halves + BATCH, *B = A + d * d;
  ptrdiff_t *lists = (ptrdiff_t *)(B + d * d);
  pattern segments[BATCH];
  int n_segments = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    if (i == 0 || patterns[i] != patterns[i - 1]) {
      pattern *p = segments + n_segments;
      p->first = i;
      /* Known features from the front of d places, missing ones from the end. */
      p->known = lists + n_segments * d;
      ptrdiff_t count = 0;
      for (ptrdiff_t f = 0; f < d; f++) count += X[i * d + f] == X[i * d + f];
      p->missing = p->known + count;
      read_pattern(p, X + i * d, d);
      n_segments++;
    }
    segments[n_segments - 1].last = i + 1;
  }
  for (ptrdiff_t j = 0; j < k; j++) {
    double *D = all + j * d * BATCH;
    const double *m = g->means + j * d, *factor = g->factors + j * g->side;
    memset(D, 0, sizeof(double) * (size_t)(d * BATCH));
    for (ptrdiff_t i = 0; i < n; i++)
      for (ptrdiff_t f = 0; f < d; f++) {
        const double x = X[i * d + f];
        if (x == x) D[f * BATCH + i] = x - m[f];
      }
    for (int i = 0; i < BATCH; i++) norms[i] = -1;
    for (int s = 0; s < n_segments; s++) fill(g, j, segments + s, D, A, Y, norms, halves);
    whitened_norms(d, factor, D, norms);
    for (int s = 0; s < n_segments; s++)
      for (ptrdiff_t i = segments[s].first; i < segments[s].last; i++) {
        const double known = (double)segments[s].n_known;
        logs[j * BATCH + i] =
            g->log_weights[j] - halves[i] - 0.5 * (known * LOG_2_PI + fmin(norms[i], LARGEST));
      }
  }
  for (ptrdiff_t i = 0; i < BATCH; i++) {
    if (i >= n) {
      for (ptrdiff_t j = 0; j < k; j++) logs[j * BATCH + i] = 0;
      continue;
    }
    double top = -INFINITY, sum = 0;
    for (ptrdiff_t j = 0; j < k; j++) top = fmax(top, logs[j * BATCH + i]);
    for (ptrdiff_t j = 0; j < k; j++) {
      const double e = exp(logs[j * BATCH + i] - top);
      logs[j * BATCH + i] = e < 0x1p-64 ? 0 : e;
      sum += logs[j * BATCH + i];
    }
    const double w = weight == NULL ? 1 : weight[i], log_density = top + log(sum);
    for (ptrdiff_t j = 0; j < k; j++) {
      const double r = logs[j * BATCH + i] / sum;
      if (proba != NULL) proba[i * k + j] = r;
      logs[j * BATCH + i] = w * r;
    }
    if (density != NULL) density[i] = log_density;
    if (stats != NULL && w > 0) stats[0] += w * log_density;
  }
  if (imputed != NULL)
    for (int s = 0; s < n_segments; s++)
      for (ptrdiff_t i = segments[s].first; i < segments[s].last; i++) {
        memcpy(imputed + i * d, X + i * d, sizeof(double) * (size_t)d);
        for (ptrdiff_t u = 0; u < segments[s].n_missing; u++) {
          const ptrdiff_t f = segments[s].missing[u];
          double sum = 0;
          for (ptrdiff_t j = 0; j < k; j++)
            sum += logs[j * BATCH + i] * (g->means[j * d + f] + all[(j * d + f) * BATCH + i]);
          imputed[i * d + f] = sum;
        }
      }
  if (stats == NULL) return;
  double *firsts = stats + 1 + k, *seconds = firsts + k * d;
  for (ptrdiff_t j = 0; j < k; j++) {
    const double *r = logs + j * BATCH;
    double *second = seconds + j * d * d;
    const double mass = moments(d, r, all + j * d * BATCH, firsts + j * d, second);
    stats[1 + j] += mass;
    if (mass == 0) continue;
    for (int s = 0; s < n_segments; s++) {
      double own = 0;
      for (ptrdiff_t i = segments[s].first; i < segments[s].last; i++) own += r[i];
      if (own > 0) add_uncertainty(g, j, segments + s, own, A, B, second);
    }
  }
}

SIMD_TABLE(correlated_rows, .batch = batch)
