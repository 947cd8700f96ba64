/* Squared distances over the known values of rows, NaN being unknown (see
   incomplete_assignment.c). */
#ifndef MLCORE_INCOMPLETE_ASSIGNMENT_H
#define MLCORE_INCOMPLETE_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

/* `stride` is a multiple of LANES, a cache line of floats; samples of a batch */
enum { INCOMPLETE_LANES = 16, INCOMPLETE_BATCH = 128 };

/* Centres as columns (d + 1, stride), infinite from the last one on, 0 in the last row; arrays without a type are of the
   samples' precision. */
typedef struct {
  ptrdiff_t d, k, stride;
  const void *columns;
  const double *weights; /* NULL for ones */
  /* of each label: by how much gaps to other centres have shrunk so far */
  const double *movement;
  double error; /* relative rounding of a distance */
  int32_t *labels;
  float *gaps; /* NULL: none are kept */
} incomplete_pass;

#define INCOMPLETE_LOOPS(real)                                                                     \
  /* Labels of samples start..stop; a sample whose label changes moves its known values from  \
     the sums (k, d), their weights (k, d) and the weights of samples (k,) of the old label to \
     those of the new one; returns how many changed. `values` and `at` are scratch, d + 4. */    \
  int64_t (*assign)(const incomplete_pass *s, ptrdiff_t start, ptrdiff_t stop, const real *X,      \
                    real *values, int64_t *at, double *sums, double *known, double *mass);         \
  /* objectives[t] += sum of w min(nearest, distance from centre t); where that is NULL,      \
     nearest becomes the minimum with the only one */    \
  void (*lower)(const incomplete_pass *s, ptrdiff_t start, ptrdiff_t stop, const real *X,          \
                real *nearest, real *values, int64_t *at, double *objectives);                     \
  /* out (n, k): squared distances from all centres */                                             \
  void (*distances)(const incomplete_pass *s, ptrdiff_t n, const real *X, real *values,            \
                    int64_t *at, double *out);                                                     \
  /* out (n,): squared distances from the centres (k, d) of the labels, in double precision */     \
  void (*own)(ptrdiff_t d, ptrdiff_t n, const real *X, const real *centers, const int32_t *labels, \
              double *out);

typedef struct {
  struct { INCOMPLETE_LOOPS(float) } f;
  struct { INCOMPLETE_LOOPS(double) } d;
} incomplete_assignment_loops;

extern const incomplete_assignment_loops *incomplete_assignment_table;

#endif
