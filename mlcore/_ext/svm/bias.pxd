"""The multiplier of an equality constraint from the gradients of its variables, one at a time.

`bias_of` is the one rule for every model: the mean over the free variables, or the middle of the
interval that the KKT conditions leave where there are none, or its end where it has only one. A
variable within 1e-12 of the largest from a bound (if there is an epsilon, from the kink at 0)
counts as at it: sums of steps leave residues there, and a residue is not free to move. Inline, for
other modules.
"""
from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int8_t


cdef struct bias:
    double rounding
    double top, bottom  # the maximum over I_up, the minimum over I_low
    double total        # of minus the gradients of free variables
    Py_ssize_t free


cdef inline bias bias_begin(Py_ssize_t m, const double* beta, const int8_t* group,
                            int8_t wanted) noexcept nogil:
    """Start the rule for a group, or for all variables if `group` is NULL."""
    cdef bias b
    cdef Py_ssize_t t
    b.rounding, b.top, b.bottom, b.total, b.free = 0, -INFINITY, INFINITY, 0, 0
    for t in range(m):
        if group == NULL or group[t] == wanted:
            b.rounding = max(b.rounding, fabs(beta[t]))
    b.rounding *= 1e-12
    return b


cdef inline void bias_take(bias* b, double gradient, double beta, double lower, double upper,
                           double epsilon) noexcept nogil:
    """Add one variable."""
    cdef bint in_up = upper - beta > b.rounding, in_low = beta - lower > b.rounding
    cdef bint kink = epsilon > 0 and fabs(beta) <= b.rounding
    cdef double up = -gradient - (epsilon if beta > 0 or kink else -epsilon)
    cdef double low = -gradient - (-epsilon if beta < 0 or kink else epsilon)
    if in_up:
        b.top = max(b.top, up)
    if in_low:
        b.bottom = min(b.bottom, low)
    if in_up and in_low and not kink:
        b.free += 1
        b.total += up


cdef inline bias bias_over(Py_ssize_t m, const double* product, const double* linear,
                           const double* beta, const double* lower, const double* upper,
                           double epsilon, const int8_t* group, int8_t wanted) noexcept nogil:
    """Apply the rule to all variables of a group; gradients are product + linear (NULL: 0)."""
    cdef bias b = bias_begin(m, beta, group, wanted)
    cdef Py_ssize_t t
    for t in range(m):
        if group == NULL or group[t] == wanted:
            bias_take(&b, product[t] if linear == NULL else product[t] + linear[t], beta[t],
                      lower[t], upper[t], epsilon)
    return b


cdef inline double bias_of(const bias* b) noexcept nogil:
    if b.free > 0:
        return -b.total / b.free
    if isfinite(b.top) and isfinite(b.bottom):
        return -0.5 * (b.top + b.bottom)
    if isfinite(b.top):
        return -b.top
    return -b.bottom if isfinite(b.bottom) else 0.0
