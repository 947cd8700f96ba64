"""Loops of mlcore.svm.probability.link: its link, fitted by Newton's method and applied.

The logit of a value x is c[0] + sum_k c[k] r_k(x): r_k is the part of the way from knot 1 to x that
lies in piece k. The slopes c[1:] are at least `least`; those that the gradient keeps there are left
out of the Newton step (D. Bertsekas, *Projected Newton methods*, SIAM J. Control 20, 1982).
"""
from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, fabs, log1p, sqrt

cdef enum:
    MOST = 5        # coefficients
    PIECES = 4
    STEPS = 50
    HALVINGS = 40


cdef inline double clip(double x, double low, double high) noexcept nogil:
    return min(max(x, low), high)


cdef inline void ramps(double x, const double* knots, int pieces, double* r) noexcept nogil:
    """r = (1, r_1(x), ...); with one piece, r_1 is x less the middle knot."""
    cdef int k
    cdef double low, high
    r[0] = 1
    if pieces == 1:
        r[1] = x - knots[1]
        return
    for k in range(pieces):
        low = knots[k - 1] if k > 0 else -INFINITY
        high = knots[k] if k < pieces - 1 else INFINITY
        r[k + 1] = clip(x, low, high) - clip(knots[1], low, high)


cdef double loss_of(const double[::1] x, const double[::1] target, const double[::1] weight,
                    const double* knots, int pieces, double stiffness, const double* c,
                    double* g, double* H) noexcept nogil:
    """Return the penalised negative log-likelihood; g, H become its derivatives unless NULL."""
    cdef Py_ssize_t i
    cdef int j, k, p = pieces + 1
    cdef double r[MOST]
    cdef double z, probability, e, total = 0, curvature, bend
    if g != NULL:
        for j in range(p):
            g[j] = 0
            for k in range(p):
                H[j * MOST + k] = 0
    for i in range(x.shape[0]):
        ramps(x[i], knots, pieces, r)
        z = 0
        for j in range(p):
            z += c[j] * r[j]
        e = exp(-fabs(z))
        total += weight[i] * (max(z, 0) + log1p(e) - target[i] * z)
        if g == NULL:
            continue
        probability = 1 / (1 + e) if z >= 0 else e / (1 + e)
        curvature = weight[i] * e / ((1 + e) * (1 + e))
        for j in range(p):
            g[j] += weight[i] * (probability - target[i]) * r[j]
            for k in range(j + 1):
                H[j * MOST + k] += curvature * r[j] * r[k]
    for j in range(1, p - 1):
        bend = c[j + 1] - c[j]
        total += 0.5 * stiffness * bend * bend
        if g != NULL:
            g[j] -= stiffness * bend
            g[j + 1] += stiffness * bend
            H[j * MOST + j] += stiffness
            H[(j + 1) * MOST + j + 1] += stiffness
            H[(j + 1) * MOST + j] -= stiffness
    return total


cdef void newton_step(int p, const double* H, const double* g, const bint* fixed,
                      double* step) noexcept nogil:
    """Solve H step = g for the coefficients not fixed, by Cholesky; a pivot of 0 gives no step."""
    cdef double L[MOST * MOST]
    cdef int i, j, k
    cdef double s
    for i in range(p):
        for j in range(i + 1):
            if fixed[i] or fixed[j]:
                L[i * MOST + j] = 1.0 if i == j else 0.0
                continue
            s = H[i * MOST + j]
            for k in range(j):
                s -= L[i * MOST + k] * L[j * MOST + k]
            if i == j:
                L[i * MOST + i] = sqrt(s) if s > 1e-14 * H[i * MOST + i] else INFINITY
            else:
                L[i * MOST + j] = s / L[j * MOST + j]
    for i in range(p):
        s = 0 if fixed[i] else g[i]
        for k in range(i):
            s -= L[i * MOST + k] * step[k]
        step[i] = s / L[i * MOST + i]
    for i in range(p - 1, -1, -1):
        s = step[i]
        for k in range(i + 1, p):
            s -= L[k * MOST + i] * step[k]
        step[i] = s / L[i * MOST + i]


cdef void minimise(const double[::1] x, const double[::1] target, const double[::1] weight,
                   const double* knots, int pieces, double stiffness, double least,
                   double* c) noexcept nogil:
    cdef double g[MOST]
    cdef double H[MOST * MOST]
    cdef double step[MOST]
    cdef double new[MOST]
    cdef bint fixed[MOST]
    cdef bint full_step
    cdef double loss, found, length, predicted
    cdef int _turn, _halving, j, p = pieces + 1
    for _turn in range(STEPS):
        loss = loss_of(x, target, weight, knots, pieces, stiffness, c, g, H)
        fixed[0] = False
        for j in range(1, p):
            fixed[j] = c[j] <= least and g[j] > 0
        newton_step(p, H, g, fixed, step)
        length, predicted = 1, 0
        for j in range(p):
            predicted += step[j] * (0 if fixed[j] else g[j])
        full_step = predicted <= 1e-8 * (1 + fabs(loss))  # rounding of the loss hides what is left
        for _halving in range(HALVINGS):
            for j in range(p):
                new[j] = c[j] - length * (0 if fixed[j] else step[j])
                if j > 0:
                    new[j] = max(new[j], least)
            if full_step:
                break
            found = loss_of(x, target, weight, knots, pieces, stiffness, new, NULL, NULL)
            if found <= loss - 1e-4 * length * predicted:
                break
            length *= 0.5
        for j in range(p):
            c[j] = new[j]
        if predicted <= 1e-22 * (1 + fabs(loss)):
            return


def fit(const double[::1] x, const double[::1] target, const double[::1] weight,
        const double[::1] knots, double stiffness, double least, double[::1] c, /):
    """Fit c (5,): first a line, then four slopes near its own, `stiffness` in units of that."""
    cdef double line[MOST]
    cdef int k
    with nogil:
        line[0], line[1] = c[0], 1
        minimise(x, target, weight, &knots[0], 1, 0, least, line)
        c[0] = line[0]
        for k in range(PIECES):
            c[1 + k] = line[1]
        minimise(x, target, weight, &knots[0], PIECES, stiffness / (line[1] * line[1]), least,
                 &c[0])


def apply(const double[:, ::1] x, const double[::1] offsets, const double[:, ::1] slopes,
          const double[:, ::1] knots, double least, double[:, ::1] p, int n_threads, /):
    """p[r, k] = the probability of x[r, k] by link k.

    With `least` above 0 the logit has the sign of x: its slope at 0 is at least `least` times the
    smallest slope, and its absolute value grows to at least `least` far from 0.
    """
    cdef Py_ssize_t r, k, m = x.shape[1]
    for r in prange(x.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        for k in range(m):
            p[r, k] = probability(x[r, k], offsets[k], &slopes[k, 0], &knots[k, 0], least)


cdef inline double probability(double x, double offset, const double* slopes, const double* knots,
                               double least) noexcept nogil:
    cdef double r[MOST]
    cdef double z = offset, side
    cdef int k
    ramps(x, knots, PIECES, r)
    for k in range(PIECES):
        z += slopes[k] * r[k + 1]
    if least > 0:
        side = min(min(slopes[0], slopes[1]), min(slopes[2], slopes[3])) * x
        side *= least / (1 + fabs(side))
        z = max(z, side) if x > 0 else min(z, side)
    return 1 / (1 + exp(-z))
