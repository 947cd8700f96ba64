/* Binary features as numbers of BIT_GROUP bits; included once per precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "mixture/sparse_rows.h"

#include "shared/table.h"

#define LOOPS "mixture/sparse_rows.c"
#include "shared/both_precisions.h"

SIMD_TABLE(sparse_rows, .f = {.bits = bits_f}, .d = {.bits = bits_d})

#else
#include "mixture/sparse_rows.h"
#include "shared/precision.h"

/* codes[g] has a bit for each feature of group g, set where x > threshold differs from `mode`, the
   feature's most frequent value. NaN sets no bit and is counted in `missing`; `others` is
   true if there is a value but 0, 1 and NaN. Returns the number of codes that are not 0. x is
   finite or NaN. */
static int64_t NAME(bits)(ptrdiff_t d, const REAL *x, const uint8_t *mode, REAL threshold,
                          uint8_t *codes, int64_t *missing, int *others) {
  /* features at a time: whole groups, one cache line */
  enum { PART = 64 / sizeof(REAL), L = LANES };
  int64_t count = 0, unknown = 0;
  unsigned strange = 0;
  for (ptrdiff_t start = 0; start < d; start += PART) {
    REAL rest[PART] = {0};
    const ptrdiff_t n = d - start < PART ? d - start : PART;
    if (n < PART) memcpy(rest, x + start, (size_t)n * sizeof(REAL));
    const REAL *from = n < PART ? rest : x + start;
    unsigned above = 0, known = 0;
    for (int c = 0; c < PART; c += L) {
      const VEC v = LOAD(from + c), t = v * v - v;
      above |= BITS(GREATER(v, (VEC){0} + threshold)) << c;
      known |= BITS(GREATER(v, (VEC){0} - (REAL)INFINITY)) << c;
      strange |= BITS(GREATER(t, (VEC){0})) | BITS(GREATER((VEC){0}, t));
    }
    known &= (1u << n) - 1;
    unknown += n - __builtin_popcount(known);
    for (int b = 0; b < n; b += BIT_GROUP) {
      const ptrdiff_t g = (start + b) / BIT_GROUP;
      const unsigned code = ((above >> b) ^ mode[g]) & (known >> b) & ((1u << BIT_GROUP) - 1);
      codes[g] = (uint8_t)code;
      count += code != 0;
    }
  }
  *missing = unknown;
  *others = strange != 0;
  return count;
}

#endif
