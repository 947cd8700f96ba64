#include "cluster/scaled_kernel.h"

#include "shared/table.h"

#define LOOPS "cluster/scaled_kernel_loops.h"
#include "shared/both_precisions.h"

#define PRECISION short
#include "cluster/scaled_kernel_loops.h"

SIMD_TABLE(scaled_kernel,
           .f = {.both_sides = both_sides_f,
                 .log_rows = log_rows_f,
                 .scaled_row = scaled_row_f,
                 .narrow_row = narrow_row_f},
           .d = {.both_sides = both_sides_d,
                 .log_rows = log_rows_d,
                 .scaled_row = scaled_row_d,
                 .narrow_row = narrow_row_d},
           .both_sides_short = both_sides_short, .evidence = evidence)
