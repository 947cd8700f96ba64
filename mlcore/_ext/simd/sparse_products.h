/* Products of sparse rows with dense columns side by side; a table for each target, as in table.h. */
#ifndef MLCORE_SPARSE_PRODUCTS_H
#define MLCORE_SPARSE_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

enum { SPARSE_PAD = 8 }; /* columns, a multiple: a vector of doubles of any target */

/* out[j] = sum over t < count of data[t] columns[indices[t] * stride + j], for j < stride */
typedef struct {
  void (*f_int32)(ptrdiff_t count, const float *data, const int32_t *indices, const double *columns, ptrdiff_t stride,
                  double *out);
  void (*f_int64)(ptrdiff_t count, const float *data, const int64_t *indices, const double *columns, ptrdiff_t stride,
                  double *out);
  void (*d_int32)(ptrdiff_t count, const double *data, const int32_t *indices, const double *columns,
                  ptrdiff_t stride, double *out);
  void (*d_int64)(ptrdiff_t count, const double *data, const int64_t *indices, const double *columns,
                  ptrdiff_t stride, double *out);
} sparse_products;

const sparse_products *sparse_table(void);

#endif
