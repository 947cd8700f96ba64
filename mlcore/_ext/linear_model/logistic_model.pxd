"""The quadratic model of a fit, with its penalty, and where it is least.

The intercept is eliminated. Inline, so that no call crosses a module.
"""
from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy

from mlcore._ext.linear_model.lasso_steps cimport one_sweep, shortest
from mlcore._ext.linear_model.logistic_folds cimport fold, point, problem
from mlcore._ext.linear_model.logistic_path_h cimport factor, solve

cdef enum:
    ROUNDS = 50  # of the model with absolute values
    DROPS = 12   # coefficients that become 0 in the Newton steps of a round
    SWEEPS = 10
cdef inline bint move_in_face(const problem* p, fold* f, double* x, const double* slope,
                              bint* stopped) noexcept nogil:
    """Go to the minimum with these signs, or to the first coefficient that becomes 0, where
    it has `stopped`. False if no coefficient can move.
    """
    cdef Py_ssize_t i, j, k, m = 0, first, w = p.width
    cdef double length = 1
    cdef double* u = f.w + 2 * (w + 1)
    cdef double* own = f.w + 3 * (w + 1)
    for j in range(p.d):
        if x[j] != 0 and f.M[j * w + j] > 0:
            f.members[m] = j
            m += 1
    if m == 0:
        return False
    for i in range(m):
        j = f.members[i]
        own[i] = x[j]
        u[i] = -slope[j] - (f.lasso[j] if x[j] > 0 else -f.lasso[j])
        for k in range(i, m):
            f.face[i * w + k] = f.M[j * w + f.members[k]]
    factor(m, w, f.face)
    solve(m, w, f.face, u)
    for i in range(m):
        if not fabs(u[i]) < INFINITY:
            return False
    first = shortest(m, own, u, &length)
    for i in range(m):
        x[f.members[i]] = own[i] + length * u[i] if i != first else 0
    stopped[0] = first >= 0
    return True


cdef inline void minimise(const problem* p, fold* f, const double* theta,
                          double* u) noexcept nogil:
    """u := step to the least ``u'u0 + u'Mu/2 + sum_j lasso_j |theta_j + u_j|``, for u0 in u."""
    cdef Py_ssize_t j, _round, _step, w = p.width, d = p.d
    cdef double tiny
    cdef bint stopped = False
    cdef double* new = f.w
    cdef double* slope = f.w + w + 1
    memcpy(new, theta, d * sizeof(double))
    for _round in range(ROUNDS):
        # Newton steps in the face.
        set_slope(d, w, f.M, u, theta, new, slope)
        for _step in range(DROPS):
            if not move_in_face(p, f, new, slope, &stopped):
                break
            set_slope(d, w, f.M, u, theta, new, slope)
            if not stopped:
                break
        # Sweeps over all coordinates, then over those that are not 0.
        tiny = 0
        for j in range(d):
            tiny += (new[j] - theta[j]) * (new[j] - theta[j]) * f.M[j * w + j]
        tiny *= 0.5e-7  # what is left, of the fall
        if one_sweep(d, w, f.M, f.lasso, new, slope, False) <= tiny:
            break
        for _step in range(SWEEPS):
            if one_sweep(d, w, f.M, f.lasso, new, slope, True) <= tiny:
                break
    for j in range(d):
        u[j] = new[j] - theta[j]


cdef inline void set_slope(Py_ssize_t d, Py_ssize_t w, const double* M, const double* u0,
                           const double* theta, const double* new, double* slope) noexcept nogil:
    """slope := u0 + M (new - theta)"""
    cdef Py_ssize_t i, j
    memcpy(slope, u0, d * sizeof(double))
    for j in range(d):
        if new[j] != theta[j]:
            for i in range(d):
                slope[i] += (new[j] - theta[j]) * M[j * w + i]


cdef inline double set_direction(const problem* p, fold* f, const point* at) noexcept nogil:
    """Set the step to the minimum of the model; return its slope, with that of the penalty."""
    cdef Py_ssize_t j, w = p.width
    cdef const double* cross = at.sums + w + 1
    cdef double slope = 0, of_intercept = at.sums[w], old, new
    cdef double* u = f.direction
    memcpy(f.M, f.H, w * w * sizeof(double))
    for j in range(p.d):
        f.M[j * w + j] += f.ridge[j]
        u[j] = at.slope[j] + f.ridge[j] * at.theta[j]
    if p.l1_ratio > 0:
        minimise(p, f, at.theta, u)
    else:
        factor(p.d, w, f.M)
        for j in range(p.d):
            u[j] = -u[j]
        solve(p.d, w, f.M, u)
    for j in range(p.d):
        if not fabs(u[j]) < INFINITY:
            return 0
        old, new = at.theta[j], at.theta[j] + u[j]
        slope += at.sums[j] * u[j] + f.ridge[j] * old * u[j] + f.lasso[j] * (fabs(new) - fabs(old))
        of_intercept += cross[j] * u[j]
    u[w] = 0
    if p.intercept and cross[w] > 0:
        u[w] = -of_intercept / cross[w]
        slope += at.sums[w] * u[w]
    return slope
