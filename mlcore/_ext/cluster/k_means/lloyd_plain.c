#include "cluster/k_means/lloyd_plain.h"

#include "shared/table.h"

#define LOOPS "cluster/k_means/lloyd_plain_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(lloyd_plain, .f = {.lloyd_plain = lloyd_plain_f, .own_distances = own_distances_f},
           .d = {.lloyd_plain = lloyd_plain_d, .own_distances = own_distances_d})
