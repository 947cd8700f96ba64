#include "smo.h"

#include "table.h"

#include "as_float.h"
#include "smo_loops.h"

#include "as_double.h"
#include "smo_loops.h"

SIMD_TABLE(smo, .f = {.smo = smo_f}, .d = {.smo = smo_d})
