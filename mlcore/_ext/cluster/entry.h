/* The entries of matrices of affinities: float, double, or 16 bits (`shorten` in scaling.h).

   For PRECISION f, d or short, SUM is the type of the sums and SUMS a vector of them. */
#ifndef MLCORE_ENTRY_H
#define MLCORE_ENTRY_H

#include "shared/precision.h"

#define SUM NAME(sum)
#define SUMS NAME(sums)
#define ENTRY NAME(entry)
typedef float entry_f;
typedef double entry_d, sum_f, sum_d;
typedef vdouble sums_f, sums_d;
typedef uint16_t entry_short;
typedef float sum_short;
typedef vfloat sums_short;

/* GCC takes four instructions for what x86 has one. */
#if defined(MLCORE_TARGET_AVX512)
static inline vfloat widen_short(const uint16_t *p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
  return (vfloat)_mm512_slli_epi32(wide, 15);
}
#elif defined(MLCORE_TARGET_AVX2)
static inline vfloat widen_short(const uint16_t *p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return (vfloat)_mm256_slli_epi32(wide, 15);
}
#else
typedef uint16_t vuint16_half __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));
typedef uint32_t vuint32 __attribute__((vector_size(VECTOR_BYTES)));
static inline vfloat widen_short(const uint16_t *p) {
  return (vfloat)(__builtin_convertvector(*(const vuint16_half *)p, vuint32) << 15);
}
#endif
static inline double number_f(float k) { return k; }
static inline double number_d(double k) { return k; }
static inline float number_short(uint16_t k) {
  const uint32_t bits = (uint32_t)k << 15;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline vdouble load_sums_f(const double *p) { return load_d(p); }
static inline vdouble load_sums_d(const double *p) { return load_d(p); }
static inline vfloat load_sums_short(const float *p) { return load_f(p); }
static inline void store_sums_f(double *p, vdouble v) { store_d(p, v); }
static inline void store_sums_d(double *p, vdouble v) { store_d(p, v); }
static inline void store_sums_short(float *p, vfloat v) { store_f(p, v); }

#define ENTRY_STEP ((ptrdiff_t)(VECTOR_BYTES / sizeof(SUM))) /* sums of a vector */

#endif
