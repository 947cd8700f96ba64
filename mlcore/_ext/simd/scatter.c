#include "scatter.h"

#include "table.h"

#define LOOPS "scatter_loops.h"
#include "both_precisions.h"

SIMD_TABLE(scatter,
           .f = {.panel = SCATTER_PANEL(f), .pack = pack_f, .products = products_f, .sums = sums_f},
           .d = {.panel = SCATTER_PANEL(d), .pack = pack_d, .products = products_d, .sums = sums_d})
