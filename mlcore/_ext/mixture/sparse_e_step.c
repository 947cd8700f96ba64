/* One pass of EM over sparse rows, in double precision.

   A row's log densities are start + sum_p value_p table[column_p], one value per component and the
   components side by side in vectors. Rows take no more than a stride of memory; the next ones
   overlap in the processor's pipeline.

   Most rows belong to few components, and lines of components (MIX_LINE side by side) whose
   responsibilities are below 2^-100 are left out: of the sums, which they would change by less than
   rounding in any component that has not collapsed, and of the next pass where a bound shows that
   they stay below. Between two passes no log density of a row rises by more than the rise of
   `start` plus sum value rise[column], one number instead of all components. A row of which only
   one component is left is summed once, and then not again until this changes.

   Probabilities may be 0: the table then holds -inf, and so do log densities; entries have no value
   of 0. A feature with probability 1 under a component that a row does not have is no entry: such
   features are counted, start_impossible + sum_p value_p impossible[column_p], and any makes the
   row impossible. A row that is impossible under every component has equal responsibilities
   under all whose weight is not 0. */
#include "mixture/sparse_e_step.h"

#include "shared/log.h"
#include "shared/table.h"
#include "shared/vector.h"

enum {
  MIX_LANES = VECTOR_BYTES / sizeof(double),
  MIX_STRIP = 4,
  MIX_LINE = 8,
  LINE_VECTORS = MIX_LINE / MIX_LANES
};
#define MIX_FAR 69.31471805599453 /* 100 ln 2 */
#define MIX_ALL UINT64_MAX        /* lines that are near; those beyond 64 always count as near */
#define IS_NEAR(lines, line) ((line) >= 64 || ((lines) >> (line) & 1))

#define BEGIN(s, i) ((s)->indptr ? (s)->indptr[i] : (i) * (s)->length)
#define END(s, i) ((s)->indptr ? (s)->indptr[(i) + 1] : ((i) + 1) * (s)->length)

/* to[...] = from[...] + sum of the row's entries, and *rise += sum value rises[column] unless NULL;
   two sums a vector, so that additions need not wait for each other. */
INLINE void mixture_gather(const int width, const int valued, const ptrdiff_t stride,
                           const sparse_rows *s, ptrdiff_t begin, ptrdiff_t end, const double *from,
                           const double *table, double *to, const double *rises, double *rise) {
  const int32_t *columns = s->columns;
  const double *values = s->values;
  vdouble even[MIX_STRIP], odd[MIX_STRIP];
  double even_rise = 0, odd_rise = 0;
  for (int v = 0; v < width; v++) even[v] = load_d(from + v * MIX_LANES), odd[v] = (vdouble){0};
  ptrdiff_t p = begin;
  for (; p + 2 <= end; p += 2) {
    const double *a = table + columns[p] * stride, *b = table + columns[p + 1] * stride;
    for (int v = 0; v < width; v++) {
      vdouble x = load_d(a + v * MIX_LANES), y = load_d(b + v * MIX_LANES);
      even[v] += valued ? values[p] * x : x;
      odd[v] += valued ? values[p + 1] * y : y;
    }
    if (rises) {
      even_rise += valued ? values[p] * rises[columns[p]] : rises[columns[p]];
      odd_rise += valued ? values[p + 1] * rises[columns[p + 1]] : rises[columns[p + 1]];
    }
  }
  if (p < end) {
    for (int v = 0; v < width; v++) {
      vdouble x = load_d(table + columns[p] * stride + v * MIX_LANES);
      even[v] += valued ? values[p] * x : x;
    }
    if (rises) even_rise += valued ? values[p] * rises[columns[p]] : rises[columns[p]];
  }
  for (int v = 0; v < width; v++) store_d(to + v * MIX_LANES, even[v] + odd[v]);
  if (rises) *rise += even_rise + odd_rise;
}

/* sums[column] += value r for the row's entries. */
INLINE void mixture_scatter(const int width, const int valued, const ptrdiff_t stride,
                            const sparse_rows *s, ptrdiff_t begin, ptrdiff_t end, const double *r,
                            double *sums) {
  const int32_t *columns = s->columns; /* not read again after every store */
  const double *values = s->values;
  vdouble weighted[MIX_STRIP];
  for (int v = 0; v < width; v++) weighted[v] = load_d(r + v * MIX_LANES);
  for (ptrdiff_t p = begin; p < end; p++) {
    double *to = sums + columns[p] * stride;
    for (int v = 0; v < width; v++) {
      vdouble x = valued ? values[p] * weighted[v] : weighted[v];
      store_d(to + v * MIX_LANES, load_d(to + v * MIX_LANES) + x);
    }
  }
}

/* `call(width, j)` for strips of all components from j on, or for the lines of `near` alone. */
#define MIXTURE_STRIPS(call)                                                                     \
  for (ptrdiff_t j = 0, left; (left = (stride - j) / MIX_LANES) > 0; j += MIX_STRIP * MIX_LANES) \
    switch (left) {                                                                              \
    case 1: call(1, j); break;                                                                   \
    case 2: call(2, j); break;                                                                   \
    case 3: call(3, j); break;                                                                   \
    default: call(4, j);                                                                         \
    }
#define MIXTURE_LINES(near, call)                            \
  for (ptrdiff_t line = 0; line < stride / MIX_LINE; line++) \
    if (IS_NEAR(near, line)) call(LINE_VECTORS, line *MIX_LINE);

static inline double highest_of_line(const double *r) {
  vdouble most = load_d(r);
  for (int v = 1; v < LINE_VECTORS; v++) most = max_d(most, load_d(r + v * MIX_LANES));
  return highest_d(most);
}

/* r[j...] = -inf where the row does not have a feature of probability 1. */
INLINE void mixture_impossible(const int width, const int valued, const ptrdiff_t stride,
                               const sparse_rows *s, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t j,
                               double *r) {
  double count[MIX_STRIP * MIX_LANES];
  mixture_gather(width, valued, stride, s, begin, end, s->start_impossible + j, s->impossible + j,
                 count, NULL, NULL);
  for (int v = 0; v < width; v++) {
    const vdouble x = load_d(r + j + v * MIX_LANES);
    const mask_d impossible = greater_d(load_d(count + v * MIX_LANES), (vdouble){0});
    store_d(r + j + v * MIX_LANES, select_d(impossible, (vdouble){0} - INFINITY, x));
  }
}

/* Log densities r of a row, and which lines of them are filled in: all, or those near in the pass
   before if the bound on the others allows it. */
INLINE uint64_t mixture_row(const int valued, const ptrdiff_t stride, const sparse_rows *s,
                            ptrdiff_t i, double *r) {
  const ptrdiff_t begin = BEGIN(s, i), end = END(s, i);
  const uint64_t before = stride > MIX_LINE && s->near ? s->near[i] : MIX_ALL;
#define GATHER(w, j)                                                                              \
  mixture_gather(w, valued, stride, s, begin, end, s->start + (j), s->table + (j), r + (j), NULL, \
                 NULL)
  if (before == MIX_ALL) {
    MIXTURE_STRIPS(GATHER)
#define IMPOSSIBLE(w, j) mixture_impossible(w, valued, stride, s, begin, end, j, r)
    if (s->impossible) MIXTURE_STRIPS(IMPOSSIBLE)
    return MIX_ALL;
  }
  const ptrdiff_t first = __builtin_ctzll(before) * MIX_LINE; /* none of them is empty */
  double bound = s->bounds[i] + s->start_rise, top = -INFINITY;
  mixture_gather(LINE_VECTORS, valued, stride, s, begin, end, s->start + first, s->table + first,
                 r + first, s->rises, &bound);
  const uint64_t others = before & (before - 1);
  MIXTURE_LINES(others, GATHER)
  for (ptrdiff_t line = 0; line < stride / MIX_LINE; line++)
    if (IS_NEAR(before, line)) {
      const double highest = highest_of_line(r + line * MIX_LINE);
      top = highest > top ? highest : top;
    }
  if (top - bound > MIX_FAR) {
    s->bounds[i] = bound;
    return before;
  }
  MIXTURE_LINES(~before, GATHER)
  return MIX_ALL;
}

/* The lines of `filled` that are within MIX_FAR of the row's largest log density, `top`; the bound
   on the others. */
static inline uint64_t nearest_lines(const ptrdiff_t stride, const sparse_rows *s, ptrdiff_t i,
                                     const double *r, uint64_t filled, double *top) {
  double highest[64], left_out = -INFINITY, most = -INFINITY;
  const ptrdiff_t lines = stride / MIX_LINE, known = lines < 64 ? lines : 64;
  uint64_t near = 0;
  for (ptrdiff_t line = 0; line < lines; line++) {
    if (!IS_NEAR(filled, line)) continue;
    const double x = highest_of_line(r + line * MIX_LINE);
    most = x > most ? x : most;
    if (line < 64) highest[line] = x;
  }
  for (ptrdiff_t line = 0; line < known; line++) {
    if (!IS_NEAR(filled, line)) continue;
    if (most - highest[line] > MIX_FAR)
      left_out = highest[line] > left_out ? highest[line] : left_out;
    else near |= (uint64_t)1 << line;
  }
  *top = most;
  /* the largest is beyond 64 lines, but one below is always near */
  if (near == 0) near = filled & -filled;
  if (__builtin_popcountll(near) == known) near = MIX_ALL;
  if (s->near) {
    s->near[i] = near;
    s->bounds[i] = filled != MIX_ALL && s->bounds[i] > left_out ? s->bounds[i] : left_out;
  }
  return near;
}

/* The only component whose exponential r is not negligible, or -1. */
static inline int32_t only_component(const ptrdiff_t stride, uint64_t near, const double *r) {
  int32_t only = -1;
  for (ptrdiff_t line = 0; line < stride / MIX_LINE; line++) {
    if (!IS_NEAR(near, line)) continue;
    for (ptrdiff_t j = line * MIX_LINE; j < (line + 1) * MIX_LINE; j += MIX_LANES) {
      const unsigned some = lane_bits_d(greater_d(load_d(r + j), (vdouble){0} + 0x1p-100));
      if (some == 0) continue;
      if (only >= 0 || (some & (some - 1))) return -1;
      only = (int32_t)(j + __builtin_ctz(some));
    }
  }
  return only;
}

/* The component that a row was hard-assigned to, and is now: one that was the only one in two
   passes running, since after one many rows still change. */
static inline void assign_hard(const sparse_rows *s, ptrdiff_t i, int32_t only,
                               row_assignment *own) {
  const int32_t before = s->hard[i], seen = -2 - only; /* seen once */
  if (only != before) s->hard[i] = only < 0 || before >= 0 || before == seen ? only : seen;
  own->was = before, own->is = s->hard[i];
}

/* The first of entries [begin, end), which are in order of their columns, that is not before
   `column`. */
static inline ptrdiff_t first_from(const int32_t *columns, ptrdiff_t begin, ptrdiff_t end,
                                   ptrdiff_t column) {
  while (begin < end) {
    const ptrdiff_t middle = begin + (end - begin) / 2;
    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* Adds rows to the sums of columns [left, right), all columns where right is 0. */
INLINE void mixture_add(const int valued, const ptrdiff_t stride, const sparse_rows *s,
                        ptrdiff_t first, ptrdiff_t last, const double *batch,
                        const row_assignment *assignments, ptrdiff_t left, ptrdiff_t right,
                        double *sums) {
  for (ptrdiff_t i = first; i < last; i++) {
    const double *r = batch + (i - first) * stride;
    const row_assignment own = assignments[i - first];
    ptrdiff_t begin = BEGIN(s, i), end = END(s, i);
    if (right) {
      begin = first_from(s->columns, begin, end, left);
      end = first_from(s->columns, begin, end, right);
    }
    if (own.was != own.is && (own.was >= 0 || own.is >= 0))
      for (ptrdiff_t p = begin; p < end; p++) {
        const double value = (s->weights ? s->weights[i] : 1.0) * (valued ? s->values[p] : 1.0);
        double *to = sums + s->hard_sums + s->columns[p] * stride;
        if (own.was >= 0) to[own.was] -= value;
        if (own.is >= 0) to[own.is] += value;
      }
    if (own.is >= 0) continue;
#define SCATTER(w, j) mixture_scatter(w, valued, stride, s, begin, end, r + (j), sums + (j))
    if (own.near == MIX_ALL) MIXTURE_STRIPS(SCATTER)
    else MIXTURE_LINES(own.near, SCATTER)
  }
}

/* Rows come in batches, each step done for all of them: what one row waits for, the others fill. */
INLINE double mixture_batch(const int valued, const ptrdiff_t stride, const sparse_rows *s,
                            ptrdiff_t first, ptrdiff_t last, double *batch,
                            row_assignment *assignments, double *totals, double *log_density,
                            double *out) {
  const ptrdiff_t k = s->n_components, n = last - first;
  double top[MIX_BATCH], most[MIX_BATCH], total[MIX_BATCH], scale[MIX_BATCH], row_totals[MIX_BATCH];
  double log_likelihood = 0;
  uint64_t near[MIX_BATCH];
  int32_t only[MIX_BATCH];
  for (ptrdiff_t i = first; i < last; i++)
    near[i - first] = mixture_row(valued, stride, s, i, batch + (i - first) * stride);
  for (ptrdiff_t i = first; i < last; i++) {
    double *r = batch + (i - first) * stride;
    if (totals && s->near) { /* without it nothing is left out */
      near[i - first] = nearest_lines(stride, s, i, r, near[i - first], &top[i - first]);
    } else {
      vdouble highest = load_d(r);
      for (ptrdiff_t j = MIX_LANES; j < stride; j += MIX_LANES)
        highest = max_d(highest, load_d(r + j));
      top[i - first] = highest_d(highest);
    }
    most[i - first] = top[i - first];
    if (top[i - first] > -INFINITY) continue;
    for (ptrdiff_t j = 0; j < stride; j++) r[j] = s->start[j] > -INFINITY ? 0 : -INFINITY;
    near[i - first] = MIX_ALL, top[i - first] = 0;
  }
  for (ptrdiff_t i = first; i < last; i++) {
    double *r = batch + (i - first) * stride;
    vdouble sum = {0};
#define EXPONENTIALS(w, at)                                                                    \
  for (ptrdiff_t j = (at); j < (at) + (w) * MIX_LANES; j += MIX_LANES) {                       \
    vdouble e = exp2_d((load_d(r + j) - top[i - first]) * 0x1.71547652b82fep0); /* 1 / ln 2 */ \
    store_d(r + j, e);                                                                         \
    sum += e;                                                                                  \
  }
    MIXTURE_LINES(near[i - first], EXPONENTIALS)
    total[i - first] = lane_sum_d(sum);
    only[i - first] =
        s->hard && total[i - first] == 1.0 ? only_component(stride, near[i - first], r) : -1;
  }
  for (ptrdiff_t i = 0; i < n; i++) {
    const double density = most[i] + log(total[i]),
                 weight = s->weights ? s->weights[first + i] : 1.0;
    if (log_density) log_density[first + i] = density;
    if (weight > 0) log_likelihood += weight * density;
  }
  for (ptrdiff_t i = 0; out && i < n; i++)
    for (ptrdiff_t j = 0; j < k; j++) out[(first + i) * k + j] = batch[i * stride + j] / total[i];
  if (!totals) return log_likelihood;
  for (ptrdiff_t i = 0; i < n; i++) {
    scale[i] = (s->weights ? s->weights[first + i] : 1.0) / total[i];
    row_totals[i] = s->row_totals ? s->row_totals[first + i] : 0.0;
  }
  for (ptrdiff_t line = 0; line < stride / MIX_LINE; line++)
    for (ptrdiff_t j = line * MIX_LINE; j < (line + 1) * MIX_LINE; j += MIX_LANES) {
      vdouble sum = {0}, of_totals = {0};
      for (ptrdiff_t i = 0; i < n; i++) {
        if (!IS_NEAR(near[i], line)) continue;
        const vdouble x = load_d(batch + i * stride + j) * scale[i];
        store_d(batch + i * stride + j, x);
        sum += x;
        of_totals += x * row_totals[i];
      }
      store_d(totals + j, load_d(totals + j) + sum);
      store_d(totals + stride + j, load_d(totals + stride + j) + of_totals);
    }
  for (ptrdiff_t i = 0; i < n; i++) {
    assignments[i] = (row_assignment){near[i], -1, -1};
    if (s->hard) assign_hard(s, first + i, only[i], &assignments[i]);
  }
  return log_likelihood;
}

/* `call(valued, stride)`, where it pays with a constant stride: in general few components of few
   items take a fifth longer (100,000 x 20, 6 components, AVX2). */
#define MIXTURE_KINDS(s, call)   \
  if ((s)->stride == MIX_LINE) { \
    if ((s)->values) {           \
      call(1, MIX_LINE);         \
    } else {                     \
      call(0, MIX_LINE);         \
    }                            \
  } else {                       \
    if ((s)->values) {           \
      call(1, (s)->stride);      \
    } else {                     \
      call(0, (s)->stride);      \
    }                            \
  }

NOINLINE double batch_of_rows(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch,
                              row_assignment *assignments, double *totals, double *log_density,
                              double *out) {
#define BATCH(valued, stride) \
  return mixture_batch(valued, stride, s, first, last, batch, assignments, totals, log_density, out)
  MIXTURE_KINDS(s, BATCH)
}

static double responsibilities(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch,
                               row_assignment *assignments, double *totals) {
  return batch_of_rows(s, first, last, batch, assignments, totals, NULL, NULL);
}

NOINLINE void add_rows(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, const double *batch,
                       const row_assignment *assignments, ptrdiff_t left, ptrdiff_t right,
                       double *sums) {
#define ADD_ROWS(valued, stride) \
  mixture_add(valued, stride, s, first, last, batch, assignments, left, right, sums)
  MIXTURE_KINDS(s, ADD_ROWS)
}

static double expect(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch,
                     double *sums, double *totals, double *log_density, double *out) {
  double sum = 0;
  row_assignment assignments[MIX_BATCH];
  for (; first < last; first += MIX_BATCH) {
    const ptrdiff_t stop = last - first < MIX_BATCH ? last : first + MIX_BATCH;
    sum += batch_of_rows(s, first, stop, batch, assignments, totals, log_density, out);
    if (sums) add_rows(s, first, stop, batch, assignments, 0, 0, sums);
  }
  return sum;
}

/* `known` values from `from` on, and `rest` beside them; those before `end` may be read. */
static inline vdouble some_d(const double *from, const double *end, ptrdiff_t known, double rest) {
  double part[MIX_LANES], lanes[MIX_LANES];
  if (from + MIX_LANES > end) {
    for (ptrdiff_t lane = 0; lane < MIX_LANES; lane++)
      part[lane] = lane < known ? from[lane] : rest;
    return load_d(part);
  }
  for (ptrdiff_t lane = 0; lane < MIX_LANES; lane++) lanes[lane] = lane;
  return select_d(greater_d((vdouble){0} + (double)known, load_d(lanes)), load_d(from),
                  (vdouble){0} + rest);
}

/* log p, and -inf for 0 and for what is too small for a normal number. */
static inline vdouble log_or_never(vdouble p) {
  const vdouble least = (vdouble){0} + 0x1p-1022;
  return select_d(greater_d(least, p), (vdouble){0} - INFINITY, log_d(max_d(least, p)));
}

/* table[row] = p[row], or log p[row], padded with zeros; rises[row] = the largest rise of the row's
   values. `p` ends at `end`. */
static void fill_rows(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride,
                      const double *p, ptrdiff_t p_stride, const double *end, int logarithms,
                      double *table, double *rises) {
  for (ptrdiff_t row = first; row < last; row++) {
    double *to = table + row * stride;
    const double *from = p + row * p_stride;
    vdouble rise = (vdouble){0} - INFINITY;
    for (ptrdiff_t j = 0; j < stride; j += MIX_LANES) {
      const ptrdiff_t known = k - j;
      const double nothing = logarithms ? 1.0 : 0.0;
      vdouble x = known >= MIX_LANES ? load_d(from + j)
                  : known > 0        ? some_d(from + j, end, known, nothing)
                                     : (vdouble){0} + nothing;
      if (logarithms) x = log_or_never(x); /* log 1 = 0 */
      /* in this order: -inf that stays is NaN here, and no rise */
      rise = max_d(x - load_d(to + j), rise);
      store_d(to + j, x);
    }
    rises[row] = highest_d(rise);
  }
}

/* table[row] = min((counts[row] + alpha) / totals, 1), the same totals for all rows where
   `totals_stride` is 0; totals and table are padded to `stride`, the totals with ones. `counts`
   ends at `end`. */
static void smooth_rows(ptrdiff_t first, ptrdiff_t last, ptrdiff_t k, ptrdiff_t stride,
                        const double *counts, ptrdiff_t counts_stride, const double *end,
                        double alpha, const double *totals, ptrdiff_t totals_stride,
                        double *table) {
  for (ptrdiff_t row = first; row < last; row++)
    for (ptrdiff_t j = 0; j < stride; j += MIX_LANES) {
      const double *from = counts + row * counts_stride + j;
      const vdouble x = k - j >= MIX_LANES ? load_d(from)
                        : k > j            ? some_d(from, end, k - j, 0)
                                           : (vdouble){0};
      const vdouble frequency = (x + alpha) / load_d(totals + row * totals_stride + j);
      store_d(table + row * stride + j, min_d((vdouble){0} + 1.0, frequency));
    }
}

/* table[row] = log p[row], p[row] = min((sum + alpha) rates, 1), from the row's sums in all tables,
   `size` values from one to the next; those of each pass, one in `kinds`, are then 0. All are
   padded to `stride`. */
static void advance_rows(ptrdiff_t first, ptrdiff_t last, ptrdiff_t stride, ptrdiff_t tables,
                         ptrdiff_t kinds, ptrdiff_t size, double alpha, const double *rates,
                         double *sums, double *p, double *table, double *rises) {
  for (ptrdiff_t row = first; row < last; row++) {
    vdouble rise = (vdouble){0} - INFINITY;
    for (ptrdiff_t j = 0; j < stride; j += MIX_LANES) {
      const ptrdiff_t at = row * stride + j;
      vdouble x = {0};
      for (ptrdiff_t t = 0; t < tables; t++) {
        x += load_d(sums + t * size + at);
        if (t % kinds == 0) store_d(sums + t * size + at, (vdouble){0});
      }
      x = min_d((vdouble){0} + 1.0, (x + alpha) * load_d(rates + j));
      store_d(p + at, x);
      x = log_or_never(x);
      rise = max_d(x - load_d(table + at), rise);
      store_d(table + at, x);
    }
    rises[row] = highest_d(rise);
  }
}

SIMD_TABLE(sparse_e_step, .expect = expect, .responsibilities = responsibilities,
           .add_rows = add_rows, .fill_rows = fill_rows, .smooth_rows = smooth_rows,
           .advance_rows = advance_rows)
