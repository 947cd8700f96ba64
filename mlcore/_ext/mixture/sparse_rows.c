#include "mixture/sparse_rows.h"

#include "shared/table.h"

#define LOOPS "mixture/sparse_rows_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(sparse_rows, .f = {.bits = bits_f}, .d = {.bits = bits_d})
