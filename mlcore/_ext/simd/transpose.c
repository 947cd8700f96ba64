#include "transpose.h"

#include "table.h"

#define LOOPS "transpose_loops.h"
#include "both_precisions.h"

SIMD_TABLE(transpose, .f = {.transpose = transpose_f}, .d = {.transpose = transpose_d})
