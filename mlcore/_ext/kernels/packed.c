#include "kernels/packed.h"

#include "shared/table.h"

#define LOOPS "kernels/packed_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(packed, .f = {.panel = panel_f, .finish = finish_f},
           .d = {.panel = panel_d, .finish = finish_d})
