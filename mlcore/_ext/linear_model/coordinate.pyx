"""Hot loops of mlcore.linear_model.coordinate: least squares with absolute values, by products of
all columns (rounds.pxd).
"""
from mlcore._ext.linear_model.face cimport Face
from mlcore._ext.linear_model.rounds cimport Certificate, Problem, certificate, minimise


def descend(const double[:, ::1] G, const double[::1] c, double y2, const double[::1] lasso,
            const double[::1] ridge, const double[::1] alphas, const double[::1] size,
            const double[::1] noise, double tol, Py_ssize_t max_rounds, double[::1] w,
            double[:, ::1] scratch, double[::1] factor, Py_ssize_t[:, ::1] members,
            double[:, ::1] W, double[:, ::1] figures, /):
    """Minimise P for penalties ``alpha lasso`` and ``alpha ridge``, of each alpha from w of the one
    before, until the gap is at most `tol`.

    `w` (d,) begins and is the last. W (m, d) are the minimisers; `figures` (m, 3) are P, the gap
    and the number of rounds. `size` (d,) are lengths of columns and `noise` (3,) the fields of
    `Rounding`. Scratch: `scratch` (7, d), `factor` (d d,), `members` (2, d).
    """
    cdef Py_ssize_t j, k, d = c.shape[0], rounds = 0
    cdef double[::1] absolute = scratch[0]
    cdef double[::1] square = scratch[1]
    cdef Certificate proof
    cdef Face face
    cdef bint keep = False, penalised = False
    cdef Problem p = problem_of(lasso, ridge, size, noise, y2)
    p.G, p.width, p.c, p.lasso, p.ridge = &G[0, 0], d, &c[0], &absolute[0], &square[0]
    face.L, face.width, face.scale, face.turns = &factor[0], d, &scratch[4, 0], &scratch[5, 0]
    face.members, face.inside = &members[0, 0], &members[1, 0]
    with nogil:
        for j in range(d):
            penalised = penalised or ridge[j] > 0
        for k in range(alphas.shape[0]):
            for j in range(d):
                absolute[j] = min(alphas[k] * lasso[j], 1e300)
                square[j] = min(alphas[k] * ridge[j], 1e300)
            proof = minimise(&p, &w[0], &scratch[2, 0], &scratch[3, 0], &face, keep, tol,
                             max_rounds, &rounds)
            keep = not penalised
            W[k, :] = w
            figures[k, 0], figures[k, 1] = proof.objective, proof.gap
            figures[k, 2] = <double> rounds


def duality_gap(const double[::1] w, const double[::1] g, double squares, double y2,
                const double[::1] lasso, const double[::1] ridge, const double[::1] size,
                const double[::1] noise, /):
    """Return P and its duality gap for slopes g (d,) and the `squares` of residuals, from rows."""
    cdef Certificate proof
    cdef Py_ssize_t j
    cdef Problem p = problem_of(lasso, ridge, size, noise, y2)
    for j in range(w.shape[0]):
        squares = squares + ridge[j] * w[j] * w[j]
    proof = certificate(&p, &w[0], &g[0], squares)
    return proof.objective, proof.gap


cdef Problem problem_of(const double[::1] lasso, const double[::1] ridge, const double[::1] size,
                        const double[::1] noise, double y2) noexcept:
    """Return a problem without products."""
    cdef Problem p
    p.d, p.y2, p.lasso, p.ridge, p.size = lasso.shape[0], y2, &lasso[0], &ridge[0], &size[0]
    p.errors.of_size, p.errors.of_coef, p.errors.of_ridge = noise[0], noise[1], noise[2]
    return p
