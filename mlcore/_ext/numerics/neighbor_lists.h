/* Lists of the k nearest samples of some queries; included by the loops that fill them. */
#ifndef MLCORE_NEIGHBOR_LISTS_H
#define MLCORE_NEIGHBOR_LISTS_H

#include "shared/vector.h"

#include <float.h>

enum {
  LIST_STEP = 32,           /* values added to a list before it is shortened, at most */
  FEW = 32,                 /* neighbours whose ranks are counted; for more, a heap */
  RANKED = FEW + LIST_STEP, /* values that are ranked together */
};

/* The k nearest samples so far of some queries: `room` places each, more than k. */
typedef struct {
  ptrdiff_t k, room;
  int64_t *count;  /* of each query */
  double *bound;   /* squared distance of its k-th */
  double *squares; /* squared distances, and rows of the samples */
  int64_t *rows;
} nearest_lists;

INLINE int is_before(double a, int64_t i, double b, int64_t j) {
  return a < b || (a == b && i < j);
}

/* Sort m <= RANKED values by counting for each those before it, and keep the first k. No jump
   depends on the values, unless some are equal: then the counts have a lower sum. */
NOINLINE void rank_few(ptrdiff_t m, ptrdiff_t k, double *squares, int64_t *rows) {
  double value[RANKED + LANES_d], sorted[RANKED];
  int64_t place[RANKED], rank[RANKED + LANES_d], sum = 0;
  memcpy(value, squares, (size_t)m * sizeof(double));
  for (ptrdiff_t i = 0; i < m; i += LANES_d) {
    const vdouble x = load_d(value + i); /* what follows the last value is not used */
    vint64 before = {0};
    for (ptrdiff_t j = 0; j < m; j++)
      before += choose_d(greater_d(x, (vdouble){0} + value[j]), (vint64){0} + 1, (vint64){0});
    memcpy(rank + i, &before, sizeof before);
  }
  for (ptrdiff_t i = 0; i < m; i++) sum += rank[i];
  for (ptrdiff_t i = 0; i < m; i++) {
    if (sum < m * (m - 1) / 2)
      for (ptrdiff_t j = 0; j < m; j++) rank[i] += value[j] == value[i] && rows[j] < rows[i];
    sorted[rank[i]] = value[i], place[rank[i]] = rows[i];
  }
  const size_t kept = (size_t)(m < k ? m : k);
  memcpy(squares, sorted, kept * sizeof(double));
  memcpy(rows, place, kept * sizeof(int64_t));
}

/* Let the value at `at` sink in a heap of m values whose root is the last. */
NOINLINE void sink(ptrdiff_t m, ptrdiff_t at, double *squares, int64_t *rows) {
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

/* Keep the first k of m values, as a heap; `heaped` if k values are one. */
NOINLINE void heap_many(ptrdiff_t m, ptrdiff_t k, int heaped, double *squares, int64_t *rows) {
  if (!heaped)
    for (ptrdiff_t i = k / 2; i-- > 0;) sink(k, i, squares, rows);
  for (ptrdiff_t i = k; i < m; i++)
    if (is_before(squares[i], rows[i], squares[0], rows[0])) {
      squares[0] = squares[i], rows[0] = rows[i];
      sink(k, 0, squares, rows);
    }
}

NOINLINE void sort_heap(ptrdiff_t m, double *squares, int64_t *rows) {
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
INLINE ptrdiff_t room_for(ptrdiff_t k) { return k + LIST_STEP + (k > FEW ? k / 8 : 0); }

/* Lists of `queries` queries in arrays of queries times room_for(k) + 1 values. */
static inline nearest_lists new_lists(ptrdiff_t k, ptrdiff_t queries, double *squares,
                                      int64_t *rows) {
  nearest_lists s = {k, room_for(k), rows, squares, squares + queries, rows + queries};
  for (ptrdiff_t q = 0; q < queries; q++) s.count[q] = 0, s.bound[q] = DBL_MAX;
  return s;
}

/* After values were added to a list: keep the first k, and lower the bound. */
INLINE void shorten(nearest_lists *s, ptrdiff_t q) {
  const ptrdiff_t k = s->k, count = s->count[q];
  double *squares = s->squares + q * s->room;
  int64_t *rows = s->rows + q * s->room;
  if (count < k || (count + LIST_STEP <= s->room && s->bound[q] < DBL_MAX)) return;
  if (k <= FEW) rank_few(count, k, squares, rows);
  else heap_many(count, k, s->bound[q] < DBL_MAX, squares, rows);
  s->count[q] = k;
  s->bound[q] = squares[k <= FEW ? k - 1 : 0];
}

/* The row of the k-th of a list that has a bound: of samples at the bound, later ones come too late.
 */
INLINE int64_t last_row(const nearest_lists *s, ptrdiff_t q) {
  return s->bound[q] < DBL_MAX ? s->rows[q * s->room + (s->k <= FEW ? s->k - 1 : 0)] : INT64_MAX;
}

/* Set a row of the results from a list. */
NOINLINE void write_list(nearest_lists *s, ptrdiff_t q, int64_t *indices, double *distances) {
  double *squares = s->squares + q * s->room;
  int64_t *rows = s->rows + q * s->room;
  const ptrdiff_t count = s->count[q];
  if (s->k <= FEW) rank_few(count, s->k, squares, rows);
  else {
    if (count > s->k) heap_many(count, s->k, s->bound[q] < DBL_MAX, squares, rows);
    sort_heap(s->k, squares, rows);
  }
  for (ptrdiff_t j = 0; j < s->k; j++) indices[j] = rows[j], distances[j] = sqrt(squares[j]);
}

#endif
