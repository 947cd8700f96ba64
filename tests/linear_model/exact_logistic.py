"""Optimum of small logistic regressions in 50 digits, by Newton's method in mpmath."""

import mpmath
import numpy as np

DIGITS = 50
_exp, _log = np.frompyfunc(mpmath.exp, 1, 1), np.frompyfunc(mpmath.log, 1, 1)
_exact = np.frompyfunc(mpmath.mpf, 1, 1)  # a float64 as the number that it is


class ExactLogistic:
    """P of weighted rows of k classes and C, finite or not, by its definition.

    Parameters theta, (c, d + 1), are the coefficients and last the intercept of the second class,
    or of each of more classes. The first of more classes is the one that unpenalised numbers refer
    to: these are 0 for it.
    """

    def __init__(self, X, y, s, C, k, intercept=True):
        self.k, self.c = k, 1 if k == 2 else k
        self.X = _exact(np.c_[X, np.full(len(X), float(intercept))])
        self.s, self.y, self.intercept = _exact(s), y, intercept
        self.C, self.penalty = (1, 0) if C == np.inf else (mpmath.mpf(C), 1)

    def _probabilities(self, theta):
        scores = self.X @ theta.T
        if self.c == 1:
            scores = np.hstack([0 * scores, scores])
        scores = scores - scores.max(axis=1, keepdims=True)
        p = _exp(scores)
        total = p.sum(axis=1, keepdims=True)
        losses = _log(total[:, 0]) - scores[np.arange(len(scores)), self.y]
        return p / total, losses

    def value(self, theta):
        """P at theta."""
        with mpmath.workdps(DIGITS):
            theta = _exact(theta)
            _, losses = self._probabilities(theta)
            W = theta[:, :-1]
            return self.C * (self.s @ losses) + self.penalty * (W * W).sum() / 2

    def derivatives(self, theta):
        """Gradient (c (d + 1),) and Hessian at theta, filled up where they say nothing."""
        p, _ = self._probabilities(theta)
        n, D = self.X.shape
        R = p.copy()
        R[np.arange(n), self.y] -= 1
        if self.c == 1:
            R, p = R[:, 1:], p[:, 1:]
        weight = self.C * self.s
        pull = np.full((self.c, D), mpmath.mpf(self.penalty))
        pull[:, -1] = 0
        g = (R * weight[:, None]).T @ self.X + pull * theta
        H = np.zeros((self.c, D, self.c, D), dtype=object)
        for a in range(self.c):
            for b in range(a, self.c):
                v = weight * (p[:, a] * ((a == b) - p[:, b]))
                H[a, :, b] = H[b, :, a] = self.X.T @ (self.X * v[:, None])
        H = H.reshape(self.c * D, -1)
        H[np.diag_indices(len(H))] += pull.ravel()
        free = np.ones((self.c, D), dtype=bool)
        free[:, -1] = self.intercept
        if self.c > 1:
            free[0, slice(None) if not self.penalty else slice(-1, None)] = False
        return g.ravel(), H, free.ravel()

    def optimum(self, start):
        """The minimum of P, its theta and the inverse Hessian there, from `start` on.

        It ends where the gradient in the units of the Hessian has only the rounding of 50 digits:
        P is convex, so that is the minimum however it was found.
        """
        with mpmath.workdps(DIGITS):
            theta = _exact(np.asarray(start, float))
            if not self.intercept:
                theta[:, -1] = mpmath.mpf(0)
            if self.c > 1:
                theta[:, -1] = theta[:, -1] - theta[0, -1]
                if not self.penalty:
                    theta = theta - theta[:1]
            for _ in range(200):
                g, H, free = self.derivatives(theta)
                kept = np.flatnonzero(free)
                A = mpmath.matrix(H[np.ix_(kept, kept)].tolist())
                inverse = np.array((A**-1).tolist(), dtype=object).reshape(A.rows, A.rows)
                step = np.zeros(len(g), dtype=object)
                step[kept] = -(inverse @ g[kept])
                decrement = -(g @ step)
                value = self.value(theta)
                if decrement <= mpmath.mpf(10) ** -80 or decrement <= value * mpmath.mpf(10) ** -70:
                    return value, theta, inverse, free
                step, length = step.reshape(theta.shape), mpmath.mpf(1)
                # Near the minimum Newton's steps are whole, and values differ by rounding alone.
                while (
                    decrement > 1e-20 * value
                    and self.value(theta + length * step) > value - length * decrement / 4
                ):
                    length /= 2
                theta = theta + length * step
        raise ArithmeticError("Newton's method in 50 digits did not end")
