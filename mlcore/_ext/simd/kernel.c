#include "kernel.h"

#include "table.h"

#define LOOPS "kernel_loops.h"
#include "both_precisions.h"

SIMD_TABLE(kernel, .f = {.panel = panel_f, .finish = finish_f},
           .d = {.panel = panel_d, .finish = finish_d})
