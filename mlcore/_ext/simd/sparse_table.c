#include "sparse_products.h"
#include "table.h"

#include <string.h>

extern const sparse_products sparse_products_baseline;
#ifdef MLCORE_X86
extern const sparse_products sparse_products_avx2, sparse_products_avx512;
#endif

/* That of the same target as simd_table(). */
const sparse_products *sparse_table(void) {
#ifdef MLCORE_X86
  const char *target = simd_table()->name;
  if (strstr(target, "avx512") != NULL) return &sparse_products_avx512;
  if (strstr(target, "avx2") != NULL) return &sparse_products_avx2;
#endif
  return &sparse_products_baseline;
}
