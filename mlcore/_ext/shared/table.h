/* Tables of a word's loops, one for each instruction set; `<word>_table` points to the one in
   use.

   A word is a header, <word>.h, which declares the struct `<word>_loops` of pointers to loops and
   the pointer `<word>_table`, and a source, <word>.c, compiled once per target, which ends with
   SIMD_TABLE(<word>, members). The file for the baseline chooses as the extension is loaded, before
   any thread can call a loop. */
#ifndef MLCORE_TABLE_H
#define MLCORE_TABLE_H

#include "shared/level.h"
#include "shared/vector.h"

#define SIMD_TABLE(word, ...)                                   \
  const word##_loops TARGET_NAME(word##_loops) = {__VA_ARGS__}; \
  SIMD_CHOICE(word)

#if VECTOR_BYTES > 16
#define SIMD_CHOICE(word)
#elif !defined(MLCORE_X86)
#define SIMD_CHOICE(word) const word##_loops *word##_table = &word##_loops_baseline;
#else
#define SIMD_CHOICE(word)                                                             \
  extern const word##_loops word##_loops_avx2, word##_loops_avx512;                   \
  const word##_loops *word##_table = &word##_loops_baseline;                          \
  __attribute__((constructor)) static void choose_##word(void) {                      \
    const word##_loops *const tables[] = {&word##_loops_baseline, &word##_loops_avx2, \
                                          &word##_loops_avx512};                      \
    word##_table = tables[simd_level()];                                              \
  }
#endif

#endif
