#include "seed.h"

#include "table.h"

#include "as_float.h"
#include "seed_loops.h"

#include "as_double.h"
#include "seed_loops.h"

SIMD_TABLE(seed, .f = {.seed = seed_f}, .d = {.seed = seed_d})
