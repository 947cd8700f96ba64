#include "mixture/gaussian.h"

#include "shared/table.h"

#define LOOPS "mixture/gaussian_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(gaussian, .f = {.gaussian = gaussian_f}, .d = {.gaussian = gaussian_d})
