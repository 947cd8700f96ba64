#include "shared/transpose.h"

#include "shared/table.h"

#define LOOPS "shared/transpose_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(transpose, .f = {.transpose = transpose_f}, .d = {.transpose = transpose_d})
