#include "cluster/k_means/nearest_center.h"

#include "shared/table.h"

#define LOOPS "cluster/k_means/nearest_center_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(nearest_center, .f = {.lloyd = lloyd_f}, .d = {.lloyd = lloyd_d})
