#include "cluster/k_means/sparse_assignment.h"

#include "shared/table.h"
#include "shared/vector.h"

enum { LANES_F = VECTOR_BYTES / 4, LANES_D = VECTOR_BYTES / 8, MOST = 8 };

/* `m` vectors of sums stay in registers while the row passes by; few of them are two sets, so that
   an addition need not wait for the one before: a tenth less time (k_means.py::Documents, AVX2). */
#define PRODUCTS(name, real, place, to, vec, load, store, lanes)                                \
  INLINE void name##_some(const int m, ptrdiff_t count, const real *data, const place *indices, \
                          const to *columns, ptrdiff_t stride, to *out) {                       \
    vec sum[MOST], other[MOST / 2];                                                             \
    for (int v = 0; v < m; v++) sum[v] = (vec){0};                                              \
    for (int v = 0; v < m && m <= MOST / 2; v++) other[v] = (vec){0};                           \
    ptrdiff_t t = 0;                                                                            \
    for (; m <= MOST / 2 && t + 1 < count; t += 2) {                                            \
      const to *column = columns + (ptrdiff_t)indices[t] * stride,                              \
               *next = columns + (ptrdiff_t)indices[t + 1] * stride;                            \
      const to x = (to)data[t], y = (to)data[t + 1];                                            \
      for (int v = 0; v < m; v++) {                                                             \
        sum[v] += x * load(column + v * lanes);                                                 \
        other[v] += y * load(next + v * lanes);                                                 \
      }                                                                                         \
    }                                                                                           \
    for (; t < count; t++) {                                                                    \
      const to *column = columns + (ptrdiff_t)indices[t] * stride;                              \
      const to x = (to)data[t];                                                                 \
      for (int v = 0; v < m; v++) sum[v] += x * load(column + v * lanes);                       \
    }                                                                                           \
    for (int v = 0; v < m && m <= MOST / 2; v++) sum[v] += other[v];                            \
    for (int v = 0; v < m; v++) store(out + v * lanes, sum[v]);                                 \
  }
#define ALL_PRODUCTS(name, real, place, to, lanes)                                         \
  static inline void name(ptrdiff_t count, const real *data, const place *indices,         \
                          const to *columns, ptrdiff_t stride, to *out) {                  \
    for (ptrdiff_t j = 0; j < stride;) {                                                   \
      const ptrdiff_t left = (stride - j) / lanes, m = left >= 8   ? 8                     \
                                                       : left >= 4 ? 4                     \
                                                       : left >= 2 ? 2                     \
                                                                   : 1;                    \
      if (m == 8) name##_some(8, count, data, indices, columns + j, stride, out + j);      \
      else if (m == 4) name##_some(4, count, data, indices, columns + j, stride, out + j); \
      else if (m == 2) name##_some(2, count, data, indices, columns + j, stride, out + j); \
      else name##_some(1, count, data, indices, columns + j, stride, out + j);             \
      j += m * lanes;                                                                      \
    }                                                                                      \
  }

/* Eight floats, where a vector is longer: half of one. */
#if VECTOR_BYTES == 64
static inline vfloat_half load_half(const float *p) { return *(const vfloat_half *)p; }
static inline void store_half(float *p, vfloat_half v) { *(vfloat_half *)p = v; }
#define HALF(name, real, place) \
  PRODUCTS(name, real, place, float, vfloat_half, load_half, store_half, LANES_D)
#define IS_HALF(stride) ((stride) < LANES_F)
#else
#define HALF(name, real, place) /* never called: there are no half vectors */                    \
  static inline void name##_some(int m, ptrdiff_t count, const real *data, const place *indices, \
                                 const float *columns, ptrdiff_t stride, float *out) {           \
    (void)m, (void)count, (void)data, (void)indices, (void)columns, (void)stride, (void)out;     \
  }
#define IS_HALF(stride) 0
#endif

/* The nearest centre by its half squared norm less its product with the row. Such values in single
   precision are wrong by at most u ((count + 8) |x| |c| + |c|²), u = 2^-24, where nothing
   underflows: a rounding of either factor, one of each product and sum, one of the half norm and
   one of the difference. */
#define NEAREST(name, real, place)                                                                 \
  static int name##_nearest(const sparse_search *s, ptrdiff_t first, ptrdiff_t last,               \
                            float *scratch, int32_t *unsure) {                                     \
    const real *data = (const real *)s->data;                                                      \
    const place *indices = (const place *)s->indices;                                              \
    const ptrdiff_t whole = (s->stride + SPARSE_LINE - 1) / SPARSE_LINE * SPARSE_LINE;             \
    const double margin = sqrt(s->slack);                                                          \
    int n_unsure = 0;                                                                              \
    vint32 lane;                                                                                   \
    for (int l = 0; l < LANES_F; l++) lane[l] = l;                                                 \
    for (ptrdiff_t j = s->stride; j < whole; j++) scratch[j] = 0;                                  \
    for (ptrdiff_t i = first; i < last; i++) {                                                     \
      if (s->filtered && s->gaps[i] > s->passed[s->labels[i]] + margin) continue;                  \
      const ptrdiff_t begin = s->indptr[i], count = s->indptr[i + 1] - begin;                      \
      if (IS_HALF(s->stride))                                                                      \
        name##_half_some(1, count, data + begin, indices + begin, s->columns, s->stride, scratch); \
      else name##_singles(count, data + begin, indices + begin, s->columns, s->stride, scratch);   \
      vfloat best = load_f(s->halves) - load_f(scratch), second = (vfloat){0} + INFINITY;          \
      vint32 at = lane;                                                                            \
      for (ptrdiff_t j = LANES_F; j < whole; j += LANES_F) {                                       \
        const vfloat value = load_f(s->halves + j) - load_f(scratch + j);                          \
        const mask_f nearer = greater_f(best, value);                                              \
        second = min_f(second, max_f(value, best));                                                \
        at = choose_f(nearer, lane + (int32_t)j, at);                                              \
        best = select_f(nearer, value, best);                                                      \
      }                                                                                            \
      const float least = lowest_f(best);                                                          \
      const int32_t label = (int32_t)where_f(best, least, at);                                     \
      best += (vfloat)((at == label) & (vint32)((vfloat){0} + INFINITY));                          \
      const double next = lowest_f(min_f(best, second)), length = sqrt(s->norms[i]);               \
      const double error = 0x1p-24 * 1.01 * s->longest * ((count + 8) * length + s->longest) +     \
                           (count + 1) * 0x1p-100;                                                 \
      if (!(next - least > 2 * error)) {                                                           \
        unsure[n_unsure++] = (int32_t)(i - first);                                                 \
        continue;                                                                                  \
      }                                                                                            \
      s->labels[i] = label;                                                                        \
      if (s->gaps != NULL) {                                                                       \
        const double upper = s->norms[i] + 2 * (least + error) + s->slack;                         \
        const double lower = s->norms[i] + 2 * (next - error) - s->slack;                          \
        const double gap = sqrt(lower > 0 ? lower : 0) - sqrt(upper > 0 ? upper : 0);              \
        s->gaps[i] = (gap > 0 ? gap : 0) * (1 - 1e-12) + s->passed[label];                         \
      }                                                                                            \
    }                                                                                              \
    return n_unsure;                                                                               \
  }

#define LOOPS(name, real, place)                                                             \
  PRODUCTS(name##_doubles, real, place, double, vdouble, load_d, store_d, LANES_D)           \
  ALL_PRODUCTS(name##_doubles, real, place, double, LANES_D)                                 \
  static void name##_products(ptrdiff_t count, const void *data, const void *indices,        \
                              const double *columns, ptrdiff_t stride, double *out) {        \
    name##_doubles(count, (const real *)data, (const place *)indices, columns, stride, out); \
  }                                                                                          \
  PRODUCTS(name##_singles, real, place, float, vfloat, load_f, store_f, LANES_F)             \
  ALL_PRODUCTS(name##_singles, real, place, float, LANES_F)                                  \
  HALF(name##_half, real, place)                                                             \
  NEAREST(name, real, place)
LOOPS(f_int32, float, int32_t)
LOOPS(f_int64, float, int64_t)
LOOPS(d_int32, double, int32_t)
LOOPS(d_int64, double, int64_t)

static void means(ptrdiff_t d, ptrdiff_t stride, const double *sums, const double *mass, int single,
                  double *columns, float *singles, double *out) {
  for (int j = 0; j < SPARSE_GROUP; j += LANES_D) {
    const vdouble m = load_d(mass + j);
    const mask_d present = greater_d(m, (vdouble){0});
    vdouble norm = {0}, moved = {0}, inner = {0};
    for (ptrdiff_t f = 0; f < d; f++) {
      const vdouble sum = load_d(sums + f * stride + j), before = load_d(columns + f * stride + j);
      vdouble now = select_d(present, sum / m, before);
      const vfloat_half narrow = __builtin_convertvector(now, vfloat_half);
      if (single) now = __builtin_convertvector(narrow, vdouble);
      store_d(columns + f * stride + j, now);
      *(vfloat_half *)(singles + f * stride + j) = narrow;
      norm += now * now;
      moved += (now - before) * (now - before);
      inner += sum * before;
    }
    store_d(out + j, norm);
    store_d(out + SPARSE_GROUP + j, moved);
    store_d(out + 2 * SPARSE_GROUP + j, inner);
  }
}

SIMD_TABLE(sparse_assignment, .f_int32 = {.products = f_int32_products, .nearest = f_int32_nearest},
           .f_int64 = {.products = f_int64_products, .nearest = f_int64_nearest},
           .d_int32 = {.products = d_int32_products, .nearest = d_int32_nearest},
           .d_int64 = {.products = d_int64_products, .nearest = d_int64_nearest}, .means = means)
