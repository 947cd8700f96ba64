#include "kernel.h"

#include "table.h"

#include "as_float.h"
#include "kernel_loops.h"

#include "as_double.h"
#include "kernel_loops.h"

SIMD_TABLE(kernel, .f = {.panel = panel_f, .finish = finish_f, .exponential = exponential_f},
           .d = {.panel = panel_d, .finish = finish_d, .exponential = exponential_d})
