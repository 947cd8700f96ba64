/* The columns of a sparse row, which come in any order and are taken in theirs: with some thousand
   columns a fourth of the time of sorting them. */
#ifndef MLCORE_COLUMN_SET_H
#define MLCORE_COLUMN_SET_H

#include <stddef.h>
#include <stdint.h>

/* A bit for each column (d / 64 + 1 words), and for each of these words that is not 0 (d / 4096 + 1
   words): all 0 while the set is empty. Words of the latter from `first` to `last` may not be 0;
   `bits` of the word `at`, and of the last word read from `full` `words`, are still to be taken. */
typedef struct {
  uint64_t *columns;
  uint64_t *full;
  ptrdiff_t first;
  ptrdiff_t last;
  ptrdiff_t at;
  uint64_t words;
  uint64_t bits;
} column_set;

/* An empty set in zeros of d / 64 + d / 4096 + 2 words. */
static inline column_set empty_set(uint64_t *zeros, ptrdiff_t d) {
  const column_set set = {zeros, zeros + d / 64 + 1, PTRDIFF_MAX, -1, 0, 0, 0};
  return set;
}

static inline void add_column(column_set *set, ptrdiff_t column) {
  const ptrdiff_t word = column >> 6, w = word >> 6;
  set->columns[word] |= (uint64_t)1 << (column & 63);
  set->full[w] |= (uint64_t)1 << (word & 63);
  set->first = w < set->first ? w : set->first;
  set->last = w > set->last ? w : set->last;
}

/* Take the lowest column out of the set; -1 if it is empty. No column is added between the first
   that is taken and the last. */
static inline ptrdiff_t take_column(column_set *set) {
  while (!set->bits) {
    while (!set->words) {
      if (set->first > set->last) {
        set->first = PTRDIFF_MAX;
        set->last = -1;
        return -1;
      }
      set->words = set->full[set->first];
      set->full[set->first] = 0;
      set->first++;
    }
    set->at = (set->first - 1) * 64 + __builtin_ctzll(set->words);
    set->words &= set->words - 1;
    set->bits = set->columns[set->at];
    set->columns[set->at] = 0;
  }
  const ptrdiff_t column = set->at * 64 + __builtin_ctzll(set->bits);
  set->bits &= set->bits - 1;
  return column;
}

#endif
