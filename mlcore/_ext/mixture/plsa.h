/* The E-step of the aspect model (see plsa.c). */
#ifndef MLCORE_PLSA_H
#define MLCORE_PLSA_H

#include <stddef.h>
#include <stdint.h>

/* Counts of words in documents, and rows of the tables of the aspect model. */
typedef struct {
  ptrdiff_t stride; /* values of a padded row of each table */
  /* of each entry: its run's own row (NULL: the first) and its member's */
  const int32_t *runs, *rows;
  const void *counts;
  const void *own, *members;
  double *own_sums, *sums; /* sums, of the members, may be NULL */
} plsa_entries;

#define PLSA_LOOPS(real) double (*visit)(const plsa_entries *s, ptrdiff_t first, ptrdiff_t last);

typedef struct {
  struct { PLSA_LOOPS(float) } f;
  struct { PLSA_LOOPS(double) } d;
} plsa_loops;

extern const plsa_loops *plsa_table;

#endif
