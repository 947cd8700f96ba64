/* Nearest neighbours on a k-d tree (kd_tree.pyx).

   The queries of a panel walk down the tree together, with their box; only in a leaf is each
   compared with the box of its points, and with these if it is near enough.

   A squared distance is the sum of squared differences from the first feature to the last, each
   rounded to double precision: this file is compiled without fused multiply-adds, so that every
   processor, and a loop in any language, finds the same neighbours. */
#include "numerics/kd_tree.h"

#include "numerics/neighbor_lists.h"
#include "shared/table.h"

enum { LEAF = KD_LEAF, VECTORS = LEAF / LANES_d };

/* Queries of a panel that look for near points of one tree. */
typedef struct {
  const double *panel;
  ptrdiff_t count, home; /* queries; the leaf that they are, or -1 */
  double farthest;       /* of their bounds */
  double box[2 * KD_FEATURES];
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
  int64_t least = -1; /* row, where only copies are left to find */
  if (q->farthest == 0 && (leaf + 1) * LEAF <= s->n) {
    least = order[0];
    for (int j = 1; j < LEAF; j++) least = order[j] < least ? order[j] : least;
  }
  for (; near != 0; near &= near - 1) {
    const int i = __builtin_ctz(near);
    if (least > last_row(lists, i)) continue;
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
    const int64_t last = last_row(lists, i);
    for (; here != 0; here &= here - 1) {
      const int j = __builtin_ctz(here);
      squares[count] = value[j], rows[count] = order[j];
      count += value[j] < lists->bound[i] || order[j] < last;
    }
    if (count == lists->count[i]) continue;
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
  int64_t home = q->home < 0 ? 0 : t->node[q->home];
  int again = 0;
  int64_t stack[128];
  double square[128];
  ptrdiff_t top = 1, work = 0;
  stack[0] = 0, square[0] = 0;
  while (top > 0) {
    const int64_t v = stack[--top], left = v + 1, right = t->right[v];
    if (square[top] > q->farthest) continue;
    work++;
    if (right < 0) {
      const ptrdiff_t leaf = -1 - right;
      if (again && leaf == q->home) continue;
      visit_leaf(s, d, q, leaf, near_box(d, q, lists->bound, t->boxes + 2 * d * v), lists);
      /* Among copies, the lowest rows are in the first leaves: from the root again, once. */
      if (q->farthest == 0 && leaf == q->home)
        again = 1, top = 1, stack[0] = home = 0, square[0] = 0;
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

static ptrdiff_t search_leaf(const tree_search *s, ptrdiff_t panel, ptrdiff_t k, double *squares,
                             int64_t *rows, int64_t *indices, double *distances) {
  nearest_lists lists = new_lists(k, LEAF, squares, rows);
  const ptrdiff_t d = s->tree.d, left = s->n_queries - panel * LEAF;
  panel_query q = {s->queries + panel * LEAF * d, left < LEAF ? left : LEAF, -1, 0, {0}};
  ptrdiff_t work;
  if (s->queries == s->tree.panels) q.home = panel;
  begin_query(d, &q);
  switch (d) { /* as constants: two take half of the time (50,000 x 2) */
  case 1: work = walk(s, 1, &q, &lists); break;
  case 2: work = walk(s, 2, &q, &lists); break;
  case 3: work = walk(s, 3, &q, &lists); break;
  default: work = walk(s, d, &q, &lists);
  }
  for (ptrdiff_t i = 0; i < q.count; i++) {
    const ptrdiff_t row = s->query_order[panel * LEAF + i];
    write_list(&lists, i, indices + row * k, distances + row * k);
  }
  return work;
}

static ptrdiff_t room(ptrdiff_t k) { return room_for(k); }

SIMD_TABLE(kd_tree, .room = room, .search_leaf = search_leaf)
