/* Instruction set of the vectorised loops. */
#ifndef MLCORE_LEVEL_H
#define MLCORE_LEVEL_H

enum { LEVEL_BASELINE, LEVEL_AVX2, LEVEL_AVX512 };

/* The widest level that the processor and the environment variable MLCORE_SIMD (baseline, avx2 or
   avx512; for tests and comparisons) both allow. */
int simd_level(void);

#endif
