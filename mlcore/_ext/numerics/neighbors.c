/* Nearest neighbours on a k-d tree (neighbors.pyx).

   The queries of a panel walk down the tree together, with their box; only in a leaf is each
   compared with the box of its points, and with these if it is near enough.

   A squared distance is the sum of squared differences from the first feature to the last, each
   rounded to double precision: this file is compiled without fused multiply-adds, so that every
   processor, and a loop in any language, finds the same neighbours. */
#include "numerics/neighbors.h"

#include "shared/table.h"

#include <float.h>

enum {
  LEAF = KD_LEAF,
  VECTORS = LEAF / LANES_d,
  FEW = 32,               /* neighbours whose ranks are counted; for more, a heap */
  RANKED = FEW + KD_LEAF, /* values that are ranked together */
};

/* ---- lists of the nearest */

INLINE int is_before(double a, int64_t i, double b, int64_t j) {
  return a < b || (a == b && i < j);
}

/* Sort m <= RANKED values by counting for each those before it, and keep the first k. No jump
   depends on the values, unless some are equal. */
static void rank_few(ptrdiff_t m, ptrdiff_t k, double *squares, int64_t *rows) {
  double value[RANKED + LANES_d], sorted[RANKED];
  int64_t place[RANKED];
  memcpy(value, squares, (size_t)m * sizeof(double));
  for (int lane = 0; lane < LANES_d; lane++) value[m + lane] = INFINITY;
  for (ptrdiff_t i = 0; i < m; i++) {
    const vdouble x = (vdouble){0} + value[i];
    int before = 0, after = 0;
    for (ptrdiff_t j = 0; j < m; j += LANES_d) {
      const vdouble y = load_d(value + j);
      before += __builtin_popcount(lane_bits_d(greater_d(x, y)));
      after += __builtin_popcount(lane_bits_d(greater_d(y, x)));
    }
    const ptrdiff_t padding = (m + LANES_d - 1) / LANES_d * LANES_d;
    if (before + after + 1 < padding)
      for (ptrdiff_t j = 0; j < m; j++) before += value[j] == value[i] && rows[j] < rows[i];
    sorted[before] = value[i], place[before] = rows[i];
  }
  const size_t kept = (size_t)(m < k ? m : k);
  memcpy(squares, sorted, kept * sizeof(double));
  memcpy(rows, place, kept * sizeof(int64_t));
}

/* Let the value at `at` sink in a heap of m values whose root is the last. */
static void sink(ptrdiff_t m, ptrdiff_t at, double *squares, int64_t *rows) {
  const double square = squares[at];
  const int64_t row = rows[at];
  for (ptrdiff_t child; (child = 2 * at + 1) < m; at = child) {
    if (child + 1 < m &&
        is_before(squares[child], rows[child], squares[child + 1], rows[child + 1]))
      child++;
    if (!is_before(square, row, squares[child], rows[child])) break;
    squares[at] = squares[child], rows[at] = rows[child];
  }
  squares[at] = square, rows[at] = row;
}

/* Keep the first k of m values, as a heap. */
static void heap_many(ptrdiff_t m, ptrdiff_t k, double *squares, int64_t *rows) {
  for (ptrdiff_t i = k / 2; i-- > 0;) sink(k, i, squares, rows);
  for (ptrdiff_t i = k; i < m; i++)
    if (is_before(squares[i], rows[i], squares[0], rows[0])) {
      squares[0] = squares[i], rows[0] = rows[i];
      sink(k, 0, squares, rows);
    }
}

static void sort_heap(ptrdiff_t m, double *squares, int64_t *rows) {
  for (ptrdiff_t i = m / 2; i-- > 0;) sink(m, i, squares, rows);
  while (--m > 0) {
    const double square = squares[m];
    const int64_t row = rows[m];
    squares[m] = squares[0], rows[m] = rows[0];
    squares[0] = square, rows[0] = row;
    sink(m, 0, squares, rows);
  }
}

/* Places of a list: for what one panel adds and, for many neighbours, an eighth of them, so that
   they are not put in order after every panel. */
static ptrdiff_t room(ptrdiff_t k) { return k + LEAF + (k > FEW ? k / 8 : 0); }

static void clear_lists(nearest_lists *s, ptrdiff_t queries) {
  for (ptrdiff_t q = 0; q < queries; q++) s->count[q] = 0, s->bound[q] = DBL_MAX;
}

/* After values were added to a list: keep the first k, and lower the bound. */
INLINE void shorten(nearest_lists *s, ptrdiff_t q) {
  const ptrdiff_t k = s->k, count = s->count[q];
  double *squares = s->squares + q * s->room;
  int64_t *rows = s->rows + q * s->room;
  if (count < k || (count + LEAF <= s->room && s->bound[q] < DBL_MAX)) return;
  if (k <= FEW) rank_few(count, k, squares, rows);
  else heap_many(count, k, squares, rows);
  s->count[q] = k;
  s->bound[q] = squares[k <= FEW ? k - 1 : 0];
}

/* Set a row of the results from a list. */
static void write_list(nearest_lists *s, ptrdiff_t q, int64_t *indices, double *distances) {
  double *squares = s->squares + q * s->room;
  int64_t *rows = s->rows + q * s->room;
  const ptrdiff_t count = s->count[q];
  if (s->k <= FEW) rank_few(count, s->k, squares, rows);
  else {
    if (count > s->k) heap_many(count, s->k, squares, rows);
    sort_heap(s->k, squares, rows);
  }
  for (ptrdiff_t j = 0; j < s->k; j++) indices[j] = rows[j], distances[j] = sqrt(squares[j]);
}

/* ---- search on a tree */

/* Queries of a panel that look for near points of one tree. */
typedef struct {
  const double *panel;
  ptrdiff_t count, home; /* queries; the leaf that they are, or -1 */
  double farthest;       /* of their bounds */
  double box[2 * NEIGHBOR_FEATURES];
} panel_query;

static void begin_query(ptrdiff_t d, panel_query *q) {
  q->farthest = DBL_MAX;
  for (ptrdiff_t f = 0; f < d; f++) {
    const double *x = q->panel + f * LEAF;
    double least = x[0], most = x[0];
    for (ptrdiff_t i = 1; i < q->count; i++) {
      least = x[i] < least ? x[i] : least;
      most = x[i] > most ? x[i] : most;
    }
    q->box[f] = least, q->box[d + f] = most;
  }
}

/* Queries that are no farther from the box than their bounds; a bit each. */
INLINE uint32_t near_box(ptrdiff_t d, const panel_query *q, const double *bound,
                         const double *box) {
  uint32_t far = 0;
  for (int b = 0; b < VECTORS; b++) {
    vdouble sum = {0};
    for (ptrdiff_t f = 0; f < d; f++) {
      const vdouble x = load_d(q->panel + f * LEAF + b * LANES_d);
      const vdouble gap = max_d(max_d(x - box[d + f], box[f] - x), (vdouble){0});
      sum += gap * gap;
    }
    far |= (uint32_t)lane_bits_d(greater_d(sum, load_d(bound + b * LANES_d))) << (b * LANES_d);
  }
  return ~far & (uint32_t)(((uint64_t)1 << q->count) - 1);
}

/* Compare the queries in `near` with the points of a leaf. */
INLINE void visit_leaf(const tree_search *s, ptrdiff_t d, panel_query *q, ptrdiff_t leaf,
                       uint32_t near, nearest_lists *lists) {
  const double *to = s->tree.panels + leaf * LEAF * d;
  const int64_t *order = s->order + leaf * LEAF;
  int lowered = 0;
  for (; near != 0; near &= near - 1) {
    const int i = __builtin_ctz(near);
    vdouble square[VECTORS] = {{0}};
    for (ptrdiff_t f = 0; f < d; f++) {
      const double x = q->panel[f * LEAF + i];
      for (int b = 0; b < VECTORS; b++) {
        const vdouble difference = x - load_d(to + f * LEAF + b * LANES_d);
        square[b] += difference * difference;
      }
    }
    const vdouble bound = (vdouble){0} + lists->bound[i];
    uint32_t far = 0;
    for (int b = 0; b < VECTORS; b++)
      far |= (uint32_t)lane_bits_d(greater_d(square[b], bound)) << (b * LANES_d);
    if (leaf == q->home && s->others) far |= (uint32_t)1 << i;
    uint32_t here = ~far;
    if (here == 0) continue;
    double value[LEAF];
    for (int b = 0; b < VECTORS; b++) store_d(value + b * LANES_d, square[b]);
    double *squares = lists->squares + i * lists->room;
    int64_t *rows = lists->rows + i * lists->room;
    int64_t count = lists->count[i];
    for (; here != 0; here &= here - 1, count++) {
      const int j = __builtin_ctz(here);
      squares[count] = value[j], rows[count] = order[j];
    }
    lists->count[i] = count;
    shorten(lists, i);
    lowered = 1;
  }
  if (!lowered) return;
  q->farthest = 0;
  for (ptrdiff_t i = 0; i < q->count; i++)
    q->farthest = lists->bound[i] > q->farthest ? lists->bound[i] : q->farthest;
}

INLINE ptrdiff_t walk(const tree_search *s, ptrdiff_t d, panel_query *q, nearest_lists *lists) {
  const kd_tree *t = &s->tree;
  const int64_t home = q->home < 0 ? 0 : t->node[q->home];
  int64_t stack[128];
  double square[128];
  ptrdiff_t top = 1, work = 0;
  stack[0] = 0, square[0] = 0;
  while (top > 0) {
    const int64_t v = stack[--top], left = v + 1, right = t->right[v];
    if (square[top] > q->farthest) continue;
    work++;
    if (right < 0) {
      const uint32_t near = near_box(d, q, lists->bound, t->boxes + 2 * d * v);
      visit_leaf(s, d, q, -1 - right, near, lists);
      continue;
    }
    const double to_left = box_square(d, q->box, t->boxes + 2 * d * left);
    const double to_right = box_square(d, q->box, t->boxes + 2 * d * right);
    /* The nearer one comes first; of two that are as near, the one with the leaf itself. */
    const int first = to_right < to_left || (to_right == to_left && home >= right);
    stack[top] = first ? left : right, square[top++] = first ? to_left : to_right;
    stack[top] = first ? right : left, square[top++] = first ? to_right : to_left;
  }
  return work;
}

static ptrdiff_t search_leaf(const tree_search *s, ptrdiff_t panel, nearest_lists *lists,
                             int64_t *indices, double *distances) {
  const ptrdiff_t d = s->tree.d, k = lists->k, left = s->n_queries - panel * LEAF;
  panel_query q = {s->queries + panel * LEAF * d, left < LEAF ? left : LEAF, -1, 0, {0}};
  ptrdiff_t work;
  if (s->queries == s->tree.panels) q.home = panel;
  clear_lists(lists, LEAF);
  begin_query(d, &q);
  switch (d) { /* as constants: two take half of the time (50,000 x 2) */
  case 1: work = walk(s, 1, &q, lists); break;
  case 2: work = walk(s, 2, &q, lists); break;
  case 3: work = walk(s, 3, &q, lists); break;
  default: work = walk(s, d, &q, lists);
  }
  for (ptrdiff_t i = 0; i < q.count; i++) {
    const ptrdiff_t row = s->query_order[panel * LEAF + i];
    write_list(lists, i, indices + row * k, distances + row * k);
  }
  return work;
}

SIMD_TABLE(neighbors, .room = room, .search_leaf = search_leaf)
