"""Points of a fit to a fold of rows: what is computed there, and the duality gap.

The gap is exact for residuals q - y with ``q = p - delta p (1 - p)``, whose weighted sum is 0,
times t <= 1, so that ``|t g_j| <= lasso_j``. Of each row the relative entropy of q to p is at most
``(q - p)² / (p (1 - p))``. Inline, so that no call crosses a module.
"""
from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.string cimport memcpy, memset

from mlcore._ext.linear_model.logistic_path_h cimport PATH_ROWS, entropies, hessian, sums
from mlcore._ext.shared.signals cimport interrupted, shared_items

cdef enum:
    AT_ONCE = 32       # blocks of rows of a Hessian
    WORK = 20_000_000  # multiply-adds between looks for Ctrl-C
    FIGURES = 6        # of a fit: loss, entropies of delta, near and far; gap, steps

ctypedef struct problem:
    Py_ssize_t blocks, width, d, max_iter
    const double* X
    const double* sign
    const double* scale  # (folds, d)
    bint equal, intercept
    double l1_ratio, tol

ctypedef struct point:
    double* theta      # (width + 1,), the intercept last
    double* sums       # (2, width + 1)
    double* z
    double* h
    double* slope      # (width,): of the losses at the feasible residuals, before t
    double near[2]     # entropies, once `known`
    double loss, value, of_delta, gap
    bint known

ctypedef struct fold:
    const double* s
    double* ridge
    double* lasso
    double* H          # (width, width), without the intercept
    double* M
    double* face       # the same, and factors
    double* direction  # (width + 1,)
    double* start      # (width + 1,): the minimum of the model
    double* error      # (width + 1,): of that in the last fit
    double* w          # scratch, 3 (width + 1)
    double* r          # scratch of rows, (width + 1, PATH_ROWS)
    Py_ssize_t* members
    double work
    bint current       # H is that of the point


cdef inline void set_penalty(const problem* p, fold* f, const double* scale,
                             double strength) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(p.d):
        f.ridge[j] = fmin(strength * (1 - p.l1_ratio) * scale[j] * scale[j], 1e300)
        f.lasso[j] = fmin(strength * p.l1_ratio * scale[j], 1e300)


cdef inline void evaluate(const problem* p, fold* f, point* at) noexcept nogil:
    """Set what is computed from rows, and the slopes at feasible residuals."""
    cdef Py_ssize_t j
    cdef double delta = 0, mass
    at.loss = sums(p.blocks, p.width, p.X, at.theta, at.theta[p.width], p.equal, p.sign, f.s,
                   at.z, at.h, f.r, at.sums)
    at.known = False
    f.work += p.blocks * PATH_ROWS * (3 * p.width + 40)
    mass = at.sums[2 * p.width + 1]
    if p.intercept and at.sums[p.width] != 0:
        delta = at.sums[p.width] / mass if mass > 0 else INFINITY
    at.of_delta = delta * delta * mass if fabs(delta) <= 0.5 else INFINITY
    if not fabs(delta) < INFINITY:
        delta = 0
    for j in range(p.width):
        at.slope[j] = at.sums[j] - delta * at.sums[p.width + 1 + j]


cdef inline void look(fold* f, shared_items* items, bint main) noexcept nogil:
    """Have the main thread look for Ctrl-C, if there was enough work since it last did."""
    if f.work > WORK:
        f.work = 0
        if main and interrupted():
            items.stop = 1


cdef inline void set_hessian(const problem* p, fold* f, const point* at, shared_items* items,
                             bint main) noexcept nogil:
    """H := that of the losses, less what the intercept takes, with both halves."""
    cdef Py_ssize_t i, j, k = 0, w = p.width
    cdef const double* cross = at.sums + w + 1
    memset(f.H, 0, w * w * sizeof(double))
    while k < p.blocks:
        hessian(min(AT_ONCE, p.blocks - k), w, p.X + k * w * PATH_ROWS, at.h + k * PATH_ROWS, f.r,
                f.H)
        k += AT_ONCE
        f.work += AT_ONCE * PATH_ROWS * w * (w + 5) / 2
        look(f, items, main)
        if items.stop:
            return
    f.current = True
    for i in range(p.d):
        for j in range(i, p.d):
            if p.intercept and cross[w] > 0:
                f.H[i * w + j] -= cross[i] / cross[w] * cross[j]
            f.H[j * w + i] = f.H[i * w + j]
        f.H[i * w + i] = fmax(f.H[i * w + i], 0)


cdef inline void certify(const problem* p, const fold* f, point* at) noexcept nogil:
    """Set F and its gap, with the penalty of the fold."""
    cdef Py_ssize_t j
    cdef double inside = 1, one = 0, penalty = 0, x, outside
    for j in range(p.d):
        x = fabs(at.theta[j])
        penalty += x * (f.lasso[j] + 0.5 * f.ridge[j] * x)
        if fabs(at.slope[j]) * inside > f.lasso[j]:
            inside = f.lasso[j] / fabs(at.slope[j])
        outside = fmax(fabs(at.slope[j]) - f.lasso[j], 0)
        x = at.theta[j]
        if f.ridge[j] > 0:  # what is left of slopes and both penalties, at least 0
            if p.l1_ratio == 0:
                x = f.ridge[j] * x + at.slope[j]
                one += 0.5 * x / f.ridge[j] * x
            else:
                one += 0.5 * outside / f.ridge[j] * outside
                one += fabs(x) * (f.lasso[j] + 0.5 * f.ridge[j] * fabs(x)) + x * at.slope[j]
        elif outside > 0 or p.l1_ratio == 0 and at.slope[j] != 0:
            one = INFINITY
        else:
            one += fabs(x) * f.lasso[j] + x * at.slope[j]
    at.value = at.loss + penalty
    at.gap = one + at.of_delta
    if p.l1_ratio == 0 or inside == 1:
        return
    one = 0
    for j in range(p.d):
        x = at.theta[j]
        one += fabs(x) * (f.lasso[j] + 0.5 * f.ridge[j] * fabs(x)) + inside * x * at.slope[j]
    if one < at.gap:
        at.gap = fmin(at.gap, one + shrunk(p, f, at, 1 - inside, p.tol * at.value - one))


cdef inline double shrunk(const problem* p, const fold* f, point* at, double off,
                          double enough) noexcept nogil:
    """Return the entropies of residuals times 1 - off; exactly only if that may be `enough`."""
    cdef double most = off * at.loss + at.of_delta
    if most <= enough or enough < 0:
        return most
    if not at.known:
        entropies(p.blocks, at.z, p.sign, f.s, at.near)
        at.known = True
    return fmin(most, 2 * off * off * at.near[0] + off * at.near[1] + 2 * at.of_delta)


cdef inline void keep(const problem* p, const fold* f, point* at, double* theta, double* slopes,
                      double* figures) noexcept nogil:
    """Store what was found, with all entropies."""
    if p.l1_ratio > 0 and not at.known:
        entropies(p.blocks, at.z, p.sign, f.s, at.near)
        at.known = True
    memcpy(theta, at.theta, (p.width + 1) * sizeof(double))
    memcpy(slopes, at.slope, p.width * sizeof(double))
    figures[0], figures[1], figures[4] = at.loss, at.of_delta, at.gap
    figures[2] = at.near[0] if at.known else 0
    figures[3] = at.near[1] if at.known else 0
