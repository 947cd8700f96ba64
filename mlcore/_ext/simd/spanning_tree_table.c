#include "spanning_tree.h"
#include "table.h"

#include <string.h>

extern const spanning_tree_loops spanning_tree_loops_baseline;
#ifdef MLCORE_X86
extern const spanning_tree_loops spanning_tree_loops_avx2, spanning_tree_loops_avx512;
#endif

/* That of the same target as simd_table(). */
const spanning_tree_loops *spanning_tree_table(void) {
#ifdef MLCORE_X86
  const char *target = simd_table()->name;
  if (strstr(target, "avx512") != NULL) return &spanning_tree_loops_avx512;
  if (strstr(target, "avx2") != NULL) return &spanning_tree_loops_avx2;
#endif
  return &spanning_tree_loops_baseline;
}
