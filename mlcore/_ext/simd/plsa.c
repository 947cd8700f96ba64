#include "plsa.h"

#include "table.h"

#define LOOPS "plsa_loops.h"
#include "both_precisions.h"

SIMD_TABLE(plsa, .f = {.visit = visit_f}, .d = {.visit = visit_d})
