#include "scaling.h"

#include "table.h"

#include "as_float.h"
#include "scaling_loops.h"

#include "as_double.h"
#include "scaling_loops.h"

SIMD_TABLE(scaling, .f = {.mirrored = mirrored_f, .shorten = shorten_f, .rescale = rescale_f},
           .d = {.mirrored = mirrored_d, .shorten = shorten_d, .rescale = rescale_d})
