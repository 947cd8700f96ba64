#include "numerics/scatter.h"

#include "shared/table.h"

#define LOOPS "numerics/scatter_loops.h"
#include "shared/both_precisions.h"

#define SCATTER_ENTRIES(suffix)               \
  {.strip = LANES_##suffix,                   \
   .panel = SCATTER_VECTORS * LANES_##suffix, \
   .step = SCATTER_STEP,                      \
   .pack = pack_##suffix,                     \
   .list_rows = list_rows_##suffix,           \
   .products = products_##suffix,             \
   .column_sums = column_sums_##suffix}

SIMD_TABLE(scatter, .f = SCATTER_ENTRIES(f), .d = SCATTER_ENTRIES(d))
