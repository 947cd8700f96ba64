#include "mixture/plsa.h"

#include "shared/table.h"

#define LOOPS "mixture/plsa_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(plsa, .f = {.visit = visit_f}, .d = {.visit = visit_d})
