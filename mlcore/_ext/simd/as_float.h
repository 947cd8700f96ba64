/* Names that loops for both precisions use, here for float; included before each of them. */
#include "panel.h"
#include "vector.h"

#undef REAL
#undef NAME
#undef VEC
#undef INTVEC
#undef INT
#undef PANEL
#undef LOAD
#undef STORE
#undef WIDEN
#undef NARROW
#undef STREAM
#undef SELECT
#undef CHOOSE
#undef MASK
#undef GREATER
#undef ANY
#undef BITS
#undef REST
#undef EXP2
#undef TANH
#undef SQRT
#undef REDUCE_ADD
#undef ZIP_LOW
#undef ZIP_HIGH

#define REAL float
#define NAME(name) name##_f
#define VEC vfloat
#define INTVEC vint32
#define INT int32_t
#define PANEL PANEL_FLOAT
#define LOAD load_f
#define STORE store_f
#define WIDEN widen_f
#define NARROW narrow_f /* a vector of doubles to memory */
#define STREAM STREAM_F
#define SELECT select_f
#define CHOOSE choose_f
#define MASK mask_f
#define GREATER GREATER_F
#define ANY ANY_F
#define BITS BITS_F
#define REST compress_rest
#define EXP2 exp2_f
#define TANH tanhf
#define SQRT sqrtf
#define REDUCE_ADD(v) _mm512_reduce_add_ps(v)
#ifdef ZIP_LOW_F
#define ZIP_LOW ZIP_LOW_F
#define ZIP_HIGH ZIP_HIGH_F
#endif
