#include "seed.h"

#include "table.h"

#define LOOPS "seed_loops.h"
#include "both_precisions.h"

SIMD_TABLE(seed, .f = {.seed = seed_f}, .d = {.seed = seed_d})
