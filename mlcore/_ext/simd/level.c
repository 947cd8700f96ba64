#include "level.h"

#ifdef MLCORE_X86
#include <stdlib.h>
#include <string.h>

int simd_level(void) {
  const char *limit = getenv("MLCORE_SIMD");
  if (limit == NULL) limit = "avx512";
  __builtin_cpu_init();
  if (strcmp(limit, "baseline") == 0 || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma"))
    return LEVEL_BASELINE;
  if (strcmp(limit, "avx512") != 0 || !__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512bw"))
    return LEVEL_AVX2;
  return LEVEL_AVX512;
}
#else
int simd_level(void) { return LEVEL_BASELINE; }
#endif
