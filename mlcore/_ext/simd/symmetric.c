#include "symmetric.h"

#include "table.h"

#define LOOPS "symmetric_loops.h"
#include "both_precisions.h"

#define PRECISION short
#include "symmetric_loops.h"

SIMD_TABLE(symmetric, .f = {.symmetric = symmetric_f}, .d = {.symmetric = symmetric_d},
           .symmetric_short = symmetric_short)
