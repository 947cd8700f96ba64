/* What the objective of k-medoids would change by (see medoids_loops.h). */
#ifndef MLCORE_MEDOIDS_H
#define MLCORE_MEDOIDS_H

#include <stddef.h>
#include <stdint.h>

/* Samples and their medoids; arrays without a type are of the samples' precision. What is in a row:
   distances, or distances to be squared; or inner products, and wanted are distances, their squares
   or their fourth powers. */
enum { MEDOID_VALUES, MEDOID_SQUARES, MEDOID_ROOTS, MEDOID_PRODUCTS, MEDOID_FOURTHS };
typedef struct {
  int form;
  ptrdiff_t n, k;
  const void *near, *second; /* what the nearest and the next medoid cost */
  /* up to this value of its row, from it less half the candidate's norm for products, it takes
     part */
  const void *limits;
  const void *norms;     /* squared, for products */
  const double *weights; /* NULL: all are 1 */
  const int32_t *labels;
  const double *removal; /* by slot: what it would cost to remove the medoid */
} medoid_pass;

/* Change of the objective if the sample `self`, whose row is given, took the place of the medoid in
   `slot`, the best; `losses` is scratch, 4 k. */
#define MEDOIDS_LOOPS(real)                                                                      \
  double (*medoid_change)(const medoid_pass *s, const real *row, ptrdiff_t self, double *losses, \
                          int32_t *slot);

typedef struct {
  struct { MEDOIDS_LOOPS(float) } f;
  struct { MEDOIDS_LOOPS(double) } d;
} medoids_loops;

extern const medoids_loops *medoids_table;

#endif
