"""Rounds of least squares with absolute values, by products of columns, and their certificates.
Inline, so that no call crosses a module.

Minimised is ``P(w) = y2/2 - c'w + w'Gw/2 + sum_j lasso_j |w_j| + ridge_j w_j²/2`` for products of
columns G (d, d), of columns with the target c (d,), and the target's squares y2. Slopes are
``g = c - Gw - ridge w``. A round is a Newton step in the face, the coefficients that are not 0, up
to those that become 0, and then sweeps over coordinates until signs rest. Both lower P.
"""
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, fabs, fmax, fmin, sqrt

from mlcore._ext.linear_model.face cimport (
    RESTS, WAITS, Face, begin_face, match_face, solve_face, solve_transposed
)
from mlcore._ext.shared.blas cimport add_multiple

cdef enum:
    SWEEPS = 10   # in a round, over coefficients that are not 0
    DROPS = 12    # coefficients that become 0 in the Newton steps of a round, if none depends
    CROWDS = 10   # rounds of sweeps, after which coefficients become other than 0 one by one
    SINGLE = 50   # of these in a round
    STALLS = 4    # rounds without a better gap, after which rounding is all that is left


cdef struct Certificate:
    double objective  # P
    double gap        # at least P less its minimum, up to rounding that `noise` does not know of
    double t          # t times the residuals are feasible in the dual
    double error      # of a slope, over the size of its column


cdef struct Rounding:
    double of_size    # of slopes, by the size of columns times (|y| + reach)
    double of_coef    # the same times the reach alone, of rounded coefficients
    double of_ridge   # of ridge_j |w_j|


cdef struct Problem:
    Py_ssize_t d
    Py_ssize_t width     # of rows of G
    const double* G
    const double* c
    double y2
    const double* lasso
    const double* ridge
    const double* size   # lengths of columns
    Rounding errors


cdef inline Certificate minimise(const Problem* p, double* w, double* g, double* u, Face* face,
                                 bint keep, double tol, Py_ssize_t max_rounds,
                                 Py_ssize_t* rounds) noexcept nogil:
    """Minimise P from w on, until the gap is at most `tol`; the result is the certificate of the
    last w. With `keep` the factor of the face is still that of G and ridge.
    """
    cdef Certificate proof
    cdef Py_ssize_t count, changes, _step, stalls = 0
    cdef double least = INFINITY
    rounds[0] = 0
    if not keep:
        begin_face(face, p.G, p.width, p.ridge, p.d)
    set_slopes(p, w, g)
    proof = by_products(p, w, g)
    if proof.gap <= DBL_EPSILON * proof.objective:
        return proof
    for count in range(max_rounds):
        rounds[0] = count + 1
        # Newton steps in the face.
        if minimise_in_face(p, w, g, u, face):
            stalls = 0
        proof = by_products(p, w, g)
        if proof.gap <= tol or stalls >= STALLS:
            break
        stalls = stalls + 1 if proof.gap > 0.5 * least else 0
        least = fmin(least, proof.gap)
        if count >= CROWDS:
            stalls = 0 if enter_singly(p, w, g, u, face) else stalls
            continue
        # Sweeps over all coordinates, then over those that are not 0, until signs rest.
        changes = sweep_once(p, w, g, False)
        if changes:
            stalls = 0
        for _step in range(SWEEPS):
            if changes == 0:
                break
            changes = sweep_once(p, w, g, True)
    else:
        set_slopes(p, w, g)
        proof = by_products(p, w, g)
    return proof


cdef inline void set_slopes(const Problem* p, const double* w, double* g) noexcept nogil:
    """g := c - G w - ridge w."""
    cdef Py_ssize_t j
    for j in range(p.d):
        g[j] = p.c[j] - p.ridge[j] * w[j]
    for j in range(p.d):
        if w[j] != 0:
            add_multiple(<int> p.d, -w[j], p.G + j * p.width, g)


cdef inline Py_ssize_t sweep_once(const Problem* p, double* w, double* g,
                                  bint only_nonzero) noexcept nogil:
    """Minimise P in each coordinate once; return the number of signs that changed."""
    cdef Py_ssize_t j, changes = 0
    cdef double curvature, target, new
    for j in range(p.d):
        if w[j] == 0 and (only_nonzero or fabs(g[j]) <= p.lasso[j]):
            continue
        curvature = p.G[j * p.width + j] + p.ridge[j]
        if not curvature > 0:
            continue
        target = g[j] + curvature * w[j]
        new = 0
        if fabs(target) > p.lasso[j]:
            new = (target - p.lasso[j] if target > 0 else target + p.lasso[j]) / curvature
        if new == w[j]:
            continue
        if (new > 0) - (new < 0) != (w[j] > 0) - (w[j] < 0):
            changes += 1
        add_multiple(<int> p.d, w[j] - new, p.G + j * p.width, g)
        g[j] = g[j] - p.ridge[j] * (new - w[j])
        w[j] = new
    return changes


cdef inline bint enter_singly(const Problem* p, double* w, double* g, double* u,
                              Face* face) noexcept nogil:
    """Let the coefficient with the steepest slope leave 0, and go to the minimum of the new face,
    many times; True if any did.
    """
    cdef Py_ssize_t j, _step, best
    cdef double most, one, curvature
    for _step in range(SINGLE):
        most, best = 0, -1
        for j in range(p.d):
            one = (fabs(g[j]) - p.lasso[j]) * face.scale[j]
            if w[j] == 0 and one > most:
                most, best = one, j
        if best < 0 or not most > 1e-14 * sqrt(p.y2):
            return _step > 0
        curvature = p.G[best * p.width + best] + p.ridge[best]
        w[best] = (g[best] - (p.lasso[best] if g[best] > 0 else -p.lasso[best])) / curvature
        add_multiple(<int> p.d, -w[best], p.G + best * p.width, g)
        g[best] = g[best] - p.ridge[best] * w[best]
        minimise_in_face(p, w, g, u, face)
    return True


cdef inline bint minimise_in_face(const Problem* p, double* w, double* g, double* u,
                                  Face* face) noexcept nogil:
    """Newton steps until no coefficient becomes 0, or many did; True if any did."""
    cdef Py_ssize_t j, steps, most = DROPS
    for j in range(p.d):
        if face.inside[j] == RESTS:
            face.inside[j] = WAITS
        most += face.inside[j] == WAITS
    for steps in range(p.d + most):
        if steps == most and face.count < p.d:
            for j in range(p.d):  # those that came to wait
                most += face.inside[j] == WAITS
        if steps == most or not step_in_face(p, w, g, u, face):
            break
    set_slopes(p, w, g)
    return steps > 0


cdef inline bint step_in_face(const Problem* p, double* w, double* g, double* u,
                              Face* face) noexcept nogil:
    """Go to the minimum with these signs, or to the first w_j that becomes 0; True if one did.

    Only the slopes of the face are those of the new w.
    """
    cdef Py_ssize_t i, j, waits = match_face(face, p.G, p.width, w, p.d)
    while waits >= 0:
        if step_along_dependence(p, w, g, u, face, waits):
            return True
        face.inside[waits] = RESTS
        waits = match_face(face, p.G, p.width, w, p.d)
    if face.count == 0:
        return False
    for i in range(face.count):
        j = face.members[i]
        u[i] = g[j] - (p.lasso[j] if w[j] > 0 else -p.lasso[j])
    solve_face(face, u)
    for i in range(face.count):
        if not fabs(u[i]) < INFINITY:
            return False
    return go(p, w, g, u, face, -1, 0, 1)


cdef inline bint step_along_dependence(const Problem* p, double* w, double* g, double* u,
                                       Face* face, Py_ssize_t waits) noexcept nogil:
    """Change a coefficient and those of the members on which its column depends, so that the fit
    stays as it is, until one becomes 0; False if none does.
    """
    cdef Py_ssize_t i, j, m = face.count
    cdef double* row = face.L + m * face.width
    cdef double change = face.scale[waits], fall
    for i in range(m):
        u[i] = -row[i]
    solve_transposed(face, u)
    fall = change * (g[waits] - (p.lasso[waits] if w[waits] > 0 else -p.lasso[waits]))
    for i in range(m):
        j = face.members[i]
        fall += u[i] * (g[j] - (p.lasso[j] if w[j] > 0 else -p.lasso[j]))
    if fall < 0:
        change, fall = -change, -fall
        for i in range(m):
            u[i] = -u[i]
    if not 0 < fall < INFINITY:
        return False
    return go(p, w, g, u, face, waits, change, fall / (row[m] * row[m]) if row[m] > 0 else INFINITY)


cdef inline bint go(const Problem* p, double* w, double* g, const double* u, const Face* face,
                    Py_ssize_t other, double change, double length) noexcept nogil:
    """Add `length` times u to the members, and times `change` to the `other` coefficient, or go to
    the first that becomes 0; True if one did.
    """
    cdef Py_ssize_t i, j, first = -1
    cdef double limit
    for i in range(face.count):
        j = face.members[i]
        if (u[i] < 0) != (w[j] < 0) and u[i] != 0:
            limit = -w[j] / u[i]
            if limit <= length:
                length, first = limit, j
    if other >= 0 and (change < 0) != (w[other] < 0) and -w[other] / change <= length:
        length, first = -w[other] / change, other
    if not length < INFINITY:
        return False
    for i in range(face.count):
        j = face.members[i]
        if other < 0:  # else the fit does not change
            g[j] -= length * (g[j] - (p.lasso[j] if w[j] > 0 else -p.lasso[j]))
        w[j] += length * u[i]
    if other >= 0:
        w[other] += length * change
    if first >= 0:
        w[first] = 0
    return first >= 0


cdef inline Certificate by_products(const Problem* p, const double* w,
                                    const double* g) noexcept nogil:
    """Return the certificate with the squares of residuals from products, which lose digits."""
    cdef Py_ssize_t j
    cdef double squares = p.y2, terms = p.y2
    for j in range(p.d):
        squares -= w[j] * (p.c[j] + g[j])
        terms += fabs(w[j]) * (fabs(p.c[j]) + fabs(g[j]))
    return certificate(p, w, g, fmax(squares, 0) + 8 * DBL_EPSILON * terms)


cdef inline Certificate certificate(const Problem* p, const double* w, const double* g,
                                    double squares) noexcept nogil:
    """Return P and the gap to t times the residuals, for the `squares` R2 of residuals and ridge.

    It is ``(1 - t)² R2/2 + sum_j (lasso_j |w_j| - t w_j g_j)``, which is at least 0 term by term,
    for t with ``|t g_j| <= lasso_j``; D(t) is largest at ``1 + w'g/R2``.
    """
    cdef Certificate proof
    cdef Py_ssize_t j
    cdef double reach = 0, absolute = 0, product = 0, products = 0, noise = 0, error, one
    cdef double rest, most = INFINITY, t = 1
    for j in range(p.d):
        reach += p.size[j] * fabs(w[j])
    one = p.errors.of_size * (sqrt(p.y2) + reach) + p.errors.of_coef * reach
    for j in range(p.d):
        error = p.size[j] * one + p.errors.of_ridge * p.ridge[j] * fabs(w[j])
        if p.lasso[j] < most * (fabs(g[j]) + error):
            most = p.lasso[j] / (fabs(g[j]) + error)
        absolute += p.lasso[j] * fabs(w[j])
        product += w[j] * g[j]
        products += fabs(w[j] * g[j])
        noise += fabs(w[j]) * error
    if squares > 0:
        t = 1 + product / squares
    t = fmax(fmin(t, most), -most)
    proof.t, proof.error = t, one
    proof.objective = 0.5 * squares + absolute
    rest = (1 - t) * (sqrt(squares) + one)  # the residuals are as rounded as their slopes
    proof.gap = 0.5 * rest * rest + (absolute - t * product) + fabs(t) * noise
    proof.gap += 8 * DBL_EPSILON * (absolute + fabs(t) * products)
    return proof
