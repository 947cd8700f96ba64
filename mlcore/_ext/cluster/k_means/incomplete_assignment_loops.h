/* Distances over known values and nearest centres; included once per precision. */

#include <math.h>

#include "cluster/k_means/incomplete_assignment.h"
#include "shared/precision.h"

/* The known values of a sample and the places of their columns; then zeros of feature d, whose column is zero,
   up to a multiple of WAYS: the number of terms is seldom another than for the sample before. */
enum { NAME(WAYS) = 4 };
static inline ptrdiff_t NAME(known_values)(ptrdiff_t d, ptrdiff_t stride, const REAL *x,
                                           REAL *values, int64_t *at) {
  ptrdiff_t count = 0;
  for (ptrdiff_t f = 0; f < d; f++) {
    values[count] = x[f];
    at[count] = f * stride;
    count += x[f] == x[f];
  }
  for (int way = 0; way < NAME(WAYS); way++) {
    values[count + way] = 0;
    at[count + way] = d * stride;
  }
  return count;
}

/* Sums of squares for `vectors` vectors of centres; `ways` values are added side by side, so that
   additions do not wait for each other. */
INLINE void NAME(tile)(const int vectors, const int ways, ptrdiff_t count, const REAL *values,
                       const int64_t *at, const REAL *columns, VEC *out) {
  VEC sum[8];
  for (int v = 0; v < ways * vectors; v++) sum[v] = (VEC){0};
  for (ptrdiff_t t = 0; t < count; t += ways)
    for (int way = 0; way < ways; way++) {
      const VEC x = (VEC){0} + values[t + way];
      const REAL *column = columns + at[t + way];
      for (int v = 0; v < vectors; v++) {
        const VEC change = x - LOAD(column + v * LANES);
        sum[way * vectors + v] += change * change;
      }
    }
  for (int way = 1; way < ways; way++)
    for (int v = 0; v < vectors; v++) sum[v] += sum[way * vectors + v];
  for (int v = 0; v < vectors; v++) out[v] = sum[v];
}

/* The same for the next vectors up to `stride`; returns how many there are. */
INLINE int NAME(next_tile)(ptrdiff_t start, ptrdiff_t count, const REAL *values, const int64_t *at,
                           const REAL *columns, ptrdiff_t stride, VEC *out) {
  const ptrdiff_t left = (stride - start) / LANES;
  if (left >= 4) {
    NAME(tile)(4, 2, count, values, at, columns + start, out);
    return 4;
  }
  if (left >= 2) {
    NAME(tile)(2, 4, count, values, at, columns + start, out);
    return 2;
  }
  NAME(tile)(1, 4, count, values, at, columns + start, out);
  return 1;
}

/* By lanes: the least square, the least of the others, and the place of the first. */
typedef struct {
  VEC best, next;
  INTVEC place;
} NAME(least);

INLINE void NAME(fold)(const int vectors, const int ways, ptrdiff_t start, ptrdiff_t count,
                       const REAL *values, const int64_t *at, const REAL *columns,
                       NAME(least) * least) {
  VEC squares[4];
  NAME(tile)(vectors, ways, count, values, at, columns + start, squares);
  for (int v = 0; v < vectors; v++) {
    const MASK less = GREATER(least->best, squares[v]);
    least->next = NAME(min)(least->next, SELECT(less, least->best, squares[v]));
    least->place = CHOOSE(less, (INTVEC){0} + (INT)(start + v * LANES), least->place);
    least->best = SELECT(less, squares[v], least->best);
  }
}

/* The nearest centre, the first of equals, and the squared distances from it and from the next. */
INLINE int32_t NAME(nearest)(const incomplete_pass *s, ptrdiff_t count, const REAL *values,
                             const int64_t *at, REAL *first, REAL *second) {
  const VEC infinite = (VEC){0} + (REAL)INFINITY;
  NAME(least) least = {infinite, infinite, (INTVEC){0}};
  const REAL *columns = s->columns;
  ptrdiff_t start = 0;
  for (; start + 4 * LANES <= s->stride; start += 4 * LANES)
    NAME(fold)(4, 2, start, count, values, at, columns, &least);
  if (start + 2 * LANES <= s->stride) {
    NAME(fold)(2, 4, start, count, values, at, columns, &least);
    start += 2 * LANES;
  }
  if (start < s->stride) NAME(fold)(1, 4, start, count, values, at, columns, &least);
  *first = NAME(lowest)(least.best);
  const MASK more = GREATER(least.best, (VEC){0} + *first);
  *second = NAME(lowest)(SELECT(more, least.best, least.next));
  unsigned equal = ~(unsigned)BITS(more) & ((1u << LANES) - 1);
  int lane = __builtin_ctz(equal);
  while ((equal &= equal - 1) != 0) { /* of equals the first */
    const int another = __builtin_ctz(equal);
    if (least.place[another] + another < least.place[lane] + lane) lane = another;
    *second = *first;
  }
  return (int32_t)(least.place[lane] + lane);
}

static inline void NAME(add_known)(ptrdiff_t d, const REAL *x, double w, double *sums,
                                   double *known) {
  for (ptrdiff_t f = 0; f < d; f++) {
    const int is_known = x[f] == x[f];
    sums[f] += is_known ? w * x[f] : 0;
    known[f] += is_known ? w : 0;
  }
}

static int64_t NAME(assign)(const incomplete_pass *s, ptrdiff_t start, ptrdiff_t stop,
                            const REAL *X, REAL *values, int64_t *at, double *sums, double *known,
                            double *mass) {
  const ptrdiff_t d = s->d;
  int64_t changed = 0;
  int32_t rows[INCOMPLETE_BATCH]; /* those of a batch whose gap does not rule out another label */
  for (; start < stop; start += INCOMPLETE_BATCH) {
    const int size = (int)(stop - start < INCOMPLETE_BATCH ? stop - start : INCOMPLETE_BATCH);
    int n = 0;
    for (int r = 0; r < size; r++) {
      const int32_t old = s->labels[start + r];
      rows[n] = r;
      n += s->gaps == NULL || old < 0 || !(s->gaps[start + r] > s->movement[old]);
    }
    for (int r = 0; r < n; r++) {
      const ptrdiff_t i = start + rows[r];
      const int32_t old = s->labels[i];
      const ptrdiff_t count = NAME(known_values)(d, s->stride, X + i * d, values, at);
      REAL first, second;
      const int32_t label = NAME(nearest)(s, count, values, at, &first, &second);
      if (s->gaps != NULL) {
        const double gap = NAME(root)(second) * (1 - s->error) -
                           NAME(root)(first) * (1 + s->error) - 1e-17 + s->movement[label];
        s->gaps[i] = (float)(gap - fabs(gap) * 0x1p-20);
      }
      if (label == old) continue;
      s->labels[i] = label;
      changed++;
      if (sums == NULL || count == 0) continue;
      const double w = s->weights != NULL ? s->weights[i] : 1;
      if (old >= 0) {
        NAME(add_known)(d, X + i * d, -w, sums + old * d, known + old * d);
        mass[old] -= w;
      }
      NAME(add_known)(d, X + i * d, w, sums + label * d, known + label * d);
      mass[label] += w;
    }
  }
  return changed;
}

static void NAME(lower)(const incomplete_pass *s, ptrdiff_t start, ptrdiff_t stop, const REAL *X,
                        REAL *nearest, REAL *values, int64_t *at, double *objectives) {
  for (ptrdiff_t i = start; i < stop; i++) {
    const ptrdiff_t count = NAME(known_values)(s->d, s->stride, X + i * s->d, values, at);
    const double w = s->weights != NULL ? s->weights[i] : 1;
    for (ptrdiff_t from = 0; from < s->k;) {
      VEC squares[4];
      const int n =
          NAME(next_tile)(from, count, values, at, (const REAL *)s->columns, s->stride, squares);
      for (int t = 0; t < n * LANES && from + t < s->k; t++) {
        const REAL square = squares[t / LANES][t % LANES];
        const REAL least = square < nearest[i] ? square : nearest[i];
        if (objectives == NULL) nearest[i] = least;
        else objectives[from + t] += w * least;
      }
      from += n * LANES;
    }
  }
}

static void NAME(distances)(const incomplete_pass *s, ptrdiff_t n, const REAL *X, REAL *values,
                            int64_t *at, double *out) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const ptrdiff_t count = NAME(known_values)(s->d, s->stride, X + i * s->d, values, at);
    for (ptrdiff_t from = 0; from < s->k;) {
      VEC squares[4];
      const int filled =
          NAME(next_tile)(from, count, values, at, (const REAL *)s->columns, s->stride, squares);
      for (int t = 0; t < filled * LANES && from + t < s->k; t++)
        out[i * s->k + from + t] = squares[t / LANES][t % LANES];
      from += filled * LANES;
    }
  }
}

static void NAME(own)(ptrdiff_t d, ptrdiff_t n, const REAL *X, const REAL *centers,
                      const int32_t *labels, double *out) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL *x = X + i * d, *c = centers + labels[i] * d;
    double part[4] = {0};
    for (ptrdiff_t f = 0; f < d; f++) {
      const double change = x[f] == x[f] ? (double)x[f] - c[f] : 0;
      part[f % 4] += change * change;
    }
    out[i] = part[0] + part[1] + part[2] + part[3];
  }
}
