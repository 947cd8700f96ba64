"""Every real error, by arithmetic of 50 digits, against what a fit says of its own."""

import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.kernel_ridge import KernelRidge

DIGITS = 50
KERNELS = ["linear", "polynomial", "rbf", "laplacian"]


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
    """The ridge problem of one target in 50 digits; call it in `mp.workdps`."""

    def __init__(self, X, y, w, kernel, gamma, alpha, fit_intercept):
        self.rows, n = numbers(X), len(y)
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
                for x in numbers(X)
            ]
        )

    def norms(self, X):
        return np.array([float(mp.sqrt(self.k(x, x))) for x in numbers(X)])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 14),
    kernel=st.sampled_from(KERNELS),
    solver=st.sampled_from(["cholesky", "cg"]),
    exponent=st.floats(-9, 3),
    scale=st.sampled_from([1e-60, 1e-9, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 1e3]),
    fit_intercept=st.booleans(),
)
def test_no_real_error_is_beyond_the_evidence(
    seed, n, kernel, solver, exponent, scale, shift, fit_intercept
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = rng.normal(size=n) + shift
    w = rng.integers(1, 4, n) / 4
    alpha, gamma = 10.0**exponent, 0.3
    if kernel == "linear":
        X, alpha = X * scale, alpha * scale**2
    new = np.vstack([X, X + 0.1 * np.abs(X).max()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelRidge(
            alpha, kernel=kernel, gamma=gamma, solver=solver, fit_intercept=fit_intercept,
            tol=10.0 ** -rng.integers(2, 20), random_state=0,
        ).fit(X, y, w)  # fmt: skip
    with mp.workdps(DIGITS):
        exact = Exact(X, y, w, kernel, gamma, alpha, fit_intercept)
        predicted, norms = exact.predict(new), exact.norms(new)
        largest = exact.norms(X).max() if fit_intercept else 0.0
        reached = exact.objective(mp.matrix(model.dual_coef_.tolist()), mp.mpf(model.intercept_))
        assert reached - exact.least <= mp.mpf(model.duality_gap_)
    error = np.abs(model.predict(new) - predicted)
    assert (error <= model.prediction_bound_ * (norms + largest)).all()


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
@pytest.mark.parametrize("power", [-130, -30, 20])
def test_the_bound_has_the_units_of_the_data(kernel, power):
    """|f(x)| does not depend on them: the norms of samples are those of the kernel's values."""
    rng = np.random.default_rng(0)
    X, scale = rng.normal(size=(60, 3)), 2.0**power
    y, degree = X[:, 0] + rng.normal(size=60), 1 if kernel == "linear" else 3
    how = {"kernel": kernel, "coef0": 0.0, "gamma": 1.0}
    model = KernelRidge(0.5, **how).fit(X, y)
    far = KernelRidge(0.5 * scale ** (2 * degree), **how).fit(X * scale, y)
    assert_allclose(far.prediction_bound_ * scale**degree, model.prediction_bound_, rtol=0.01)
