/* E-step of probabilistic principal components where values are missing (M. Tipping, C. Bishop,
   Probabilistic principal component analysis, JRSS B 61, 1999).

   Rows that know the same features share M = noise I + W'W over these, and so its factor and the
   covariance noise M^-1 of z. For a row, z = M^-1 W'(x - mean), and the exponent of its density is
   |x - mean - W z|^2 / noise + |z|^2: a sum of squares, in which nothing cancels. */
#include "decomposition/probabilistic_pca.h"

#include "shared/table.h"

#define LOOPS "decomposition/probabilistic_pca_loops.h"
#include "shared/both_precisions.h"

SIMD_TABLE(probabilistic_pca, .f = {.group = group_f}, .d = {.group = group_d})
