/* Transposes by interleaving vectors; included once per precision. */

#include "shared/precision.h"

#ifdef HAS_ZIP
/* to[c, r] = from[r, c] for LANES contiguous rows of n, a power of two below LANES; interleaved as
   a square is. */
INLINE void NAME(transpose_few)(const int n, const REAL *from, REAL *to, ptrdiff_t to_stride) {
  VEC v[LANES], w[LANES];
  for (int i = 0; i < n; i++) v[i] = LOAD(from + i * LANES);
  for (int turn = 1; turn < LANES; turn *= 2) {
    for (int i = 0; i < n / 2; i++) {
      w[2 * i] = NAME(zip_low)(v[i], v[i + n / 2]);
      w[2 * i + 1] = NAME(zip_high)(v[i], v[i + n / 2]);
    }
    for (int i = 0; i < n; i++) v[i] = w[i];
  }
  for (int i = 0; i < n; i++) STORE(to + i * to_stride, v[i]);
}

/* Transpose a square: interleave vector i with vector i + LANES / 2, log2(LANES) times. */
INLINE void NAME(turn)(VEC *v) {
  enum { L = LANES };
  VEC w[L];
  for (int turn = 1; turn < L; turn *= 2) {
    for (int i = 0; i < L / 2; i++) {
      w[2 * i] = NAME(zip_low)(v[i], v[i + L / 2]);
      w[2 * i + 1] = NAME(zip_high)(v[i], v[i + L / 2]);
    }
    for (int i = 0; i < L; i++) v[i] = w[i];
  }
}
#endif

/* to[c, r] = from[r, c]. */
static inline void NAME(transpose)(const REAL *from, ptrdiff_t from_stride, ptrdiff_t rows,
                                   ptrdiff_t columns, REAL *to, ptrdiff_t to_stride) {
  enum { L = LANES };
  ptrdiff_t c = 0;
#ifdef HAS_ZIP
  if (columns < L && from_stride == columns && (columns == 2 || columns == 4 || columns == 8)) {
    for (; rows >= L; rows -= L, from += L * columns, to += L)
      if (columns == 2) NAME(transpose_few)(2, from, to, to_stride);
      else if (columns == 4) NAME(transpose_few)(4, from, to, to_stride);
      else NAME(transpose_few)(8, from, to, to_stride);
  }
  for (; c + L <= columns; c += L) {
    ptrdiff_t r = 0;
    for (; r + L <= rows; r += L) {
      VEC v[L];
      for (int i = 0; i < L; i++) v[i] = LOAD(from + (r + i) * from_stride + c);
      NAME(turn)(v);
      for (int i = 0; i < L; i++) STORE(to + (c + i) * to_stride + r, v[i]);
    }
    for (; r < rows; r++)
      for (int i = 0; i < L; i++) to[(c + i) * to_stride + r] = from[r * from_stride + c + i];
  }
#endif
  for (; c < columns; c++)
    for (ptrdiff_t r = 0; r < rows; r++) to[c * to_stride + r] = from[r * from_stride + c];
}
