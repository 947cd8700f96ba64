/* Copies of rows in parts; included once per precision. */

#include "copies.h"
#include "precision.h"

/* Copy up to `count` of the next values, to the end of their row at most. */
static inline void NAME(copy_part)(simd_copies *c, ptrdiff_t count, int past) {
  const REAL *from = c->from;
  REAL *to = (REAL *)c->out + (c->dest ? *c->dest * c->stride : 0);
  ptrdiff_t at = c->at, last = c->columns - at < count ? c->columns : at + count;
  if (past) {
    while (at < last && (uintptr_t)(to + at) % VECTOR_BYTES) to[at] = from[at], at++;
    for (; at + LANES <= last; at += LANES) NAME(stream)(to + at, LOAD(from + at));
    if (last < c->columns) last = at; /* less than a vector waits for the next part */
  }
  memcpy(to + at, from + at, (size_t)(last - at) * sizeof(REAL));
  c->at = last;
  if (last < c->columns) return;
  c->at = 0;
  c->rows--;
  c->from = from + c->from_stride;
  if (c->dest) c->dest++;
  else c->out = to + c->stride;
}

static inline void NAME(copy)(simd_copies *waiting, int past) {
  while (waiting->rows > 0) NAME(copy_part)(waiting, waiting->columns, past);
  if (past) stream_fence();
}
