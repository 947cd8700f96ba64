#include "lloyd_plain.h"

#include "table.h"

#define LOOPS "lloyd_plain_loops.h"
#include "both_precisions.h"

SIMD_TABLE(lloyd_plain, .f = {.lloyd_plain = lloyd_plain_f, .own_distances = own_distances_f},
           .d = {.lloyd_plain = lloyd_plain_d, .own_distances = own_distances_d})
