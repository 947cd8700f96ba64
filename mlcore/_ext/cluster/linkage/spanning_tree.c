/* Borůvka's algorithm on a k-d tree (spanning_tree.pyx).

   The points of a leaf look for other components together: they walk down the tree once, with the
   box of all that look, and only in a leaf is each compared with the box of its points, and with
   these if it is near enough. Where points have cores (`with_core`), the least core of a node is a
   second bound on the length of the edges to it. */
#include "cluster/linkage/spanning_tree.h"

#include "shared/table.h"

#define PRECISION d
#include "cluster/squared_distance_loops.h"

enum {
  LEAF = KD_LEAF,
  VECTORS = LEAF / LANES,
  BESIDE = 4, /* sums at once: one takes 1.7 times as long (10,000 x 20, AVX2) */
  FLOAT_LANES = (1 << (LANES_f - 1)) * 2 - 1 /* a bit each */
};

typedef int64_t vint64_any __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* The points of one leaf, of which some may have the shortest edge of their component. */
typedef struct {
  ptrdiff_t leaf;
  int64_t own; /* component of all, or -1 */
  /* squared distance within which a point must be; -1 for one that need not look */
  double reach[LEAF];
  double farthest;               /* of these */
  double box[2 * TREE_FEATURES]; /* of the points that look */
} leaf_query;

/* Shortest edges so far of the components of LANES points of the leaf. */
INLINE vdouble best_of(const point_tree *t, const leaf_query *q, int b) {
  if (q->own >= 0) return (vdouble){0} + t->best[q->own];
  const int64_t *component = t->component + q->leaf * LEAF + b * LANES;
  vdouble best;
  for (int lane = 0; lane < LANES; lane++) best[lane] = t->best[component[lane]];
  return best;
}

static void update_reach(const point_tree *t, leaf_query *q) {
  const vdouble none = (vdouble){0} - 1;
  vdouble farthest = none;
  for (int b = 0; b < VECTORS; b++) {
    const vdouble best = best_of(t, q, b);
    const vdouble reach =
        select_d(greater_d(best, load_d(t->bound + q->leaf * LEAF + b * LANES)), best, none);
    store_d(q->reach + b * LANES, reach);
    farthest = max_d(farthest, reach);
  }
  q->farthest = highest_d(farthest);
}

static int begin_query(const point_tree *t, ptrdiff_t leaf, leaf_query *q) {
  q->leaf = leaf, q->own = t->whole[t->tree.node[leaf]];
  update_reach(t, q);
  if (q->farthest < 0) return 0;
  for (ptrdiff_t f = 0; f < t->tree.d; f++) {
    const vdouble far = (vdouble){0} + INFINITY;
    vdouble least = far, most = -far;
    for (int b = 0; b < VECTORS; b++) {
      const vdouble x = load_d(t->tree.panels + (leaf * t->tree.d + f) * LEAF + b * LANES);
      const mask_d looks = greater_d(load_d(q->reach + b * LANES), (vdouble){0});
      least = min_d(least, select_d(looks, x, far));
      most = max_d(most, select_d(looks, x, -far));
    }
    q->box[f] = lowest_d(least), q->box[t->tree.d + f] = highest_d(most);
  }
  return 1;
}

static void end_query(const point_tree *t, const leaf_query *q) {
  double *bound = t->bound + q->leaf * LEAF;
  for (int b = 0; b < VECTORS; b++)
    store_d(bound + b * LANES, max_d(load_d(bound + b * LANES), best_of(t, q, b)));
}

/* Points of the query that are nearer to the box than their reach, which is above `least`; a bit
   each. All points take 1.9 times as long (100,000 x 3, AVX2). */
INLINE unsigned near_box(const point_tree *t, ptrdiff_t d, const leaf_query *q, const double *box,
                         double least) {
  const double *panel = t->tree.panels + q->leaf * LEAF * d;
  vdouble sum[VECTORS] = {{0}};
  const vdouble core = (vdouble){0} + least;
  unsigned near = 0;
  for (ptrdiff_t f = 0; f < d; f++)
    for (int b = 0; b < VECTORS; b++) {
      const vdouble x = load_d(panel + f * LEAF + b * LANES);
      const vdouble gap = max_d(max_d(x - box[d + f], box[f] - x), (vdouble){0});
      sum[b] += gap * gap;
    }
  for (int b = 0; b < VECTORS; b++)
    near |= lane_bits_d(greater_d(load_d(q->reach + b * LANES), max_d(sum[b], core)))
            << (b * LANES);
  return near;
}

/* Compare `points` of the query with those of a leaf, which is of one component or of several, -1;
   how many. */
INLINE ptrdiff_t visit_leaf(point_tree *t, ptrdiff_t d, int with_core, leaf_query *q,
                            ptrdiff_t leaf, int64_t whole, unsigned points) {
  const double *from = t->tree.panels + q->leaf * LEAF * d, *to = t->tree.panels + leaf * LEAF * d;
  const int64_t *component = t->component + q->leaf * LEAF, *others = t->component + leaf * LEAF;
  ptrdiff_t visits = 0;
  int found = 0;
  for (; points != 0; points &= points - 1) {
    const int i = __builtin_ctz(points);
    const int64_t own = component[i];
    if (own == whole) continue;
    const double core = with_core ? t->core[q->leaf * LEAF + i] : 0;
    if (with_core && core >= t->best[own]) continue;
    vdouble square[VECTORS] = {{0}}, low = (vdouble){0} + INFINITY;
    for (ptrdiff_t f = 0; f < d; f++) {
      const double x = from[f * LEAF + i];
      for (int b = 0; b < VECTORS; b++) {
        const vdouble difference = x - load_d(to + f * LEAF + b * LANES);
        square[b] += difference * difference;
      }
    }
    if (with_core)
      for (int b = 0; b < VECTORS; b++)
        square[b] =
            max_d(max_d(square[b], load_d(t->core + leaf * LEAF + b * LANES)), (vdouble){0} + core);
    if (whole < 0) /* points of the same component become NaN, and are never the nearest */
      for (int b = 0; b < VECTORS; b++) {
        const vint64 same = *(const vint64_any *)(others + b * LANES) == (vint64){0} + own;
        square[b] = (vdouble)((vint64)square[b] | same);
      }
    for (int b = 0; b < VECTORS; b++) low = min_d(square[b], low);
    visits++;
    if (!any_d(greater_d((vdouble){0} + t->best[own], low))) continue;
    const double least = lowest_d(low);
    const vdouble above = (vdouble)((vint64)((vdouble){0} + least) + 1); /* the next number */
    unsigned here = 0;
    for (int b = 0; b < VECTORS; b++)
      here |= lane_bits_d(greater_d(above, square[b])) << (b * LANES);
    t->best[own] = least;
    t->source[own] = q->leaf * LEAF + i;
    t->target[own] = leaf * LEAF + __builtin_ctz(here);
    found = 1;
  }
  if (found) update_reach(t, q);
  return visits;
}

INLINE ptrdiff_t query_leaf(point_tree *t, ptrdiff_t d, int with_core, ptrdiff_t leaf) {
  leaf_query q;
  if (!begin_query(t, leaf, &q)) return 1;
  const int64_t home = t->tree.node[leaf], own = q.own;
  int64_t stack[128];
  double square[128];
  ptrdiff_t top = 1, work = 1;
  stack[0] = 0, square[0] = 0;
  while (top > 0) {
    const int64_t v = stack[--top], left = v + 1, right = t->tree.right[v];
    const double least = with_core ? t->least_core[v] : 0;
    if (square[top] >= q.farthest || least >= q.farthest) continue;
    if (own >= 0 && t->whole[v] == own) continue;
    work++;
    if (right < 0) {
      const unsigned points = near_box(t, d, &q, t->tree.boxes + 2 * d * v, least);
      work += visit_leaf(t, d, with_core, &q, -1 - right, t->whole[v], points);
      continue;
    }
    const double to_left = box_square(d, q.box, t->tree.boxes + 2 * d * left);
    const double to_right = box_square(d, q.box, t->tree.boxes + 2 * d * right);
    /* The nearer one comes first; of two that are as near, the one with the leaf itself. */
    const int first = to_right < to_left || (to_right == to_left && home >= right);
    stack[top] = first ? left : right, square[top++] = first ? to_left : to_right;
    stack[top] = first ? right : left, square[top++] = first ? to_right : to_left;
  }
  end_query(t, &q);
  return work;
}

/* Shortest edges that leave the components, from the leaves first, first + 1, ... until much work
   is done; where it ended. */
static ptrdiff_t nearest_others(point_tree *t, ptrdiff_t first) {
  for (ptrdiff_t work = 0; first < t->tree.leaves && work < 1 << 20; first++)
    work += t->core ? query_leaf(t, t->tree.d, 1, first) : query_leaf(t, t->tree.d, 0, first);
  return first;
}

/* ---- Prim's algorithm, for more features */

/* Store the places left whose squared distance from `query` on the screen is at most their limit,
   and return their number. */
static ptrdiff_t within_limits(const span_tree *t, const float *query, int32_t *at) {
  enum { L = LANES_f, PART = BESIDE * L };
  ptrdiff_t count = 0;
  for (ptrdiff_t first = 0; first < t->left; first += PART) {
    const float *panel = t->panels + first / PANEL_FLOAT * PANEL_FLOAT * t->m + first % PANEL_FLOAT;
    vfloat sum[BESIDE] = {{0}};
    for (ptrdiff_t f = 0; f < t->m; f++) {
      const float q = query[f];
      for (int b = 0; b < BESIDE; b++) {
        const vfloat difference = load_f(panel + f * PANEL_FLOAT + b * L) - q;
        sum[b] += difference * difference;
      }
    }
    for (int b = 0; b < BESIDE; b++) {
      const vfloat limit = load_f(t->limit + first + b * L);
      if (lane_bits_f(greater_f(sum[b], limit)) != FLOAT_LANES)
        count += compress_rest_f(sum[b], limit, (int32_t)(first + b * L), at + count);
    }
  }
  while (count > 0 && at[count - 1] >= t->left) count--;
  return count;
}

/* The place left with the least key. Limits grow with keys: only where they are least are keys
   compared. */
static ptrdiff_t nearest_left(const span_tree *t) {
  vfloat low = (vfloat){0} + INFINITY;
  for (ptrdiff_t p = 0; p < t->left; p += LANES_f) low = min_f(low, load_f(t->limit + p));
  const float least = lowest_f(low);
  ptrdiff_t best = -1;
  for (ptrdiff_t p = 0; p < t->left; p += LANES_f) {
    unsigned here =
        ~lane_bits_f(greater_f(load_f(t->limit + p), (vfloat){0} + least)) & FLOAT_LANES;
    for (; here != 0; here &= here - 1) {
      const ptrdiff_t place = p + __builtin_ctz(here);
      if (place < t->left && (best < 0 || t->key[place] < t->key[best])) best = place;
    }
  }
  return best;
}

/* Up to `steps` more edges: the two samples of each, and its squared length. */
static ptrdiff_t grow_tree(span_tree *t, ptrdiff_t steps, int64_t *edges, double *lengths) {
  const ptrdiff_t d = t->d, m = t->m;
  ptrdiff_t done = 0;
  for (; done < steps && t->left > 0; done++) {
    const double *x = t->X + t->last * d;
    const ptrdiff_t count = within_limits(t, t->query, t->found);
    for (ptrdiff_t c = 0; c < count; c++) {
      const int32_t p = t->found[c];
      double square = squared_distance_d(d, x, t->X + t->name[p] * d);
      if (t->core) square = fmax(square, fmax(t->core[t->last], t->core[t->name[p]]));
      if (square < t->key[p]) {
        const double reach = sqrt(square) + t->slack;
        t->key[p] = square;
        t->nearest[p] = t->last;
        t->limit[p] = (float)(reach * reach * t->growth);
      }
    }
    const ptrdiff_t p = nearest_left(t), end = --t->left;
    float *to = t->panels + p / PANEL_FLOAT * PANEL_FLOAT * m + p % PANEL_FLOAT;
    const float *from = t->panels + end / PANEL_FLOAT * PANEL_FLOAT * m + end % PANEL_FLOAT;
    edges[2 * done] = t->nearest[p];
    edges[2 * done + 1] = t->last = t->name[p];
    lengths[done] = t->key[p];
    for (ptrdiff_t f = 0; f < m; f++) {
      t->query[f] = to[f * PANEL_FLOAT];
      to[f * PANEL_FLOAT] = from[f * PANEL_FLOAT];
    }
    t->key[p] = t->key[end];
    t->limit[p] = t->limit[end];
    t->nearest[p] = t->nearest[end];
    t->name[p] = t->name[end];
    t->limit[end] = INFINITY;
  }
  return done;
}

SIMD_TABLE(spanning_tree, .nearest_others = nearest_others, .grow_tree = grow_tree)
