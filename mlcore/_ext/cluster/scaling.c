#include "cluster/scaling.h"

#include "shared/table.h"

#define LOOPS "cluster/scaling_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(scaling, .f = {.mirrored = mirrored_f, .shorten = shorten_f, .rescale = rescale_f},
           .d = {.mirrored = mirrored_d, .shorten = shorten_d, .rescale = rescale_d})
