/* Columns of sparse rows: in range, and in order. */
#ifndef MLCORE_SPARSE_COLUMNS_H
#define MLCORE_SPARSE_COLUMNS_H

#include "shared/vector.h"

/* columns_fit: whether n columns are below d; to `descents` is added how many do not follow the one
   before. between_rows: how many of these begin one of the rows from `first` to `last`, where
   entries begin at `begin`. */
#define SPARSE_COLUMNS(index, unsigned_index)                                                     \
  INLINE int columns_fit_##index(const int counted, ptrdiff_t n, const index##_t *columns,        \
                                 ptrdiff_t d, ptrdiff_t *descents) {                              \
    unsigned_index outside = 0;                                                                   \
    index##_t falls = 0;                                                                          \
    for (ptrdiff_t p = 0; p < n; p++)                                                             \
      outside |= (unsigned_index)((unsigned_index)columns[p] >= (unsigned_index)d);               \
    if (counted)                                                                                  \
      for (ptrdiff_t p = 1; p < n; p++) falls += columns[p] <= columns[p - 1];                    \
    *descents += falls;                                                                           \
    return !outside;                                                                              \
  }                                                                                               \
  INLINE ptrdiff_t between_rows_##index(ptrdiff_t first, ptrdiff_t last, const index##_t *starts, \
                                        ptrdiff_t begin, const index##_t *columns) {              \
    ptrdiff_t falls = 0;                                                                          \
    for (ptrdiff_t i = first; i < last; i++) {                                                    \
      const ptrdiff_t left = starts[i];                                                           \
      falls += left > begin && left < starts[i + 1] && columns[left] <= columns[left - 1];        \
    }                                                                                             \
    return falls;                                                                                 \
  }                                                                                               \
  INLINE int is_ascending_##index(ptrdiff_t n, const index##_t *columns) {                        \
    int falls = 0;                                                                                \
    for (ptrdiff_t p = 1; p < n; p++) falls |= columns[p] <= columns[p - 1];                      \
    return !falls;                                                                                \
  }
SPARSE_COLUMNS(int32, uint32_t)
SPARSE_COLUMNS(int64, uint64_t)

#endif
