"""Loop of mlcore.svm.smo.bias: the multiplier of one equality constraint, see bias.pxd."""
from libc.stdint cimport int8_t


def multiplier(const double[::1] gradient, const double[::1] beta, const double[::1] lower,
               const double[::1] upper, double epsilon, const int8_t[::1] group, int8_t wanted, /):
    """(low, high, value) for the variables of the `wanted` group; arrays (m,)."""
    cdef Py_ssize_t m = beta.shape[0]
    cdef bias b
    if m == 0:
        return -float("inf"), float("inf"), 0.0
    with nogil:
        b = bias_over(m, &gradient[0], NULL, &beta[0], &lower[0], &upper[0], epsilon, &group[0],
                      wanted)
    return -b.bottom, -b.top, bias_of(&b)
