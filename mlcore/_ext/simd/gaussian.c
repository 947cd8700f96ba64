#include "gaussian.h"

#include "table.h"

#include "as_float.h"
#include "gaussian_loops.h"

#include "as_double.h"
#include "gaussian_loops.h"

SIMD_TABLE(gaussian, .f = {.gaussian = gaussian_f}, .d = {.gaussian = gaussian_d})
