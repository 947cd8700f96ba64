#include "bits.h"

#include "table.h"

#define LOOPS "bits_loops.h"
#include "both_precisions.h"

SIMD_TABLE(bits, .f = {.bits = bits_f}, .d = {.bits = bits_d})
