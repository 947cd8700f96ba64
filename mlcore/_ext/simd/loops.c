/* Every vectorised loop, for float and for double, compiled once per target. */
#include "table.h"
#include "vector.h"

#define REAL float
#define VEC vfloat
#define INTVEC vint32
#define INT int32_t
#define PANEL PANEL_FLOAT
#define NAME(name) name##_f
#define LOAD load_f
#define WIDEN widen_f
#define STORE store_f
#define SELECT select_f
#define EXP2 exp2_f
#define STREAM STREAM_F
#ifdef ZIP_LOW_F
#define ZIP_LOW ZIP_LOW_F
#define ZIP_HIGH ZIP_HIGH_F
#endif
#define MASK mask_f
#define REDUCE_ADD(v) _mm512_reduce_add_ps(v)
#define GREATER GREATER_F
#define CHOOSE choose_f
#define ANY ANY_F
#define BITS BITS_F
#define TANH tanhf
#define SQRT sqrtf
#define REST compress_rest
#include "kernel_loops.h"
#include "smo_loops.h"
#include "gaussian_density.h"
#include "gaussian_panel_moments.h"
#include "gaussian_loops.h"
#include "latent_class_loops.h"
#include "bit_loops.h"
#include "k_means_loops.h"
#include "lloyd_plain_loops.h"
#include "medoid_loops.h"
#include "scaling_loops.h"
#include "product_loops.h"
#undef REAL
#undef VEC
#undef INTVEC
#undef INT
#undef PANEL
#undef NAME
#undef LOAD
#undef WIDEN
#undef STORE
#undef SELECT
#undef EXP2
#undef STREAM
#undef ZIP_LOW
#undef ZIP_HIGH
#undef MASK
#undef REDUCE_ADD
#undef GREATER
#undef CHOOSE
#undef ANY
#undef BITS
#undef TANH
#undef SQRT
#undef REST

#define REAL double
#define VEC vdouble
#define INTVEC vint64
#define INT int64_t
#define PANEL PANEL_DOUBLE
#define NAME(name) name##_d
#define LOAD load_d
#define WIDEN widen_d
#define STORE store_d
#define SELECT select_d
#define EXP2 exp2_d
#define STREAM STREAM_D
#ifdef ZIP_LOW_D
#define ZIP_LOW ZIP_LOW_D
#define ZIP_HIGH ZIP_HIGH_D
#endif
#define MASK mask_d
#define REDUCE_ADD(v) _mm512_reduce_add_pd(v)
#define GREATER GREATER_D
#define CHOOSE choose_d
#define ANY ANY_D
#define BITS BITS_D
#define TANH tanh
#define SQRT sqrt
#define REST compress_rest_d
#define SCREENED /* in single precision */
#include "kernel_loops.h"
#include "smo_loops.h"
#include "gaussian_density.h"
#include "gaussian_panel_moments.h"
#include "gaussian_loops.h"
#include "latent_class_loops.h"
#include "bit_loops.h"
#include "k_means_loops.h"
#include "lloyd_plain_loops.h"
#include "medoid_loops.h"
#include "scaling_loops.h"
#include "product_loops.h"

#include "linkage_loops.h"
#include "mixture_loops.h"

#undef VEC
#undef LOAD
static inline vdouble positive_d(vdouble t, vdouble v) { return select_d(GREATER_D(t, (vdouble){0}), v, (vdouble){0}); }
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

#define QUOTE(name) #name
#define STRING(name) QUOTE(name)
const simd_loops TARGET_NAME(simd_loops) = {
    {panel_f, transpose_f, copy_f, finish_f, exponential_f, accumulate_f, smo_f, gaussian_f, latent_class_f, bits_f,
     lloyd_f, lloyd_plain_f, own_distances_f, seed_f, medoid_change_f, mirrored_f, shorten_f,
     rescale_f, symmetric_f, product_f},
    {panel_d, transpose_d, copy_d, finish_d, exponential_d, accumulate_d, smo_d, gaussian_d, latent_class_d, bits_d,
     lloyd_d, lloyd_plain_d, own_distances_d, seed_d, medoid_change_d, mirrored_d, shorten_d,
     rescale_d, symmetric_d, product_d},
    expect,
    responsibilities,
    add_rows,
    mixture_table,
    mixture_shares,
    mixture_advance,
    symmetric_short,
    grow_tree,
    nearest_clusters,
    cluster_row,
    square_tile,
    merge_nearest,
    squared_distance_d,
    STRING(TARGET_NAME(loops)),
};
