#include "smo.h"

#include "table.h"

#define LOOPS "smo_loops.h"
#include "both_precisions.h"

SIMD_TABLE(smo, .f = {.smo = smo_f}, .d = {.smo = smo_d})
