/* Search of many centres in 8-bit integers, proven in double precision (see quantized_search.pyx). */
#ifndef MLCORE_QUANTIZED_SEARCH_H
#define MLCORE_QUANTIZED_SEARCH_H

#include <stddef.h>
#include <stdint.h>

enum { QUANTIZED_BATCH = 64, QUANTIZED_LANES = 16, QUANTIZED_TILE = 48 };

/* Centres c as codes q: c is nearly origin + step q. Tiles of 48 centres lie side by side, four
   features of each after the other: codes[tile, feature / 4, centre, feature % 4] = q + 128. */
typedef struct {
  ptrdiff_t n_tiles;
  const uint8_t *codes;
  const int32_t *halves; /* |q|^2 / 2, rounded down; 2^30 where there is no centre */
  const int32_t *places; /* the centre at each place */
} coded_centers;

/* Arrays without a type are of the samples' precision. */
typedef struct {
  ptrdiff_t d, quads, k; /* features; groups of four of them; centres */
  const void *X, *centers;
  const double *origin, *weights;
  double step, error; /* `error` bounds |c - (origin + step q)| / step */
  float less;         /* by how much lower bounds shrink */
  int first;
  coded_centers all, moved; /* all centres; those that moved by more than `less` */
  const uint8_t *still;     /* 1 for centres that did not move at all */
  int32_t *labels;
  float *upper, *lower;
} quantized_pass;

#define QUANTIZED_LOOPS(real)                                                                        \
  /* samples start..stop of a pass; `codes` is scratch, QUANTIZED_BATCH times 4 quads; the tally's \
     are labels changed, and distances computed in double precision */ \
  void (*search)(const quantized_pass *s, ptrdiff_t start, ptrdiff_t stop, int8_t *codes,            \
                 double *sums, double *counts, int64_t *tally);

typedef struct {
  int (*usable)(void); /* 1 if the processor has the instructions of the loops */
  struct { QUANTIZED_LOOPS(float) } f;
  struct { QUANTIZED_LOOPS(double) } d;
} quantized_search_loops;

extern const quantized_search_loops *quantized_search_table;

#endif
