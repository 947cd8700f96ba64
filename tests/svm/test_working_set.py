"""Working sets: the kept square of K, the small problem on it, and Newton steps on a face."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.smo import up_and_low
from mlcore.svm.smo.working_set import WorkingSet

NO_ONE = np.zeros(0, dtype=np.intp)


def samples(n, d=3, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


# ---- up_and_low


@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_values_of_I_up_and_I_low_are_one_sided_derivatives(epsilon):
    lower, upper = np.array([-2.0, -2, 0, -2, -2, 1]), np.array([2.0, 2, 2, 0, 2, 1])
    beta = np.array([1.0, -1, 0, 0, 0, 1])
    g = np.arange(6) - 2.5
    rise, fall = up_and_low(g, beta, lower, upper, epsilon)
    h = 1e-7
    for i in range(6):
        slope_up = g[i] + epsilon * (abs(beta[i] + h) - abs(beta[i])) / h
        slope_down = g[i] + epsilon * (abs(beta[i]) - abs(beta[i] - h)) / h
        can_rise, can_fall = beta[i] < upper[i], beta[i] > lower[i]
        assert rise[i] == (pytest.approx(-slope_up, abs=1e-6) if can_rise else -np.inf)
        assert fall[i] == (pytest.approx(-slope_down, abs=1e-6) if can_fall else np.inf)


# ---- the square of K


def square_of(working):
    """K between the variables in use, and those variables, in the order of the slots."""
    slots = working._slots
    return working.K[np.ix_(slots, slots)], working._variables


def sequences():
    """Which variables are chosen, round after round: sets that grow, shrink and drift."""
    return st.lists(
        st.tuples(st.floats(0.02, 0.9), st.floats(0, 1), st.integers(0, 2**32 - 1)),
        min_size=1,
        max_size=8,
    )


# All pairs of the three.
@pytest.mark.parametrize(
    ("d", "groups", "repeated"), [(3, 1, False), (3, 2, True), (40, 1, True), (40, 2, False)]
)
@settings(max_examples=12)
@given(rounds=sequences())
def test_the_square_follows_the_choice(d, groups, repeated, rounds):
    n = 90
    kernel = as_kernel("rbf", gamma=0.1).rows(samples(n, d), double=True)
    expected = kernel.block(np.arange(n))
    store = KernelCache(kernel, 1e-3)  # 64 rows of K are held
    index = np.tile(np.arange(n), 2) if repeated else np.arange(n)
    m = len(index)
    members = (np.arange(m), NO_ONE) if groups == 1 else (np.arange(0, m, 2), np.arange(1, m, 2))
    working = WorkingSet(store, index, 0.0, members)
    for share, drift, seed in rounds:
        rng = np.random.default_rng(seed)
        chosen = []
        for k in members:
            window = (rng.random(len(k)) + drift * np.linspace(0, 1, len(k))) < share
            chosen.append(k[window])
        if sum(map(len, chosen)) == 0:
            continue
        store.fetch(rng.permutation(n)[: rng.integers(1, 64)])  # other rows come and go
        working.load(chosen)
        K, variables = square_of(working)
        assert_array_equal(np.sort(variables), np.sort(np.concatenate(chosen)))
        assert_allclose(K, expected[np.ix_(index[variables], index[variables])], atol=1e-15)
        for begin, end, group in working.spans:
            inside = (working._slots >= begin) & (working._slots < end)
            assert_array_equal(np.sort(variables[inside]), chosen[group])


def test_the_whole_matrix_serves_as_the_square_of_all_variables():
    kernel = as_kernel("rbf", gamma=0.1).rows(samples(100), double=True)
    store = KernelCache(kernel, 200.0)
    store.complete()
    some = np.r_[10:30, 50:100]  # two runs of samples, as one of several classes has them
    for index in (np.arange(100), some):
        m = len(index)
        working = WorkingSet(store, index, 0.0, (np.arange(m), NO_ONE))
        assert working.may_share
        working.load((np.arange(m), NO_ONE))
        assert working.shared and working.K is store.rows
        K, variables = square_of(working)
        assert_array_equal(variables, np.arange(m))
        assert_allclose(K, kernel.block(index, index), atol=1e-15)
        half = np.arange(m // 2)
        working.load((half, NO_ONE))  # and an own square for fewer
        K, variables = square_of(working)
        assert not working.shared
        assert_allclose(K, kernel.block(index[variables], index[variables]), atol=1e-15)
        working.load((np.arange(m), NO_ONE))
        assert working.shared


@pytest.mark.parametrize("index", [np.arange(20)[::-1], np.arange(0, 100, 9), np.r_[:9, :9]])
def test_what_is_in_no_order_or_in_too_many_runs_is_not_shared(index):
    store = KernelCache(as_kernel("rbf", gamma=0.1).rows(samples(100), double=False), 200.0)
    store.complete()
    assert not WorkingSet(store, index, 0.0, (np.arange(len(index)), NO_ONE)).may_share


# ---- the small problem


def small_problem(n, *, epsilon=0.0, C=10.0, kernel="rbf", double=True, seed=0, gamma=0.5):
    rows = as_kernel(kernel, gamma=gamma).rows(samples(n, seed=seed), double=double)
    store = KernelCache(rows, 200.0)
    working = WorkingSet(store, np.arange(n), epsilon, (np.arange(n), NO_ONE))
    working.load((np.arange(n), NO_ONE))
    q = np.random.default_rng(seed).normal(size=n)
    lower, upper = np.full(n, -C), np.full(n, C)
    return working, rows.block(np.arange(n)).astype(np.float64), q, lower, upper


def objective(K, q, beta, epsilon):
    return 0.5 * beta @ K @ beta + q @ beta + epsilon * np.abs(beta).sum()


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_solve_reports_what_moved_and_reaches_the_tolerance(epsilon):
    working, K, q, lower, upper = small_problem(80, epsilon=epsilon)
    beta = np.zeros(80)
    moved, change = working.solve(beta, q.copy(), lower, upper, tol=1e-6, max_steps=10**6)
    assert_array_equal(np.flatnonzero(beta), moved)
    assert_array_equal(beta[moved], change)
    assert (beta >= lower).all() and (beta <= upper).all() and abs(beta.sum()) < 1e-12
    rise, fall = up_and_low(K @ beta + q, beta, lower, upper, epsilon)
    assert rise.max() - fall.min() <= 1e-6 + 1e-12


@pytest.mark.parametrize("max_steps", [1, 7, 100])
def test_no_more_steps_than_allowed(max_steps):
    working, K, q, lower, upper = small_problem(80)
    beta = np.zeros(80)
    working.solve(beta, q.copy(), lower, upper, tol=1e-12, max_steps=max_steps)
    assert working.n_iter == max_steps
    assert objective(K, q, beta, 0) < 0 and abs(beta.sum()) < 1e-12


@pytest.mark.parametrize(
    ("epsilon", "C", "seed"), [(0.0, 1e6, 0), (0.3, 10.0, 1), (0.3, 10.0, 2), (1.0, 1e3, 0)]
)
def test_a_face_that_settles_solves_the_problem(epsilon, C, seed):
    """Variables that are released from a bound, and that end at the kink at 0, among them."""
    working, K, q, lower, upper = small_problem(150, epsilon=epsilon, C=C, seed=seed)
    beta = np.zeros(150)
    working.solve(beta, q.copy(), lower, upper, tol=1e-8, max_steps=10**6)
    assert working.faces[1] > 0
    rise, fall = up_and_low(K @ beta + q, beta, lower, upper, epsilon)
    assert rise.max() - fall.min() <= 1e-7


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_a_face_that_does_not_settle_is_left_no_worse(epsilon):
    """A linear kernel of rank 3 is singular: many faces are flat, and their Newton steps go far."""
    before, tried = 0.0, 0
    for max_steps in range(500, 10_001, 500):  # with the faces between, step by step
        working, K, q, lower, upper = small_problem(150, epsilon=epsilon, C=1e3, kernel="linear")
        beta = np.zeros(150)
        working.solve(beta, q.copy(), lower, upper, tol=1e-8, max_steps=max_steps)
        assert (beta >= lower).all() and (beta <= upper).all()
        assert abs(beta.sum()) <= 1e-11 * (1 + np.abs(beta).sum())
        reached = objective(K, q, beta, epsilon)
        size = np.abs(beta) @ np.abs(K) @ np.abs(beta)
        assert reached <= before + 1e-12 * size
        before, tried = reached, max(tried, int(working.faces[0] - working.faces[1]))
    assert tried > 0 and before < 0


def test_the_sum_of_each_group_stays():
    rows = as_kernel("rbf", gamma=0.5).rows(samples(150), double=True)
    members = (np.arange(0, 150, 3), np.setdiff1d(np.arange(150), np.arange(0, 150, 3)))
    working = WorkingSet(KernelCache(rows, 1e-3), np.arange(150), 0.0, members)
    working.limits = (64, 112)  # room for all, whatever the store's
    working.load(members)
    q = np.random.default_rng(0).normal(size=150)
    beta = np.where(np.isin(np.arange(150), members[0]), 1.0, -2.0)
    K = rows.block(np.arange(150)).astype(np.float64)
    lower, upper = np.full(150, -1e3), np.full(150, 1e3)
    working.solve(beta, K @ beta + q, lower, upper, tol=1e-8, max_steps=10**6)
    assert working.faces[1] > 0
    for k, each in zip(members, (1.0, -2.0), strict=True):
        assert abs(beta[k].sum() - each * len(k)) <= 1e-12 * np.abs(beta[k]).sum()
        rise, fall = up_and_low(K @ beta + q, beta, lower, upper, 0.0)
        assert rise[k].max() - fall[k].min() <= 1e-7


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_without_free_variables_no_face_is_tried(epsilon):
    """Walls so close that every variable ends at one."""
    working, K, q, lower, upper = small_problem(20, epsilon=epsilon, C=1e-6)
    beta = np.zeros(20)
    working.solve(beta, q.copy(), lower, upper, tol=1e-9, max_steps=10**6)
    assert working.faces[1] == 0 and abs(beta.sum()) < 1e-18
