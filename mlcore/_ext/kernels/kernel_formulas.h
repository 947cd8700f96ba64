/* The kernels of the compiled loops. To add one: its line in the list, its formulas below, and its
   class, of the same name, in mlcore/kernels/vector_kernels.py.

   KERNEL(CODE, name, sum). A kernel value is a function (`value`) of a sum over the features, of
   PRODUCTS  x y;
   TERMS     of its own (`visit`), 0 where the row is: or the row's zeros are stored and visited;
   EXCESSES  of its own (`visit`) less that of the column alone, whose sum over all features the
             sum starts from (column_terms): 0 where the row is, so only its non-zeros need a visit.
   Sums other than PRODUCTS have a case in KERNEL_PLUS_SHARED too. */
#ifndef KERNEL_LIST
#define KERNEL_LIST(KERNEL)                  \
  KERNEL(LINEAR, "linear", PRODUCTS)         \
  KERNEL(POLYNOMIAL, "polynomial", PRODUCTS) \
  KERNEL(RBF, "rbf", PRODUCTS)               \
  KERNEL(SIGMOID, "sigmoid", PRODUCTS)       \
  KERNEL(COSINE, "cosine", PRODUCTS)         \
  KERNEL(LAPLACIAN, "laplacian", EXCESSES)   \
  KERNEL(CHI2, "chi2", EXCESSES)             \
  /* of few features: no cancellation */     \
  KERNEL(RBF_DIFFERENCES, "rbf of differences", TERMS)

/* `sum` plus the term of one feature that is zero in neither sample; of EXCESSES what is left of it
   when both samples' own terms are taken away. For loops over lists: numbers, not vectors. */
#define KERNEL_PLUS_SHARED(kind, sum, x, y)                                                    \
  ((kind) == KERNEL_LAPLACIAN ? (sum) + (__typeof__(sum))(fabs((x) - (y)) - fabs(x) - fabs(y)) \
   : (kind) == KERNEL_CHI2 /* zeros may be stored */                                           \
       ? (__typeof__(sum))((x) > 0 && (y) > 0 ? (sum) - 4.0 * (x) * (y) / ((x) + (y)) : (sum)) \
       : (sum) + (x) * (y))
#endif

#ifdef REAL /* once per precision */

static inline VEC NAME(absolute)(VEC v) { return SELECT(GREATER(-v, v), -v, v); }

/* sum += the terms of one feature of a row, over the lanes of a panel. */
INLINE void NAME(visit)(int kind, REAL x, const REAL *column, VEC *sum) {
  for (int b = 0; b < NAME(BLOCKS); b++) {
    const VEC y = LOAD(column + b * LANES);
    if (kind == KERNEL_RBF_DIFFERENCES) sum[b] += (x - y) * (x - y);
    else if (kind == KERNEL_LAPLACIAN) sum[b] += NAME(absolute)(x - y) - NAME(absolute)(y);
    else if (kind == KERNEL_CHI2) { /* 0 / 0 is 0: a feature that is zero in both adds nothing */
      const VEC both = x + y, difference = x - y;
      sum[b] += SELECT(GREATER(both, (VEC){0}), difference * difference / both, both) - y;
    } else sum[b] += x * y;
  }
}

/* Inner product (or distance) -> kernel value. Terms: rbf gamma |x|^2, laplacian and chi2 the sums
   over features; there gamma is in units of ln 2, so that exp becomes 2^. */
static inline VEC NAME(value)(const kernel_spec *k, VEC v, REAL row_term, VEC column_terms) {
  const REAL gamma = (REAL)k->gamma;
  switch (k->kind) {
  case KERNEL_RBF:
    return NAME(exp2)(NAME(min)((VEC){0}, 2 * gamma * v - (column_terms + row_term)));
  case KERNEL_RBF_DIFFERENCES:
  case KERNEL_LAPLACIAN:
  case KERNEL_CHI2: return NAME(exp2)(NAME(min)((VEC){0}, -gamma * v));
  case KERNEL_POLYNOMIAL: {
    VEC base = gamma * v + (REAL)k->coef0, power = (VEC){0} + 1;
    for (int degree = k->degree; degree > 0; degree >>= 1) {
      if (degree & 1) power *= base;
      base *= base;
    }
    return power;
  }
  case KERNEL_SIGMOID: {
    VEC t = gamma * v + (REAL)k->coef0;
    for (int lane = 0; lane < LANES; lane++) t[lane] = NAME(tanh)(t[lane]);
    return t;
  }
  case KERNEL_COSINE: return NAME(min)((VEC){0} + 1, NAME(max)((VEC){0} - 1, v));
  default: return v;
  }
}

#endif
