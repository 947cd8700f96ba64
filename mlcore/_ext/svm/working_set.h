/* Sequential minimal optimisation inside a working set (see working_set.c). */
#ifndef MLCORE_WORKING_SET_H
#define MLCORE_WORKING_SET_H

#include <stddef.h>
#include <stdint.h>

/* A working set of the dual problem: its variables are the slots in up to SPANS spans, each of
   group 0 or 1; other slots are not touched. */
enum { SPANS = 4 };
typedef struct {
  int n_spans, group[SPANS];
  int64_t begin[SPANS], end[SPANS];
  int64_t stride; /* between the rows of K */
  const void *K;
  void *G, *up, *low; /* gradient, and its offsets for I_up and I_low */
  const void *diagonal;
  double *beta;
  const double *lower, *upper;
  double epsilon, violation;
} smo_working_set;

#define SMO_LOOPS(real) int64_t (*smo)(smo_working_set * s, double tol, int64_t max_steps);

typedef struct {
  struct { SMO_LOOPS(float) } f;
  struct { SMO_LOOPS(double) } d;
} working_set_loops;

extern const working_set_loops *working_set_table;

#endif
