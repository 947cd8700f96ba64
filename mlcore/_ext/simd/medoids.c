#include "medoids.h"

#include "table.h"

#define LOOPS "medoids_loops.h"
#include "both_precisions.h"

SIMD_TABLE(medoids, .f = {.medoid_change = medoid_change_f},
           .d = {.medoid_change = medoid_change_d})
