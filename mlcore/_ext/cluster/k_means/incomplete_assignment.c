/* Nearest centres by the values that are known of a sample.

   Lanes are centres, and the features that are not known are left out, so that a value costs one
   subtraction and one multiply-add for each centre: differences lose no digits wherever the data
   lie. A bound on the gap (how much nearer the own centre is than any other) rules out searches
   that change no label: distances over some features obey the triangle inequality too, and a
   centre moves no farther along them than it moves. */
#include "cluster/k_means/incomplete_assignment.h"

#include "shared/table.h"

#define LOOPS "cluster/k_means/incomplete_assignment_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(incomplete_assignment,
           .f = {.assign = assign_f, .lower = lower_f, .distances = distances_f, .own = own_f},
           .d = {.assign = assign_d, .lower = lower_d, .distances = distances_d, .own = own_d})
