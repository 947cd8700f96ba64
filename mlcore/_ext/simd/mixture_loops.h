/* One pass of EM over sparse rows, in double precision; included once per target.

   A row's log densities are start + sum_p value_p table[column_p], one value per component and the components side by
   side in vectors. Rows take no more than a stride of memory; the next ones overlap in the processor's pipeline. */

enum { MIX_LANES = VECTOR_BYTES / sizeof(double), MIX_STRIP = 4 };

#define BEGIN(s, i) ((s)->indptr ? (s)->indptr[i] : (i) * (s)->length)
#define END(s, i) ((s)->indptr ? (s)->indptr[(i) + 1] : ((i) + 1) * (s)->length)

static inline double total_d(vdouble x) {
#if defined(MLCORE_TARGET_AVX512)
  return _mm512_reduce_add_pd(x);
#else
  double sum = x[0];
  for (int lane = 1; lane < MIX_LANES; lane++) sum += x[lane];
  return sum;
#endif
}

/* to[...] = from[...] + sum of the row's entries; two sums a vector, so that additions need not wait for each other. */
static inline __attribute__((always_inline)) void mixture_gather(const int width, const int valued, const sparse_rows *s,
                                                                 ptrdiff_t begin, ptrdiff_t end, const double *from,
                                                                 const double *table, double *to) {
  const int32_t *columns = s->columns;
  const double *values = s->values;
  const ptrdiff_t stride = s->stride;
  vdouble even[MIX_STRIP], odd[MIX_STRIP];
  for (int v = 0; v < width; v++) even[v] = load_d(from + v * MIX_LANES), odd[v] = (vdouble){0};
  ptrdiff_t p = begin;
  for (; p + 2 <= end; p += 2) {
    const double *a = table + columns[p] * stride, *b = table + columns[p + 1] * stride;
    for (int v = 0; v < width; v++) {
      vdouble x = load_d(a + v * MIX_LANES), y = load_d(b + v * MIX_LANES);
      even[v] += valued ? values[p] * x : x;
      odd[v] += valued ? values[p + 1] * y : y;
    }
  }
  if (p < end)
    for (int v = 0; v < width; v++) {
      vdouble x = load_d(table + columns[p] * stride + v * MIX_LANES);
      even[v] += valued ? values[p] * x : x;
    }
  for (int v = 0; v < width; v++) store_d(to + v * MIX_LANES, even[v] + odd[v]);
}

/* sums[column] += value r for the row's entries. */
static inline __attribute__((always_inline)) void mixture_scatter(const int width, const int valued,
                                                                  const sparse_rows *s, ptrdiff_t begin, ptrdiff_t end,
                                                                  const double *r, double *sums) {
  const int32_t *columns = s->columns; /* not read again after every store */
  const double *values = s->values;
  const ptrdiff_t stride = s->stride;
  vdouble held[MIX_STRIP];
  for (int v = 0; v < width; v++) held[v] = load_d(r + v * MIX_LANES);
  for (ptrdiff_t p = begin; p < end; p++) {
    double *to = sums + columns[p] * stride;
    for (int v = 0; v < width; v++) {
      vdouble x = valued ? values[p] * held[v] : held[v];
      store_d(to + v * MIX_LANES, load_d(to + v * MIX_LANES) + x);
    }
  }
}

#define MIXTURE_WIDTHS(call)                                                                                         \
  switch (width) {                                                                                                   \
    case 1: call(1); break;                                                                                          \
    case 2: call(2); break;                                                                                          \
    case 3: call(3); break;                                                                                          \
    default: call(4);                                                                                                \
  }

/* Rows come in batches, each step done for all of them: what one row waits for, the others fill. */
static inline __attribute__((always_inline)) double mixture_batch(const int valued, const sparse_rows *s,
                                                                  ptrdiff_t first, ptrdiff_t last, double *batch,
                                                                  double *sums, double *totals, double *log_density,
                                                                  double *out) {
  const ptrdiff_t stride = s->stride, k = s->n_components;
  double top[MIX_BATCH], log_likelihood = 0, product = 1;
  for (ptrdiff_t j = 0; j < stride; j += MIX_STRIP * MIX_LANES) {
    const int width = stride - j < MIX_STRIP * MIX_LANES ? (int)((stride - j) / MIX_LANES) : MIX_STRIP;
    for (ptrdiff_t i = first; i < last; i++) {
#define GATHER(w) mixture_gather(w, valued, s, BEGIN(s, i), END(s, i), s->start + j, s->table + j, batch + (i - first) * stride + j)
      MIXTURE_WIDTHS(GATHER)
    }
  }
  for (ptrdiff_t i = first; i < last; i++) {
    double *r = batch + (i - first) * stride;
    vdouble most = load_d(r);
    for (ptrdiff_t j = MIX_LANES; j < stride; j += MIX_LANES) most = max_d(most, load_d(r + j));
    top[i - first] = highest_d(most);
  }
  for (ptrdiff_t i = first; i < last; i++) {
    double *r = batch + (i - first) * stride;
    vdouble sum = {0};
    for (ptrdiff_t j = 0; j < stride; j += MIX_LANES) {
      vdouble e = exp2_d((load_d(r + j) - top[i - first]) * 0x1.71547652b82fep0); /* 1 / ln 2 */
      store_d(r + j, e);
      sum += e;
    }
    const double total = total_d(sum), weight = s->weights ? s->weights[i] : 1.0, scale = weight / total;
    if (s->weights || log_density) {
      const double density = top[i - first] + log(total);
      if (log_density) log_density[i] = density;
      if (weight > 0) log_likelihood += weight * density;
    } else { /* 1 <= total <= number of components: one logarithm for the product of all */
      log_likelihood += top[i - first];
      product *= total;
      if (product > 1e200) log_likelihood += log(product), product = 1;
    }
    if (out)
      for (ptrdiff_t j = 0; j < k; j++) out[i * k + j] = r[j] / total;
    if (sums)
      for (ptrdiff_t j = 0; j < stride; j += MIX_LANES) {
        vdouble x = load_d(r + j) * scale;
        store_d(r + j, x);
        store_d(totals + j, load_d(totals + j) + x);
      }
  }
  for (ptrdiff_t j = 0; sums && j < stride; j += MIX_STRIP * MIX_LANES) {
    const int width = stride - j < MIX_STRIP * MIX_LANES ? (int)((stride - j) / MIX_LANES) : MIX_STRIP;
    for (ptrdiff_t i = first; i < last; i++) {
#define SCATTER(w) mixture_scatter(w, valued, s, BEGIN(s, i), END(s, i), batch + (i - first) * stride + j, sums + j)
      MIXTURE_WIDTHS(SCATTER)
    }
  }
  return log_likelihood + log(product);
}

static double expect(const sparse_rows *s, ptrdiff_t first, ptrdiff_t last, double *batch, double *sums,
                     double *totals, double *log_density, double *out) {
  double sum = 0;
  for (; first < last; first += MIX_BATCH) {
    const ptrdiff_t stop = last - first < MIX_BATCH ? last : first + MIX_BATCH;
    sum += s->values ? mixture_batch(1, s, first, stop, batch, sums, totals, log_density, out)
                     : mixture_batch(0, s, first, stop, batch, sums, totals, log_density, out);
  }
  return sum;
}
