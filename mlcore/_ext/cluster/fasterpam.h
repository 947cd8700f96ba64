/* The change of the objective of k-medoids by a swap (see fasterpam.c). */
#ifndef MLCORE_FASTERPAM_H
#define MLCORE_FASTERPAM_H

#include <stddef.h>
#include <stdint.h>

/* Contents of a row and the cost that they become: distances, themselves or squared; or inner
   products, which become distances, their squares or their fourth powers. */
enum { MEDOID_VALUES, MEDOID_SQUARES, MEDOID_ROOTS, MEDOID_PRODUCTS, MEDOID_FOURTHS };
/* Samples and their medoids; arrays without a type are of the samples' precision. */
typedef struct {
  int form;
  ptrdiff_t n, k;
  const void *near, *second; /* costs of the nearest and of the second nearest medoid */
  /* A sample takes part where its value is at most its limit; for products, where the value is at
     least the limit and half the candidate's squared norm. */
  const void *limits;
  const void *norms;     /* squared, for products */
  const double *weights; /* NULL: all are 1 */
  const int32_t *labels;
  const double *removal; /* by slot: increase of the objective if the medoid is removed */
} medoid_pass;

/* Least change of the objective if the sample `self`, whose row is given, replaced a medoid, the
   one in `slot`; `losses` is scratch, k. */
#define MEDOIDS_LOOPS(real)                                                                      \
  double (*medoid_change)(const medoid_pass *s, const real *row, ptrdiff_t self, double *losses, \
                          int32_t *slot);

typedef struct {
  struct { MEDOIDS_LOOPS(float) } f;
  struct { MEDOIDS_LOOPS(double) } d;
} fasterpam_loops;

extern const fasterpam_loops *fasterpam_table;

#endif
