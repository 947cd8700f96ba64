/* Common subsequences with gaps of one string and some others side by side (see gapped.c). */
#ifndef MLCORE_GAPPED_H
#define MLCORE_GAPPED_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  ptrdiff_t lanes; /* strings side by side */
  /* out[lane] = sum over common subsequences of `length` symbols of decay^(gaps in both). Others are
     interleaved, (m, lanes) codes, shorter ones filled up with codes that x does not have; sums is
     scratch for (length - 1) m lanes values. */
  void (*values)(ptrdiff_t length, double decay, ptrdiff_t n, const int32_t *x, ptrdiff_t m,
                 const double *others, double *sums, double *out);
} gapped_loops;

extern const gapped_loops *gapped_table;

#endif
