#include "symmetric.h"

#include "table.h"
#include "vector.h"

#include <string.h>

static inline vdouble positive_d(vdouble t, vdouble v) {
  return select_d(GREATER_D(t, (vdouble){0}), v, (vdouble){0});
}
typedef uint16_t vuint16_half __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));
typedef uint32_t vuint32 __attribute__((vector_size(VECTOR_BYTES)));
static inline vfloat lengthen(const uint16_t *p) {
  return (vfloat)(__builtin_convertvector(*(const vuint16_half *)p, vuint32) << 15);
}
static inline float lengthen_one(uint16_t k) {
  const uint32_t bits = (uint32_t)k << 15;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define WORD(name) name##_f
#define ENTRY float
#define SUM double
#define VEC vdouble
#define LOAD_SUMS load_d
#define STORE_SUMS store_d
#define LOAD_ENTRIES widen_f
#define ONE_ENTRY (double)
#define VECTOR_POSITIVE(t, v) positive_d(t, (vdouble){0} + (v))
#include "symmetric_loops.h"

#define WORD(name) name##_d
#define ENTRY double
#define SUM double
#define VEC vdouble
#define LOAD_SUMS load_d
#define STORE_SUMS store_d
#define LOAD_ENTRIES load_d
#define ONE_ENTRY (double)
#define VECTOR_POSITIVE(t, v) positive_d(t, (vdouble){0} + (v))
#include "symmetric_loops.h"

#define PRODUCTS_ONLY
#define WORD(name) name##_short
#define ENTRY uint16_t
#define SUM float
#define VEC vfloat
#define LOAD_SUMS load_f
#define STORE_SUMS store_f
#define LOAD_ENTRIES lengthen
#define ONE_ENTRY lengthen_one
#define VECTOR_POSITIVE(t, v) (v)
#include "symmetric_loops.h"

SIMD_TABLE(symmetric, .f = {.symmetric = symmetric_f}, .d = {.symmetric = symmetric_d},
           .symmetric_short = symmetric_short)
