/* Changes of labels in Lloyd's algorithm, and rounded bounds on distances; included once per
   precision.

   Bounds are floats in both precisions. Their relative rounding error is less than WIDER. */

#include "cluster/k_means/lloyd_pass.h"
#include "shared/precision.h"

#ifndef WIDER
#define WIDER 4e-7f
#define FARTHEST 1e36f

/* Floats no less and no more than x. */
static inline float above(float x) { return x + fabsf(x) * WIDER + 1e-37f; }
static inline float below(float x) { return x - fabsf(x) * WIDER - 1e-37f; }
#endif

static inline ptrdiff_t NAME(add_four)(ptrdiff_t f, double w, const REAL *x, double *sum) {
  double part[4];
  for (int i = 0; i < 4; i++) part[i] = sum[f + i] + w * x[f + i];
  memcpy(sum + f, part, sizeof part);
  return f + 4;
}

/* sum += w x, in double precision. */
static inline void NAME(add_sample)(ptrdiff_t d, double w, const REAL *x, double *sum) {
  enum { WIDE = VECTOR_BYTES / sizeof(double) };
  ptrdiff_t f = 0;
  for (; f + WIDE <= d; f += WIDE) store_d(sum + f, load_d(sum + f) + w * WIDEN(x + f));
  if (d - f >= 4) f = NAME(add_four)(f, w, x, sum);
  if (d - f >= 2) {
    const double a = sum[f] + w * x[f], b = sum[f + 1] + w * x[f + 1];
    sum[f] = a;
    sum[f + 1] = b;
    f += 2;
  }
  if (f < d) sum[f] += w * x[f];
}

/* Move a sample from the sums of its label, unless they are NULL, to those of the new one. */
static inline void NAME(relabel)(const lloyd_pass *s, int64_t i, int32_t label, double *sums,
                                 double *counts, int64_t *changed) {
  const int32_t old = s->labels[i];
  s->labels[i] = label;
  ++*changed;
  if (sums == NULL) return;
  const double weight = s->weights != NULL ? s->weights[i] : 1;
  const REAL *x = (const REAL *)s->X + i * s->d;
  if (old >= 0) {
    NAME(add_sample)(s->d, -weight, x, sums + old * s->d);
    counts[old] -= weight;
  }
  NAME(add_sample)(s->d, weight, x, sums + label * s->d);
  counts[label] += weight;
}
