#include "lloyd.h"

#include "table.h"

#include "as_float.h"
#include "lloyd_loops.h"

#include "as_double.h"
#include "lloyd_loops.h"

SIMD_TABLE(lloyd, .f = {.lloyd = lloyd_f}, .d = {.lloyd = lloyd_d})
