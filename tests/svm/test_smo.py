"""The dual solver: the KKT conditions as written, exact minima, LIBSVM, its starts and its end."""

import itertools
from functools import partial

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import svm as peer

from contract import case
from dual_problems import (
    EPS,
    KERNELS,
    KINDS,
    check,
    groups,
    matrix,
    objective,
    problem,
    rows_of,
    samples,
    violation,
)
from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm.smo import smo
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.smo import ROUTES, Routes

IN_ROUNDS = Routes(small=0)
solve = partial(smo.solve, routes=IN_ROUNDS)  # small problems too
# In one compiled call, which leaves what takes long to the other solver, and in rounds.
EACH_WAY = pytest.mark.parametrize("routes", [ROUTES, IN_ROUNDS], ids=["in one call", "in rounds"])


# ---- the conditions of optimality


# All pairs of kinds, kernels, precisions and routes, each with every number of samples.
@pytest.mark.parametrize("kind", KINDS)
def test_the_kkt_conditions_hold(kind):
    for n in (2, 5, 17, 120):
        X, p = samples(n), problem(kind, n)
        for i, kernel in enumerate(KERNELS):
            K = matrix(X, p, kernel)
            for j, routes in enumerate((ROUTES, IN_ROUNDS)):
                double = (KINDS.index(kind) + i // 2 + i + j) % 2 == 0
                tol, eps = (1e-6, EPS) if double else (1e-3, 4 * float(np.finfo(np.float32).eps))
                cache = KernelCache(rows_of(X, kernel, double), 200.0)
                with case(n, kernel, "double" if double else "single", routes):
                    check(K, p, solve(p, cache, tol=tol, routes=routes), tol, eps)


@EACH_WAY
@settings(max_examples=20)
@given(
    st.sampled_from(KINDS), st.integers(2, 60), st.integers(1, 6), st.integers(0, 2**32 - 1),
    st.floats(-3, 3), st.sampled_from(list(KERNELS)), st.booleans(),
)  # fmt: skip
def test_the_kkt_conditions_hold_whatever_the_problem(
    routes, kind, n, d, seed, log_C, kernel, sparse_X
):
    X, p = samples(n, d, seed), problem(kind, n, seed, C=10.0**log_C)
    K = matrix(X, p, kernel)
    tol = 1e-5 * (1 + np.abs(K).max())
    layout = sparse.csr_array if sparse_X else np.asarray
    cache = KernelCache(rows_of(layout(X), kernel), 200.0)
    check(K, p, solve(p, cache, tol=tol, routes=routes), tol)


@EACH_WAY
@pytest.mark.parametrize("kind", KINDS)
def test_equal_samples_and_a_constant_kernel(routes, kind):
    """Singular matrices: the optimum is no longer one point, but it is found."""
    X = np.repeat(samples(10), 4, axis=0)
    p = problem(kind, 40)
    check(matrix(X, p), p, solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6, routes=routes), 1e-6)
    X = np.ones((40, 2))
    check(matrix(X, p), p, solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6, routes=routes), 1e-6)


# ---- exact minima


def exact_minimum(K, p):
    """The least objective over all ways to be at a bound, at 0 or free: exponential, and exact."""
    m = len(p.linear)
    members = groups(p)
    start = np.zeros(m) if p.start is None else p.start
    totals = p.total or [start[g].sum() for g in members]
    fixed = [
        sorted({v for v in (low, high, 0.0) if low <= v <= high})
        for low, high in zip(p.lower, p.upper, strict=True)
    ]
    signs = (1.0, -1.0) if p.epsilon > 0 else (0.0,)
    G, least = np.array(members, dtype=float), np.inf
    for pattern in itertools.product([False, True], repeat=m):
        free = np.array(pattern)  # of each, all values of the others and all signs at once
        values = [[0.0] if free[i] else fixed[i] for i in range(m)]
        beta = np.array(list(itertools.product(*values))).T.repeat(len(signs) ** free.sum(), 1)
        sign = np.array(list(itertools.product(*(signs if f else (0.0,) for f in free)))).T
        sign = np.tile(sign, beta.shape[1] // sign.shape[1])
        if free.any():
            A = G[:, free]
            system = np.block([[K[np.ix_(free, free)], A.T], [A, np.zeros((len(A), len(A)))]])
            slopes = p.linear[:, None] + p.epsilon * sign + K @ beta
            right = np.r_[-slopes[free], np.array(totals)[:, None] - G @ beta]
            beta[free] = np.linalg.lstsq(system, right)[0][: free.sum()]
        inside = (beta >= p.lower[:, None] - 1e-12) & (beta <= p.upper[:, None] + 1e-12)
        sums = np.abs(np.array(totals)[:, None] - G @ beta)
        for k in np.flatnonzero(inside.all(axis=0) & (sums.max(axis=0) < 1e-10)):
            least = min(least, objective(K, p, beta[:, k]))
    return least


@pytest.mark.parametrize(
    "kind", ["svc", "svr", "one class", "nu svc", "weights", "points", "started"]
)
def test_the_least_of_all_faces(kind):
    n = 4 if kind in ("svr", "points") else 5
    for seed, C in enumerate([0.1, 1.0, 3.0, 30.0, 1000.0]):
        X, p = samples(n, 2, seed), problem(kind, n, seed, C=C)
        least = exact_minimum(matrix(X, p), p)
        for routes in (ROUTES, IN_ROUNDS):
            solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-10, routes=routes)
            message = f"C={C}, {routes}"
            assert_allclose(solution.objective, least, rtol=1e-9, atol=1e-12, err_msg=message)


@EACH_WAY
def test_two_samples_in_closed_form(routes):
    """beta = (t, -t): the minimum of a parabola with a kink, on an interval."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, q, epsilon = rng.normal(size=(2, 1)), rng.normal(size=2), 0.3 * rng.random()
        C = rng.random()
        p = Problem(q, np.full(2, -C), np.full(2, C), epsilon=epsilon)
        curvature = 2 - 2 * np.exp(-0.5 * (X[0, 0] - X[1, 0]) ** 2)
        slope = q[0] - q[1]
        t = -np.sign(slope) * max(0.0, abs(slope) - 2 * epsilon) / curvature
        solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-12, routes=routes)
        assert_allclose(solution.beta[0], np.clip(t, -C, C), rtol=1e-9, err_msg=f"seed {seed}")
        assert solution.beta[0] == -solution.beta[1], seed


@each("C", [0.1, 10.0, 1e3])
@each("kind", ["svc", "svr", "one class", "weights"])
def test_the_objective_of_libsvm(kind, C):
    n = 70
    X = samples(n)
    p = problem(kind, n, C=1.0 if kind == "one class" else C)
    K = matrix(X, p)
    if kind == "svr":
        theirs = peer.SVR(kernel="precomputed", C=C, epsilon=p.epsilon, tol=1e-9).fit(K, -p.linear)
    elif kind == "one class":
        theirs = peer.OneClassSVM(kernel="precomputed", nu=0.3, tol=1e-9).fit(K)
    else:
        weight = np.maximum(p.upper, -p.lower) / C
        theirs = peer.SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, -p.linear, weight)
    beta = np.zeros(n)
    used = np.flatnonzero(p.upper > p.lower) if kind == "weights" else np.arange(n)
    beta[used[theirs.support_] if kind == "weights" else theirs.support_] = theirs.dual_coef_[0]
    expected = objective(K, p, beta)
    for routes in (ROUTES, IN_ROUNDS):
        solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-9 * max(1.0, C), routes=routes)
        assert_allclose(solution.objective, expected, rtol=1e-7, err_msg=str(routes))
        assert solution.objective <= expected + 1e-9 * abs(expected), routes


# ---- where it starts, how it goes, when it stops


class Recorded:
    def __init__(self, stop_at=None):
        self.steps, self.objectives, self.violations, self.stop_at = [], [], [], stop_at

    def step(self, step, objective, change):
        self.steps.append(step)
        self.objectives.append(objective)
        self.violations.append(change)
        if len(self.steps) == self.stop_at:
            raise StopIteration("enough")


@pytest.mark.parametrize(
    ("kind", "double"), [("svc", True), ("svr", False), ("one class", False), ("nu svr", True)]
)
def test_the_dual_objective_rises_from_report_to_report(kind, double):
    X = samples(1100, 40) * 0.4
    p = problem(kind, 1100)
    seen = Recorded()
    solution = solve(p, KernelCache(rows_of(X, double=double), 1e-3), tol=1e-3, progress=seen)
    assert len(seen.steps) > 2
    assert (np.diff(seen.steps) > 0).all()
    slack = (1e-12 if double else 1e-6) * np.abs(seen.objectives).max()
    assert (np.diff(seen.objectives) >= -slack).all()
    assert seen.objectives[-1] == -solution.objective
    assert seen.violations[-1] == solution.violation <= 1e-3 < min(seen.violations[:-1])


def test_what_a_callback_raises_passes():
    with pytest.raises(StopIteration, match="enough"):
        p = problem("svc", 50)
        solve(p, KernelCache(rows_of(samples(50)), 200.0), tol=1e-3, progress=Recorded(stop_at=1))


@pytest.mark.parametrize("max_iter", [1, 10, 50])
def test_max_iter_stops_at_a_feasible_point(max_iter):
    X, p = samples(200), problem("nu svr", 200)
    solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-9, max_iter=max_iter)
    assert solution.n_iter == max_iter and not solution.converged
    assert solution.violation == pytest.approx(violation(matrix(X, p), p, solution.beta), abs=1e-12)
    assert (solution.beta >= p.lower).all() and (solution.beta <= p.upper).all()
    assert_allclose([solution.beta[:200].sum(), solution.beta[200:].sum()], p.total, rtol=1e-12)


def test_a_solution_is_its_own_start():
    X, p = samples(300), problem("svc", 300)
    first = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6)
    p.start = first.beta
    again = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6)
    assert again.n_iter == 0 and first.n_iter > 0
    assert_array_equal(again.beta, first.beta)


def test_the_start_is_left_as_it_is():
    X, p = samples(50), problem("started", 50)
    before = p.start.copy()
    solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6)
    assert_array_equal(p.start, before)


@each("share", [0.0, 1e-3, 0.5, 1.0])
@each("n", [3, 400])
def test_required_sums_from_nothing_to_all(n, share):
    X, box = samples(n), np.random.default_rng(0).exponential(size=n)
    p = Problem(np.zeros(n), np.zeros(n), box, total=(share * box.sum(),))
    solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-8)
    assert (solution.beta >= 0).all() and (solution.beta <= box).all()
    assert_allclose(solution.beta.sum(), share * box.sum(), rtol=1e-12)
    assert violation(matrix(X, p), p, solution.beta) <= 1e-8 + 1e-12
    if share in (0.0, 1.0):  # all at one bound: the interval of the multiplier has one end
        ((low, high, value),) = solution.multipliers
        assert np.isfinite(value) and value == (high if share == 0 else low)


def test_boxes_that_are_all_points():
    p = Problem(-np.ones(3), np.ones(3), np.ones(3), start=np.ones(3))
    solution = solve(p, KernelCache(rows_of(samples(3)), 200.0), tol=1e-6)
    assert solution.converged and solution.n_iter == 0
    assert solution.multipliers == [(-np.inf, np.inf, 0.0)]
    check(matrix(samples(3), p), p, solution, 1e-6)


def test_one_variable_cannot_move():
    p = Problem(np.array([-1.0]), np.array([-1.0]), np.array([1.0]), epsilon=0.1)
    solution = solve(p, KernelCache(rows_of(samples(1)), 200.0), tol=1e-6)
    assert solution.converged and solution.beta[0] == 0


# ---- open boxes


def open_problem(y):
    return Problem(-y, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0.0))


@each("n", [2, 30, 300])
@each("kernel", ["linear", "rbf"])
def test_a_hard_margin_is_the_limit_of_large_C(kernel, n):
    X = samples(n, 2)
    y = np.sign(X[:, 0] + 1e-9)
    y[:2] = 1, -1
    X[:, 0] += 2 * y
    hard = open_problem(y)
    solution = solve(hard, KernelCache(rows_of(X, kernel), 200.0), tol=1e-8)
    check(matrix(X, hard, kernel), hard, solution, 1e-8)
    size = 2 * np.abs(solution.beta).max()
    soft = Problem(-y, np.where(y > 0, 0, -size), np.where(y > 0, size, 0.0))
    expected = solve(soft, KernelCache(rows_of(X, kernel), 200.0), tol=1e-8).objective
    assert_allclose(solution.objective, expected, rtol=1e-6)


@pytest.mark.parametrize("n", [4, 100, 300])
def test_a_margin_that_cannot_be_is_told(n):
    X = samples(n, 2)
    y = np.where(np.random.default_rng(0).random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    X[1] = X[0]  # the same place, the other class
    for kernel in ("linear", "rbf"):
        store = KernelCache(rows_of(X, kernel), 200.0)
        solution = solve(open_problem(y), store, tol=1e-3)
        assert solution.diverged
        assert abs(solution.beta.sum()) <= 1e-9 * np.abs(solution.beta).sum()


# ---- kernels that are none


def indefinite(n):
    K = np.random.default_rng(n).normal(size=(n, n))
    return K + K.T


@each("kind", ["svc", "svr", "one class", "nu svc"])
@each("n", [6, 300])
def test_indefinite_kernels_end_at_a_feasible_point(n, kind):
    p = problem(kind, n)
    for K in (indefinite(n), -np.eye(n), -np.ones((n, n)), np.zeros((n, n))):
        rows = as_kernel("precomputed").rows(K, double=True)
        solution = solve(p, KernelCache(rows, 200.0), tol=1e-6, max_iter=50_000)
        assert np.isfinite(solution.beta).all()
        assert (solution.beta >= p.lower).all() and (solution.beta <= p.upper).all()
        totals = p.total or (0.0,)
        for members, total in zip(groups(p), totals, strict=True):
            size = 1 + np.abs(solution.beta).sum()
            assert abs(solution.beta[members].sum() - total) <= 1e-12 * size
        if solution.converged:
            assert violation(K, p, solution.beta) <= 1e-6 + 1e-9


@pytest.mark.parametrize("n", [6, 300])
def test_kernels_that_are_not_symmetric_end(n):
    K = np.random.default_rng(n).normal(size=(n, n))
    p = problem("svc", n)
    rows = as_kernel("precomputed").rows(K, double=True)
    solution = solve(p, KernelCache(rows, 200.0), tol=1e-6, max_iter=50_000)
    assert (solution.beta >= p.lower).all() and (solution.beta <= p.upper).all()
    assert abs(solution.beta.sum()) <= 1e-12 * (1 + np.abs(solution.beta).sum())


@each("kind", KINDS)
def test_a_tolerance_below_rounding_is_raised_to_what_can_be_told(kind):
    X, p = samples(60), problem(kind, 60)
    solution = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-300)
    size = np.abs(solution.gradient).max() + 2 * np.abs(p.linear).max()
    assert solution.converged and solution.violation <= 64 * EPS * size
    assert solution.n_iter < 60_000  # not all of the steps that there are
    check(matrix(X, p), p, solution, 64 * EPS * size)
