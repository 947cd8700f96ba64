#include "cluster/fasterpam.h"

#include "shared/table.h"

#define LOOPS "cluster/fasterpam_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(fasterpam, .f = {.medoid_change = medoid_change_f},
           .d = {.medoid_change = medoid_change_d})
