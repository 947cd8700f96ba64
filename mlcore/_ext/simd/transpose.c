#include "transpose.h"

#include "table.h"

#include "as_float.h"
#include "transpose_loops.h"

#include "as_double.h"
#include "transpose_loops.h"

SIMD_TABLE(transpose, .f = {.transpose = transpose_f}, .d = {.transpose = transpose_d})
