"""Objectives, gap and KKT violation of a dual solution, see mlcore.svm.smo.optimality.

Inline, for other modules. Sums are of blocks: their rounding hardly grows with the variables.
"""
from libc.float cimport DBL_EPSILON, DBL_MAX
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int8_t

cdef enum:
    BLOCK = 128


cdef struct optimality:
    double squared_norm  # beta'K beta
    double dual, primal
    double gap           # their difference, and what rounding of the products can hide of it
    double violation     # of the KKT conditions, the largest


cdef inline double up_value(double gradient, double beta, double upper,
                            double epsilon) noexcept nogil:
    """Minus the derivative upwards of a variable in I_up, which can increase; else -inf."""
    if not beta < upper:
        return -INFINITY
    return -gradient - (epsilon if beta >= 0 else -epsilon)


cdef inline double low_value(double gradient, double beta, double lower,
                             double epsilon) noexcept nogil:
    """Minus the derivative downwards of a variable in I_low, which can decrease; else inf."""
    if not beta > lower:
        return INFINITY
    return -gradient - (epsilon if beta > 0 else -epsilon)


cdef inline double violation_of(Py_ssize_t m, const double* linear, const double* lower,
                                const double* upper, double epsilon, const int8_t* group,
                                const double* beta, const double* product) noexcept nogil:
    """Largest violation of a pair: the maximum over I_up less the minimum over I_low of a group."""
    cdef double top[2]
    cdef double bottom[2]
    cdef double gradient
    cdef Py_ssize_t t
    top[0] = top[1] = -INFINITY
    bottom[0] = bottom[1] = INFINITY
    for t in range(m):
        gradient = product[t] + linear[t]
        top[group[t]] = max(top[group[t]], up_value(gradient, beta[t], upper[t], epsilon))
        bottom[group[t]] = min(bottom[group[t]],
                               low_value(gradient, beta[t], lower[t], epsilon))
    return max(0.0, max(top[0] - bottom[0], top[1] - bottom[1]))


cdef inline double excess_of(double rate, double beta, double lower, double upper,
                             double epsilon) noexcept nogil:
    """Return the loss of a variable that is not at its best; a bound is finite or unused."""
    if rate > epsilon:
        return (upper - beta) * (rate - epsilon) + 2 * epsilon * max(-beta, 0.0)
    if rate < -epsilon:
        return (beta - lower) * (-rate - epsilon) + 2 * epsilon * max(beta, 0.0)
    return epsilon * fabs(beta) - rate * beta


cdef inline optimality optimality_of(Py_ssize_t m, const double* linear, const double* lower,
                                     const double* upper, double epsilon, const int8_t* group,
                                     const double* beta, const double* product,
                                     const double* multiplier, const double* total,
                                     double rounding, double distance) noexcept nogil:
    """Objectives and violation for the `multiplier` and the required sum `total` of each group.

    `rounding` is the size of the errors in values of K: errors of mixed signs make about that
    times |beta| in a product. `distance` is that of the origin which was taken from the samples:
    an intercept that makes up for it is rounded. The gap is the largest for products within both.
    """
    cdef optimality found
    cdef double objective = 0, slacks = 0, hard = 0, rate, above, below, error
    cdef double squares_here, objective_here, slacks_here, gap_here
    cdef double length = 0, peak = 0, largest = 0
    cdef double sums[2]
    cdef bint unbounded = False
    cdef Py_ssize_t block, t
    for t in range(m):
        largest = max(largest, fabs(beta[t]))
        peak = max(peak, max(fabs(product[t]), fabs(linear[t])))
    found.squared_norm = found.gap = sums[0] = sums[1] = 0
    for t in range(m):
        sums[group[t]] += beta[t]
        if beta[t] != 0:
            length += (beta[t] / largest) * (beta[t] / largest)
            found.squared_norm += beta[t] * product[t]
    error = (2 * rounding * largest * sqrt(length) + 4 * DBL_EPSILON * peak
             + 2 * DBL_EPSILON * distance * sqrt(max(found.squared_norm, 0.0)))
    error = min(error, DBL_MAX / 4)  # 0 times infinity is no number
    found.squared_norm = 0
    for block in range((m + BLOCK - 1) // BLOCK):
        squares_here = objective_here = slacks_here = gap_here = 0
        for t in range(block * BLOCK, min(m, block * BLOCK + BLOCK)):
            squares_here += beta[t] * product[t]
            objective_here += linear[t] * beta[t] + epsilon * fabs(beta[t])
            rate = multiplier[group[t]] - (product[t] + linear[t])
            above, below = max(rate - epsilon, 0.0), max(-rate - epsilon, 0.0)
            if upper[t] < INFINITY:
                slacks_here += upper[t] * above
            else:
                unbounded, hard = True, max(hard, above)
            if lower[t] > -INFINITY:
                slacks_here -= lower[t] * below
            else:
                unbounded, hard = True, max(hard, below)
            if not unbounded:
                gap_here += max(excess_of(rate + error, beta[t], lower[t], upper[t], epsilon),
                                excess_of(rate - error, beta[t], lower[t], upper[t], epsilon))
        found.squared_norm += squares_here
        objective += objective_here
        slacks += slacks_here
        found.gap += gap_here
    found.dual = 0.0 - (0.5 * found.squared_norm + objective)
    if not unbounded:
        found.primal = (0.5 * found.squared_norm + slacks
                        - (multiplier[0] * total[0] + multiplier[1] * total[1]))
        # What two variables of a sample have in common cancels, but for their intercepts.
        found.gap += fabs(multiplier[0] * (total[0] - sums[0])
                          + multiplier[1] * (total[1] - sums[1]))
    else:  # no slack is allowed: w and b are scaled until every margin is 1
        found.primal = found.gap = INFINITY
        if hard < 1:
            found.primal = 0.5 * found.squared_norm / ((1 - hard) * (1 - hard))
        if hard + error < 1:
            above = 1 - hard - error
            found.gap = (0.5 * found.squared_norm / (above * above) - found.dual
                         + 8 * DBL_EPSILON * found.squared_norm)
    found.violation = violation_of(m, linear, lower, upper, epsilon, group, beta, product)
    return found
