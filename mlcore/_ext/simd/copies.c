#include "copies.h"

#include "table.h"

#include "as_float.h"
#include "copies_loops.h"

#include "as_double.h"
#include "copies_loops.h"

SIMD_TABLE(copies, .f = {.copy = copy_f}, .d = {.copy = copy_d})
