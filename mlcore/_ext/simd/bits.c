#include "bits.h"

#include "table.h"

#include "as_float.h"
#include "bits_loops.h"

#include "as_double.h"
#include "bits_loops.h"

SIMD_TABLE(bits, .f = {.bits = bits_f}, .d = {.bits = bits_d})
