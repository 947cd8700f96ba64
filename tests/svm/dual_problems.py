"""Dual problems of each shape, and what holds of their solutions, for several test files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.smo import Routes

KINDS = ["svc", "svr", "one class", "nu svc", "nu svr", "weights", "points", "repeated", "started"]
EPS = float(np.finfo(np.float64).eps)
KERNELS = {
    "rbf": {"gamma": 0.5},
    "linear": {},
    "polynomial": {"gamma": 0.5, "coef0": 1.0, "degree": 2},
    "laplacian": {"gamma": 0.3},
}

# All pairs of tol, weights and layouts of a machine beside LIBSVM's.
pairs_of_forms = pytest.mark.parametrize(
    ("tol", "rtol", "weighted", "layout"),
    [
        (1e-3, 1e-5, False, np.asarray),
        (1e-3, 1e-5, True, sparse.csr_array),
        (1e-6, 1e-7, True, np.asarray),
        (1e-6, 1e-7, False, sparse.csr_array),
    ],
)


def samples(n, d=3, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def problem(kind, n, seed=0, C=3.0):
    """One problem of each shape that the machines pose, on n samples."""
    rng = np.random.default_rng([n, seed, len(kind)])
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    f, box = rng.normal(size=n), np.full(n, C)
    low, high = np.where(y > 0, 0, -box), np.where(y > 0, box, 0)
    if kind == "svc":
        return Problem(-y, low, high)
    if kind == "svr":
        return Problem(-f, -box, box, epsilon=0.2)
    if kind == "one class":
        return Problem(0 * f, 0 * f, box, total=(0.3 * box.sum(),))
    if kind == "nu svc":
        total = 0.5 * C * min((y > 0).sum(), (y < 0).sum())
        return Problem(0 * f, low, high, group=(y < 0).astype(np.int8), total=(total, -total))
    if kind == "nu svr":
        total = 0.2 * box.sum()
        return Problem(
            -np.r_[f, f], np.r_[0 * box, -box], np.r_[box, 0 * box], index=np.r_[:n, :n],
            group=np.repeat(np.array([0, 1], np.int8), n), total=(total, -total),
        )  # fmt: skip
    if kind == "weights":  # one of them a sample without weight
        box = C * rng.integers(0, 4, n)
        return Problem(-y, np.where(y > 0, 0, -box), np.where(y > 0, box, 0.0))
    if kind == "points":  # some can not move, away from 0
        start = np.where(rng.random(n) < 0.3, f, 0.0)
        fixed = start != 0
        return Problem(
            -f, np.where(fixed, f, -box), np.where(fixed, f, box), start=start, epsilon=0.1
        )
    if kind == "repeated":  # one sample in several variables, in no order
        m = n + n // 2
        return Problem(
            rng.normal(size=m), np.full(m, -C), np.full(m, C), index=rng.integers(0, n, m)
        )
    start = rng.uniform(low, high)
    return Problem(-y, low, high, start=start)


def rows_of(X, kernel="rbf", double=True):
    return as_kernel(kernel, **KERNELS.get(kernel, {})).rows(X, double)


def matrix(X, problem, kernel="rbf"):
    """K between the variables, in double precision."""
    K = rows_of(X, kernel).block(np.arange(X.shape[0]))
    return K if problem.index is ... else K[np.ix_(problem.index, problem.index)]


def objective(K, p, beta):
    return 0.5 * beta @ K @ beta + p.linear @ beta + p.epsilon * np.abs(beta).sum()


def groups(p):
    group = np.zeros(len(p.linear)) if p.group is None else p.group
    return [group == g for g in np.unique(group)]


def violation(K, p, beta):
    """How far the best pair move of a group still falls, per unit of the move."""
    return violation_at(K @ beta + p.linear, p, beta)


def violation_at(g, p, beta):
    up = g + np.where(beta >= 0, p.epsilon, -p.epsilon)
    down = g + np.where(beta > 0, p.epsilon, -p.epsilon)
    worst = 0.0
    for members in groups(p):
        rises, falls = members & (beta < p.upper), members & (beta > p.lower)
        if rises.any() and falls.any():
            worst = max(worst, down[falls].max() - up[rises].min())
    return worst


def check(K, p, solution, tol, eps=EPS):
    """All that holds of a solution, from the definitions; K is of the variables."""
    check_products(lambda v: K @ v, lambda v: np.abs(K) @ v, p, solution, tol, eps)


def check_on_samples(K, p, solution, tol, eps=EPS):
    """The same, where K is of the samples, of which a variable has one."""
    n = len(K)
    index = np.arange(n) if p.index is ... else p.index
    sizes = K if K.min() >= 0 else np.abs(K)

    def times(v, K=K):
        return (K @ np.bincount(index, v, n))[index]

    check_products(times, lambda v: times(v, sizes), p, solution, tol, eps)


def check_products(times, sizes_times, p, solution, tol, eps):
    """The same, from the products of K, and of its absolute values, with a vector."""
    beta = solution.beta
    Kb, sums, first = times(beta), sizes_times(np.abs(beta)), 0.0
    if p.start is not None:
        first = sizes_times(np.abs(p.start)).max()
    start = np.zeros(len(beta)) if p.start is None else p.start
    # The gradient is that of the start, moved step by step.
    rounding = 50 * eps * (1 + max(sums.max(initial=0.0), first))
    assert solution.converged and not solution.diverged and solution.violation <= tol
    assert (beta >= p.lower).all() and (beta <= p.upper).all()
    for k, members in enumerate(groups(p)):
        total = start[members].sum() if p.total is None else p.total[k]
        assert abs(beta[members].sum() - total) <= 1e-12 * (1 + np.abs(beta[members]).sum())
    assert_allclose(solution.gradient, Kb + p.linear, rtol=0, atol=rounding)
    assert violation_at(Kb + p.linear, p, beta) <= tol + 2 * rounding
    expected = 0.5 * beta @ Kb + p.linear @ beta + p.epsilon * np.abs(beta).sum()
    size = 1 + 0.5 * np.abs(beta) @ sums + np.abs(p.linear) @ np.abs(beta)
    assert_allclose(solution.objective, expected, rtol=0, atol=50 * eps * size)
    assert len(solution.multipliers) == len(groups(p))
    for (low, high, value), members in zip(solution.multipliers, groups(p), strict=True):
        g = solution.gradient[members]
        b, lower, upper = beta[members], p.lower[members], p.upper[members]
        residue = 1e-12 * np.abs(b).max()  # what sums of steps may leave of a multiplier at a bound
        b = np.where(np.abs(b) <= residue, 0.0, b)
        rises = (g + np.where(b >= 0, p.epsilon, -p.epsilon))[upper - b > residue]
        falls = (g + np.where(b > 0, p.epsilon, -p.epsilon))[b - lower > residue]
        assert low == falls.max(initial=-np.inf) and high == rises.min(initial=np.inf)
        assert np.isfinite(value)
        assert low - tol <= value <= high + tol


def fitted_by(sizes, machine, *data):
    """Return the machine, fitted by the routes that these sizes of `Routes` decide on."""
    machine._routes = Routes(**sizes)
    try:
        return machine.fit(*data)
    finally:
        del machine._routes
