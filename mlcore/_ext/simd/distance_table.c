#include "distance_sums.h"
#include "table.h"

#include <string.h>

extern const distance_loops distance_loops_baseline;
#ifdef MLCORE_X86
extern const distance_loops distance_loops_avx2, distance_loops_avx512;
#endif

/* That of the same target as simd_table(). */
const distance_loops *distance_table(void) {
#ifdef MLCORE_X86
  const char *target = simd_table()->name;
  if (strstr(target, "avx512") != NULL) return &distance_loops_avx512;
  if (strstr(target, "avx2") != NULL) return &distance_loops_avx2;
#endif
  return &distance_loops_baseline;
}
