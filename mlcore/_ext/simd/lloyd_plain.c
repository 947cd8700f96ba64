#include "lloyd_plain.h"

#include "table.h"

#include "as_float.h"
#include "lloyd_plain_loops.h"

#include "as_double.h"
#define SCREENED /* in single precision */
#include "lloyd_plain_loops.h"

SIMD_TABLE(lloyd_plain, .f = {.lloyd_plain = lloyd_plain_f, .own_distances = own_distances_f},
           .d = {.lloyd_plain = lloyd_plain_d, .own_distances = own_distances_d})
