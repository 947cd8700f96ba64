/* Nearest neighbours of points with many features (screened_neighbors.pyx).

   Points have images on a screen, in single precision: coordinates about a near origin, or some of
   them along leading directions and the length of the rest, so that distances between images are
   never longer. Half squared distances between the images of a block of queries and of a panel of
   samples are one product in cache, and what they do not exclude, with all their
   rounding, is compared in double precision. Panels are visited from the nearest on, and left out
   for queries that are too far from the ball around their images.

   Of a query x with image a and of a sample y with image b, |a - b|²/2 - |a|²/2 is called its value
   here. A computed value is off by at most `rounding` (|a| + |b|)² from that of the distance
   |x - y| itself or, on a screen of lower bounds, above it by no more.

   As in kd_tree.c, a squared distance is rounded to double precision feature by feature. */
#include "numerics/screened_neighbors.h"

#include "numerics/neighbor_lists.h"
#include "shared/table.h"

#include <stdlib.h>

#define LOOPS "numerics/near_squares_loops.h"
#include "shared/both_precisions.h"

enum {
  BLOCK = SCREEN_BLOCK,
  ROWS = 6,                            /* queries that are multiplied together */
  BESIDE = VECTOR_BYTES == 64 ? 4 : 2, /* vectors of the panel whose sums fit the registers */
  WIDTH = BESIDE * LANES_f
};

/* Absolute rounding of values: products below the range of float; images are of length 1, about. */
static const double TINY = 1e-36;

/* values[r, j] = |b_j|²/2 - a_r.b_j for the 64 samples of a panel, and a bit in hits[r] for those
   that are at most limits[r]; values of rows without a bit are not set. */
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
        for (int b = 0; b < BESIDE; b++) sum[r][b] = less_product_f(sum[r][b], x[r][f], y[b]);
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

/* The queries of a block: images, candidates with their values, and the nearest samples so far. */
typedef struct {
  const screened_search *s;
  const float *image[BLOCK];
  double norm[BLOCK];    /* |a| */
  double bound[BLOCK];   /* value of the k-th nearest sample, at most */
  float reach[BLOCK];    /* its distance */
  const double *longest; /* as in s, or of images about a query */
  int local;
  double *local_longest;
  float *local_images, *local_panel, local_halves[BLOCK];
  ptrdiff_t first, size, room;
  ptrdiff_t count[BLOCK], next[BLOCK]; /* candidates; as many of them are looked through */
  double *value;                       /* of candidates, at most */
  int64_t *place;                      /* in the order of the panels */
  double *work;
  ptrdiff_t compared;
  double wider; /* a squared distance, in units of one rounded otherwise, at most */
  nearest_lists lists;
} block_search;

INLINE double square(double x) { return x * x; }

INLINE double error(const block_search *b, ptrdiff_t i, int64_t panel) {
  return b->s->rounding * square(b->norm[i] + b->longest[panel]) + TINY;
}

/* Squared distances of a query and samples in `rows`: one in any order of the features, or four,
   feature by feature. */
INLINE double quick_square(const screened_search *s, int64_t query, int64_t row) {
  const ptrdiff_t d = s->d;
  if (s->single)
    return quick_square_f(d, (const float *)s->Q + query * d, (const float *)s->X + row * d);
  return quick_square_d(d, (const double *)s->Q + query * d, (const double *)s->X + row * d);
}

INLINE void four_squares(const screened_search *s, int64_t query, const int64_t *rows,
                         double *squares) {
  const ptrdiff_t d = s->d;
  if (s->single) {
    const float *y[4];
    for (int r = 0; r < 4; r++) y[r] = (const float *)s->X + rows[r] * d;
    four_squares_f(d, (const float *)s->Q + query * d, y, squares);
  } else {
    const double *y[4];
    for (int r = 0; r < 4; r++) y[r] = (const double *)s->X + rows[r] * d;
    four_squares_d(d, (const double *)s->Q + query * d, y, squares);
  }
}

/* The k-th least of m values, by Hoare's quickselect. */
static double kth_value(block_search *b, ptrdiff_t m, const double *value) {
  double *v = b->work;
  const ptrdiff_t at = b->s->k - 1;
  memcpy(v, value, (size_t)m * sizeof(double));
  for (ptrdiff_t first = 0, last = m - 1; first < last;) {
    const double one = v[first], two = v[(first + last) / 2], three = v[last];
    const double low = one < two ? one : two, high = one < two ? two : one;
    const double pivot = three < low ? low : three > high ? high : three; /* of the three */
    ptrdiff_t i = first, j = last;
    while (i <= j) {
      while (v[i] < pivot) i++;
      while (v[j] > pivot) j--;
      if (i > j) break;
      const double other = v[i];
      v[i++] = v[j], v[j--] = other;
    }
    if (at <= j) last = j;
    else if (at >= i) first = i;
    else break;
  }
  return v[at];
}

INLINE void lower_bound(block_search *b, ptrdiff_t i, double bound) {
  if (!(bound < b->bound[i])) return;
  const double reach = 2 * bound + square(b->norm[i]);
  b->bound[i] = bound;
  b->reach[i] = (float)(sqrt(reach > 0 ? reach : 0) * (1 + 0x1p-22) + 1e-30);
}

/* Drop candidates whose values are above the k-th; of a computed value v this is that of v - error,
   and v + error is stored. */
static void drop_far(block_search *b, ptrdiff_t i) {
  double *value = b->value + i * b->room;
  int64_t *place = b->place + i * b->room;
  ptrdiff_t kept = 0;
  for (ptrdiff_t c = 0; c < b->count[i]; c++) {
    const int near = value[c] - 2 * error(b, i, place[c] / BLOCK) <= b->bound[i];
    value[kept] = value[c], place[kept] = place[c];
    kept += near;
  }
  b->count[i] = kept;
}

/* Add squared distances of a query and four samples to its list, if they are short enough. */
static void add_four(block_search *b, ptrdiff_t i, int64_t query, ptrdiff_t have,
                     const int64_t *rows) {
  const screened_search *s = b->s;
  nearest_lists *lists = &b->lists;
  int64_t near[4];
  double squares[4];
  for (ptrdiff_t r = 0; r < 4; r++) near[r] = rows[r < have ? r : have - 1];
  four_squares(s, query, near, squares);
  for (ptrdiff_t r = 0; r < have; r++)
    if (squares[r] < lists->bound[i] ||
        (squares[r] == lists->bound[i] && near[r] < last_row(lists, i))) {
      const ptrdiff_t at = i * lists->room + lists->count[i]++;
      lists->squares[at] = squares[r], lists->rows[at] = near[r];
    }
  shorten(lists, i);
  if (lists->bound[i] < DBL_MAX)
    lower_bound(b, i, 0.5 * (lists->bound[i] * square(s->scale) * b->wider - square(b->norm[i])));
}

/* Compare the candidates of a query in double precision; on a screen of lower bounds from the least
   value on, so that most are dropped for the first ones. */
static void compare(block_search *b, ptrdiff_t i) {
  const screened_search *s = b->s;
  const ptrdiff_t count = b->count[i];
  const int64_t query = s->query_order[b->first + i];
  double *value = b->value + i * b->room;
  int64_t *place = b->place + i * b->room, near[4];
  ptrdiff_t have = 0;
  if (s->lower) sort_heap(count, value, place);
  for (ptrdiff_t c = 0; c < count; c++) {
    const int64_t row = s->order[place[c]];
    if (value[c] - 2 * error(b, i, place[c] / BLOCK) > b->bound[i]) continue;
    if (b->lists.bound[i] == 0 && row > last_row(&b->lists, i)) continue; /* among copies */
    b->compared++;
    if (b->lists.bound[i] < DBL_MAX &&
        quick_square(s, query, row) > b->lists.bound[i] * square(b->wider))
      continue;
    near[have++] = row;
    if (have == 4) add_four(b, i, query, 4, near), have = 0;
  }
  if (have > 0) add_four(b, i, query, have, near);
  b->count[i] = 0;
}

/* Lower the bound of a query, and compare its candidates if they are many. */
static void settle(block_search *b, ptrdiff_t i, int last) {
  if (!b->s->lower && b->count[i] >= b->s->k)
    lower_bound(b, i, kth_value(b, b->count[i], b->value + i * b->room));
  drop_far(b, i);
  if (last || b->s->lower || b->count[i] > b->room - 2 * BLOCK) compare(b, i);
  const ptrdiff_t next = b->count[i] + b->s->k / 2 + 16, most = b->room - BLOCK;
  b->next[i] = next < most ? next : most;
}

/* The image of a row of X or Q about the first query; every `stride`-th value of `to`. Returns its
   squared norm. */
static double local_image(const block_search *b, const void *from, int64_t row, float *to,
                          ptrdiff_t stride) {
  const screened_search *s = b->s;
  const ptrdiff_t d = s->d, at = row * d, origin = s->query_order[b->first] * d;
  double sum = 0;
  for (ptrdiff_t f = 0; f < d; f++) {
    const double difference =
        s->single
            ? (double)((const float *)from)[at + f] - (double)((const float *)s->Q)[origin + f]
            : ((const double *)from)[at + f] - ((const double *)s->Q)[origin + f];
    to[f * stride] = (float)(difference * s->scale);
    sum += square((double)to[f * stride]);
  }
  return sum;
}

static void use_local_images(block_search *b) {
  b->longest = b->local_longest;
  for (ptrdiff_t i = 0; i < b->size; i++) {
    float *image = b->local_images + i * b->s->d;
    b->norm[i] = sqrt(local_image(b, b->s->Q, b->s->query_order[b->first + i], image, 1));
    b->image[i] = image;
  }
}

static void form_local_panel(block_search *b, ptrdiff_t panel) {
  const screened_search *s = b->s;
  double most = 0;
  for (ptrdiff_t j = 0; j < BLOCK; j++) {
    const ptrdiff_t place = panel * BLOCK + j;
    if (place < s->n) {
      const double sum = local_image(b, s->X, s->order[place], b->local_panel + j, BLOCK);
      b->local_halves[j] = (float)(0.5 * sum);
      most = sum > most ? sum : most;
    } else {
      for (ptrdiff_t f = 0; f < s->d; f++) b->local_panel[f * BLOCK + j] = 0;
      b->local_halves[j] = INFINITY;
    }
  }
  b->local_longest[panel] = sqrt(most) * (1 + 1e-12);
}

/* Values of some queries, listed in `rows`, with one panel; those in reach become candidates. */
static void visit(block_search *b, ptrdiff_t panel, ptrdiff_t count, const int *rows) {
  const screened_search *s = b->s;
  const int own = s->others && panel == b->first / BLOCK;
  const float *samples = s->screen + panel * s->m * BLOCK, *halves = s->halves + panel * BLOCK;
  if (b->local && count > 0) {
    form_local_panel(b, panel);
    samples = b->local_panel, halves = b->local_halves;
  }
  for (ptrdiff_t start = 0; start < count; start += ROWS) {
    const int have = count - start < ROWS ? (int)(count - start) : ROWS;
    const float *images[ROWS];
    float limits[ROWS], values[ROWS * BLOCK];
    uint64_t hits[ROWS];
    for (int r = 0; r < have; r++) {
      const ptrdiff_t i = rows[start + r];
      const double limit = b->bound[i] + error(b, i, panel);
      images[r] = b->image[i];
      /* finite, so that padding is above it, and rounded up */
      limits[r] = limit < FLT_MAX / 2 ? (float)(limit + fabs(limit) * 0x1p-22) : FLT_MAX;
    }
    half_squares(s->m, have, images, samples, halves, limits, values, hits);
    for (int r = 0; r < have; r++) {
      const ptrdiff_t i = rows[start + r];
      if (own) hits[r] &= ~((uint64_t)1 << i);
      if (hits[r] == 0) continue;
      const double e = error(b, i, panel);
      double *value = b->value + i * b->room;
      int64_t *place = b->place + i * b->room;
      ptrdiff_t c = b->count[i];
      for (uint64_t left = hits[r]; left != 0; left &= left - 1, c++) {
        const int j = __builtin_ctzll(left);
        value[c] = (double)values[r * BLOCK + j] + e, place[c] = panel * BLOCK + j;
      }
      b->count[i] = c;
      if (c >= b->next[i]) settle(b, i, 0);
    }
  }
}

/* Least distances from the images to those in each panel, (panels, BLOCK), from those to its centre;
   and the least of each panel. */
static void to_panels(const block_search *b, float *from, float *least) {
  const screened_search *s = b->s;
  const double rounding = s->rounding + 0x1p-22, share = sqrt(2 * s->rounding);
  for (ptrdiff_t p = 0; p < s->panels; p++) least[p] = FLT_MAX;
  for (ptrdiff_t first = 0; first < s->panels; first += BLOCK) {
    const ptrdiff_t panels = s->panels - first < BLOCK ? s->panels - first : BLOCK;
    const double *radius = s->radius + first, *longest = s->longest + first;
    for (ptrdiff_t start = 0; start < b->size; start += ROWS) {
      const int have = b->size - start < ROWS ? (int)(b->size - start) : ROWS;
      float limits[ROWS], values[ROWS * BLOCK], distance[BLOCK];
      uint64_t hits[ROWS];
      for (int r = 0; r < have; r++) limits[r] = FLT_MAX;
      half_squares(s->m, have, b->image + start, s->center_panels + first * s->m,
                   s->center_halves + first, limits, values, hits);
      for (int r = 0; r < have; r++) {
        const double norm = b->norm[start + r];
        for (ptrdiff_t j = 0; j < panels; j++) {
          const double lengths = norm + longest[j];
          const double above = 2 * (double)values[r * BLOCK + j] + norm * norm -
                               2 * (rounding * lengths * lengths + TINY);
          const double away = sqrt(0.5 * (above + fabs(above))) - radius[j] - share * lengths;
          distance[j] = (float)(away - 0x1p-22 * fabs(away) - 2e-18);
          least[first + j] = distance[j] < least[first + j] ? distance[j] : least[first + j];
        }
        for (ptrdiff_t j = 0; j < panels; j++) from[(first + j) * BLOCK + start + r] = distance[j];
      }
    }
  }
}

typedef struct {
  float from; /* no query is nearer to a sample of the panel */
  int32_t panel;
} panel_turn;

static int by_turn(const void *a, const void *b) {
  const panel_turn *x = a, *y = b;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                            : (x->panel > y->panel) - (x->panel < y->panel);
}

static ptrdiff_t scratch_size(ptrdiff_t panels, ptrdiff_t m, ptrdiff_t k) {
  const ptrdiff_t room = 2 * k + 3 * BLOCK;
  return BLOCK * (room_for(k) + 1) + (BLOCK + 1) * room + (panels + 1) * (BLOCK / 2 + 3) +
         BLOCK * m;
}

static ptrdiff_t search_block(const screened_search *s, ptrdiff_t block, int local, double *reals,
                              int64_t *integers, int64_t *indices, double *distances) {
  block_search b = {.s = s,
                    .longest = s->longest,
                    .local = local,
                    .first = block * BLOCK,
                    .room = 2 * s->k + 3 * BLOCK,
                    .wider = 1 + (double)(s->d + 16) * 0x1p-52};
  const ptrdiff_t k = s->k, left = s->n_queries - b.first;
  b.size = left < BLOCK ? left : BLOCK;
  b.lists = new_lists(k, BLOCK, reals, integers);
  reals += BLOCK * (b.lists.room + 1), integers += BLOCK * (b.lists.room + 1);
  b.value = reals, b.place = integers;
  b.work = reals + BLOCK * b.room;
  b.local_longest = b.work + b.room;
  b.local_images = (float *)(b.local_longest + s->panels);
  b.local_panel = b.local_images + BLOCK * s->m;
  panel_turn *turns = (panel_turn *)(b.local_panel + BLOCK * s->m);
  float *least = (float *)(turns + s->panels), *from = least + s->panels;
  for (ptrdiff_t i = 0; i < b.size; i++) {
    double sum = 0;
    b.image[i] = s->rows + (b.first + i) * s->m;
    for (ptrdiff_t f = 0; f < s->m; f++) sum += square((double)b.image[i][f]);
    b.norm[i] = sqrt(sum);
    b.bound[i] = DBL_MAX, b.reach[i] = FLT_MAX;
    b.next[i] = k;
  }
  for (ptrdiff_t i = b.size; i < BLOCK; i++) b.reach[i] = -FLT_MAX;
  to_panels(&b, from, least);
  if (local) use_local_images(&b);
  for (ptrdiff_t p = 0; p < s->panels; p++)
    turns[p] = (panel_turn){.from = least[p], .panel = (int32_t)p};
  qsort(turns, (size_t)s->panels, sizeof *turns, by_turn);
  for (ptrdiff_t t = 0; t < s->panels; t++) {
    const ptrdiff_t panel = turns[t].panel;
    int rows[BLOCK];
    ptrdiff_t count = 0;
    vfloat farthest = load_f(b.reach);
    uint64_t far = 0;
    for (int i = 0; i < BLOCK; i += LANES_f) { /* `from` is not set beyond the last query */
      const vfloat reach = load_f(b.reach + i);
      farthest = max_f(farthest, reach);
      far |= (uint64_t)lane_bits_f(greater_f(load_f(from + panel * BLOCK + i), reach)) << i;
    }
    if (turns[t].from > highest_f(farthest)) break;
    for (uint64_t near = ~far & ~(uint64_t)0 >> (BLOCK - b.size); near != 0; near &= near - 1)
      rows[count++] = __builtin_ctzll(near);
    visit(&b, panel, count, rows);
  }
  for (ptrdiff_t i = 0; i < b.size; i++) {
    const int64_t row = s->query_order[b.first + i];
    settle(&b, i, 1);
    write_list(&b.lists, i, indices + row * k, distances + row * k);
  }
  return b.compared;
}

SIMD_TABLE(screened_neighbors, .scratch_size = scratch_size, .search_block = search_block)
