/* Names for a header that is included once per precision, with PRECISION f or d: NAME(word) is
   word_f or word_d. */
#ifndef MLCORE_PRECISION_H
#define MLCORE_PRECISION_H

#include "shared/vector.h"

#define NAME(name) JOIN(name, PRECISION)
#define JOIN(name, suffix) JOIN_AS_THEY_ARE(name, suffix)
#define JOIN_AS_THEY_ARE(name, suffix) name##_##suffix

typedef float real_f;
typedef double real_d;
typedef int32_t int_f;
typedef int64_t int_d;
typedef vfloat vec_f;
typedef vdouble vec_d;
typedef vint32 intvec_f;
typedef vint64 intvec_d;
enum { PANEL_f = PANEL_FLOAT, PANEL_d = PANEL_DOUBLE };
static inline float root_f(float x) { return sqrtf(x); }
static inline double root_d(double x) { return sqrt(x); }
static inline float tanh_f(float x) { return tanhf(x); }
static inline double tanh_d(double x) { return tanh(x); }

#define IS_DOUBLE NAME(IS_DOUBLE)
#define IS_DOUBLE_f 0
#define IS_DOUBLE_d 1
#define REAL NAME(real)
#define INT NAME(int) /* as wide as REAL */
#define VEC NAME(vec)
#define INTVEC NAME(intvec)
#define MASK NAME(mask)
#define LANES NAME(LANES)
#define PANEL NAME(PANEL)
#define LOAD NAME(load)
#define STORE NAME(store)
#define WIDEN NAME(widen) /* half a vector of float, or a vector of double, to double */
#define GREATER NAME(greater)
#define SELECT NAME(select)
#define CHOOSE NAME(choose) /* the same of integers */
#define ANY NAME(any)
#define BITS NAME(lane_bits)

#endif
