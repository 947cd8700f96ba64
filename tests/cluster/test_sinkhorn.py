"""Scaling to given sums: worked numbers, a 50-digit reference, linear programmes, and laws."""

import itertools
import warnings

import numpy as np
import pytest
from each import each
from mpmath import MPContext
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import doubly_stochastic, sinkhorn
from mlcore.cluster.scaling.marginals import Marginals
from mlcore.cluster.scaling.scaled_kernel import DenseKernel
from mlcore.cluster.scaling.solver import state_at

mp = MPContext()  # of its own, as the precision of others is theirs
mp.dps = 50

COST = np.array([[0, 1, 3, 2], [2, 0, 1, 4], [5, 2, 0, 1]])
POTENTIALS = "row_potentials", "column_potentials"
ROWS, COLUMNS = (0.5, 0.3, 0.2), (0.1, 0.4, 0.25, 0.25)


def problem(n, m, seed=0, spread=1.0):
    """Logarithms, row sums and column sums."""
    rng = np.random.default_rng([n, m, seed])
    r, c = rng.gamma(2.0, size=n) + 0.1, rng.gamma(2.0, size=m) + 0.1
    return spread * rng.normal(size=(n, m)), r, c * (r.sum() / c.sum())


def dense(P):
    return P.toarray() if sp.issparse(P) else P


def check(found, L, r, c, residual=1e-9):
    """The sums are met, and the plan is diag(u) K diag(v)."""
    P = dense(found.matrix).astype(np.float64)
    eps = 4 * float(np.finfo(found.matrix.dtype).eps)
    assert found.converged and found.residual <= residual
    assert_allclose(P.sum(axis=1), r, rtol=residual + eps)
    assert_allclose(P.sum(axis=0), c, rtol=residual + eps)
    assert found.residual_trace[-1] == found.residual
    assert len(found.residual_trace) == found.n_iter + 1
    normal = P > np.finfo(found.matrix.dtype).tiny
    logarithms = np.log(P[normal]) - np.asarray(L, np.float64)[normal]
    sums = (found.row_potentials[:, None] + found.column_potentials)[normal]
    scale = 1.0 + np.abs(L[normal]).max() + np.abs(sums).max()
    assert_allclose(logarithms, sums, rtol=0, atol=eps * scale)
    assert_allclose(found.row_potentials.mean(), found.column_potentials.mean(), atol=1e-9 * scale)


def test_worked_numbers():
    assert_allclose(sinkhorn([[1, 2], [3, 4]], tol=1e-14).matrix[0, 0], 0.4494897427832, atol=1e-13)
    expected = [
        [0.4866470304459, 0.5133529695541, 0],
        [0.5133529695541, 0.3610163080054, 0.1256307224404],
        [0, 0.1256307224404, 0.8743692775596],
    ]
    for kind in (np.array, sp.csr_array):
        K = kind([[1.0, 2, 0], [3, 4, 1], [0, 1, 5]])
        assert_allclose(dense(sinkhorn(K, tol=1e-14).matrix), expected, atol=1e-13)
    expected = [
        [0.2935549529769, 0.7986986778370, 0.9077463691862],
        [0.7064450470231, 1.201301322163, 1.092253630814],
    ]
    found = sinkhorn([[1, 2, 3], [4, 5, 6]], (2, 3), (1, 2, 2), tol=1e-14)
    assert_allclose(found.matrix, expected, rtol=1e-12)


def test_worked_numbers_of_transport():
    found = sinkhorn(cost=COST, rows=ROWS, columns=COLUMNS, reg=0.25, tol=1e-14)
    assert_allclose(found.transport_cost, 0.717634521320142, rtol=1e-13)
    assert_allclose(found.entropy, 1.77255204142541, rtol=1e-13)
    assert_allclose(found.primal_objective, 0.0244965109637897, rtol=1e-12)
    assert_allclose(found.dual_objective, 0.0244965109637897, rtol=1e-12)
    P = found.matrix
    assert_allclose(
        P[[0, 1, 2], [0, 2, 3]], [0.09999913306872, 0.0659068161121942, 0.016758337571904]
    )
    f = found.row_potentials - found.row_potentials[0]
    assert_allclose(f, [0, -0.913928168922048, -1.6582926311525], rtol=1e-12, atol=1e-15)
    found = sinkhorn(cost=COST, rows=ROWS, columns=COLUMNS, reg=0.05, tol=1e-12)
    assert_allclose(found.transport_cost, 0.70000000349709, rtol=1e-12)
    assert_allclose(found.entropy, 1.67964795719565, rtol=1e-12)
    assert_allclose(found.primal_objective, 0.566017605637308, rtol=1e-11)
    assert_allclose(found.matrix[2, 3], 3.43525557580614e-9, rtol=1e-10)
    assert found.transport_lower_bound <= 0.7 <= found.transport_cost


def test_worked_numbers_of_unbalanced_transport():
    arguments = {"rows": (1, 2), "columns": (2, 0.5), "reg": 0.5, "tol": 1e-14}
    cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = sinkhorn(cost=cost, marginal_penalty=1.0, **arguments)
    expected = [[1.1293022408399, 0.034577382619963], [0.48772313698684, 0.8153296047005]]
    assert_allclose(found.matrix, expected, rtol=1e-12)
    for objective in (found.primal_objective, found.dual_objective):
        assert_allclose(objective, -0.66733091286807, rtol=1e-12)
    # By its definition, and as a shift of the cost would change it.
    P, r, c = found.matrix, np.array([1.0, 2.0]), np.array([2.0, 0.5])
    kl = lambda p, q: (p * np.log(p / q) - p + q).sum()  # noqa: E731
    F = (P * cost).sum() + 0.5 * (P * (np.log(P) - 1)).sum() + kl(P.sum(1), r) + kl(P.sum(0), c)
    assert_allclose(found.primal_objective, F, rtol=1e-12)
    assert_allclose(found.transport_cost, (P * cost).sum(), rtol=1e-12)


SHAPES = [(1, 1), (1, 40), (40, 1), (7, 7), (3, 300), (300, 3), (130, 201), (517, 70)]


@each("shape", SHAPES)
def test_sums_and_cross_ratios(shape):
    L, r, c = problem(*shape)
    for dtype, kind in itertools.product([np.float32, np.float64], ["K", "log_K", "CSR"]):
        with case(shape, dtype, kind):
            logs = L.astype(dtype)
            if kind == "log_K":
                found = sinkhorn(log_K=logs, rows=r, columns=c)
                check(found, logs, r, c)
                continue
            K = np.exp(logs)
            given = sp.csr_array(K) if kind == "CSR" else K
            before = K.copy()
            found = sinkhorn(given, r, c)
            check(found, np.log(K.astype(np.float64)), r, c)
            assert found.matrix.dtype == dtype
            assert_array_equal(K, before)
            scaled = found.row_scaling[:, None] * K * found.column_scaling
            assert_allclose(
                dense(found.matrix), scaled, rtol=1e-6 if dtype == np.float32 else 1e-13
            )


@each("reg", [1.0, 0.1, 0.01, 0.001])
def test_transport_between_clouds_and_its_bounds(reg):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(90, 2)) + 1.0
    cost = ((X[:, None] - Y) ** 2).sum(axis=2)
    r, c = rng.gamma(2.0, size=60) + 0.1, rng.gamma(2.0, size=90) + 0.1
    r, c = r / r.sum(), c / c.sum()
    found = sinkhorn(cost=cost, rows=r, columns=c, reg=reg)
    logarithms = {name: getattr(found, name) / reg for name in POTENTIALS}
    check(found._replace(**logarithms), -cost / reg, r, c)
    A = sp.vstack([sp.kron(sp.eye(60), np.ones(90)), sp.kron(np.ones(60), sp.eye(90))])
    exact = linprog(cost.ravel(), A_eq=A, b_eq=np.concatenate((r, c))).fun
    assert found.transport_lower_bound <= exact + 1e-12
    assert exact <= found.transport_cost + 1e-8
    entropies = [-(p * np.log(p)).sum() for p in (r, c)]
    assert found.transport_cost - exact <= reg * min(entropies) + 1e-9
    P = found.matrix
    assert_allclose(found.transport_cost, (P * cost).sum(), rtol=1e-12)
    positive = P[P > 0]
    assert_allclose(found.entropy, -(positive * np.log(positive)).sum(), rtol=1e-11)
    objective = (P * cost).sum() + reg * (positive * (np.log(positive) - 1)).sum()
    assert 0 <= found.duality_gap < 1e-4 * abs(found.dual_objective)
    assert_allclose(found.primal_objective, objective, rtol=0, atol=found.duality_gap + 1e-8)
    # Far from the origin the plan is the same, up to the digits that the cost loses.
    far = sinkhorn(cost=cost + 1e8, rows=r, columns=c, reg=reg, tol=1e-9)
    assert_allclose(far.matrix, P, atol=1e-6 * min(1.0, 0.01 / reg) / reg)


def exact_dual(L, r, c, b):
    """The optimum of D with 50 digits, by Newton's method from b."""
    n, m = L.shape
    K = mp.matrix(np.vectorize(lambda x: mp.exp(mp.mpf(float(x))))(L).tolist())
    r, c = ([mp.mpf(float(x)) for x in values] for values in (r, c))
    c = [x * mp.fsum(r) / mp.fsum(c) for x in c]
    b = [mp.mpf(float(x)) for x in b]
    for _ in range(8):
        v = [mp.exp(x) for x in b]
        sums = [mp.fsum(K[i, j] * v[j] for j in range(m)) for i in range(n)]
        P = mp.matrix(n, m)
        for i, j in itertools.product(range(n), range(m)):
            P[i, j] = r[i] * K[i, j] * v[j] / sums[i]
        q = [mp.fsum(P[i, j] for i in range(n)) for j in range(m)]
        H = mp.matrix(m - 1, m - 1)
        for j, k in itertools.product(range(m - 1), range(m - 1)):
            H[j, k] = (q[j] if j == k else 0) - mp.fsum(P[i, j] * P[i, k] / r[i] for i in range(n))
        step = mp.lu_solve(H, mp.matrix([c[j] - q[j] for j in range(m - 1)]))
        b = [x + (step[j] if j < m - 1 else 0) for j, x in enumerate(b)]
    value = mp.fsum(r[i] * mp.log(r[i] / sums[i]) for i in range(n))
    return value + mp.fsum(x * y for x, y in zip(b, c, strict=True)) - mp.fsum(r), c


@each("tol", [0.3, 1e-2, 1e-4, 1e-7])
def test_duality_gap_bounds_the_distance_to_the_optimum_of_50_digits(tol):
    L, r, c = problem(5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = sinkhorn(log_K=L, rows=r, columns=c, tol=tol, method="alternation")
    best, c = exact_dual(L, r, c, found.column_potentials)
    a, b = ([mp.mpf(float(x)) for x in p] for p in found[3:5])
    value = mp.fsum(mp.mpf(float(x)) * y for x, y in zip(r, a, strict=True))
    value += mp.fsum(x * y for x, y in zip(c, b, strict=True))
    value -= mp.fsum(
        mp.exp(mp.mpf(float(L[i, j])) + a[i] + b[j])
        for i, j in itertools.product(range(5), range(4))
    )
    short = float(best - value)
    assert 0 < short <= found.duality_gap
    assert found.duality_gap <= 2.5 * short + 1e-12 + 1e-4 * found.residual
    assert found.dual_objective == pytest.approx(float(value), abs=1e-12)


def test_laws():
    L, r, c = problem(20, 30, spread=2.0)
    K = np.exp(L)
    P = sinkhorn(K, r, c, tol=1e-12).matrix
    same = lambda Q: assert_allclose(Q, P, rtol=1e-9)  # noqa: E731
    same(sinkhorn(np.ascontiguousarray(K.T), c, r, tol=1e-12).matrix.T)
    same(sinkhorn(1e-200 * K, r, c, tol=1e-12).matrix)
    rng = np.random.default_rng(0)
    same(sinkhorn(np.exp(L + rng.normal(size=(20, 1)) + rng.normal(size=30)), r, c, tol=1e-12)[0])
    same(sinkhorn(1e9 * K, 1e150 * r, 1e150 * c, tol=1e-12).matrix / 1e150)
    order = rng.permutation(20)
    same(sinkhorn(K[order], r[order], c, tol=1e-12).matrix[np.argsort(order)])
    # A row in two copies shares its sum, in any proportion.
    copies = np.concatenate((np.arange(20), [3]))
    shares = r[copies]
    shares[[3, 20]] *= 0.25, 0.75
    Q = sinkhorn(K[copies], shares, c, tol=1e-12).matrix
    Q[3] += Q[20]
    same(Q[:20])
    # A row and column with the sum 0 are left out.
    more = np.pad(K, ((0, 1), (0, 1)), constant_values=7.0)
    found = sinkhorn(more, np.append(r, 0), np.append(c, 0), tol=1e-12)
    same(found.matrix[:20, :30])
    assert not found.matrix[20].any() and not found.matrix[:, 30].any()
    assert found.row_scaling[20] == 0 and found.row_potentials[20] == -np.inf
    warm = sinkhorn(
        K, r, c, tol=1e-10, init=(found.row_potentials[:20], found.column_potentials[:30])
    )
    same(warm.matrix)
    assert warm.n_iter == 0
    assert sinkhorn(K, r, c, return_matrix=False).matrix is None
    same(sinkhorn(K, r, c, tol=1e-12, overwrite=True).matrix)
    same(K)


def test_read_only_and_strided_input_and_the_uniform_sums():
    L, r, c = problem(12, 18)
    K = np.exp(L)
    P = sinkhorn(K, r, c).matrix
    K.flags.writeable = False
    assert_array_equal(sinkhorn(K, r, c).matrix, P)
    assert_array_equal(sinkhorn(np.asfortranarray(K), r, c).matrix, P)
    assert_array_equal(sinkhorn(np.repeat(K, 2, axis=1)[:, ::2], r, c).matrix, P)
    with pytest.raises(ValueError, match="K is read-only"):
        sinkhorn(K, r, c, overwrite=True)
    assert_allclose(sinkhorn(K).matrix.sum(axis=0), np.full(18, 12 / 18))
    assert_allclose(sinkhorn(K, r).matrix.sum(axis=0), np.full(18, r.sum() / 18))
    assert_allclose(sinkhorn(K, columns=c).matrix.sum(axis=1), np.full(12, c.sum() / 12))


def test_symmetric_matrices_are_those_of_doubly_stochastic():
    rng = np.random.default_rng(0)
    K = rng.random((60, 60)) + 0.01
    K += K.T
    expected = doubly_stochastic(K).matrix
    for given in (K, sp.csr_array(K)):
        found = sinkhorn(given, tol=1e-12)
        assert_allclose(dense(found.matrix), expected, rtol=1e-11)
    assert_allclose(sinkhorn(log_K=np.log(K), tol=1e-12).matrix, expected, rtol=1e-10)
    assert_allclose(sinkhorn(K, np.full(60, 3.0), tol=1e-12).matrix, 3 * expected, rtol=1e-11)


@each("spread", [2.0, 20.0, 40.0])
def test_same_bytes_whatever_the_threads_and_peaked_matrices(spread):
    L, r, c = problem(300, 450, spread=spread)
    for arguments in ({"K": np.exp(L)}, {"log_K": L}):
        with threadpool_limits(1, user_api="openmp"):
            one = sinkhorn(rows=r, columns=c, **arguments)
        two = sinkhorn(rows=r, columns=c, **arguments)
        check(one, L, r, c)
        for first, second in zip(one, two, strict=True):
            assert_array_equal(first, second)
        assert one.n_iter < 15


def test_large_ranges_and_underflow():
    rng = np.random.default_rng(0)
    K = 10.0 ** rng.uniform(-300, 300, size=(40, 50))
    r, c = np.ones(40), np.full(50, 0.8)
    check(sinkhorn(K, r, c), np.log(K), r, c)
    # All of exp(log K) underflows.
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(50, 2)) + 30.0
    L = -((X[:, None] - Y) ** 2).sum(axis=2)
    assert np.exp(L).max() == 0
    check(sinkhorn(log_K=L, rows=r, columns=c), L, r, c)
    check(sinkhorn(log_K=sp.csr_array(L), rows=r, columns=c), L, r, c)
    # Columns that no row reaches at first.
    L = np.add.outer(rng.normal(size=40), 1e4 * rng.normal(size=50))
    found = sinkhorn(log_K=L, rows=r, columns=c)
    assert found.row_scaling is None and found.column_scaling is None
    check(found, L, r, c)


def test_infinite_cost_and_what_csr_does_not_store():
    L, r, c = problem(30, 40)
    rng = np.random.default_rng(1)
    missing = rng.random((30, 40)) < 0.3
    K = np.where(missing, 0.0, np.exp(L))
    expected = sinkhorn(K, r, c, tol=1e-12).matrix
    assert_array_equal(expected[missing], 0)
    check(sinkhorn(K, r, c), L, r, c)
    places = np.nonzero(~missing)
    logs = sp.csr_array((L[places], places), shape=L.shape)
    for arguments in (
        {"log_K": np.where(missing, -np.inf, L)},
        {"cost": np.where(missing, np.inf, -0.5 * L), "reg": 0.5},
        {"K": sp.csr_array(K)},
        {"log_K": logs},
        {"cost": -2.0 * logs, "reg": 2.0},
    ):
        found = sinkhorn(rows=r, columns=c, tol=1e-12, **arguments)
        assert_allclose(dense(found.matrix), expected, rtol=1e-9, atol=1e-300)
    # A stored 0 of a cost is a K of 1.
    zero = sp.csr_array((np.zeros(4), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    assert_allclose(sinkhorn(cost=zero, reg=1.0).matrix.toarray(), np.full((2, 2), 0.5))
    zero = sp.csr_array((np.array([1.0, 0, 2, 1]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    with pytest.raises(ValueError, match=r"K\[1, 0\] is positive"):
        sinkhorn(zero)


def brute_force(K, r, c):
    """Whether a plan exists, and the entries that no plan has, by linear programmes."""
    n, m = K.shape
    places = np.argwhere(K > 0)
    A = np.zeros((n + m, len(places)))
    A[places[:, 0], np.arange(len(places))] = 1
    A[n + places[:, 1], np.arange(len(places))] = 1
    never = []
    for k in range(len(places)):
        cost = np.zeros(len(places))
        cost[k] = -1
        result = linprog(cost, A_eq=A, b_eq=np.concatenate((r, c)))
        if not result.success:
            return False, []
        if result.fun > -1e-9:
            never.append(tuple(places[k]))
    return True, never


@each("seed", range(40))
def test_which_matrices_can_be_scaled_against_linear_programmes(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 5, size=2)
    K = (rng.random((n, m)) < 0.55).astype(float)
    plan = rng.integers(1, 4, size=(n, m)) * K if seed % 2 else rng.integers(1, 4, size=(n, m))
    r, c = plan.sum(axis=1).astype(float), plan.sum(axis=0).astype(float)
    if seed % 2 == 0:
        K[:, :] = np.maximum(K, 0)
    else:  # some entries more than the plan needs
        K = np.maximum(K, rng.random((n, m)) < 0.3)
    kept = np.ix_(r > 0, c > 0)
    possible, never = brute_force(K[kept], r[r > 0], c[c > 0])
    for given in (K, sp.csr_array(K)):
        if not possible:
            with pytest.raises(ValueError, match="cannot be scaled|no positive entry"):
                sinkhorn(given, r, c)
            continue
        if never:
            with pytest.raises(ValueError, match="is positive, but lies on no matrix"):
                sinkhorn(given, r, c)
            with pytest.warns(ConvergenceWarning, match=f"drops {len(never)} of"):
                found = sinkhorn(given, r, c, support="limit")
        else:
            found = sinkhorn(given, r, c)
        assert found.dropped == len(never) and found.converged
        P = dense(found.matrix)
        assert_allclose(P.sum(axis=1), r, atol=1e-8)
        inside = P[kept]
        assert all(inside[place] == 0 for place in never)
        assert (inside > 0).sum() == (K[kept] > 0).sum() - len(never)


def test_what_proves_that_there_is_no_scaling_is_named():
    with pytest.raises(ValueError, match=r"row 0 must sum to 2, .* column 0, which sum to 1\."):
        sinkhorn([[1, 0], [1, 1]], (2, 1), (1, 2))
    with pytest.raises(
        ValueError, match=r"K\[1, 0\] is positive.* row 0 with the sum 1 .*column 0"
    ):
        sinkhorn([[1, 0], [1, 1]])
    with pytest.raises(ValueError, match="Row 0 of K has no positive entry"):
        sinkhorn([[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="Column 1 of cost has no positive entry"):
        sinkhorn(cost=[[0, np.inf], [1, np.inf]], reg=1.0)
    with pytest.warns(ConvergenceWarning, match="drops 1 of 3"):
        assert_allclose(sinkhorn([[1, 0], [1, 1]], support="limit").matrix, np.eye(2))
    # Blocks are scaled apart, each with its own constant.
    B = sp.block_diag([np.ones((2, 3)), np.ones((3, 2))]).toarray()
    found = sinkhorn(B, [3, 3, 2, 2, 2], [2, 2, 2, 3, 3], tol=1e-13)
    assert_allclose(found.matrix, B)
    assert_allclose(found.row_potentials[:2].mean(), found.column_potentials[:3].mean(), atol=1e-12)
    assert_allclose(found.row_potentials[2:].mean(), found.column_potentials[3:].mean(), atol=1e-12)
    with pytest.raises(
        ValueError, match="rows 0, 1 must sum to 6.*columns 0, 1, 2, which sum to 5"
    ):
        sinkhorn(B, [3, 3, 2, 2, 2], [2, 2, 1, 3, 4])


@each("penalty", [0.01, 1.0, 100.0, (np.inf, 1.0), (1.0, np.inf), (0.5, 3.0)])
def test_penalised_sums(penalty):
    L, r, c = problem(8, 11)
    r = 3.0 * r if np.max(penalty) < np.inf else r
    reg, cost = 0.5, -0.5 * L
    found = sinkhorn(cost=cost, rows=r, columns=c, reg=reg, marginal_penalty=penalty, tol=1e-11)
    assert found.converged and 0 <= found.duality_gap < 1e-9
    P = found.matrix
    p, q = P.sum(axis=1), P.sum(axis=0)
    pair = penalty if isinstance(penalty, tuple) else (penalty,) * 2
    F = (P * cost).sum() + reg * (P * (np.log(P) - 1)).sum()
    D = -reg * P.sum()
    potentials = found.row_potentials, found.column_potentials
    for rho, sums, wanted, f in zip(pair, (p, q), (r, c), potentials, strict=True):
        if rho == np.inf:
            assert_allclose(sums, wanted, rtol=1e-10)
            D += wanted @ f
            continue
        assert_allclose(sums, wanted * np.exp(-f / rho), rtol=1e-10)  # the optimality conditions
        F += rho * (sums * np.log(sums / wanted) - sums + wanted).sum()
        D -= rho * (wanted * np.expm1(-f / rho)).sum()
    assert_allclose(found.dual_objective, D, rtol=1e-10)
    assert_allclose(found.primal_objective, F, rtol=1e-9)
    assert_allclose(
        P, np.exp((found.row_potentials[:, None] + found.column_potentials - cost) / reg)
    )
    sparse = sinkhorn(
        cost=sp.csr_array(cost), rows=r, columns=c, reg=reg, marginal_penalty=penalty, tol=1e-11
    )
    assert_allclose(sparse.matrix.toarray(), P, rtol=1e-8)
    if pair[0] < np.inf and pair[1] < np.inf:  # a row without an entry only pays for its absence
        more = np.vstack((cost, np.full(11, np.inf)))
        other = sinkhorn(cost=more, rows=np.append(r, 2.0), columns=c, reg=reg,
                         marginal_penalty=penalty, tol=1e-11)  # fmt: skip
        assert_allclose(other.matrix[:8], P, rtol=1e-8)
        assert_allclose(other.dual_objective, D + 2.0 * pair[0], rtol=1e-10)


def test_lost_digits_are_told():
    rng = np.random.default_rng(0)
    cost = ((rng.normal(size=(30, 1, 2)) - rng.normal(size=(40, 2))) ** 2).sum(axis=2)
    with pytest.warns(ConvergenceWarning, match="sums off by a share of"):
        found = sinkhorn(cost=cost, reg=1e-12, max_iter=200)
    assert not found.converged and found.residual > 1e-9
    with pytest.raises(ValueError, match="reg=1e-310 leaves the range of float64"):
        sinkhorn(cost=cost, reg=1e-310)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        found = sinkhorn(np.exp(-cost), max_iter=2, method="alternation")
    assert found.method == "alternation" and found.n_iter == 2


def test_progress():
    steps = []
    L, r, c = problem(10, 12)
    found = sinkhorn(log_K=L, rows=r, columns=c, callback=lambda **step: steps.append(step))
    assert_array_equal([step["change"] for step in steps][-1], found.residual_trace[-1])
    with pytest.raises(StopIteration):
        sinkhorn(log_K=L, rows=r, columns=c, callback=lambda **_: next(iter([])))


@each("arguments, message", [
    (({},), "exactly one of K, log_K and cost, but none"),
    (({"K": [[1.0]], "cost": [[1.0]], "reg": 1.0},), "K and cost are given"),
    (({"cost": [[1.0]]},), "reg is given if and only if cost is"),
    (({"K": [[1.0]], "reg": 1.0},), "reg is given if and only if cost is"),
    (({"cost": [[1.0]], "reg": 0.0},), "reg"),
    (({"K": [[1.0, -2.0]]},), r"K\[0, 1\] is -2"),
    (({"K": [[1.0, np.nan]]},), r"K\[0, 1\] is NaN"),
    (({"K": [[1.0, 2.0], [np.inf, 1.0]]},), r"K\[1, 0\] is inf"),
    (({"K": sp.csr_array([[1.0, 2.0], [np.inf, 1.0]])},), r"K\[1, 0\] is inf"),
    (({"K": sp.csr_array([[1.0, 2.0], [-3.0, 1.0]])},), r"K\[1, 0\] is -3"),
    (({"log_K": [[1.0, np.inf]]},), r"log_K\[0, 1\] is inf"),
    (({"cost": [[1.0, -np.inf]], "reg": 1.0},), r"cost\[0, 1\] is -inf"),
    (({"cost": [[1.0, np.nan]], "reg": 1.0},), r"cost\[0, 1\] is NaN"),
    (({"K": [[1.0, 2.0]], "columns": [1.0, -1.0]},), r"columns\[1\] is -1"),
    (({"K": [[1.0, 2.0]], "columns": [0.0, 0.0]},), "columns sums to 0"),
    (({"K": [[1.0, 2.0]], "columns": [1.0, 2.0, 3.0]},), "columns|samples"),
    (({"K": [[1.0, 2.0]], "rows": [1.0], "columns": [1.0, 2.0]},), "sum to 1 and columns to 3"),
    (({"K": [[1.0, 2.0]], "marginal_penalty": (1.0, 2.0, 3.0)},), "marginal_penalty has 3 values"),
    (({"K": [[1.0, 2.0]], "marginal_penalty": -1.0},), "marginal_penalty"),
    (({"K": [[1.0, 2.0]], "init": [0.0]},), "init must be the pair"),
    (({"K": [[1.0, 2.0]], "init": ([0.0], [0.0, np.nan])},), "column_potentials of init"),
    (({"K": [[1.0, 2.0]], "support": "x"},), "support"),
    (({"K": [[1.0, 2.0]], "method": "x"},), "method"),
])  # fmt: skip
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn(**arguments[0])


def test_a_copy_in_16_bits_has_the_sums_of_the_plan():
    L, r, c = problem(200, 300)
    marginals = Marginals(r, c)
    for K, scale in ((np.exp(L), None), (L, 1.0), (np.exp(L).astype(np.float32), None)):
        kernel = DenseKernel(K, scale, 0.0, "test")
        state = state_at(kernel, marginals, np.zeros(300))
        copy = kernel.shortened(state.a, state.b, marginals)
        a, q = copy.rows_solved(state.b, marginals)
        assert_allclose(a, state.a, atol=1e-3)
        assert_allclose(q, state.column_sums, rtol=1e-2)
        d = np.random.default_rng(0).normal(size=300)
        rough = copy.squared(state.a, state.b, 1.0 / r)(d)
        exact = kernel.squared(state.a, state.b, 1.0 / r)(d)  # in the copy's memory
        P = np.exp(L + state.a[:, None] + state.b)
        assert_allclose(exact, P.T @ (P @ d / r), rtol=1e-5, atol=1e-5)
        assert_allclose(rough, exact, rtol=0, atol=2e-2 * np.abs(exact).max())


def test_slow_alternation_goes_on_and_symmetric_steps_are_counted():
    # Two groups that hardly touch: a sweep leaves 0.999 of the residual, Newton's steps end soon.
    rng = np.random.default_rng(0)
    K = rng.random((20, 20)) + 0.1
    K[:10, 10:] *= 2.5e-4
    K[10:, :10] *= 2.5e-4
    r = np.full(20, 1.0)
    r[:10] += 1e-4
    c = np.full(20, r.sum() / 20)
    with pytest.warns(ConvergenceWarning, match="stopped after 400 steps"):
        slow = sinkhorn(K, r, c, method="alternation", max_iter=400)
    fast = sinkhorn(K, r, c)
    assert fast.converged and fast.n_iter < 20 and fast.method == "newton"
    assert slow.duality_gap >= fast.dual_objective - slow.dual_objective > 0
    assert (np.diff(slow.residual_trace[2:]) <= 0).all()
    K += K.T
    found = sinkhorn(K)
    assert found.n_iter == doubly_stochastic(K, tol=1e-9).n_iter


@each("seed", range(40))
def test_random_problems_converge_and_their_gaps_hold(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9, size=2)
    L, r, c = problem(n, m, seed, spread=rng.choice([0.1, 1.0, 5.0, 20.0, 60.0]))
    zeros = rng.random((n, m)) < 0.3
    plan = np.where(zeros, 0.0, rng.random((n, m)) + 0.01)
    if seed % 2 and plan.sum(axis=0).min() > 0 and plan.sum(axis=1).min() > 0:
        r, c, L = plan.sum(axis=1), plan.sum(axis=0), np.where(zeros, -np.inf, L)
    penalty = tuple(10.0 ** rng.uniform(-1, 2, size=2)) if seed % 5 == 0 else None
    given = {"log_K": L, "rows": r, "columns": c, "marginal_penalty": penalty}
    method = ["auto", "alternation"][seed % 3 == 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = sinkhorn(**given, tol=10.0 ** rng.uniform(-8, 0), method=method, max_iter=500)
        fine = sinkhorn(**given, tol=1e-12)
    assert fine.residual < 1e-9
    slack = 1e-10 * (1.0 + abs(fine.dual_objective))
    assert rough.duality_gap >= fine.dual_objective - rough.dual_objective - slack
