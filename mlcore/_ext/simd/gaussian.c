#include "gaussian.h"

#include "table.h"

#define LOOPS "gaussian_loops.h"
#include "both_precisions.h"

SIMD_TABLE(gaussian, .f = {.gaussian = gaussian_f}, .d = {.gaussian = gaussian_d})
