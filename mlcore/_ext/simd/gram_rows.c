#include "gram_rows.h"

#include "table.h"

#include "as_float.h"
#include "gram_rows_loops.h"

#include "as_double.h"
#include "gram_rows_loops.h"

SIMD_TABLE(gram_rows, .f = {.accumulate = accumulate_f}, .d = {.accumulate = accumulate_d})
