#include "cluster/symmetric_matrix.h"

#include "shared/table.h"

#define LOOPS "cluster/symmetric_matrix_loops.h"
#include "shared/both_precisions.h"

#define PRECISION short
#include "cluster/symmetric_matrix_loops.h"

SIMD_TABLE(symmetric_matrix, .f = {.symmetric = symmetric_f}, .d = {.symmetric = symmetric_d},
           .symmetric_short = symmetric_short)
