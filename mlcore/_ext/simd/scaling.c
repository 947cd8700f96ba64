#include "scaling.h"

#include "table.h"

#define LOOPS "scaling_loops.h"
#include "both_precisions.h"

SIMD_TABLE(scaling, .f = {.mirrored = mirrored_f, .shorten = shorten_f, .rescale = rescale_f},
           .d = {.mirrored = mirrored_d, .shorten = shorten_d, .rescale = rescale_d})
