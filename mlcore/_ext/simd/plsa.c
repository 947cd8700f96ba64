#include "plsa.h"

#include "table.h"

#include "as_float.h"
#include "plsa_loops.h"

#include "as_double.h"
#include "plsa_loops.h"

SIMD_TABLE(plsa, .f = {.visit = visit_f}, .d = {.visit = visit_d})
