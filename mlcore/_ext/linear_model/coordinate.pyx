"""Hot loops of mlcore.linear_model.coordinate: least squares with absolute values, by products.

Minimised is ``P(w) = y2/2 - c'w + w'Gw/2 + sum_j lasso_j |w_j| + ridge_j w_j²/2`` for products of
columns G (d, d), of columns with the target c (d,), and the target's squares y2. Slopes are
``g = c - Gw - ridge w``. A round is a Newton step in the face, the coefficients that are not 0, up
to those that become 0, and then sweeps over coordinates until signs rest. Both lower P.
"""
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, fabs, fmax, fmin, sqrt

from mlcore._ext.shared.blas cimport add_multiple, cholesky, cholesky_solve

cdef enum:
    SWEEPS = 10   # in a round, over coefficients that are not 0
    DROPS = 12    # coefficients that become 0 in the Newton steps of a round
    STALLS = 4    # rounds without a better gap, after which rounding is all that is left

cdef double RIDGE = 1e-12      # of a face of unit diagonal that is singular
cdef double SINGULAR = 1e-13   # square of a pivot of such a face


cdef struct Certificate:
    double objective  # P
    double gap        # at least P less its minimum, up to rounding that `noise` does not know of


cdef struct Rounding:
    double of_size    # of slopes, by the size of columns times (|y| + reach)
    double of_coef    # the same times the reach alone, of rounded coefficients
    double of_ridge   # of ridge_j |w_j|


def descend(const double[:, ::1] G, const double[::1] c, double y2, const double[::1] lasso,
            const double[::1] ridge, const double[::1] alphas, const double[::1] size,
            const double[::1] noise, double tol, Py_ssize_t max_rounds, double[::1] w,
            double[:, ::1] scratch, double[::1] face, Py_ssize_t[::1] members, double[:, ::1] W,
            double[:, ::1] figures, /):
    """Minimise P for penalties ``alpha lasso`` and ``alpha ridge``, of each alpha from w of the one
    before, until the gap is at most `tol`.

    `w` (d,) begins and is the last. W (m, d) are the minimisers; `figures` (m, 3) are P, the gap
    and the number of rounds. `size` (d,) are lengths of columns and `noise` (3,) the fields of
    `Rounding`. Scratch: `scratch` (4, d), `face` (d d,), `members` (d,).
    """
    cdef Py_ssize_t j, k, d = c.shape[0], rounds = 0
    cdef double[::1] absolute = scratch[0]
    cdef double[::1] square = scratch[1]
    cdef double[::1] g = scratch[2]
    cdef double[::1] u = scratch[3]
    cdef Rounding errors
    cdef Certificate proof
    errors.of_size, errors.of_coef, errors.of_ridge = noise[0], noise[1], noise[2]
    with nogil:
        for k in range(alphas.shape[0]):
            for j in range(d):
                absolute[j] = fmin(alphas[k] * lasso[j], 1e300)
                square[j] = fmin(alphas[k] * ridge[j], 1e300)
            proof = minimise(G, c, y2, absolute, square, size, errors, tol, max_rounds, w, g, u,
                             face, members, &rounds)
            W[k, :] = w
            figures[k, 0], figures[k, 1] = proof.objective, proof.gap
            figures[k, 2] = <double> rounds


def duality_gap(const double[::1] w, const double[::1] g, double squares, double y2,
                const double[::1] lasso, const double[::1] ridge, const double[::1] size,
                const double[::1] noise, /):
    """Return P and its duality gap for slopes g (d,) and the `squares` of residuals, from rows."""
    cdef Rounding errors
    cdef Certificate proof
    cdef Py_ssize_t j
    errors.of_size, errors.of_coef, errors.of_ridge = noise[0], noise[1], noise[2]
    for j in range(w.shape[0]):
        squares = squares + ridge[j] * w[j] * w[j]
    proof = certificate(w, g, squares, y2, lasso, ridge, size, errors)
    return proof.objective, proof.gap


cdef Certificate minimise(const double[:, ::1] G, const double[::1] c, double y2,
                          const double[::1] lasso, const double[::1] ridge,
                          const double[::1] size, Rounding errors, double tol,
                          Py_ssize_t max_rounds, double[::1] w, double[::1] g, double[::1] u,
                          double[::1] face, Py_ssize_t[::1] members,
                          Py_ssize_t* rounds) noexcept nogil:
    """Minimise P from w on; the result is the best certificate, of the last w."""
    cdef Certificate proof
    cdef Py_ssize_t count, changes, _step, stalls = 0
    cdef double least = INFINITY
    rounds[0] = 0
    set_slopes(G, c, ridge, w, g)
    proof = by_products(w, c, g, y2, lasso, ridge, size, errors)
    if proof.gap <= DBL_EPSILON * proof.objective:
        return proof
    for count in range(max_rounds):
        rounds[0] = count + 1
        # Newton steps in the face.
        for _step in range(DROPS):
            if not step_in_face(G, c, lasso, ridge, w, g, u, face, members):
                break
            stalls = 0
        proof = by_products(w, c, g, y2, lasso, ridge, size, errors)
        if proof.gap <= tol or stalls >= STALLS:
            break
        stalls = stalls + 1 if proof.gap > 0.5 * least else 0
        least = fmin(least, proof.gap)
        # Sweeps over all coordinates, then over those that are not 0, until signs rest.
        changes = sweep_once(G, lasso, ridge, w, g, False)
        if changes:
            stalls = 0
        for _step in range(SWEEPS):
            if changes == 0:
                break
            changes = sweep_once(G, lasso, ridge, w, g, True)
    else:
        set_slopes(G, c, ridge, w, g)
        proof = by_products(w, c, g, y2, lasso, ridge, size, errors)
    return proof


cdef void set_slopes(const double[:, ::1] G, const double[::1] c, const double[::1] ridge,
                     const double[::1] w, double[::1] g) noexcept nogil:
    """g := c - G w - ridge w."""
    cdef Py_ssize_t j, d = c.shape[0]
    for j in range(d):
        g[j] = c[j] - ridge[j] * w[j]
    for j in range(d):
        if w[j] != 0:
            add_multiple(<int> d, -w[j], &G[j, 0], &g[0])


cdef Py_ssize_t sweep_once(const double[:, ::1] G, const double[::1] lasso,
                           const double[::1] ridge, double[::1] w, double[::1] g,
                           bint only_nonzero) noexcept nogil:
    """Minimise P in each coordinate once; return the number of signs that changed."""
    cdef Py_ssize_t j, changes = 0, d = w.shape[0]
    cdef double curvature, target, new
    for j in range(d):
        if w[j] == 0 and (only_nonzero or fabs(g[j]) <= lasso[j]):
            continue
        curvature = G[j, j] + ridge[j]
        if not curvature > 0:
            continue
        target = g[j] + curvature * w[j]
        new = 0
        if fabs(target) > lasso[j]:
            new = (target - lasso[j] if target > 0 else target + lasso[j]) / curvature
        if new == w[j]:
            continue
        if (new > 0) - (new < 0) != (w[j] > 0) - (w[j] < 0):
            changes += 1
        add_multiple(<int> d, w[j] - new, &G[j, 0], &g[0])
        g[j] = g[j] - ridge[j] * (new - w[j])
        w[j] = new
    return changes


cdef bint step_in_face(const double[:, ::1] G, const double[::1] c, const double[::1] lasso,
                       const double[::1] ridge, double[::1] w, double[::1] g, double[::1] u,
                       double[::1] face, Py_ssize_t[::1] members) noexcept nogil:
    """Go to the minimum with these signs, or to the first w_j that becomes 0; True if one did.

    The slopes are computed anew.
    """
    cdef Py_ssize_t i, j, k, m = 0, first = -1, d = w.shape[0]
    cdef double fall, curvature, row, limit, length = 1
    cdef bint singular
    for j in range(d):
        if w[j] != 0 and G[j, j] + ridge[j] > 0:
            members[m] = j
            m += 1
    if m == 0:
        return False
    singular = not factored(G, ridge, members, m, 0, &face[0])
    if singular and not factored(G, ridge, members, m, RIDGE, &face[0]):
        return False
    for i in range(m):
        j = members[i]
        u[i] = (g[j] - (lasso[j] if w[j] > 0 else -lasso[j])) / sqrt(G[j, j] + ridge[j])
    cholesky_solve(<int> m, 1, &face[0], &u[0])
    for i in range(m):
        j = members[i]
        u[i] = u[i] / sqrt(G[j, j] + ridge[j])
        if not fabs(u[i]) < INFINITY:
            return False
    if singular:  # the length that is best: without end where the fit does not change
        fall = curvature = 0
        for i in range(m):
            j = members[i]
            fall += u[i] * (g[j] - (lasso[j] if w[j] > 0 else -lasso[j]))
            row = ridge[j] * u[i]
            for k in range(m):
                row = row + G[j, members[k]] * u[k]
            curvature += u[i] * row
        if not fall > 0:
            return False
        length = fall / curvature if curvature > 0 else INFINITY
    # Up to the first coefficient that becomes 0.
    for i in range(m):
        j = members[i]
        if (u[i] < 0) != (w[j] < 0) and u[i] != 0:
            limit = -w[j] / u[i]
            if limit <= length:
                length, first = limit, i
    if not length < INFINITY:
        return False
    for i in range(m):
        w[members[i]] += length * u[i]
    if first >= 0:
        w[members[first]] = 0
    set_slopes(G, c, ridge, w, g)
    return first >= 0


cdef bint factored(const double[:, ::1] G, const double[::1] ridge,
                   const Py_ssize_t[::1] members, Py_ssize_t m, double more,
                   double* L) noexcept nogil:
    """L (m, m) := factor of the face, of unit diagonal, plus `more`; False if it is singular."""
    cdef Py_ssize_t i, j, a, b
    cdef double scale
    for i in range(m):
        a = members[i]
        scale = 1 / sqrt(G[a, a] + ridge[a])
        for j in range(i):
            b = members[j]
            L[i * m + j] = G[a, b] * scale * L[j * m + j]
        L[i * m + i] = scale
    for i in range(m):
        L[i * m + i] = 1 + more
    if not cholesky(<int> m, L, <int> m):
        return False
    for i in range(m):
        if more == 0 and not L[i * m + i] * L[i * m + i] > SINGULAR:
            return False
    return True


cdef Certificate by_products(const double[::1] w, const double[::1] c, const double[::1] g,
                             double y2, const double[::1] lasso, const double[::1] ridge,
                             const double[::1] size, Rounding errors) noexcept nogil:
    """Return the certificate with the squares of residuals from products, which lose digits."""
    cdef Py_ssize_t j
    cdef double squares = y2, terms = y2
    for j in range(w.shape[0]):
        squares -= w[j] * (c[j] + g[j])
        terms += fabs(w[j]) * (fabs(c[j]) + fabs(g[j]))
    return certificate(w, g, fmax(squares, 0) + 8 * DBL_EPSILON * terms, y2, lasso, ridge, size,
                       errors)


cdef Certificate certificate(const double[::1] w, const double[::1] g, double squares, double y2,
                             const double[::1] lasso, const double[::1] ridge,
                             const double[::1] size, Rounding errors) noexcept nogil:
    """Return P and the gap to t times the residuals, for the `squares` R2 of residuals and ridge.

    It is ``(1 - t)² R2/2 + sum_j (lasso_j |w_j| - t w_j g_j)``, which is at least 0 term by term,
    for t with ``|t g_j| <= lasso_j``; D(t) is largest at ``1 + w'g/R2``.
    """
    cdef Certificate proof
    cdef Py_ssize_t j
    cdef double reach = 0, absolute = 0, product = 0, products = 0, noise = 0, error, one
    cdef double most = INFINITY, t = 1
    for j in range(w.shape[0]):
        reach += size[j] * fabs(w[j])
    one = errors.of_size * (sqrt(y2) + reach) + errors.of_coef * reach
    for j in range(w.shape[0]):
        error = size[j] * one + errors.of_ridge * ridge[j] * fabs(w[j])
        if fabs(g[j]) + error > 0:
            most = fmin(most, lasso[j] / (fabs(g[j]) + error))
        absolute += lasso[j] * fabs(w[j])
        product += w[j] * g[j]
        products += fabs(w[j] * g[j])
        noise += fabs(w[j]) * error
    if squares > 0:
        t = 1 + product / squares
    t = fmax(fmin(t, most), -most)
    proof.objective = 0.5 * squares + absolute
    proof.gap = 0.5 * (1 - t) * (1 - t) * squares + (absolute - t * product) + fabs(t) * noise
    proof.gap += 8 * DBL_EPSILON * (absolute + fabs(t) * products)
    return proof
