/* Agglomerative clustering (reciprocal_neighbors.pyx, lance_williams.pyx), in double precision. */
#include "cluster/linkage/linkage.h"

#include "shared/table.h"

#define PRECISION d
#include "cluster/squared_distance_loops.h"

enum {
  WIDE = LANES_d,
  BESIDE = 4,
  LINKAGE_WORK = 1 << 27, /* values of the matrix in one call */
  /* clusters for each pair, at most, for which all rows are formed at once: a sixth less time for
     4,000 samples (linkage.py::Merges, weighted, AVX2) */
  ROUND = 12,
  DOUBLE_LANES = (1 << LANES_d) - 1
};

/* ---- clusters of points */

/* The linkage distance of two clusters, from all pairs of their points; the same whichever comes
   first. */
static double between(const cluster_set *s, ptrdiff_t a, ptrdiff_t b) {
  double total = 0;
  if (a > b) {
    const ptrdiff_t c = a;
    a = b;
    b = c;
  }
  for (int64_t i = s->start[a]; i < s->start[a + 1]; i++)
    for (int64_t j = s->start[b]; j < s->start[b + 1]; j++) {
      const double square = squared_distance_d(s->d, s->points + i * s->d, s->points + j * s->d);
      if (s->kind == LINKAGE_AVERAGE) total += sqrt(square);
      else total = square > total ? square : total;
    }
  if (s->kind == LINKAGE_COMPLETE) return sqrt(total);
  return total /
         ((double)(s->start[a + 1] - s->start[a]) * (double)(s->start[b + 1] - s->start[b]));
}

/* delta[lane] = |query - c|^2 of BESIDE vectors of centres side by side. */
static inline void centre_squares(const cluster_set *s, const double *query, ptrdiff_t first,
                                  vdouble *delta) {
  const double *panel =
      s->panels + first / PANEL_DOUBLE * PANEL_DOUBLE * s->d + first % PANEL_DOUBLE;
  vdouble sum[BESIDE] = {{0}};
  for (ptrdiff_t f = 0; f < s->d; f++, panel += PANEL_DOUBLE) {
    const double q = query[f];
    for (int b = 0; b < BESIDE; b++) {
      const vdouble difference = load_d(panel + b * WIDE) - q;
      sum[b] += difference * difference;
    }
  }
  for (int b = 0; b < BESIDE; b++) delta[b] = sum[b];
}

/* tile[i, j] = |x_i - y_j|^2 of rows and points in panels, rows of the tile at distances
   of `stride` values. */
static void square_tile(ptrdiff_t d, ptrdiff_t rows, ptrdiff_t n_panels, const double *X,
                        const double *panels, ptrdiff_t stride, double *tile) {
  const cluster_set s = {.d = d, .panels = panels};
  for (ptrdiff_t first = 0; first < n_panels * PANEL_DOUBLE; first += BESIDE * WIDE)
    for (ptrdiff_t i = 0; i < rows; i++) {
      vdouble square[BESIDE];
      centre_squares(&s, X + i * d, first, square);
      for (int b = 0; b < BESIDE; b++) store_d(tile + i * stride + first + b * WIDE, square[b]);
    }
}

/* The squared distance within which the centre of a nearer cluster lies, given one at distance
   `upper`. */
static inline double reach_of(const cluster_set *s, double upper) {
  const double reach = upper + s->slack;
  return reach * reach * (1 + 1e-12);
}

/* A search for the nearest cluster: `limit` falls as nearer ones are found, on Ward's distance or
   on the squared distance of centres. */
typedef struct {
  ptrdiff_t own, count, nearest;
  double limit;
  /* clusters that may be the nearest, and bounds below on their squared distances */
  int32_t *found;
  double *squares;
} cluster_query;

/* The squared distance of centres beyond which no cluster of this variance is the nearest. */
static inline vdouble farthest(const cluster_set *s, const cluster_query *q, vdouble variance) {
  const vdouble limit = (vdouble){0} + q->limit, both = variance + s->variance[q->own];
  return s->kind == LINKAGE_WARD       ? limit * both
         : s->kind == LINKAGE_COMPLETE ? limit - both
                                       : limit;
}

static void search_panel(const cluster_set *s, ptrdiff_t panel, cluster_query *q) {
  const double variance = s->variance[q->own];
  for (ptrdiff_t first = panel * PANEL_DOUBLE; first < (panel + 1) * PANEL_DOUBLE;
       first += BESIDE * WIDE) {
    vdouble delta[BESIDE];
    centre_squares(s, s->centres + q->own * s->d, first, delta);
    for (int b = 0; b < BESIDE; b++) {
      const ptrdiff_t at = first + b * WIDE;
      unsigned near = ~lane_bits_d(greater_d(delta[b], farthest(s, q, load_d(s->variance + at)))) &
                      DOUBLE_LANES;
      for (; near != 0; near &= near - 1) {
        const int lane = __builtin_ctz(near);
        const ptrdiff_t other = at + lane;
        const double square = delta[b][lane];
        if (other == q->own || other >= s->n) continue;
        const double both = s->variance[other] + variance;
        if (s->kind == LINKAGE_WARD) {
          if (square / both < q->limit) q->limit = square / both, q->nearest = other;
          continue;
        }
        const double upper = s->kind == LINKAGE_AVERAGE
                                 ? sqrt(square + both)
                                 : sqrt(square) + s->radius[other] + s->radius[q->own];
        const double reach = reach_of(s, upper);
        q->found[q->count] = (int32_t)other;
        q->squares[q->count++] = s->kind == LINKAGE_AVERAGE ? square : square + both;
        if (reach < q->limit) q->limit = reach;
      }
    }
  }
}

/* The nearest clusters to some, and how far they are: Ward's squared; else first by bounds from the
   centres and from how far the points are variance around them, then from the points. Panels whose
   ball is out of reach are passed over: behind the panels of s lie those of the balls' centres,
   behind `radius` the balls' radii, and behind `variance` the variance that reaches farthest, one
   for each panel. `found` and `squares` are scratch, 3 times as many as panels hold. */
static void nearest_clusters(const cluster_set *s, ptrdiff_t n_queries, const int64_t *queries,
                             int32_t *found, double *squares, int64_t *nearest, double *value) {
  const ptrdiff_t panels = (s->n + PANEL_DOUBLE - 1) / PANEL_DOUBLE, size = panels * PANEL_DOUBLE;
  cluster_set balls = *s;
  balls.panels = s->panels + size * s->d;
  double *gap = squares + size, *beyond = gap + size;
  for (ptrdiff_t t = 0; t < n_queries; t++) {
    cluster_query q = {queries[t], 0, -1, INFINITY, found, squares};
    const ptrdiff_t home = q.own / PANEL_DOUBLE;
    search_panel(s, home, &q);
    for (ptrdiff_t first = 0; first < panels; first += BESIDE * WIDE) {
      vdouble delta[BESIDE];
      centre_squares(&balls, s->centres + q.own * s->d, first, delta);
      for (int b = 0; b < BESIDE; b++) {
        const ptrdiff_t at = first + b * WIDE;
        const vdouble difference =
            max_d((vdouble){0}, sqrt_d(delta[b]) - load_d(s->radius + size + at));
        store_d(gap + at, difference * difference);
        store_d(beyond + at,
                difference * difference - farthest(s, &q, load_d(s->variance + size + at)));
      }
    }
    for (ptrdiff_t p = 0; p < panels; p++)
      if (beyond[p] <= 0 && p != home &&
          gap[p] <= farthest(s, &q, (vdouble){0} + s->variance[size + p])[0])
        search_panel(s, p, &q);
    value[t] = INFINITY;
    nearest[t] = q.nearest;
    if (s->kind == LINKAGE_WARD) {
      value[t] = 2 * q.limit;
      continue;
    }
    for (ptrdiff_t c = 0; c < q.count; c++) {
      if (squares[c] > q.limit) continue;
      const double exact = between(s, q.own, found[c]);
      if (exact < value[t]) {
        const double reach = reach_of(s, exact);
        value[t] = exact;
        nearest[t] = found[c];
        if (reach < q.limit) q.limit = reach;
      }
    }
  }
}

/* row[b] = linkage distance of cluster a to cluster b, for b >= a; `sums` is scratch, as many as
   there are points and a panel. `point_panels` are the points as columns. */
static void cluster_row(const cluster_set *s, const double *point_panels, ptrdiff_t a, double *sums,
                        double *row) {
  const ptrdiff_t first = s->start[a] / (BESIDE * WIDE) * (BESIDE * WIDE), n = s->start[s->n];
  cluster_set points = *s;
  points.panels = point_panels;
  for (ptrdiff_t j = first; j < n; j += BESIDE * WIDE) {
    vdouble total[BESIDE] = {{0}};
    for (int64_t i = s->start[a]; i < s->start[a + 1]; i++) {
      vdouble square[BESIDE];
      centre_squares(&points, s->points + i * s->d, j, square);
      for (int b = 0; b < BESIDE; b++) {
        if (s->kind == LINKAGE_AVERAGE) total[b] += sqrt_d(square[b]);
        else total[b] = max_d(total[b], square[b]);
      }
    }
    for (int b = 0; b < BESIDE; b++) store_d(sums + j + b * WIDE, total[b]);
  }
  for (ptrdiff_t c = a; c < s->n; c++) {
    double total = 0;
    for (int64_t j = s->start[c]; j < s->start[c + 1]; j++)
      if (s->kind == LINKAGE_AVERAGE) total += sums[j];
      else total = sums[j] > total ? sums[j] : total;
    if (s->kind == LINKAGE_COMPLETE) row[c] = sqrt(total);
    else
      row[c] = total /
               ((double)(s->start[a + 1] - s->start[a]) * (double)(s->start[c + 1] - s->start[c]));
  }
}

/* ---- clusters of a matrix of distances */

/* The least of row + gone, and the first place where it is. */
static ptrdiff_t row_nearest(ptrdiff_t stride, const double *row, const double *gone,
                             double *least) {
  vdouble low[2] = {(vdouble){0} + INFINITY, (vdouble){0} + INFINITY};
  for (ptrdiff_t j = 0; j < stride; j += 2 * WIDE)
    for (int b = 0; b < 2; b++)
      low[b] = min_d(low[b], load_d(row + j + b * WIDE) + load_d(gone + j + b * WIDE));
  const double c = *least = lowest_d(min_d(low[0], low[1]));
  for (ptrdiff_t j = 0; j < stride; j += WIDE) {
    const unsigned above =
        lane_bits_d(greater_d(load_d(row + j) + load_d(gone + j), (vdouble){0} + c));
    if (above != DOUBLE_LANES) return j + __builtin_ctz(~above);
  }
  return 0;
}

/* The distance of a cluster of nk samples from two others together, at distances x and y from it
   and `distance` from each other (Lance and Williams). */
INLINE double together(const int kind, double x, double y, double na, double nb, double nk,
                       double distance) {
  const double n = na + nb;
  double z;
  switch (kind) {
  case LINKAGE_SINGLE: return x < y ? x : y;
  case LINKAGE_COMPLETE: return x > y ? x : y;
  case LINKAGE_AVERAGE: return (na * x + nb * y) / n;
  case LINKAGE_WEIGHTED: return 0.5 * (x + y);
  case LINKAGE_WARD: z = ((na + nk) * x + (nb + nk) * y - nk * distance) / (n + nk); break;
  case LINKAGE_CENTROID: z = (na * x + nb * y - na * nb / n * distance) / n; break;
  default: z = 0.5 * (x + y) - 0.25 * distance;
  }
  return z > 0 ? z : 0;
}

#define FOR_THIS_KIND(kind, loop)                      \
  switch (kind) {                                      \
  case LINKAGE_SINGLE: loop(LINKAGE_SINGLE) break;     \
  case LINKAGE_COMPLETE: loop(LINKAGE_COMPLETE) break; \
  case LINKAGE_AVERAGE: loop(LINKAGE_AVERAGE) break;   \
  case LINKAGE_WEIGHTED: loop(LINKAGE_WEIGHTED) break; \
  case LINKAGE_WARD: loop(LINKAGE_WARD) break;         \
  case LINKAGE_CENTROID: loop(LINKAGE_CENTROID) break; \
  default: loop(LINKAGE_MEDIAN)                        \
  }

/* out[k] = distance of cluster k from two together, of na and nb samples. */
static void join_rows(int kind, ptrdiff_t n, const double *x, const double *y, double na, double nb,
                      const double *size, double distance, double *restrict out) {
#define ROWS(K) \
  for (ptrdiff_t k = 0; k < n; k++) out[k] = together(K, x[k], y[k], na, nb, size[k], distance);
  FOR_THIS_KIND(kind, ROWS)
#undef ROWS
}

/* The row of a cluster of nk samples, where pairs from..to become one cluster each: its column is
   that of their first. */
static void join_columns(const cluster_matrix *s, ptrdiff_t from, ptrdiff_t to, double nk,
                         double *row) {
  double *restrict x = s->x, *restrict y = s->y;
  const double *na = s->na, *nb = s->nb, *distance = s->distance;
  const int32_t *first = s->first, *second = s->second;
  for (ptrdiff_t c = from; c < to; c++) x[c] = row[first[c]], y[c] = row[second[c]];
#define COLUMNS(K)                      \
  for (ptrdiff_t c = from; c < to; c++) \
    x[c] = together(K, x[c], y[c], na[c], nb[c], nk, distance[c]);
  FOR_THIS_KIND(s->kind, COLUMNS)
#undef COLUMNS
  for (ptrdiff_t c = from; c < to; c++) row[first[c]] = x[c];
}

static void search_row(cluster_matrix *s, ptrdiff_t k) {
  s->nearest[k] = (int32_t)row_nearest(s->stride, s->D + k * s->stride, s->gone, s->value + k);
  s->stale[k] = 0;
}

/* Clusters that are each other's nearest are to become the first of the two, if they are many; -1
   if some searches are left for the next call. Stale is then what is nearest to one of a pair, or
   in one. */
static ptrdiff_t begin_round(cluster_matrix *s, int64_t *merged, double *heights, ptrdiff_t *work) {
  ptrdiff_t pairs = 0;
  for (ptrdiff_t k = 0; k < s->m; k++) {
    if (s->gone[k] != 0 || !s->stale[k]) continue;
    if (*work > LINKAGE_WORK) return -1;
    search_row(s, k);
    *work += s->stride;
  }
  for (ptrdiff_t a = 0; a < s->m; a++) {
    const ptrdiff_t b = s->nearest[a];
    if (s->gone[a] != 0 || s->nearest[b] != a || b < a) continue;
    s->first[pairs] = (int32_t)a;
    s->second[pairs] = (int32_t)b;
    s->na[pairs] = s->size[a];
    s->nb[pairs] = s->size[b];
    merged[2 * pairs] = s->name[a];
    merged[2 * pairs + 1] = s->name[b];
    heights[pairs] = s->distance[pairs] = s->value[a];
    pairs++;
  }
  if (pairs * ROUND < s->left) return 0;
  for (ptrdiff_t c = 0; c < pairs; c++) {
    s->gone[s->second[c]] = INFINITY;
    s->stale[s->first[c]] = s->stale[s->second[c]] = 2;
  }
  for (ptrdiff_t k = 0; k < s->m; k++)
    if (s->stale[k] == 0 && s->stale[s->nearest[k]] == 2) s->stale[k] = 1;
  s->left -= pairs;
  s->next = pairs;
  return pairs;
}

/* Rows after the merges of a round. The earlier of two pairs is joined first in both of their rows,
   so that these agree to the bit; sizes are those of what is joined already. */
static void form_rows(cluster_matrix *s, ptrdiff_t *work) {
  ptrdiff_t c = 0;
  while (c < s->next && s->first[c] < s->at) c++;
  for (; s->at < s->m; s->at++) {
    const ptrdiff_t k = s->at;
    double *row = s->D + k * s->stride;
    if (s->gone[k] != 0) continue;
    if (*work > LINKAGE_WORK) return;
    if (c < s->next && s->first[c] == k) {
      double *other = s->D + s->second[c] * s->stride;
      join_columns(s, 0, c, s->na[c], row);
      join_columns(s, 0, c, s->nb[c], other);
      join_rows(s->kind, s->stride, row, other, s->na[c], s->nb[c], s->size, s->distance[c],
                s->row);
      memcpy(row, s->row, s->stride * sizeof(double));
      s->size[k] += s->nb[c++];
      join_columns(s, c, s->next, s->size[k], row);
      row[k] = INFINITY;
    } else {
      join_columns(s, 0, s->next, s->size[k], row);
    }
    if (s->stale[k]) search_row(s, k);
    *work += 2 * s->stride;
  }
  s->next = s->at = 0;
}

/* Clusters that are left move together: without, the centroid and median linkages of 3,000 samples
   take a quarter longer (AVX2). */
static void close_ranks(cluster_matrix *s) {
  const ptrdiff_t stride = (s->left + 2 * WIDE - 1) / (2 * WIDE) * (2 * WIDE);
  int32_t *moved = s->first;
  ptrdiff_t to = 0;
  for (ptrdiff_t k = 0; k < s->m; k++) moved[k] = s->gone[k] == 0 ? (int32_t)to++ : -1;
  to = 0;
  for (ptrdiff_t k = 0; k < s->m; k++) {
    if (s->gone[k] != 0) continue;
    const double *from = s->D + k * s->stride;
    double *row = s->D + to * stride;
    ptrdiff_t c = 0;
    for (ptrdiff_t j = 0; j < s->m; j++)
      if (moved[j] >= 0) row[c++] = from[j];
    while (c < stride) row[c++] = INFINITY;
    s->size[to] = s->size[k];
    s->name[to] = s->name[k];
    s->value[to] = s->value[k];
    s->stale[to] = s->stale[k];
    s->nearest[to] = moved[s->nearest[k]];
    if (s->nearest[to] < 0) s->nearest[to] = 0; /* only where stale */
    to++;
  }
  for (ptrdiff_t k = 0; k < stride; k++) {
    s->gone[k] = k < s->left ? 0 : INFINITY;
    s->value[k] = k < s->left ? s->value[k] : INFINITY;
  }
  for (ptrdiff_t k = s->left; k < stride; k++) s->size[k] = 1;
  s->m = s->left;
  s->stride = stride;
}

/* Cluster b becomes a and b together. */
static void merge_two(cluster_matrix *s, ptrdiff_t a, ptrdiff_t b) {
  double *row = s->D + b * s->stride;
  const double *from = s->D + a * s->stride;
  join_rows(s->kind, s->stride, from, row, s->size[a], s->size[b], s->size, from[b], s->row);
  memcpy(row, s->row, s->stride * sizeof(double));
  s->gone[a] = INFINITY;
  s->size[b] += s->size[a];
  s->left--;
  row[b] = INFINITY;
  for (ptrdiff_t k = 0; k < s->m; k++) s->D[k * s->stride + b] = row[k];
  for (ptrdiff_t k = 0; k < s->m; k++) {
    if (!(row[k] < s->value[k] || s->nearest[k] == a || s->nearest[k] == b) || s->gone[k] != 0 ||
        k == b)
      continue;
    if (row[k] < s->value[k] ||
        (row[k] == s->value[k] && (s->nearest[k] == a || s->nearest[k] == b))) {
      s->value[k] = row[k];
      s->nearest[k] = (int32_t)b;
      s->stale[k] = 0;
    } else {
      s->stale[k] = 1;
    }
  }
  search_row(s, b);
}

/* Merge until one cluster is left or much work is done: stores the names of the two and their
   distance, and returns the number of merges. All pairs of a round at once where they are many,
   else the nearest clusters first. `value` is the distance to the nearest cluster, or where stale
   no more than it. */
static ptrdiff_t merge_nearest(cluster_matrix *s, int64_t *merged, double *heights) {
  ptrdiff_t done = 0, work = 0, since = s->left;
  while ((s->left > 1 || s->next > 0) && work <= LINKAGE_WORK) {
    if (s->next > 0) {
      form_rows(s, &work);
      since = s->left;
      continue;
    }
    if (s->m > 64 && s->left < s->m / 3 * 2) {
      close_ranks(s);
      since = s->left;
    }
    if (s->left == since && s->kind < LINKAGE_CENTROID) {
      const ptrdiff_t pairs = begin_round(s, merged + 2 * done, heights + done, &work);
      if (pairs < 0) break;
      done += pairs;
      if (pairs > 0) continue;
    }
    double low;
    const ptrdiff_t a = row_nearest(s->stride, s->value, s->gone, &low), b = s->nearest[a];
    work += s->stride;
    if (s->stale[a]) {
      search_row(s, a);
      work += s->stride;
      continue;
    }
    merged[2 * done] = s->name[a];
    merged[2 * done + 1] = s->name[b];
    heights[done++] = low;
    merge_two(s, a, b);
    work += 8 * s->stride;
  }
  return done;
}

SIMD_TABLE(linkage, .nearest_clusters = nearest_clusters, .cluster_row = cluster_row,
           .square_tile = square_tile, .merge_nearest = merge_nearest)
