#include "numerics/greedy_seeds.h"

#include "shared/table.h"

#define LOOPS "numerics/greedy_seeds_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(greedy_seeds, .f = {.seed = seed_f}, .d = {.seed = seed_d})
