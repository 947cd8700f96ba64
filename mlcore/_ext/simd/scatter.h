/* Products of columns with each other, for the scatter of rows (see scatter_loops.h). */
#ifndef MLCORE_SCATTER_H
#define MLCORE_SCATTER_H

#include <stddef.h>
#include <stdint.h>

/* Rows are packed in panels of `panel` columns: (SCATTER_ROWS, panel) values side by side. Sums in
   single precision are over more rows, since a tile takes longer to be added in double precision:
   1.06 at 784 columns against 126 rows. */
enum { SCATTER_ROWS_f = 504, SCATTER_ROWS_d = 126 };

#define SCATTER_LOOPS(real)                                                                          \
  ptrdiff_t panel;                                                                                   \
  /* panels = (line - near) * root, for one row of `width` values, a multiple of `panel` */          \
  void (*pack)(ptrdiff_t width, const real *line, const real *near, real root, real *panels);        \
  /* C[i, j] += sum_r panels[r, i] panels[r, j] over `rows` rows, for the columns j of panel `b`,  \
     and i from `first` to `last`, in steps that divide `panel`; C (stride columns) is symmetric,  \
     and above the diagonal not all is computed */ \
  void (*products)(ptrdiff_t rows, const real *panels, ptrdiff_t b, ptrdiff_t first,                 \
                   ptrdiff_t last, double *C, ptrdiff_t stride);                                     \
  /* sums[codes[r]] += root[r] panel[r]; without roots these are 1, without codes these are 0 */     \
  void (*sums)(ptrdiff_t rows, const real *panel, const real *root, const int64_t *codes,            \
               double *sums, ptrdiff_t stride);

typedef struct {
  struct { SCATTER_LOOPS(float) } f;
  struct { SCATTER_LOOPS(double) } d;
} scatter_loops;

extern const scatter_loops *scatter_table;

#endif
