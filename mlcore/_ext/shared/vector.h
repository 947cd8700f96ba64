/* Vectors of the target's width, and 2^x on them.

   The same source is compiled once per target (meson.build): the 16-byte baseline, 32 bytes for
   AVX2 and 64 bytes for AVX-512. GCC and Clang turn the vector types into the target's
   registers. */
#ifndef MLCORE_VECTOR_H
#define MLCORE_VECTOR_H

#include "shared/panel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(MLCORE_TARGET_AVX512)
#define VECTOR_BYTES 64
#define TARGET_NAME(name) name##_avx512
#elif defined(MLCORE_TARGET_AVX2)
#define VECTOR_BYTES 32
#define TARGET_NAME(name) name##_avx2
#else
#define VECTOR_BYTES 16
#define TARGET_NAME(name) name##_baseline
#endif

/* INLINE: a function with arguments that are constants where it is inlined. NOINLINE: one whose
   constants would take the registers of its caller's sums. */
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

typedef float vfloat __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vint32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vdouble __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t vint64 __attribute__((vector_size(VECTOR_BYTES)));
/* The same, unaligned. */
typedef float vfloat_any __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double vdouble_any __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

enum { LANES_f = VECTOR_BYTES / sizeof(float), LANES_d = VECTOR_BYTES / sizeof(double) };
/* vectors per feature of a panel */
enum { BLOCKS_f = PANEL_BYTES / VECTOR_BYTES, BLOCKS_d = BLOCKS_f };

static inline vfloat load_f(const float *p) { return *(const vfloat_any *)p; }
static inline vdouble load_d(const double *p) { return *(const vdouble_any *)p; }
/* As many floats as a vector of doubles has lanes. */
typedef float vfloat_half __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
static inline vdouble widen_f(const float *p) {
  return __builtin_convertvector(*(const vfloat_half *)p, vdouble);
}
static inline vdouble widen_d(const double *p) { return load_d(p); }
static inline void store_f(float *p, vfloat v) { *(vfloat_any *)p = v; }
static inline void store_d(double *p, vdouble v) { *(vdouble_any *)p = v; }
static inline void narrow_f(float *p, vdouble v) {
  *(vfloat_half *)p = __builtin_convertvector(v, vfloat_half);
}
static inline void narrow_d(double *p, vdouble v) { store_d(p, v); }

/* sum and the lanes of v, from the first to the last, in double precision. */
static inline double add_lanes_f(double sum, vfloat v) {
  for (int lane = 0; lane < LANES_f; lane++) sum += v[lane];
  return sum;
}
static inline double add_lanes_d(double sum, vdouble v) {
  for (int lane = 0; lane < LANES_d; lane++) sum += v[lane];
  return sum;
}

/* Comparison, choice and extremes. GCC compiles each to 3 to 5 instructions from plain vector code,
   which doubles the time of exp and of the pair search; so x86 has intrinsics for these few. max
   and min return x when x is NaN. */
#if defined(MLCORE_TARGET_AVX512)
#include <immintrin.h>
typedef __mmask16 mask_f;
typedef __mmask8 mask_d;
static inline mask_f greater_f(vfloat a, vfloat b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline mask_d greater_d(vdouble a, vdouble b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}
static inline int any_f(mask_f m) { return m != 0; }
static inline int any_d(mask_d m) { return m != 0; }
static inline unsigned lane_bits_f(mask_f m) { return m; }
static inline unsigned lane_bits_d(mask_d m) { return m; }
static inline vfloat select_f(mask_f m, vfloat yes, vfloat no) {
  return _mm512_mask_blend_ps(m, no, yes);
}
static inline vdouble select_d(mask_d m, vdouble yes, vdouble no) {
  return _mm512_mask_blend_pd(m, no, yes);
}
static inline vint32 choose_f(mask_f m, vint32 yes, vint32 no) {
  return (vint32)_mm512_mask_blend_epi32(m, (__m512i)no, (__m512i)yes);
}
static inline vint64 choose_d(mask_d m, vint64 yes, vint64 no) {
  return (vint64)_mm512_mask_blend_epi64(m, (__m512i)no, (__m512i)yes);
}
static inline vfloat max_f(vfloat c, vfloat x) { return _mm512_max_ps(c, x); }
static inline vfloat min_f(vfloat c, vfloat x) { return _mm512_min_ps(c, x); }
static inline vdouble max_d(vdouble c, vdouble x) { return _mm512_max_pd(c, x); }
static inline vdouble min_d(vdouble c, vdouble x) { return _mm512_min_pd(c, x); }
static inline float highest_f(vfloat x) { return _mm512_reduce_max_ps(x); }
static inline float lowest_f(vfloat x) { return _mm512_reduce_min_ps(x); }
static inline double highest_d(vdouble x) { return _mm512_reduce_max_pd(x); }
static inline double lowest_d(vdouble x) { return _mm512_reduce_min_pd(x); }
static inline float lane_sum_f(vfloat x) { return _mm512_reduce_add_ps(x); }
static inline double lane_sum_d(vdouble x) { return _mm512_reduce_add_pd(x); }
/* The least value of `at` in lanes where x is c; some lane is. */
static inline int64_t where_f(vfloat x, float c, vint32 at) {
  return _mm512_mask_reduce_min_epi32(_mm512_cmp_ps_mask(x, (vfloat){0} + c, _CMP_EQ_OQ),
                                      (__m512i)at);
}
static inline int64_t where_d(vdouble x, double c, vint64 at) {
  return _mm512_mask_reduce_min_epi64(_mm512_cmp_pd_mask(x, (vdouble){0} + c, _CMP_EQ_OQ),
                                      (__m512i)at);
}
/* Store the lanes of x above 0 side by side, and the values of `places` there; returns their
   number. A whole vector of each is written. */
static inline int compress_f(vfloat x, const int32_t *places, int32_t *at, float *to) {
  const __mmask16 m = greater_f(x, (vfloat){0});
  store_f(to, _mm512_maskz_compress_ps(m, x));
  _mm512_storeu_si512(at, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(places)));
  return __builtin_popcount(m);
}
static inline int compress_d(vdouble x, const int32_t *places, int32_t *at, double *to) {
  const __mmask8 m = greater_d(x, (vdouble){0});
  store_d(to, _mm512_maskz_compress_pd(m, x));
  _mm256_storeu_si256((__m256i *)at,
                      _mm256_maskz_compress_epi32(m, _mm256_loadu_si256((const __m256i *)places)));
  return __builtin_popcount(m);
}
/* table[index[lane]]; at least 32 values of the table can be read, whatever its size. */
static inline vfloat look_up_f(const float *table, ptrdiff_t size, const int32_t *index) {
  const __m512i at = _mm512_loadu_si512(index);
  if (size <= 32) return _mm512_permutex2var_ps(load_f(table), at, load_f(table + 16));
  return _mm512_i32gather_ps(at, table, 4);
}
/* Store `first` + the index of each lane where x is not above c; returns their number. A
   whole vector is written. */
static inline int compress_rest_f(vfloat x, vfloat c, int32_t first, int32_t *at) {
  const __mmask16 m = _mm512_cmp_ps_mask(x, c, _CMP_NGT_UQ);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  _mm512_storeu_si512(
      at, _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, _mm512_set1_epi32(first))));
  return __builtin_popcount(m);
}
static inline int compress_rest_d(vdouble x, vdouble c, int32_t first, int32_t *at) {
  const __mmask8 m = _mm512_cmp_pd_mask(x, c, _CMP_NGT_UQ);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_storeu_si256((__m256i *)at, _mm256_maskz_compress_epi32(
                                         m, _mm256_add_epi32(lane, _mm256_set1_epi32(first))));
  return __builtin_popcount(m);
}
/* c - x y, rounded once where the processor can, also in files without fused multiply-adds. */
static inline vfloat less_product_f(vfloat c, float x, vfloat y) {
  return _mm512_fnmadd_ps(_mm512_set1_ps(x), y, c);
}
static inline vfloat sqrt_f(vfloat x) { return _mm512_sqrt_ps(x); }
static inline vdouble sqrt_d(vdouble x) { return _mm512_sqrt_pd(x); }
/* y 2^n, n whole. */
static inline vfloat ldexp_f(vfloat y, vfloat n) { return _mm512_scalef_ps(y, n); }
static inline vdouble ldexp_d(vdouble y, vdouble n) { return _mm512_scalef_pd(y, n); }
#else
typedef vint32 mask_f;
typedef vint64 mask_d;
static inline mask_f greater_f(vfloat a, vfloat b) { return a > b; }
static inline mask_d greater_d(vdouble a, vdouble b) { return a > b; }
static inline vint32 choose_f(mask_f m, vint32 yes, vint32 no) { return (m & yes) | (~m & no); }
static inline vint64 choose_d(mask_d m, vint64 yes, vint64 no) { return (m & yes) | (~m & no); }
static inline vfloat select_f(mask_f m, vfloat yes, vfloat no) {
  return (vfloat)choose_f(m, (vint32)yes, (vint32)no);
}
static inline vdouble select_d(mask_d m, vdouble yes, vdouble no) {
  return (vdouble)choose_d(m, (vint64)yes, (vint64)no);
}
/* The sum adds halves to halves, as the instructions of AVX-512 do. */
#define REDUCTIONS(suffix, real, vec, ivec)                                          \
  static inline real highest_##suffix(vec x) {                                       \
    real r = x[0];                                                                   \
    for (int lane = 1; lane < LANES_##suffix; lane++) r = x[lane] > r ? x[lane] : r; \
    return r;                                                                        \
  }                                                                                  \
  static inline real lowest_##suffix(vec x) {                                        \
    real r = x[0];                                                                   \
    for (int lane = 1; lane < LANES_##suffix; lane++) r = x[lane] < r ? x[lane] : r; \
    return r;                                                                        \
  }                                                                                  \
  static inline real lane_sum_##suffix(vec x) {                                      \
    real lane[LANES_##suffix];                                                       \
    memcpy(lane, &x, sizeof x);                                                      \
    for (int half = LANES_##suffix / 2; half > 0; half /= 2)                         \
      for (int i = 0; i < half; i++) lane[i] += lane[i + half];                      \
    return lane[0];                                                                  \
  }                                                                                  \
  static inline int64_t where_##suffix(vec x, real c, ivec at) {                     \
    int64_t r = INT64_MAX;                                                           \
    for (int lane = 0; lane < LANES_##suffix; lane++)                                \
      if (x[lane] == c && at[lane] < r) r = at[lane];                                \
    return r;                                                                        \
  }
REDUCTIONS(f, float, vfloat, vint32)
REDUCTIONS(d, double, vdouble, vint64)
static inline vfloat look_up_f(const float *table, ptrdiff_t size, const int32_t *index) {
  vfloat found;
  (void)size;
  for (int lane = 0; lane < VECTOR_BYTES / 4; lane++) found[lane] = table[index[lane]];
  return found;
}
static inline int compress_rest_f(vfloat x, vfloat c, int32_t first, int32_t *at) {
  int kept = 0;
  for (int lane = 0; lane < VECTOR_BYTES / 4; lane++) {
    at[kept] = first + lane;
    kept += !(x[lane] > c[lane]);
  }
  return kept;
}
static inline int compress_rest_d(vdouble x, vdouble c, int32_t first, int32_t *at) {
  int kept = 0;
  for (int lane = 0; lane < VECTOR_BYTES / 8; lane++) {
    at[kept] = first + lane;
    kept += !(x[lane] > c[lane]);
  }
  return kept;
}
#if defined(MLCORE_TARGET_AVX2)
#include <immintrin.h>
static inline vfloat less_product_f(vfloat c, float x, vfloat y) {
  return _mm256_fnmadd_ps(_mm256_set1_ps(x), y, c);
}
static inline unsigned lane_bits_f(mask_f m) { return (unsigned)_mm256_movemask_ps((__m256)m); }
static inline unsigned lane_bits_d(mask_d m) { return (unsigned)_mm256_movemask_pd((__m256d)m); }
static inline int any_f(mask_f m) { return lane_bits_f(m) != 0; }
static inline int any_d(mask_d m) { return lane_bits_d(m) != 0; }
static inline vfloat max_f(vfloat c, vfloat x) { return _mm256_max_ps(c, x); }
static inline vfloat min_f(vfloat c, vfloat x) { return _mm256_min_ps(c, x); }
static inline vdouble max_d(vdouble c, vdouble x) { return _mm256_max_pd(c, x); }
static inline vdouble min_d(vdouble c, vdouble x) { return _mm256_min_pd(c, x); }
static inline vfloat sqrt_f(vfloat x) { return _mm256_sqrt_ps(x); }
static inline vdouble sqrt_d(vdouble x) { return _mm256_sqrt_pd(x); }
#else
static inline vfloat less_product_f(vfloat c, float x, vfloat y) { return c - x * y; }
static inline int any_d(mask_d m) { return (m[0] | m[1]) != 0; }
static inline int any_f(mask_f m) { return any_d((vint64)m); }
static inline unsigned lane_bits_f(mask_f m) {
  return (unsigned)(-m[0] | -m[1] << 1 | -m[2] << 2 | -m[3] << 3);
}
static inline unsigned lane_bits_d(mask_d m) { return (unsigned)(-m[0] | -m[1] << 1); }
static inline vfloat max_f(vfloat c, vfloat x) { return select_f((vint32)(x < c), c, x); }
static inline vfloat min_f(vfloat c, vfloat x) { return select_f((vint32)(x > c), c, x); }
static inline vdouble max_d(vdouble c, vdouble x) { return select_d((vint64)(x < c), c, x); }
static inline vdouble min_d(vdouble c, vdouble x) { return select_d((vint64)(x > c), c, x); }
static inline vfloat sqrt_f(vfloat x) {
  return (vfloat){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
}
static inline vdouble sqrt_d(vdouble x) { return (vdouble){sqrt(x[0]), sqrt(x[1])}; }
#endif
static inline vfloat ldexp_f(vfloat y, vfloat n) {
  return y * (vfloat)((vint32)(n + (0x1.8p23f + 127.0f)) << 23);
}
static inline vdouble ldexp_d(vdouble y, vdouble n) {
  return y * (vdouble)((vint64)(n + (0x1.8p52 + 1023.0)) << 52);
}
#endif

/* 2^x for x <= 0 = 2^n (1 + r q(r)), n = round(x), |r| <= 1/2, q by Chebyshev interpolation; within
   1.2 ulp, NaN stays NaN. It is 0 below the normal numbers: processors take 20 times as long for a
   result there. exp takes it with x in units of ln 2: then the reduction is exact and half as
   long. */
static inline vdouble exp2_d(vdouble x) {
  const double magic = 0x1.8p52;
  const vdouble least = (vdouble){0} - 1022.0;
  const mask_d far = greater_d(least, x);
  x = max_d(least, x);
  vdouble n = (x + magic) - magic, r = x - n;
  vdouble q = (vdouble){0} + 4.4549624846332122933e-10;
  q = q * r + 7.0725894883963451044e-9;
  q = q * r + 1.0178062436412765366e-7;
  q = q * r + 1.3215442570224649306e-6;
  q = q * r + 1.5252733829851595615e-5;
  q = q * r + 1.5403530441765086496e-4;
  q = q * r + 1.3333558146416926097e-3;
  q = q * r + 9.6181291076068712426e-3;
  q = q * r + 5.5504108664821594353e-2;
  q = q * r + 2.4022650695910098247e-1;
  q = q * r + 6.9314718055994530942e-1;
  return select_d(far, (vdouble){0}, ldexp_d(1.0 + r * q, n));
}

static inline vfloat exp2_f(vfloat x) {
  const float magic = 0x1.8p23f;
  const vfloat least = (vfloat){0} - 126.0f;
  const mask_f far = greater_f(least, x);
  x = max_f(least, x);
  vfloat n = (x + magic) - magic, r = x - n;
  vfloat q = (vfloat){0} + 1.5453172887040158938e-4f;
  q = q * r + 1.3390874847810528437e-3f;
  q = q * r + 9.6180825386369608494e-3f;
  q = q * r + 5.5503570926890300218e-2f;
  q = q * r + 2.4022650760606957384e-1f;
  q = q * r + 6.9314718803071341016e-1f;
  return select_f(far, (vfloat){0}, ldexp_f(1.0f + r * q, n));
}

/* A store past the caches, to an aligned address: memory need not be read before it is
   written. */
#if defined(MLCORE_TARGET_AVX512)
static inline void stream_f(float *p, vfloat v) { _mm512_stream_ps(p, v); }
static inline void stream_d(double *p, vdouble v) { _mm512_stream_pd(p, v); }
static inline void stream_fence(void) { _mm_sfence(); }
#elif defined(MLCORE_TARGET_AVX2)
static inline void stream_f(float *p, vfloat v) { _mm256_stream_ps(p, v); }
static inline void stream_d(double *p, vdouble v) { _mm256_stream_pd(p, v); }
static inline void stream_fence(void) { _mm_sfence(); }
#else
static inline void stream_f(float *p, vfloat v) { store_f(p, v); }
static inline void stream_d(double *p, vdouble v) { store_d(p, v); }
static inline void stream_fence(void) {}
#endif

/* zip_low: a0 b0 a1 b1 ... of the lower halves of two vectors; zip_high: of the upper. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_ZIP
#if VECTOR_BYTES == 64
#define LOW_f 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_f 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_d 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_d 4, 12, 5, 13, 6, 14, 7, 15
#elif VECTOR_BYTES == 32
#define LOW_f 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_f 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_d 0, 4, 1, 5
#define HIGH_d 2, 6, 3, 7
#else
#define LOW_f 0, 4, 1, 5
#define HIGH_f 2, 6, 3, 7
#define LOW_d 0, 2
#define HIGH_d 1, 3
#endif
static inline vfloat zip_low_f(vfloat a, vfloat b) { return __builtin_shufflevector(a, b, LOW_f); }
static inline vfloat zip_high_f(vfloat a, vfloat b) {
  return __builtin_shufflevector(a, b, HIGH_f);
}
static inline vdouble zip_low_d(vdouble a, vdouble b) {
  return __builtin_shufflevector(a, b, LOW_d);
}
static inline vdouble zip_high_d(vdouble a, vdouble b) {
  return __builtin_shufflevector(a, b, HIGH_d);
}
#undef LOW_f
#undef HIGH_f
#undef LOW_d
#undef HIGH_d
#endif
#endif

#endif
