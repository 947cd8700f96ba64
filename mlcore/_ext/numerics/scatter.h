/* Products of columns with each other, for the scatter of rows (see scatter_loops.h). */
#ifndef MLCORE_SCATTER_H
#define MLCORE_SCATTER_H

#include <stddef.h>
#include <stdint.h>

/* Rows are packed in strips of one vector of columns: (SCATTER_ROWS, strip) values side by side. A
   panel are strips that are multiplied together, and a step some columns that it is multiplied
   with. A list of rows is their number and then where they begin in a strip, SCATTER_ROWS places.
   The strips of a panel fit the first cache. */
enum { SCATTER_ROWS_f = 252, SCATTER_ROWS_d = 126 };

#define SCATTER_LOOPS(real)                                                                          \
  ptrdiff_t strip, panel, step; /* their columns */                                                  \
  /* strips = (line - near) * root, for one row of `width` values, a multiple of `strip` */          \
  void (*pack)(ptrdiff_t width, const real *line, const real *near, real root, real *strips);        \
  /* the list, for each step of a panel, of the rows that are not 0 in all of its columns */         \
  void (*list_rows)(ptrdiff_t rows, const real *panel, uint16_t *lists);                             \
  /* C[i, j] += sum_r strips[r, i] strips[r, j] over `rows` rows, for the columns j of panel `b`,  \
     and i from `first` to `last`, in steps that divide `panel`; C (stride columns) is symmetric,  \
     and above the diagonal not all is computed. With `lists` of all steps, over their rows alone */ \
  void (*products)(ptrdiff_t rows, const real *strips, const uint16_t *lists, ptrdiff_t b,           \
                   ptrdiff_t first, ptrdiff_t last, double *C, ptrdiff_t stride);                    \
  /* sums[codes[r]] += root[r] panel[r]; without roots these are 1, without codes these are 0 */     \
  void (*column_sums)(ptrdiff_t rows, const real *panel, const real *root, const int64_t *codes,     \
                      double *sums, ptrdiff_t stride);

typedef struct {
  struct { SCATTER_LOOPS(float) } f;
  struct { SCATTER_LOOPS(double) } d;
} scatter_loops;

extern const scatter_loops *scatter_table;

#endif
