/* Distances over known values and nearest centres; included once per precision. */

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

/* The nearest centre, the first of equals, and the squared distances from it and from the next. */
INLINE int32_t NAME(nearest)(const incomplete_pass *s, ptrdiff_t count, const REAL *values,
                             const int64_t *at, REAL *first, REAL *second) {
  VEC best = (VEC){0} + (REAL)INFINITY, next = best;
  INTVEC place = (INTVEC){0};
  for (ptrdiff_t start = 0; start < s->stride;) {
    VEC squares[4];
    const int n =
        NAME(next_tile)(start, count, values, at, (const REAL *)s->columns, s->stride, squares);
    for (int v = 0; v < n; v++, start += LANES) {
      const MASK less = GREATER(best, squares[v]);
      next = NAME(min)(next, SELECT(less, best, squares[v]));
      best = SELECT(less, squares[v], best);
      place = CHOOSE(less, (INTVEC){0} + (INT)start, place);
    }
  }
  const REAL least = NAME(lowest)(best);
  unsigned equal = ~(unsigned)BITS(GREATER(best, (VEC){0} + least)) & ((1u << LANES) - 1);
  int lane = __builtin_ctz(equal);
  while ((equal &= equal - 1) != 0) { /* of equals the first */
    const int another = __builtin_ctz(equal);
    if (place[another] + another < place[lane] + lane) lane = another;
  }
  REAL others[LANES];
  STORE(others, best);
  others[lane] = next[lane];
  *first = least;
  *second = NAME(lowest)(LOAD(others));
  return (int32_t)(place[lane] + lane);
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
  for (ptrdiff_t i = start; i < stop; i++) {
    const int32_t old = s->labels[i];
    if (s->gaps != NULL && old >= 0 && s->gaps[i] > s->movement[old]) continue;
    const ptrdiff_t count = NAME(known_values)(d, s->stride, X + i * d, values, at);
    REAL first, second;
    const int32_t label = NAME(nearest)(s, count, values, at, &first, &second);
    if (s->gaps != NULL) {
      const double gap = sqrt((double)second) * (1 - s->error) -
                         sqrt((double)first) * (1 + s->error) - 1e-17 + s->movement[label];
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
