/* Instruction set of the vectorised loops. */
#ifndef MLCORE_LEVEL_H
#define MLCORE_LEVEL_H

enum { LEVEL_BASELINE, LEVEL_AVX2, LEVEL_AVX512 };

/* The widest level that the processor and the environment variable MLCORE_SIMD (baseline, avx2 or
   avx512; for tests and comparisons) both allow. */
int simd_level(void);

/* 1 at the level of AVX-512 if the processor also adds products of 8-bit integers by fours (VNNI). */
int has_vnni(void);

#endif
