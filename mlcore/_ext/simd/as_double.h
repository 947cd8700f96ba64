/* Names that loops for both precisions use, here for double; included before each of them. */
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

#define REAL double
#define NAME(name) name##_d
#define VEC vdouble
#define INTVEC vint64
#define INT int64_t
#define PANEL PANEL_DOUBLE
#define LOAD load_d
#define STORE store_d
#define WIDEN widen_d
#define NARROW store_d /* a vector of doubles to memory */
#define STREAM STREAM_D
#define SELECT select_d
#define CHOOSE choose_d
#define MASK mask_d
#define GREATER GREATER_D
#define ANY ANY_D
#define BITS BITS_D
#define REST compress_rest_d
#define EXP2 exp2_d
#define TANH tanh
#define SQRT sqrt
#define REDUCE_ADD(v) _mm512_reduce_add_pd(v)
#ifdef ZIP_LOW_D
#define ZIP_LOW ZIP_LOW_D
#define ZIP_HIGH ZIP_HIGH_D
#endif
