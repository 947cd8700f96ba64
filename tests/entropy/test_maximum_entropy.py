"""Maximum entropy: worked numbers, 50-digit optima, laws, faces and targets that nothing meets."""

import math
import pickle
import warnings

import mpmath
import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from mlcore.checks.errors import ConvergenceWarning
from mlcore.entropy import InfeasibleTargets, entropy, maximum_entropy, relative_entropy
from mlcore.entropy.evidence import evidence
from mlcore.entropy.gibbs import Gibbs

METHODS = ("newton", "gis", "iis")
FACES = np.arange(1.0, 7.0)[:, None]


def problem(seed, n=60, m=4, near=0.0):
    """Random points with targets in the hull's interior; `near` 1 is on its boundary."""
    rng = np.random.default_rng([seed, n, m])
    f = rng.random((n, m)) * 10.0 ** rng.integers(-2, 3, size=m)
    q = rng.dirichlet(np.ones(n))
    p = rng.dirichlet(np.ones(n) * 0.3)
    return f, (1 - near) * p @ f + near * f[0], q


def optimum(f, c, q, mu):
    """Least value of the dual in 50 digits, by Newton's method from mu."""
    with mpmath.workdps(50):
        n, m = f.shape
        points = [
            [mpmath.mpf(float(f[i, j])) - mpmath.mpf(float(c[j])) for j in range(m)]
            for i in range(n)
        ]
        total = mpmath.fsum(map(float, q))
        weights = [mpmath.mpf(float(value)) / total for value in q]
        mu = mpmath.matrix([float(value) for value in mu])
        for _ in range(12):
            terms = [
                weight * mpmath.exp(mpmath.fsum(a * b for a, b in zip(mu, point, strict=True)))
                for weight, point in zip(weights, points, strict=True)
            ]
            Z = mpmath.fsum(terms)
            mean = [
                mpmath.fsum(t * x[j] for t, x in zip(terms, points, strict=True)) / Z
                for j in range(m)
            ]
            H = mpmath.matrix(m)
            for a in range(m):
                for b in range(m):
                    products = (t * x[a] * x[b] for t, x in zip(terms, points, strict=True))
                    H[a, b] = mpmath.fsum(products) / Z - mean[a] * mean[b]
            step = mpmath.lu_solve(H, mpmath.matrix(mean))
            mu -= step
            if max(map(abs, step)) < mpmath.mpf(10) ** -35 * (1 + max(map(abs, mu))):
                return mpmath.log(Z)
        raise AssertionError("the oracle has not converged")


def test_the_die_of_jaynes():
    die = maximum_entropy(FACES, [4.5])
    p = die.probabilities
    assert [f"{p[0]:.14f}", f"{p[5]:.13f}"] == ["0.05435316782649", "0.3474940657741"]
    assert f"{entropy(p):.12f}" == "1.613581098154"
    assert_allclose(die.relative_entropy, math.log(6) - 1.613581098154, rtol=0, atol=1e-12)
    other = maximum_entropy(FACES, [4.2]).probabilities
    assert_allclose(other[1:] / other[:-1], 1.282800355186089, rtol=4e-15)
    assert_allclose(other @ FACES[:, 0], 4.2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", METHODS)
def test_the_translations_of_berger_and_others(solver):
    f = np.zeros((5, 2))
    f[[0, 1], 0] = f[[0, 2], 1] = 1
    p = maximum_entropy(f, [0.3, 0.5], solver=solver).probabilities
    expected = [0.185857157, 0.114142843, 0.314142843, 0.192928579, 0.192928579]
    assert_allclose(p, expected, rtol=0, atol=5.5e-10)


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_the_gap_is_never_below_the_distance_from_a_50_digit_optimum(solver, seed):
    f, c, q = problem(seed, n=25, m=3)
    best = optimum(f, c, q, maximum_entropy(f, c, q).multipliers)
    for limit in (1, 2, 3, 5, 9, 60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = maximum_entropy(f, c, q, solver=solver, max_iter=limit)
        with mpmath.workdps(50):
            assert mpmath.mpf(found.dual_objective) - best <= found.duality_gap
            assert abs(mpmath.mpf(found.relative_entropy) + best) <= found.duality_gap
    assert found.duality_gap < 1e-12 or solver != "newton"


@pytest.mark.parametrize("step", [0.15, 0.1])
def test_the_gap_is_the_bound_of_self_concordance(step):
    points, prior = np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.3])
    target = 0.7
    p = prior * np.exp(step * points)
    p /= p.sum()
    mean = p @ points
    deviation = math.sqrt(p @ (points - mean) ** 2)
    delta, rho = abs(mean - target) / deviation, 2 * abs(points - mean).max() / deviation
    u = rho * delta
    bound = (u + (1 - u) * math.log1p(-u)) / rho**2
    gibbs = Gibbs(points[:, None], np.array([target]), np.log(prior), np.arange(3))
    mu = step * gibbs.scale
    gap, _ = evidence(gibbs, mu, gibbs.moments(mu))
    assert_allclose(gap - abs(step * (mean - target)), bound, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_badly_scaled_and_nearly_dependent_features(scale):
    f, c, q = problem(3, n=30, m=3)
    f = np.column_stack([f * scale, f[:, 0] * scale + 1e-2 * scale * f[:, 1] ** 2])
    p = np.random.default_rng(0).dirichlet(np.ones(30))
    found = maximum_entropy(f, p @ f, q)
    # The multipliers are about 1e6, and lose as many digits.
    assert found.converged and found.duality_gap < 1e-7
    assert_allclose(found.probabilities @ f, p @ f, rtol=1e-9)


@pytest.mark.parametrize("solver", METHODS)
def test_laws(solver):
    f, c, q = problem(7, n=40, m=3)
    found = maximum_entropy(f, c, q, solver=solver)
    p = found.probabilities
    width = abs(f - c).max(axis=0)
    assert abs((p @ f - c) / width).max() <= 1.1e-10
    assert_allclose(p.sum(), 1, rtol=1e-14)
    assert (np.diff(found.trace) <= 0).all() and len(found.trace) == found.n_iter + 1
    assert found.support.all()
    Z = q / q.sum() @ np.exp(f @ found.multipliers)
    assert_allclose(np.log(Z), found.log_partition, rtol=1e-12)
    assert_allclose(p, q / q.sum() * np.exp(f @ found.multipliers) / Z, rtol=1e-11)
    assert_allclose(relative_entropy(p, q / q.sum()), found.relative_entropy, rtol=1e-8)
    # Pythagoras: for any p' with these expectations, D(p'||q) = D(p'||p) + D(p||q).
    null = np.linalg.svd(np.vstack([f.T, np.ones(40)]))[2][4:]
    for direction in null[:5]:
        other = p + direction * (p / abs(direction)).min() / 2
        parts = relative_entropy(other, p) + relative_entropy(p, q / q.sum())
        assert_allclose(relative_entropy(other, q / q.sum()), parts, rtol=1e-7)
    assert_allclose(p, maximum_entropy(f, c, q).probabilities, rtol=1e-6)


@pytest.mark.parametrize("shift", [0.0, -3.0])
def test_scaling_takes_features_of_any_sign(shift):
    f, c, q = problem(1, n=20, m=2)
    f, c = f / f.max(axis=0) + shift, c / f.max(axis=0) + shift
    expected = maximum_entropy(f, c, q).probabilities
    for solver in ("gis", "iis"):
        assert_allclose(maximum_entropy(f, c, q, solver=solver).probabilities, expected, rtol=1e-7)


@pytest.mark.parametrize("solver", ["gis", "iis"])
@pytest.mark.parametrize("shift", [-1e8, 1e4, 1e8])
def test_scaling_takes_as_many_steps_wherever_the_features_lie(solver, shift):
    faces = np.arange(1.0, 7.0)[:, None]
    near, far = (maximum_entropy(faces + s, [4.5 + s], solver=solver) for s in (0.0, shift))
    assert far.converged and far.n_iter == near.n_iter
    assert_allclose(far.probabilities, near.probabilities, rtol=1e-9)


def test_dependent_features_get_multipliers_of_least_norm():
    f, c, q = problem(2, n=30, m=2)
    alone = maximum_entropy(f, c, q)
    both = maximum_entropy(np.column_stack([f, 2 * f[:, 0]]), [*c, 2 * c[0]], q)
    assert_allclose(both.probabilities, alone.probabilities, rtol=1e-9)
    share = alone.multipliers[0] / 5  # (a, b) with a + 2 b fixed and a² + b² least
    expected = [share, alone.multipliers[1], 2 * share]
    assert_allclose(both.multipliers, expected, rtol=1e-8)


@pytest.mark.parametrize("solver", METHODS)
def test_targets_on_the_boundary_give_exact_zeros(solver):
    rng = np.random.default_rng(4)
    f = rng.normal(size=(200, 2))
    f = np.vstack(
        [f[(f**2).sum(axis=1) < 4], [[3, 0], [-1, 3], [1, 1.5]]]
    )  # a side of three points
    c = 0.4 * f[-3] + 0.6 * f[-2]
    found = maximum_entropy(f, c, solver=solver)
    assert_array_equal(np.flatnonzero(found.support), np.arange(len(f) - 3, len(f)))
    assert_array_equal(found.probabilities[:-3], 0)
    on_side = maximum_entropy(f[-3:], c)
    assert_allclose(found.probabilities[-3:], on_side.probabilities, rtol=0, atol=1e-8)
    assert found.duality_gap < 1e-9 and (np.diff(found.trace) <= 0).all()


@pytest.mark.parametrize("solver", METHODS)
def test_a_vertex_and_ranges(solver):
    f = np.random.default_rng(5).random((30, 2))
    found = maximum_entropy(np.vstack([f, [2.0, 0.3]]), [2.0, 0.3], solver=solver)
    assert found.probabilities[-1] == 1 and found.support.sum() == 1
    assert found.relative_entropy == pytest.approx(math.log(31))
    indicators = np.eye(4)[:, :3]
    assert_allclose(
        maximum_entropy(indicators, [0, 0.5, 0.25], solver=solver).probabilities,
        [0, 0.5, 0.25, 0.25],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore:maximum_entropy")  # scaling takes long near the boundary
def test_verdicts_are_those_of_a_linear_programme(solver, seed):
    rng = np.random.default_rng([9, seed])
    f = rng.random((40, 3))
    inside = 0
    for factor in (0.4, 0.9, 1.3, 2.0, 5.0):
        c = f.mean(axis=0) + factor * (f[seed] - f.mean(axis=0))
        feasible = linprog(
            np.zeros(40), A_eq=np.vstack([f.T, np.ones(40)]), b_eq=[*c, 1], bounds=(0, None)
        )
        if feasible.status == 0:
            inside += 1
            found = maximum_entropy(f, c, solver=solver, max_iter=50)
            assert found.converged or solver != "newton"
            continue
        with pytest.raises(InfeasibleTargets) as caught:
            maximum_entropy(f, c, solver=solver)
        u, margin = caught.value.direction, caught.value.margin
        assert_allclose(np.linalg.norm(u), 1)
        assert margin > 0
        assert_allclose(((c - f) @ u).min(), margin, rtol=1e-6, atol=1e-15)
    assert 0 < inside < 5


def test_dependent_features_with_targets_that_do_not_depend_so():
    f, c, _ = problem(2, n=30, m=2)
    with pytest.raises(InfeasibleTargets, match="no distribution") as caught:
        maximum_entropy(np.column_stack([f, 2 * f[:, 0]]), [*c, 2.01 * c[0]])
    restored = pickle.loads(pickle.dumps(caught.value))
    assert_array_equal(restored.direction, caught.value.direction)
    assert str(restored) == str(caught.value) and restored.margin == caught.value.margin > 0


def test_the_direction_holds_for_points_that_a_first_target_excludes():
    """The first target leaves two points, whose range the second is outside of."""
    f = np.array([[1.0, 0], [1, 1], [0, 5], [0, -5]])
    with pytest.raises(InfeasibleTargets) as caught:
        maximum_entropy(f, [1.0, 2.0])
    u, margin = caught.value.direction, caught.value.margin
    assert margin > 0.01
    assert_allclose(((np.array([1.0, 2.0]) - f) @ u).min(), margin, rtol=1e-12)


def test_a_prior_excludes_points_and_may_be_tiny():
    f, c, q = problem(6, n=30, m=2)
    q[:10] = 0
    c = q / q.sum() @ f + 0.1 * (f[20] - q / q.sum() @ f)
    found = maximum_entropy(f, c, q)
    assert_array_equal(found.support, q > 0)
    assert_array_equal(found.probabilities[:10], 0)
    assert_allclose(found.probabilities[10:], maximum_entropy(f[10:], c, q[10:]).probabilities)
    assert_allclose(
        maximum_entropy(f, c, q * 1e-300).probabilities, found.probabilities, rtol=1e-11
    )

    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    tiny = maximum_entropy(square, [0.5, 0.5], [1, 1e-300, 1e-300, 1e-300])
    assert tiny.converged and abs(tiny.probabilities @ square - 0.5).max() < 1e-10
    lone = maximum_entropy([[0.0], [1.0]], [0.5], [1, 1e-300])
    assert_allclose(lone.probabilities, 0.5, rtol=0, atol=1e-10)
    assert_allclose(lone.multipliers, 300 * math.log(10), rtol=1e-9)


def test_constant_features_and_one_point():
    f, c, q = problem(8, n=20, m=2)
    constant = np.full(20, 0.1)
    found = maximum_entropy(np.column_stack([f, constant]), [*c, constant.mean()], q)
    assert_allclose(found.probabilities, maximum_entropy(f, c, q).probabilities, rtol=1e-9)
    assert found.multipliers[2] == 0
    with pytest.raises(InfeasibleTargets):
        maximum_entropy(np.column_stack([f, constant]), [*c, 0.1001], q)
    for solver in METHODS:
        assert maximum_entropy([[2.0, 3.0]], [2.0, 3.0], solver=solver).probabilities == [1.0]
    with pytest.raises(InfeasibleTargets) as caught:
        maximum_entropy([[2.0]], [1.0])
    assert caught.value.margin == 1 and caught.value.direction == [-1]


def test_sums_over_blocks_are_those_over_all_points():
    rng = np.random.default_rng(0)
    f, c = rng.normal(size=(1500, 60)), rng.normal(size=60) * 0.01
    gibbs = Gibbs(f, c, np.full(1500, -math.log(1500)), np.arange(1500))
    assert len(list(gibbs.blocks())) > 1
    mu = rng.normal(size=60)
    found = gibbs.moments(mu)
    h = (f - c) / abs(f - c).max(axis=0)
    w = np.exp(h @ mu)
    assert_allclose(found.dual, np.log(w.mean()), rtol=1e-13)
    p = w / w.sum()
    assert_allclose(found.gradient, p @ h, rtol=1e-11, atol=1e-15)
    expected = np.cov(h.T, aweights=p, bias=True)
    assert_allclose(found.covariance, expected, rtol=0, atol=1e-15)


def test_float32_and_lists_are_taken():
    f, c, q = problem(1, n=12, m=2)
    single = f.astype(np.float32)
    found = maximum_entropy(single, c.astype(np.float32), q)
    assert found.probabilities.dtype == np.float64 and found.converged
    double = maximum_entropy(single.astype(np.float64), c.astype(np.float32), q)
    assert_array_equal(found.probabilities, double.probabilities)
    for one, other in zip(
        maximum_entropy(f.tolist(), list(c), list(q)), maximum_entropy(f, c, q), strict=True
    ):
        assert_array_equal(one, other)


def test_steps_that_run_out_are_told():
    f, c, q = problem(1)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        found = maximum_entropy(f, c, q, solver="gis", max_iter=2)
    assert not found.converged and found.n_iter == 2 and found.residual > 1e-10


@each(
    ("change", "message"),
    [
        ({"features": [[1.0, math.nan]] * 3}, "NaN"),
        ({"features": [1.0, 2.0]}, "2-D|Reshape"),
        ({"targets": [1.0]}, r"targets has shape \(1,\)"),
        ({"targets": [[1.0, 1.0]]}, "targets has shape"),
        ({"targets": [1.0, math.inf]}, "targets"),
        ({"prior": [1.0, 1.0]}, "prior has shape"),
        ({"prior": [1.0, -1.0, 1.0]}, "negative"),
        ({"prior": [0.0, 0.0, 0.0]}, "only zeros"),
        ({"solver": "lbfgs"}, "one of 'newton', 'gis', 'iis'"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_refusals(change, message):
    given = {"features": [[0.0, 0.0], [1.0, 0.5], [0.2, 2.0]], "targets": [0.5, 0.5]} | change
    with pytest.raises(ValueError, match=message):
        maximum_entropy(given.pop("features"), given.pop("targets"), **given)


def hard(seed):
    """Features of any scale and offset, priors down to 1e-300, targets near faces and on them."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 150)), int(rng.integers(1, 9))
    f = rng.normal(size=(n, m))
    if rng.random() < 0.5:
        f = rng.integers(-3, 4, size=(n, m)).astype(float)
    if rng.random() < 0.3:
        f = f * 10.0 ** rng.integers(-6, 7, size=m)
        f += rng.choice([0.0, 1.0]) * 10.0 ** rng.integers(-2, 5, size=m)
    decades = rng.choice([0, 3, 30, 200, 650])
    q = np.maximum(np.exp(-decades * abs(rng.normal(size=n))), 1e-300)
    kind = rng.choice(["inside", "near a face", "on a face", "a point"])
    if kind == "on a face":
        u = rng.integers(-2, 3, size=m) + 0.5
        height = (f / abs(f).max(axis=0).clip(1e-300)) @ u
        p = (height >= height.max() - 1e-12) * rng.dirichlet(np.ones(n))
        p /= p.sum()
    elif kind == "a point":
        p = np.eye(n)[rng.integers(n)]
    else:
        p = rng.dirichlet(np.full(n, 0.02 if kind == "near a face" else 1.0))
    return f, p, q


def test_hard_targets_that_some_distribution_has_are_met():
    """No warning, no refusal: the last of these are 1e-12 to 1e-8 inside of a face."""
    for seed in [*range(100), 1197, 1484, 1641, 1684, 2324]:
        f, p, q = hard(seed)
        if not np.isfinite(p).all():
            continue
        c = p @ f
        found = maximum_entropy(f, c, q)
        assert found.converged
        assert (found.probabilities >= 0).all()
        assert abs(found.probabilities.sum() - 1) < 1e-12
        unit = abs(f - c).max(axis=0)
        rounding = 1e-14 * abs(f).max(axis=0)
        assert (abs(found.probabilities @ f - c) <= 2e-10 * unit + rounding).all()
        # Nearer to the prior than any other with these expectations, up to the gap.
        other = relative_entropy(p, q / q.sum())
        assert found.relative_entropy <= other + found.duality_gap + 1e-9 * abs(other)
