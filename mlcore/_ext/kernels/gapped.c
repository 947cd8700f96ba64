/* Dynamic programme of the gap-weighted subsequence kernel (Lodhi et al. 2002), for several partners
   at once: one in each lane. Each term is divided by decay^(2 p), the weight of p symbols without a
   gap, so that no decay is too small.

   sums[j][q - 1] is B_q[j], the weight of common subsequences of q symbols of what has been read of x
   and of the first j symbols of a partner, whose gaps reach to the ends of both. For the next symbol
   of x, with h over j:

     value += [x = y_j] B_(p-1)[j-1]
     h_q = decay h_q + [x = y_j] B_(q-1)[j-1],  B_q[j] = decay B_q[j] + h_q,  B_0 = 1.

   What falls below TINY is 0, looked at now and then: processors take a hundred times as long for
   numbers below 1e-308. */

#include "kernels/gapped.h"

#include "shared/table.h"

enum {
  SIDE = 2,
  LONGEST = 50,
  OFTEN = 32
}; /* vectors of partners; symbols of a subsequence; steps */
#define TINY 1e-250

INLINE vdouble without_tiny(vdouble x) {
  const vdouble tiny = (vdouble){0} + TINY;
  return (vdouble)((vint64)x & (vint64)(x >= tiny));
}

INLINE void values_of(const ptrdiff_t length, double decay, ptrdiff_t first, ptrdiff_t n,
                      const int32_t *x, ptrdiff_t m, const double *others, double *sums,
                      double *out) {
  const ptrdiff_t levels = length - 1;
  vdouble value[SIDE] = {{0}};
  const vdouble zero = {0}, one = zero + 1;
  if (first)
    for (int v = 0; v < SIDE; v++) value[v] = load_d(out + v * LANES_d);
  else
    for (ptrdiff_t k = 0; k < levels * m * SIDE; k++) store_d(sums + k * LANES_d, zero);
  for (ptrdiff_t i = first; i < n; i++) {
    const vdouble symbol = zero + x[i];
    if (i % OFTEN == OFTEN - 1)
      for (ptrdiff_t k = 0; k < levels * m * SIDE; k++)
        store_d(sums + k * LANES_d, without_tiny(load_d(sums + k * LANES_d)));
    vdouble before[LONGEST][SIDE], h[LONGEST][SIDE]; /* B_q[j-1] as it was, and h_q */
    for (ptrdiff_t q = 0; q < levels; q++)
      for (int v = 0; v < SIDE; v++) before[q][v] = h[q][v] = zero;
    for (ptrdiff_t j = 0; j < m; j++) {
      double *at = sums + j * levels * SIDE * LANES_d;
      vdouble match[SIDE];
      if (j % OFTEN == OFTEN - 1)
        for (ptrdiff_t q = 0; q < levels; q++)
          for (int v = 0; v < SIDE; v++) h[q][v] = without_tiny(h[q][v]);
      for (int v = 0; v < SIDE; v++) {
        const vdouble y = load_d(others + (j * SIDE + v) * LANES_d);
        match[v] = (vdouble)((vint64)(symbol == y) & (vint64)one);
        value[v] += match[v] * (levels ? before[levels - 1][v] : one);
      }
      for (ptrdiff_t q = levels - 1; q >= 0; q--)
        for (int v = 0; v < SIDE; v++) {
          double *here = at + (q * SIDE + v) * LANES_d;
          const vdouble old = load_d(here);
          h[q][v] = decay * h[q][v] + match[v] * (q ? before[q - 1][v] : one);
          store_d(here, decay * old + h[q][v]);
          before[q][v] = old;
        }
    }
  }
  for (int v = 0; v < SIDE; v++) store_d(out + v * LANES_d, value[v]);
}

static void values(ptrdiff_t length, double decay, ptrdiff_t first, ptrdiff_t n, const int32_t *x,
                   ptrdiff_t m, const double *others, double *sums, double *out) {
  switch (length) {
  case 1: values_of(1, decay, first, n, x, m, others, sums, out); break;
  case 2: values_of(2, decay, first, n, x, m, others, sums, out); break;
  case 3: values_of(3, decay, first, n, x, m, others, sums, out); break;
  case 4: values_of(4, decay, first, n, x, m, others, sums, out); break;
  default: values_of(length, decay, first, n, x, m, others, sums, out);
  }
}

SIMD_TABLE(gapped, .lanes = SIDE * LANES_d, .values = values)
