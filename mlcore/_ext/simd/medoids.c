#include "medoids.h"

#include "table.h"

#include "as_float.h"
#include "medoids_loops.h"

#include "as_double.h"
#include "medoids_loops.h"

SIMD_TABLE(medoids, .f = {.medoid_change = medoid_change_f},
           .d = {.medoid_change = medoid_change_d})
