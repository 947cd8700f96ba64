"""Objectives and KKT violation of a dual solution in one pass, see mlcore.svm.smo.optimality.

Inline, for other modules. Sums are of blocks: their rounding hardly grows with the variables.
"""
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t

cdef enum:
    BLOCK = 128


cdef struct optimality:
    double squared_norm  # beta'K beta
    double dual, primal
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


cdef inline optimality optimality_of(Py_ssize_t m, const double* linear, const double* lower,
                                     const double* upper, double epsilon, const int8_t* group,
                                     const double* beta, const double* product,
                                     const double* multiplier,
                                     const double* total) noexcept nogil:
    """Objectives and violation for the `multiplier` and the required sum `total` of each group."""
    cdef optimality found
    cdef double objective = 0, slacks = 0, hard = 0, rate, above, below
    cdef double squares_here, objective_here, slacks_here
    cdef bint unbounded = False
    cdef Py_ssize_t block, t
    found.squared_norm = 0
    for block in range((m + BLOCK - 1) // BLOCK):
        squares_here = objective_here = slacks_here = 0
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
        found.squared_norm += squares_here
        objective += objective_here
        slacks += slacks_here
    found.dual = -(0.5 * found.squared_norm + objective)
    if not unbounded:
        found.primal = (0.5 * found.squared_norm + slacks
                        - (multiplier[0] * total[0] + multiplier[1] * total[1]))
    elif hard < 1:  # no slack is allowed: w and b are scaled until every margin is 1
        found.primal = 0.5 * found.squared_norm / ((1 - hard) * (1 - hard))
    else:
        found.primal = INFINITY
    found.violation = violation_of(m, linear, lower, upper, epsilon, group, beta, product)
    return found
