"""Bounds of a logistic regression on its excess, against optima in 50 digits."""

import warnings

import mpmath
import numpy as np
import pytest
from exact_logistic import ExactLogistic
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from scipy.special import softmax

from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import LogisticRegression
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.steps.hessian_products import InverseBounds, Products

KINDS = {
    "plain": lambda X, y, rng: X,
    "collinear": lambda X, y, rng: np.c_[X, 2 * X[:, 0]],
    "nearly collinear": lambda X, y, rng: np.c_[X, 2 * X[:, 0] + 1e-5 * rng.normal(size=len(X))],
    "badly scaled": lambda X, y, rng: X * 10.0 ** rng.integers(-8, 9, size=X.shape[1]),
    "shifted": lambda X, y, rng: X + 10.0 ** rng.integers(0, 6, size=X.shape[1]),
    "separable": lambda X, y, rng: np.c_[X, 20 * y],
    "nearly separable": lambda X, y, rng: np.c_[X, 20 * np.where(np.arange(len(y)) == 3, 0, y)],
}


def problem(kind, k, seed):
    rng = np.random.default_rng([seed, k])
    n, d = int(rng.integers(8, 24)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[: k + 2] = np.arange(k + 2) % k
    return KINDS[kind](X, y, rng), y, rng.choice([0.5, 1.0, 2.0, 3.7], size=n)


def parameters(model):
    return np.c_[model.coef_, model.intercept_]


# Each kind and each C with two classes and with three.
@pytest.mark.parametrize(
    ("kind", "k", "C"),
    [
        (kind, 2 + (i + j) % 2, C)
        for i, kind in enumerate(KINDS)
        for j, C in enumerate([1e-3, 1.0, 1e4])
    ],
)
def test_no_bound_is_below_the_excess_in_50_digits(kind, k, C):
    X, y, s = problem(kind, k, seed=0)
    close = LogisticRegression(C=C, tol=1e-10).fit(X, y, s)
    exact = ExactLogistic(X, y, s, C, k)
    least, optimum, inverse, free = exact.optimum(parameters(close))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = [LogisticRegression(C=C, max_iter=m).fit(X, y, s) for m in (0, 1, 2, 4)]
    for model in [*rough, close]:
        excess = exact.value(parameters(model)) - least
        found = model.verify(X, y, s)
        assert found.duality_gap >= excess
        assert found.excess_bound >= excess
        assert model.duality_gap_ >= excess
        # float64 cannot tell the objective any better than by the roundings of its sum.
        assert abs(found.objective - (least + excess)) <= 4e-16 * (len(X) + 16) * found.objective
    # A bound on the excess is one on parameters: E = 1/2 |theta - theta*|² in the Hessian, which
    # near the optimum is that of it up to a factor.
    theta = parameters(close)
    theta[:, -1] -= theta[0, -1] if k > 2 else 0
    off = np.abs(np.array(theta - optimum, dtype=float)).ravel()[free]
    reach = np.sqrt(2 * found.excess_bound * np.array(inverse.diagonal(), dtype=float))
    assert (off <= 2 * reach + 4e-16 * np.abs(theta).ravel()[free]).all()
    assert found.excess_bound <= 1e-9 * found.objective


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["plain", "badly scaled", "shifted"])
def test_no_bound_is_below_the_excess_without_penalty(kind, k, intercept):
    X, y, s = problem(kind, k, seed=3)
    X, y, s = np.repeat(X, 2, axis=0), np.r_[y, np.roll(y, 1)], np.repeat(s, 2)  # they overlap
    options = {"C": np.inf, "fit_intercept": intercept}
    close = LogisticRegression(tol=1e-10, **options).fit(X, y, s)
    exact = ExactLogistic(X, y, s, np.inf, k, intercept)
    least, *_ = exact.optimum(parameters(close))
    rough = LogisticRegression(tol=0.05, **options).fit(X, y, s)
    for model in rough, close:
        found = model.verify(X, y, s)
        assert found.excess_bound >= exact.value(parameters(model)) - least
    assert found.excess_bound < 1e-12 * found.objective


def test_float32_coefficients_are_judged_as_they_are_stored():
    X, y, s = problem("shifted", 3, seed=1)
    X = X.astype(np.float32)
    model = LogisticRegression(tol=1e-8).fit(X, y, s)
    exact = ExactLogistic(X, y, s, 1.0, 3)
    theta = parameters(model).astype(float)
    excess = exact.value(theta) - exact.optimum(theta)[0]
    assert model.duality_gap_ >= excess
    assert model.verify(X, y, s).duality_gap >= excess


def decrement_and_radius(model, X, y, s):
    """The Newton decrement and the largest norm of a row, from the whole Hessian of P."""
    k = len(model.classes_)
    A = np.c_[X, np.ones(len(X))]
    p = softmax(A @ parameters(model).T, axis=1)
    weight = model.C * s
    S = (weight * p.T)[:, None] * (np.eye(k)[..., None] - p.T)
    H = np.block([[(A.T * s) @ A for s in row] for row in S])
    R = weight[:, None] * (p - np.eye(k)[y])
    pull = np.tile(np.append(np.ones(X.shape[1]), 0.0), (k, 1))
    g = (R.T @ A + pull * parameters(model)).ravel()
    H += np.diag(pull.ravel())
    constant = np.zeros((k, A.shape[1]))
    constant[:, -1] = 1  # equal intercepts change nothing
    H += np.outer(constant, constant)
    Z = np.zeros_like(A)
    differences = np.vstack([np.c_[A, -A, Z], np.c_[A, Z, -A], np.c_[Z, A, -A], g])
    # With H = L L', the form v' H^-1 v is the square of L^-1 v.
    L = linalg.cholesky(H, lower=True, overwrite_a=True)
    norms = np.linalg.norm(linalg.solve_triangular(L, differences.T, lower=True), axis=0)
    return norms[-1], norms[:-1].max()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_more_than_2000_parameters(form):
    rng = np.random.default_rng(0)
    n, d, k, C = 60, 670, 3, 1e-3
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 2, size=d) * (rng.random((n, d)) < 0.3)
    X[:, 0] += 3
    y, s = rng.integers(0, k, size=n), rng.choice([0.5, 2.0], size=n)
    least = LogisticRegression(C=C, tol=1e-10).fit(form(X), y, s).objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for max_iter in (3, 5) if form is np.asarray else (1, 5):
            model = LogisticRegression(C=C, max_iter=max_iter).fit(form(X), y, s)
            found = model.verify(form(X), y, s)
            decrement, radius = decrement_and_radius(model, X, y, s)
            # One percent of the square may be left when conjugate gradients end.
            assert decrement * (1 - 1e-9) <= found.newton_decrement <= 1.01 * decrement
            u = radius * decrement
            by_concordance = (u + (1 - u) * np.log1p(-u)) / radius**2 if u < 1 else np.inf
            excess = found.objective - least
            rounding = 4e-16 * (n + 16) * least
            assert by_concordance >= excess - rounding
            assert found.excess_bound >= min(by_concordance, found.duality_gap) * (1 - 1e-9)
            assert found.duality_gap >= found.excess_bound >= excess - rounding
    assert found.excess_bound < 1e-2 * found.objective


def test_the_decrement_of_many_parameters_without_penalty():
    rng = np.random.default_rng(1)
    n, d, k = 4000, 410, 5
    X, y = rng.normal(size=(n, d)), rng.integers(0, k, size=n)
    model = LogisticRegression(C=np.inf, tol=1e-2).fit(X, y)
    found = model.verify(X, y)
    exact = LogisticRegression(C=np.inf, tol=1e-7).fit(X, y)
    # Near the minimum half the squared decrement is the excess.
    assert_allclose(found.newton_decrement**2 / 2, found.objective - exact.objective_, rtol=0.05)
    assert found.excess_bound == np.inf
    assert mpmath.mp.dps < 50  # the oracle leaves the precision of others alone


@pytest.mark.parametrize("alpha", [1.0, 100.0])
def test_the_radius_holds_for_differences_of_any_two_classes(alpha):
    rng = np.random.default_rng(0)
    n, d, c = 60, 3, 3
    X, codes = rng.normal(size=(n, d)), np.repeat([0, 1, 2], [29, 2, 29])  # far for the rare one
    rows = LogisticRows(X, codes, np.ones(n), None, c, True)
    objective, theta = Objective(rows, alpha), 0.1 * rng.normal(size=(c, d + 1))
    theta[1, -1] = -4
    products = Products(objective, objective.at(theta, hessian=True))
    bounds = InverseBounds(products)
    H = np.array([products(e.reshape(c, d + 1)).ravel() for e in np.eye(c * (d + 1))])
    Z = np.c_[(X - rows.shift) * rows.scale, np.ones(n)]
    longest = {}
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        V = np.zeros((n, c, d + 1))
        V[:, a], V[:, b] = Z, -Z
        V = V.reshape(n, -1)
        longest[a, b] = np.sqrt(np.einsum("ij,jk,ik->i", V, np.linalg.pinv(H), V).max())
    assert longest[0, 2] < 0.5 * min(longest[0, 1], longest[1, 2])
    assert max(longest.values()) <= bounds.radius() * (1 + 1e-9)
    assert bounds.radius() < 1.05 * max(longest.values())


def test_the_gradient_norm_goes_over_all_columns_and_the_intercept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) + [0, 3, -5]
    y = X @ [0.1, 0.2, 3.0] + 16 + rng.normal(size=100) > 1
    found = []
    for order in ([0, 1, 2], [2, 0, 1]):
        with pytest.warns(ConvergenceWarning):
            model = LogisticRegression(max_iter=1).fit(X[:, order], y)
        p = model.predict_proba(X[:, order])[:, 1]
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        coef = np.empty(3)
        coef[order] = model.coef_[0]
        slopes = (Z * (p - y)[:, None]).mean(axis=0) + coef / X.std(axis=0) / 100
        assert_allclose(
            model.gradient_norm_, max(abs(slopes).max(), abs((p - y).mean())), rtol=1e-9
        )
        found.append(model.gradient_norm_)
    assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_wide_sparse_rows_with_a_column_far_from_the_origin_are_not_said_to_converge(seed):
    rng = np.random.default_rng(seed)
    n, d = 3000, 2000
    at = rng.integers(0, d, 10 * n)
    X = sparse.csr_matrix((rng.normal(size=10 * n), (np.repeat(np.arange(n), 10), at)), (n, d))
    column, y = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    near = LogisticRegression().fit(sparse.hstack([X, column], "csr"), y)
    assert near.converged_
    with pytest.warns(ConvergenceWarning):
        far = LogisticRegression().fit(sparse.hstack([X, column + 1e8], "csr"), y)
    assert not far.converged_
    assert far.objective_ > (1 + 1e-5) * near.objective_
