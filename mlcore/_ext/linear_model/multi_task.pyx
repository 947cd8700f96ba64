"""Hot loop of mlcore.linear_model.coordinate.multi_task: sweeps over features, each with a
coefficient for every target.

Minimised is ``P(W) = sum_t (w_t'G w_t/2 - c_t'w_t) + sum_j lasso_j |W_j| + ridge_j |W_j|²/2`` for
products of columns G (d, d), of columns with targets c_t (d,), and the coefficients W_j (k,) of a
feature, |W_j| their length. With the others fixed W_j has a closed form: it is shrunk or all 0.
"""
from libc.math cimport fmax, sqrt

from mlcore._ext.shared.blas cimport add_multiple


def sweep(const double[:, ::1] G, const double[::1] lasso, const double[::1] ridge,
          Py_ssize_t most, double[:, ::1] W, double[:, ::1] H, /):
    """Minimise P in each feature once, then up to `most` times in those that are not 0, until a
    sweep lowers P by less than 1 % of the first one.

    W (k, d) are coefficients; H (k, d) = C - W G are kept so.
    """
    cdef Py_ssize_t _step
    cdef double fall, first
    with nogil:
        first = fall = sweep_once(G, lasso, ridge, False, W, H)
        for _step in range(most):
            if not fall > 0.01 * first:
                break
            fall = sweep_once(G, lasso, ridge, True, W, H)


cdef double sweep_once(const double[:, ::1] G, const double[::1] lasso, const double[::1] ridge,
                       bint only_nonzero, double[:, ::1] W, double[:, ::1] H) noexcept nogil:
    """Minimise P in each feature once; return a part of its fall."""
    cdef Py_ssize_t j, t, d = W.shape[1], k = W.shape[0]
    cdef double curvature, length, shrink, new, target, fall = 0
    cdef bint zero
    for j in range(d):
        zero = True
        for t in range(k):
            zero = zero and W[t, j] == 0
        curvature = G[j, j] + ridge[j]
        if (only_nonzero and zero) or not curvature > 0:
            continue
        length = 0
        for t in range(k):
            target = H[t, j] + G[j, j] * W[t, j]
            length = length + target * target
        length = sqrt(length)
        if zero and not length > lasso[j]:
            continue
        shrink = fmax(length - lasso[j], 0)
        for t in range(k):
            new = 0
            if shrink > 0:
                new = shrink / length * (H[t, j] + G[j, j] * W[t, j]) / curvature
            if new != W[t, j]:
                fall = fall + curvature * (new - W[t, j]) * (new - W[t, j])
                add_multiple(<int> d, W[t, j] - new, &G[j, 0], &H[t, 0])
                W[t, j] = new
    return fall
