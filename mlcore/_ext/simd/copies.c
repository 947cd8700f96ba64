#include "copies.h"

#include "table.h"

#define LOOPS "copies_loops.h"
#include "both_precisions.h"

SIMD_TABLE(copies, .f = {.copy = copy_f}, .d = {.copy = copy_d})
