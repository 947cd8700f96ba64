#include "shared/level.h"

#ifdef MLCORE_X86
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

/* What cpuid says in ecx of leaf 1 and in ebx of leaf 7, and the registers that the system saves.
   __builtin_cpu_supports says the same, but with a runtime library that not every compiler links:
   clang-cl has none, and that of zig finds nothing. */
#define FMA_OSXSAVE (1u << 12 | 1u << 27)
#define AVX2 (1u << 5)
#define AVX512_F_DQ_BW_VL (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)
#define AVX512_VNNI (1u << 11) /* in ecx of leaf 7 */
#define YMM_SAVED 0x06u
#define ZMM_SAVED 0xe6u

static int has(unsigned found, unsigned wanted) { return (found & wanted) == wanted; }

static int processor_level(void) {
  unsigned a, b, c, d, saved, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, FMA_OSXSAVE)) return LEVEL_BASELINE;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, AVX2) || !has(saved, YMM_SAVED))
    return LEVEL_BASELINE;
  return has(b, AVX512_F_DQ_BW_VL) && has(saved, ZMM_SAVED) ? LEVEL_AVX512 : LEVEL_AVX2;
}

int simd_level(void) {
  const char *limit = getenv("MLCORE_SIMD");
  int level = processor_level();
  if (limit == NULL || strcmp(limit, "avx512") == 0) return level;
  if (strcmp(limit, "baseline") == 0 || level == LEVEL_BASELINE) return LEVEL_BASELINE;
  return LEVEL_AVX2;
}

int has_vnni(void) {
  unsigned a, b, c, d;
  return simd_level() == LEVEL_AVX512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         has(c, AVX512_VNNI);
}
#else
int simd_level(void) { return LEVEL_BASELINE; }
int has_vnni(void) { return 0; }
#endif
