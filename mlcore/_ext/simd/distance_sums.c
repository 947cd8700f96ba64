/* Compiled once per target, like loops.c. */
#include "distance_sums.h"

#include "vector.h"

#define REAL float
#define NAME(name) name##_f
#define VEC vfloat
#define MASK mask_f
#define LOAD load_f
#define STORE store_f
#define WIDEN widen_f
#define GREATER GREATER_F
#define SELECT select_f
#define BITS BITS_F
#define ROOTS sqrt_f
#define ROOT sqrtf
#define PUT(p, v) (*(vfloat_half *)(p) = __builtin_convertvector(v, vfloat_half))
#define LEAST 0x1p-80f /* squares of much smaller values have lost digits too */
#include "distance_loops.h"
#undef REAL
#undef NAME
#undef VEC
#undef MASK
#undef LOAD
#undef STORE
#undef WIDEN
#undef GREATER
#undef SELECT
#undef BITS
#undef ROOTS
#undef ROOT
#undef PUT
#undef LEAST

#define REAL double
#define NAME(name) name##_d
#define VEC vdouble
#define MASK mask_d
#define LOAD load_d
#define STORE store_d
#define WIDEN widen_d
#define GREATER GREATER_D
#define SELECT select_d
#define BITS BITS_D
#define ROOTS sqrt_d
#define ROOT sqrt
#define PUT store_d
#define LEAST 0x1p-900
#include "distance_loops.h"

const distance_loops TARGET_NAME(distance_loops) = {{distances_f, add_f, differences_f},
                                                    {distances_d, add_d, differences_d}};
