#include "table.h"

#include <stdlib.h>
#include <string.h>

extern const simd_loops simd_loops_baseline;
#ifdef MLCORE_X86
extern const simd_loops simd_loops_avx2, simd_loops_avx512;
#endif

/* The widest set that both the processor and MLCORE_SIMD (baseline, avx2 or avx512; for tests and comparisons) allow.
   Two threads may both get here first: they write the same pointer. */
const simd_loops *simd_table(void) {
  static const simd_loops *chosen = NULL;
  if (chosen == NULL) {
    const simd_loops *best = &simd_loops_baseline;
#ifdef MLCORE_X86
    const char *limit = getenv("MLCORE_SIMD");
    if (limit == NULL) limit = "avx512";
    __builtin_cpu_init();
    if (strcmp(limit, "baseline") != 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      best = &simd_loops_avx2;
    if (best == &simd_loops_avx2 && strcmp(limit, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
      best = &simd_loops_avx512;
#endif
    chosen = best;
  }
  return chosen;
}
