/* Common subsequences with gaps of one string and some others side by side (see gapped.c). */
#ifndef MLCORE_GAPPED_H
#define MLCORE_GAPPED_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  ptrdiff_t lanes; /* strings side by side */
  /* out[lane] = sum over common subsequences of `length` symbols of decay^(gaps in both). Others are
     interleaved, (m, lanes) codes, shorter ones filled up with codes that x does not have; sums is
     scratch for (length - 1) m lanes values. With first > 0 it goes on where a call with n = first
     has ended, in the same sums and out. */
  void (*values)(ptrdiff_t length, double decay, ptrdiff_t first, ptrdiff_t n, const int32_t *x,
                 ptrdiff_t m, const double *others, double *sums, double *out);
} gapped_loops;

extern const gapped_loops *gapped_table;

#endif
