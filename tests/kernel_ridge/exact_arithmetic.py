"""Ridge problems in 50 digits."""

import mpmath as mp
import numpy as np

DIGITS = 50


def value(kernel, gamma, x, z):
    """k(x, z) of rows of mpf."""
    if kernel in ("linear", "polynomial"):
        product = sum(a * b for a, b in zip(x, z, strict=True))
        return product if kernel == "linear" else (gamma * product + 1) ** 3
    power = 2 if kernel == "rbf" else 1
    return mp.exp(-gamma * sum(abs(a - b) ** power for a, b in zip(x, z, strict=True)))


def numbers(A):
    return [[mp.mpf(v) for v in row] for row in np.asarray(A, dtype=float).tolist()]


class Exact:
    """The ridge problem of one target in 50 digits; call it in `mp.workdps`.

    The kernel is that of differences to `origin`.
    """

    def __init__(self, X, y, w, kernel, gamma, alpha, fit_intercept, origin=None):
        self.origin = [mp.mpf(0)] * X.shape[1] if origin is None else numbers([origin])[0]
        self.rows, n = self.images(X), len(y)
        self.k = lambda x, z: value(kernel, mp.mpf(gamma), x, z)
        self.K = mp.matrix([[self.k(x, z) for z in self.rows] for x in self.rows])
        self.y, self.w = mp.matrix(y.tolist()), [mp.mpf(float(v)) for v in w]
        self.alpha = mp.mpf(alpha)
        A = self.K.copy()
        for i in range(n):
            A[i, i] += self.alpha / self.w[i]
        self.a, self.b = mp.lu_solve(A, self.y), mp.mpf(0)
        if fit_intercept:
            ones = mp.lu_solve(A, mp.matrix([1] * n))
            self.b = sum(self.a) / sum(ones)
            self.a -= self.b * ones
        self.least = self.objective(self.a, self.b)

    def images(self, X):
        return [[v - o for v, o in zip(x, self.origin, strict=True)] for x in numbers(X)]

    def objective(self, a, b):
        image = self.K * a
        loss = sum(w * (y - f - b) ** 2 for w, y, f in zip(self.w, self.y, image, strict=True))
        return loss + self.alpha * (a.T * image)[0]

    def predict(self, X):
        return np.array(
            [
                float(
                    sum(a * self.k(z, x) for a, z in zip(self.a, self.rows, strict=True)) + self.b
                )
                for x in self.images(X)
            ]
        )

    def norms(self, X):
        return np.array([float(mp.sqrt(self.k(x, x))) for x in self.images(X)])
