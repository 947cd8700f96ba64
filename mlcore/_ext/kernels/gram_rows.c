#include "kernels/gram_rows.h"

#include "shared/table.h"

#define LOOPS "kernels/gram_rows_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(gram_rows, .f = {.accumulate = accumulate_f}, .d = {.accumulate = accumulate_d})
