/* The instruction set that the vectorised loops are taken from. */
#ifndef MLCORE_LEVEL_H
#define MLCORE_LEVEL_H

enum { LEVEL_BASELINE, LEVEL_AVX2, LEVEL_AVX512 };

/* The widest that both the processor and the environment variable MLCORE_SIMD (baseline, avx2 or
   avx512; for tests and comparisons) allow. */
int simd_level(void);

#endif
