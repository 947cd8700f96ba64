/* Rows added to those of their classes. Values are checked in passes of their own over entries that
   stay in the first cache, which compilers turn into vectors, as they do the sums of dense rows:
   what is refused is counted without a branch. */

#include "naive_bayes/class_counts.h"

#include "shared/sparse_columns.h"
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
INLINE int values_fit_l(const int kind, ptrdiff_t n, const int64_t *x, int64_t limit) {
  (void)limit; /* no integer is too large */
  int64_t refused = 0;
  for (ptrdiff_t p = 0; p < n; p++)
    refused |= kind == COUNTS_BINARY ? -(int64_t)((uint64_t)x[p] > 1)
               : kind == COUNTS_SUM  ? x[p]
                                     : 0;
  return refused >= 0;
}

/* Scratch of a part, of d values each: the number, 1 to 255, of the row that had a column last, which
   is read where `row` is above 0, and sums of a row, which are 0 between rows. */
typedef struct {
  uint8_t *marks;
  double *sums;
  ptrdiff_t d;
  int row;
} repeats;

/* Whether a column is there twice; and its sum at its first entry, 0 at later ones. */
#define REPEATS(index)                                                                   \
  INLINE int has_repeats_##index(repeats *seen, ptrdiff_t n, const index##_t *columns) { \
    if (seen->row == 0 || seen->row == 255) {                                            \
      memset(seen->marks, 0, (size_t)seen->d);                                           \
      seen->row = 0;                                                                     \
    }                                                                                    \
    const uint8_t row = (uint8_t)++seen->row;                                            \
    int found = 0;                                                                       \
    for (ptrdiff_t p = 0; p < n; p++) {                                                  \
      found |= seen->marks[columns[p]] == row;                                           \
      seen->marks[columns[p]] = row;                                                     \
    }                                                                                    \
    return found;                                                                        \
  }                                                                                      \
  INLINE double take_sum_##index(const repeats *seen, index##_t column) {                \
    const double sum = seen->sums[column];                                               \
    seen->sums[column] = 0;                                                              \
    return sum;                                                                          \
  }
REPEATS(int32)
REPEATS(int64)

INLINE double added(double x, const int kind, double threshold) {
  return kind == COUNTS_ABOVE ? (double)(x > threshold) : x;
}

#define ROUNDED_f(x) (double)(float)(x)
#define ROUNDED_d(x) (x)
#define ROUNDED_l(x) (x)

/* Sums of repeated columns count, rounded as those of arrays of one type; zeros change nothing. */
#define SPARSE(suffix, real, index)                                                                \
  INLINE int add_repeats_##suffix##_##index(const int kind, ptrdiff_t n, const real *data,         \
                                            const index##_t *columns, const repeats *seen,         \
                                            double w, double threshold, double *row) {             \
    int fine = 1;                                                                                  \
    for (ptrdiff_t p = 0; p < n; p++) seen->sums[columns[p]] += (double)data[p];                   \
    for (ptrdiff_t p = 0; p < n; p++) {                                                            \
      const double sum = ROUNDED_##suffix(take_sum_##index(seen, columns[p]));                     \
      fine &= kind != COUNTS_BINARY || sum == 0 || sum == 1;                                       \
      row[columns[p]] += w * added(sum, kind, threshold);                                          \
    }                                                                                              \
    return fine;                                                                                   \
  }                                                                                                \
  INLINE int sparse_of_##suffix##_##index(                                                         \
      const int kind, ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns, \
      const index##_t *starts, ptrdiff_t n_entries, const intptr_t *codes, const double *weights,  \
      double threshold, real limit, ptrdiff_t d, double *table, uint8_t *marks, double *sums) {    \
    repeats seen = {marks, sums, d, 0};                                                            \
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
      if (descents) descents -= between_rows_##index(first, stop, starts, start, columns);         \
      for (ptrdiff_t i = first; i < stop; i++) {                                                   \
        const ptrdiff_t left = starts[i], right = starts[i + 1];                                   \
        const double w = weights ? weights[i] : 1;                                                 \
        double *row = table + codes[i] * d;                                                        \
        if (descents && has_repeats_##index(&seen, right - left, columns + left)) {                \
          if (!add_repeats_##suffix##_##index(kind, right - left, data + left, columns + left,     \
                                              &seen, w, threshold, row))                           \
            return 0;                                                                              \
          continue;                                                                                \
        }                                                                                          \
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
      first = stop;                                                                                \
    }                                                                                              \
    return 1;                                                                                      \
  }                                                                                                \
  static int sparse_##suffix##_##index(                                                            \
      ptrdiff_t first, ptrdiff_t last, const real *data, const index##_t *columns,                 \
      const index##_t *starts, ptrdiff_t n_entries, const intptr_t *codes, const double *weights,  \
      int kind, double threshold, real limit, ptrdiff_t d, double *table, uint8_t *marks,          \
      double *sums) {                                                                              \
    EACH_KIND(sparse_of_##suffix##_##index, first, last, data, columns, starts, n_entries, codes,  \
              weights, threshold, limit, d, table, marks, sums)                                    \
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
SPARSE(l, int64_t, int32)
SPARSE(l, int64_t, int64)

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
           .sparse_d_int32 = sparse_d_int32, .sparse_d_int64 = sparse_d_int64,
           .sparse_l_int32 = sparse_l_int32, .sparse_l_int64 = sparse_l_int64, .dense_f = dense_f,
           .dense_d = dense_d)
