#include "product.h"

#include "table.h"

#include "as_float.h"
#include "product_loops.h"

#include "as_double.h"
#include "product_loops.h"

SIMD_TABLE(product, .f = {.product = product_f}, .d = {.product = product_d})
