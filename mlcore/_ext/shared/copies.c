#include "shared/copies.h"

#include "shared/table.h"

#define LOOPS "shared/copies_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(copies, .f = {.copy = copy_f}, .d = {.copy = copy_d})
