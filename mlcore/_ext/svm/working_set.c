#include "svm/working_set.h"

#include "shared/table.h"

#define LOOPS "svm/working_set_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(working_set, .f = {.smo = smo_f}, .d = {.smo = smo_d})
