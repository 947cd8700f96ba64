#include "cluster/distances.h"

#include "shared/table.h"

#define LOOPS "cluster/distances_loops.h"
#include "shared/both_precisions.h"

#define PRECISION d
#include "cluster/squared_distance_loops.h"

SIMD_TABLE(distances, .f = {.distances = distances_f, .add = add_f, .differences = differences_f},
           .d = {.distances = distances_d, .add = add_d, .differences = differences_d},
           .squared_distance = squared_distance_d)
