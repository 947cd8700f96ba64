#include "product.h"

#include "table.h"

#define LOOPS "product_loops.h"
#include "both_precisions.h"

SIMD_TABLE(product, .f = {.product = product_f}, .d = {.product = product_d})
