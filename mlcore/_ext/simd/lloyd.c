#include "lloyd.h"

#include "table.h"

#define LOOPS "lloyd_loops.h"
#include "both_precisions.h"

SIMD_TABLE(lloyd, .f = {.lloyd = lloyd_f}, .d = {.lloyd = lloyd_d})
