/* Rows added to those of their classes. Values are checked in passes of their own over entries that
   stay in the first cache, which compilers turn into vectors, as they do the sums of dense rows:
   what is refused is counted without a branch. */

#include "naive_bayes/class_counts.h"

#include "shared/table.h"

enum {
  ENTRIES = 512, /* checked together, if a row has no more */
  AHEAD = 4      /* entries read before a sum is written: to a compiler it may be any of them */
};

/* Comparisons as wide as the values; NaN fails them all. */
#define REFUSED(suffix, real, bits)                                                        \
  INLINE bits is_refused_##suffix(real x, const int kind, real limit) {                    \
    if (kind == COUNTS_BINARY) return -(bits)(x * x - x != 0);                             \
    return -(bits) !((x >= (kind == COUNTS_SUM ? 0 : -limit)) & (x <= limit));             \
  }                                                                                        \
  INLINE int values_fit_##suffix(const int kind, ptrdiff_t n, const real *x, real limit) { \
    bits refused = 0;                                                                      \
    for (ptrdiff_t p = 0; p < n; p++) refused |= is_refused_##suffix(x[p], kind, limit);   \
    return !refused;                                                                       \
  }
REFUSED(f, float, int32_t)
REFUSED(d, double, int64_t)

INLINE double added(double x, const int kind, double threshold) {
  return kind == COUNTS_ABOVE ? (double)(x > threshold) : x;
}

/* Whether all columns are below d; to `descents` is added how many do not follow the one before. */
#define COLUMNS(index, unsigned_index)                                                     \
  INLINE int columns_fit_##index(const int counted, ptrdiff_t n, const index##_t *columns, \
                                 ptrdiff_t d, ptrdiff_t *descents) {                       \
    unsigned_index outside = 0;                                                            \
    index##_t falls = 0;                                                                   \
    for (ptrdiff_t p = 0; p < n; p++)                                                      \
      outside |= (unsigned_index)((unsigned_index)columns[p] >= (unsigned_index)d);        \
    if (counted)                                                                           \
      for (ptrdiff_t p = 1; p < n; p++) falls += columns[p] <= columns[p - 1];             \
    *descents += falls;                                                                    \
    return !outside;                                                                       \
  }
COLUMNS(int32, uint32_t)
COLUMNS(int64, uint64_t)

#define SPARSE(suffix, real, index)                                                                \
  INLINE int sparse_of_##suffix##_##index(                                                         \
      const int kind, ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns, \
      const index##_t *starts, ptrdiff_t n_entries, const intptr_t *codes, const double *weights,  \
      double threshold, real limit, ptrdiff_t d, double *table) {                                  \
    while (first < last) {                                                                         \
      const ptrdiff_t start = starts[first];                                                       \
      if (start < 0) return 0;                                                                     \
      ptrdiff_t stop = first, end = start;                                                         \
      do { /* rows up to `stop` */                                                                 \
        const ptrdiff_t next = starts[stop + 1];                                                   \
        if (next < end || next > n_entries) return 0;                                              \
        if (stop > first && next - start > ENTRIES) break;                                         \
        end = next;                                                                                \
        stop++;                                                                                    \
      } while (stop < last);                                                                       \
      if (!values_fit_##suffix(kind, end - start, data + start, limit)) return 0;                  \
      ptrdiff_t descents = 0;                                                                      \
      if (!columns_fit_##index(kind != COUNTS_SUM, end - start, columns + start, d, &descents))    \
        return 0;                                                                                  \
      for (ptrdiff_t i = first; i < stop; i++) {                                                   \
        const ptrdiff_t left = starts[i], right = starts[i + 1];                                   \
        const double w = weights ? weights[i] : 1;                                                 \
        double *row = table + codes[i] * d;                                                        \
        descents -= left > start && left < right && columns[left] <= columns[left - 1];            \
        ptrdiff_t p = left;                                                                        \
        for (; p + AHEAD <= right; p += AHEAD) {                                                   \
          __builtin_prefetch(data + p + ENTRIES);                                                  \
          __builtin_prefetch(columns + p + ENTRIES);                                               \
          ptrdiff_t at[AHEAD];                                                                     \
          double x[AHEAD];                                                                         \
          for (int a = 0; a < AHEAD; a++) {                                                        \
            at[a] = columns[p + a];                                                                \
            x[a] = w * added(data[p + a], kind, threshold);                                        \
          }                                                                                        \
          for (int a = 0; a < AHEAD; a++) row[at[a]] += x[a];                                      \
        }                                                                                          \
        for (; p < right; p++) row[columns[p]] += w * added(data[p], kind, threshold);             \
      }                                                                                            \
      /* What is left is inside rows; counts would add the same column twice. */                   \
      if (kind != COUNTS_SUM && descents) return 0;                                                \
      first = stop;                                                                                \
    }                                                                                              \
    return 1;                                                                                      \
  }                                                                                                \
  static int sparse_##suffix##_##index(                                                            \
      ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns,                 \
      const index##_t *starts, ptrdiff_t n_entries, const intptr_t *codes, const double *weights,  \
      int kind, double threshold, real limit, ptrdiff_t d, double *table) {                        \
    EACH_KIND(sparse_of_##suffix##_##index, first, last, data, columns, starts, n_entries, codes,  \
              weights, threshold, limit, d, table)                                                 \
  }

#define EACH_KIND(function, ...)                                 \
  switch (kind) {                                                \
  case COUNTS_SUM: return function(COUNTS_SUM, __VA_ARGS__);     \
  case COUNTS_ABOVE: return function(COUNTS_ABOVE, __VA_ARGS__); \
  default: return function(COUNTS_BINARY, __VA_ARGS__);          \
  }

SPARSE(f, float, int32)
SPARSE(f, float, int64)
SPARSE(d, double, int32)
SPARSE(d, double, int64)

#define DENSE(suffix, real, bits)                                                                  \
  INLINE int dense_of_##suffix(const int kind, ptrdiff_t first, ptrdiff_t last, const real *X,     \
                               const intptr_t *codes, const double *weights, double threshold,     \
                               real limit, ptrdiff_t d, double *table) {                           \
    for (ptrdiff_t i = first; i < last; i++) {                                                     \
      const real *restrict x = X + i * d;                                                          \
      double *restrict row = table + codes[i] * d;                                                 \
      const double w = weights ? weights[i] : 1;                                                   \
      bits refused = 0;                                                                            \
      for (ptrdiff_t j = 0; j < d; j++) {                                                          \
        refused |= is_refused_##suffix(x[j], kind, limit);                                         \
        row[j] += w * added(x[j], kind, threshold);                                                \
      }                                                                                            \
      if (refused) return 0;                                                                       \
    }                                                                                              \
    return 1;                                                                                      \
  }                                                                                                \
  static int dense_##suffix(ptrdiff_t first, ptrdiff_t last, const real *X, const intptr_t *codes, \
                            const double *weights, int kind, double threshold, real limit,         \
                            ptrdiff_t d, double *table) {                                          \
    EACH_KIND(dense_of_##suffix, first, last, X, codes, weights, threshold, limit, d, table)       \
  }
DENSE(f, float, int32_t)
DENSE(d, double, int64_t)

SIMD_TABLE(class_counts, .sparse_f_int32 = sparse_f_int32, .sparse_f_int64 = sparse_f_int64,
           .sparse_d_int32 = sparse_d_int32, .sparse_d_int64 = sparse_d_int64, .dense_f = dense_f,
           .dense_d = dense_d)
