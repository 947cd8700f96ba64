/* Sparse rows times a table of few columns, and their softmax, in blocks that stay in the cache.

   Values and columns are checked in passes of their own over some entries, which compilers turn
   into vectors. A row of the table is up to 8 groups of 4 doubles, whose sums stay in registers. */

#include "numerics/sparse_scores.h"

#include "shared/column_set.h"
#include "shared/sparse_columns.h"
#include "shared/table.h"

#include <float.h>

enum {
  ENTRIES = 512, /* checked together, if a row has no more */
  AHEAD = 16,    /* entries from one whose row of the table is fetched to the one that is added */
  GROUPS = 8     /* of columns whose sums are in registers */
};

typedef double group __attribute__((vector_size(32)));
typedef double group_any __attribute__((vector_size(32), aligned(8), may_alias));
#define GROUP(p) (*(group_any *)(p))
#define GROUP_OF(p) (*(const group_any *)(p))

#define MOST_f FLT_MAX
#define MOST_d DBL_MAX
#define MOST_l INT64_MAX

/* Comparisons as wide as the values; NaN fails them all. */
#define REFUSED(suffix, real, bits)                                              \
  INLINE bits is_refused_##suffix(const int kind, real x, real limit) {          \
    if (kind == SCORES_BINARY) return -(bits)(x * x - x != 0);                   \
    return -(bits) !((x >= (kind == SCORES_COUNT ? 0 : -limit)) & (x <= limit)); \
  }
REFUSED(f, float, int32_t)
REFUSED(d, double, int64_t)
INLINE int64_t is_refused_l(const int kind, int64_t x, int64_t limit) {
  (void)limit;
  if (kind == SCORES_BINARY) return -(int64_t)((uint64_t)x > 1);
  return -(int64_t)((kind == SCORES_COUNT) & (x < 0));
}

/* t += n entries times their rows of the table; `known` columns may be read. */
#define ADD(index)                                                                                 \
  INLINE void add_groups_##index(const int groups, ptrdiff_t n, const double *x,                   \
                                 const index##_t *columns, ptrdiff_t known, const double *table,   \
                                 ptrdiff_t width, double *t) {                                     \
    group sums[GROUPS];                                                                            \
    for (int g = 0; g < groups; g++) sums[g] = GROUP_OF(t + 4 * g);                                \
    for (ptrdiff_t p = 0; p < n; p++) {                                                            \
      if (p + AHEAD < known) {                                                                     \
        const double *next = table + columns[p + AHEAD] * width;                                   \
        for (int g = 0; g < groups; g += 2) __builtin_prefetch(next + 4 * g);                      \
      }                                                                                            \
      const group many = {x[p], x[p], x[p], x[p]};                                                 \
      const double *row = table + columns[p] * width;                                              \
      for (int g = 0; g < groups; g++) sums[g] += many * GROUP_OF(row + 4 * g);                    \
    }                                                                                              \
    for (int g = 0; g < groups; g++) GROUP(t + 4 * g) = sums[g];                                   \
  }                                                                                                \
  static void add_##index(ptrdiff_t n, const double *x, const index##_t *columns, ptrdiff_t known, \
                          const double *table, ptrdiff_t width, double *t) {                       \
    if (width == 1) {                                                                              \
      double sum = 0;                                                                              \
      for (ptrdiff_t p = 0; p < n; p++) sum += x[p] * table[columns[p]];                           \
      *t += sum;                                                                                   \
      return;                                                                                      \
    }                                                                                              \
    for (ptrdiff_t at = 0; at < width; at += 4 * GROUPS, table += 4 * GROUPS, t += 4 * GROUPS)     \
      switch (width - at) {                                                                        \
      case 4: add_groups_##index(1, n, x, columns, known, table, width, t); break;                 \
      case 8: add_groups_##index(2, n, x, columns, known, table, width, t); break;                 \
      case 12: add_groups_##index(3, n, x, columns, known, table, width, t); break;                \
      case 16: add_groups_##index(4, n, x, columns, known, table, width, t); break;                \
      case 20: add_groups_##index(5, n, x, columns, known, table, width, t); break;                \
      case 24: add_groups_##index(6, n, x, columns, known, table, width, t); break;                \
      case 28: add_groups_##index(7, n, x, columns, known, table, width, t); break;                \
      default: add_groups_##index(GROUPS, n, x, columns, known, table, width, t);                  \
      }                                                                                            \
  }
ADD(int32)
ADD(int64)

/* Scratch of one thread: the set of columns of a row, their sums, 0 between rows; and both in order. */
typedef struct {
  column_set set;
  double *sums, *values;
  void *columns;
} ordered;

/* Sums as those of arrays of one type. */
#define ROUNDED_f(x) (double)(float)(x)
#define ROUNDED_d(x) (x)
#define ROUNDED_l(x) (x)

/* Put the entries of a row in the order of their columns, which are added where repeated; returns
   their number. */
#define ORDER(suffix, real, index)                                                           \
  NOINLINE ptrdiff_t in_order_##suffix##_##index(ordered *to, ptrdiff_t n, const real *data, \
                                                 const index##_t *columns) {                 \
    column_set set = to->set;                                                                \
    index##_t *found = to->columns;                                                          \
    for (ptrdiff_t p = 0; p < n; p++) {                                                      \
      add_column(&set, columns[p]);                                                          \
      to->sums[columns[p]] += (double)data[p];                                               \
    }                                                                                        \
    ptrdiff_t m = 0;                                                                         \
    for (ptrdiff_t c; (c = take_column(&set)) >= 0; m++) {                                   \
      found[m] = (index##_t)c;                                                               \
      to->values[m] = ROUNDED_##suffix(to->sums[c]);                                         \
      to->sums[c] = 0;                                                                       \
    }                                                                                        \
    return m;                                                                                \
  }
ORDER(f, float, int32)
ORDER(f, float, int64)
ORDER(d, double, int32)
ORDER(d, double, int64)
ORDER(l, int64_t, int32)
ORDER(l, int64_t, int64)

/* Write k scores, or their softmax, of each of n rows of the block. */
static void write_rows(ptrdiff_t n, ptrdiff_t k, ptrdiff_t width, int softmax, double *block,
                       double *out) {
  if (!softmax) {
    for (ptrdiff_t i = 0; i < n; i++)
      memcpy(out + i * k, block + i * width, (size_t)k * sizeof *out);
    return;
  }
  for (ptrdiff_t i = 0; i < n; i++) {
    double *t = block + i * width, most = t[0];
    for (ptrdiff_t j = 1; j < k; j++) most = t[j] > most ? t[j] : most;
    for (ptrdiff_t j = 0; j < width; j++) t[j] = (t[j] - most) * 0x1.71547652b82fep0; /* 1 / ln 2 */
  }
  for (ptrdiff_t j = 0; j < n * width; j += LANES_d) store_d(block + j, exp2_d(load_d(block + j)));
  for (ptrdiff_t i = 0; i < n; i++) {
    const double *t = block + i * width;
    double total = 0;
    for (ptrdiff_t j = 0; j < k; j++) total += t[j];
    for (ptrdiff_t j = 0; j < k; j++) out[i * k + j] = t[j] / total;
  }
}

#define CONVERT(suffix, real)                                                                   \
  INLINE void convert_##suffix(const int kind, ptrdiff_t n, const real *data, double threshold, \
                               double *x) {                                                     \
    for (ptrdiff_t p = 0; p < n; p++)                                                           \
      x[p] = kind == SCORES_ABOVE ? (double)((double)data[p] > threshold) : (double)data[p];    \
  }
CONVERT(f, float)
CONVERT(d, double)
CONVERT(l, int64_t)

/* Replace sums by what of them counts; whether all are as the kind takes them. */
static int counted_fit(int kind, ptrdiff_t n, double threshold, double *x) {
  int fine = 1;
  for (ptrdiff_t p = 0; p < n; p++) {
    fine &= kind != SCORES_BINARY || x[p] == 0 || x[p] == 1;
    if (kind == SCORES_ABOVE) x[p] = x[p] > threshold;
  }
  return fine;
}

#define LOOP(suffix, real, limits, index)                                                          \
  INLINE int scores_of_##suffix##_##index(                                                         \
      const int kind, ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns, \
      const index##_t *starts, ptrdiff_t n_entries, double threshold, double limit, ptrdiff_t d,   \
      const double *table, const double *start, ptrdiff_t k, ptrdiff_t width, int softmax,         \
      double *block, ordered *to, double *out) {                                                   \
                                                                                                   \
    const ptrdiff_t most = width < SCORES_BLOCK ? SCORES_BLOCK / width : 1;                        \
    const real bound = limit < (double)MOST_##suffix ? (real)limit : MOST_##suffix;                \
                                                                                                   \
    double values[ENTRIES];                                                                        \
    ptrdiff_t filled = 0;                                                                          \
    while (first < last) {                                                                         \
      const ptrdiff_t begin = starts[first];                                                       \
      if (begin < 0) return 0;                                                                     \
      ptrdiff_t stop = first, end = begin;                                                         \
      do { /* rows up to `stop` */                                                                 \
        const ptrdiff_t next = starts[stop + 1];                                                   \
        if (next < end || next > n_entries) return 0;                                              \
        if (stop > first && next - begin > ENTRIES) break;                                         \
        end = next;                                                                                \
        stop++;                                                                                    \
      } while (stop < last);                                                                       \
      const int together = end - begin <= ENTRIES;                                                 \
      limits refused = 0;                                                                          \
      for (ptrdiff_t p = begin; p < end; p++)                                                      \
        refused |= is_refused_##suffix(kind, data[p], bound);                                      \
      ptrdiff_t descents = 0;                                                                      \
      if (refused || !columns_fit_##index(1, end - begin, columns + begin, d, &descents))          \
        return 0;                                                                                  \
      if (descents) descents -= between_rows_##index(first, stop, starts, begin, columns);         \
      if (together) convert_##suffix(kind, end - begin, data + begin, threshold, values);          \
      for (; first < stop; first++) {                                                              \
        const ptrdiff_t left = starts[first], right = starts[first + 1];                           \
        double *t = block + filled * width;                                                        \
        memcpy(t, start, (size_t)width * sizeof *t);                                               \
        if (descents && !is_ascending_##index(right - left, columns + left)) {                     \
          const ptrdiff_t n =                                                                      \
              in_order_##suffix##_##index(to, right - left, data + left, columns + left);          \
          if (kind >= SCORES_ABOVE && !counted_fit(kind, n, threshold, to->values)) return 0;      \
          add_##index(n, to->values, to->columns, n, table, width, t);                             \
        } else                                                                                     \
          for (ptrdiff_t p = left, n; p < right; p += n) {                                         \
            n = right - p <= ENTRIES ? right - p : ENTRIES;                                        \
            const double *x = values + (together ? p - begin : 0);                                 \
            if (!together) convert_##suffix(kind, n, data + p, threshold, values);                 \
            add_##index(n, x, columns + p, end - p, table, width, t);                              \
          }                                                                                        \
        if (++filled == most) {                                                                    \
          write_rows(filled, k, width, softmax, block, out);                                       \
          out += filled * k;                                                                       \
          filled = 0;                                                                              \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    write_rows(filled, k, width, softmax, block, out);                                             \
    return 1;                                                                                      \
  }                                                                                                \
  static int scores_##suffix##_##index(                                                            \
      ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns,                 \
      const index##_t *starts, ptrdiff_t n_entries, int kind, double threshold, double limit,      \
      ptrdiff_t d, const double *table, const double *start, ptrdiff_t k, ptrdiff_t width,         \
      int softmax, double *block, uint64_t *present, double *sums, index##_t *order,               \
      double *out) {                                                                               \
    ordered to = {empty_set(present, d), sums, sums + d, order};                                   \
    EACH_KIND(scores_of_##suffix##_##index, first, last, data, columns, starts, n_entries,         \
              threshold, limit, d, table, start, k, width, softmax, block, &to, out)               \
  }

#define EACH_KIND(function, ...)                                 \
  switch (kind) {                                                \
  case SCORES_VALUE: return function(SCORES_VALUE, __VA_ARGS__); \
  case SCORES_COUNT: return function(SCORES_COUNT, __VA_ARGS__); \
  case SCORES_ABOVE: return function(SCORES_ABOVE, __VA_ARGS__); \
  default: return function(SCORES_BINARY, __VA_ARGS__);          \
  }
LOOP(f, float, int32_t, int32)
LOOP(f, float, int32_t, int64)
LOOP(d, double, int64_t, int32)
LOOP(d, double, int64_t, int64)
LOOP(l, int64_t, int64_t, int32)
LOOP(l, int64_t, int64_t, int64)

SIMD_TABLE(sparse_scores, .scores_f_int32 = scores_f_int32, .scores_f_int64 = scores_f_int64,
           .scores_d_int32 = scores_d_int32, .scores_d_int64 = scores_d_int64,
           .scores_l_int32 = scores_l_int32, .scores_l_int64 = scores_l_int64)
