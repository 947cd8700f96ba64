/* The header LOOPS, once for float and then for double; the loops are word_f and word_d. */
#define PRECISION f
#include LOOPS
#undef PRECISION
#define PRECISION d
#include LOOPS
#undef PRECISION
#undef LOOPS
