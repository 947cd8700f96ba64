#include "gram_rows.h"

#include "table.h"

#define LOOPS "gram_rows_loops.h"
#include "both_precisions.h"

SIMD_TABLE(gram_rows, .f = {.accumulate = accumulate_f}, .d = {.accumulate = accumulate_d})
