/* Copies of rows; included once per precision. */
#ifndef PRECISION /* this file includes itself, once for each precision */
#include "shared/copies.h"

#include "shared/table.h"

#define LOOPS "shared/copies.c"
#include "shared/both_precisions.h"

SIMD_TABLE(copies, .f = {.copy = copy_f}, .d = {.copy = copy_d})

#else
#include "shared/copies.h"
#include "shared/precision.h"

static void NAME(copy)(ptrdiff_t rows, ptrdiff_t columns, const REAL *from, ptrdiff_t from_stride,
                       REAL *out, ptrdiff_t stride, const int64_t *dest, int past) {
  for (ptrdiff_t r = 0; r < rows; r++, from += from_stride) {
    REAL *to = out + (dest ? dest[r] : r) * stride;
    ptrdiff_t at = 0;
    if (past) {
      while (at < columns && (uintptr_t)(to + at) % VECTOR_BYTES) to[at] = from[at], at++;
      for (; at + LANES <= columns; at += LANES) NAME(stream)(to + at, LOAD(from + at));
    }
    memcpy(to + at, from + at, (size_t)(columns - at) * sizeof(REAL));
  }
  if (past) stream_fence();
}

#endif
