"""Laws of the evidence: the gap bounds the excess of any fit, or the fit warns.

The excess is that of the function as it predicts, its coefficients and intercept multiplied out in
extended precision, over a dual value that no primal value is below.
"""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM
from mlcore.svm.smo.optimality import measure
from mlcore.svm.smo.problem import Problem

LONG = np.longdouble  # 64 bits of digits
SLACK = 1e-9  # relative: multipliers are rounded to their bounds at 1e-12, some hundred of them


def samples(n, d=2, seed=0):
    """Samples on a grid of 2**-10, which a shift by 2**33 leaves exact."""
    rng = np.random.default_rng([n, d, seed])
    X = np.round(rng.normal(size=(n, d)) * 1024) / 1024
    return X, X[:, 0] + 0.5 * X[:, -1] ** 2 + 0.4 * rng.normal(size=n)


def gram(machine, X):
    """K in extended precision, of samples near 0."""
    X, gamma = X.astype(LONG), LONG(machine.gamma_)
    if machine.kernel == "linear":
        return X @ X.T
    if machine.kernel == "poly":
        return (gamma * (X @ X.T) + LONG(machine.coef0)) ** machine.degree
    if machine.kernel == "laplacian":
        return np.exp(-gamma * np.abs(X[:, None] - X[None]).sum(axis=2))
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def objectives(machine, K, y, weight, shown):
    """Return (primal of the machine's function, its dual) in extended precision.

    `shown` are its values without the intercept.
    """
    n = len(weight)
    b = np.zeros(n, dtype=LONG)
    b[machine.support_] = machine.dual_coef_[0]
    f = shown + LONG(machine.intercept_[0])
    weight = weight.astype(LONG)
    if isinstance(machine, OneClassSVM):
        rho = LONG(machine.offset_)
        total = LONG(machine.nu) * weight.sum()
        b *= total / b.sum()
        square = b @ K @ b
        return square / 2 - total * rho + weight @ np.maximum(0, -f), -square / 2
    if isinstance(machine, NuSVC):
        rho = LONG(machine.rho_[0])
        s = np.where(y > 0, 1, -1)
        b, f = b * rho, f * rho
        total = LONG(machine.nu) * weight.sum()
        for side in (s > 0, s < 0):
            b[side] *= total / 2 / np.abs(b[side]).sum()
        square = b @ K @ b
        return square / 2 - total * rho + weight @ np.maximum(0, rho - s * f), -square / 2
    cost = LONG(machine.C) * weight
    b -= b.sum() * np.abs(b) / max(np.abs(b).sum(), LONG(1e-300))  # exactly feasible sum
    square = b @ K @ b
    if isinstance(machine, SVC):
        s = np.where(y > 0, 1, -1)
        return square / 2 + cost @ np.maximum(0, 1 - s * f), s @ b - square / 2
    if isinstance(machine, SVR):
        loss = np.maximum(0, np.abs(y - f) - machine.epsilon)
        dual = y @ b - square / 2 - machine.epsilon * np.abs(b).sum()
        return square / 2 + cost @ loss, dual
    epsilon, total = LONG(machine.epsilon_), LONG(machine.nu) * cost.sum()
    primal = square / 2 + total * epsilon + cost @ np.maximum(0, np.abs(y - f) - epsilon)
    return primal, y @ b - square / 2


def fit(machine, X, y, weight):
    """Return the machine, and True if its fit warned."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        machine.fit(X, None if isinstance(machine, OneClassSVM) else y, weight)
    assert machine.converged_ or any(isinstance(w.message, ConvergenceWarning) for w in heard)
    return machine, bool(heard)


def assert_law(machine, X, y, weight=None, *, shift=0.0):
    """Assert that both gaps bound the excess of a fit to X + shift, or that it warned."""
    weight = np.ones(len(X)) if weight is None else weight
    targets = y > np.median(y) if isinstance(machine, (SVC, NuSVC)) else y
    machine, warned = fit(machine, X + shift, targets, weight)
    if warned:
        return machine
    K = gram(machine, X)
    if machine.kernel == "linear":
        shown = (X + shift).astype(LONG) @ machine.coef_[0].astype(LONG)
    else:
        shown = K[:, machine.support_] @ machine.dual_coef_[0].astype(LONG)
    primal, dual = objectives(machine, K, targets, weight, shown)
    found = machine.verify(X + shift, targets, weight)
    rounding = SLACK * (np.abs(primal) + np.abs(dual))
    assert primal - dual <= machine.duality_gap_ + rounding
    assert primal - dual <= found.duality_gap + rounding
    assert machine.duality_gap_ >= 0 and found.duality_gap >= 0
    return machine


MACHINES = [SVC(), SVR(), NuSVC(nu=0.3), NuSVR(nu=0.3)]


@given(
    machine=st.sampled_from(MACHINES),
    seed=st.integers(0, 2**16),
    n=st.sampled_from([30, 120, 300]),
    shift=st.sampled_from([0.0, 2.0**17, -(2.0**27), 2.0**33]),
    power=st.integers(-40, 40),
)
@example(machine=SVR(), seed=0, n=300, shift=2.0**23, power=0)
@example(machine=SVC(C=10.0), seed=0, n=300, shift=2.0**20, power=0)
@settings(max_examples=30, deadline=None)
def test_the_gap_of_linear_machines_bounds_the_excess_wherever_the_samples_are(
    machine, seed, n, shift, power
):
    X, y = samples(n, seed=seed)
    parameters = {"kernel": "linear", "max_iter": 20_000 if abs(power) > 10 else -1}
    machine = clone(machine).set_params(**parameters)
    assert_law(machine, X, y, np.full(n, 2.0**power), shift=shift)


@given(
    machine=st.sampled_from([*MACHINES, OneClassSVM(nu=0.2)]),
    kernel=st.sampled_from(["poly", "rbf", "laplacian"]),
    gamma=st.sampled_from([1e-2, 1.0, 1e2]),
    seed=st.integers(0, 2**16),
    n=st.sampled_from([30, 260]),
    power=st.integers(-40, 40),
)
@settings(max_examples=20, deadline=None)
def test_the_gap_of_kernel_machines_bounds_the_excess(machine, kernel, gamma, seed, n, power):
    X, y = samples(n, seed=seed)
    parameters = {"kernel": kernel, "gamma": gamma, "max_iter": 20_000 if power > 5 else -1}
    assert_law(clone(machine).set_params(**parameters), X, y, np.full(n, 2.0**power))


@each("epsilon", [0.0, 1e-12, 1e6])
@each("C", [1e-12, 1.0, 1e12])
def test_the_gap_holds_for_any_cost_and_width_of_the_tube(C, epsilon):
    X, y = samples(60)
    assert_law(SVR(C=C, epsilon=epsilon, gamma=1.0, max_iter=100_000), X, y)


@pytest.mark.parametrize("C", [1e6, 3e8, 1e9, 1e12])
def test_multipliers_that_cancel_do_not_hide_from_the_gap(C):
    for seed in range(5):
        X, y = samples(100, 4, seed)
        weight = np.random.default_rng(seed).integers(1, 3, 100).astype(float)
        with case("seed", seed):
            assert_law(NuSVR(C=C, gamma=1.0, nu=0.6, max_iter=200_000), X, y, weight)


@each("scale", [1e-140, 1e-9, 1e9, 1e140])
@each("machine", MACHINES)
def test_the_gap_holds_for_any_unit_of_the_features(machine, scale):
    X, y = samples(60)
    machine = clone(machine).set_params(kernel="linear", max_iter=100_000)
    targets = y > np.median(y) if isinstance(machine, (SVC, NuSVC)) else y
    machine, warned = fit(machine, X * scale, targets, None)
    found = machine.verify(X * scale, targets)
    if not warned:
        K = (X.astype(LONG) * LONG(scale)) @ (X.astype(LONG) * LONG(scale)).T
        shown = K[:, machine.support_] @ machine.dual_coef_[0].astype(LONG)
        primal, dual = objectives(machine, K, targets, np.ones(60), shown)
        assert primal - dual <= min(machine.duality_gap_, found.duality_gap) + SLACK * abs(primal)


@pytest.mark.parametrize("power", [-40, -10, 10, 40])  # float32 holds their squares
def test_a_unit_of_the_features_takes_the_same_steps(power):
    X, y = samples(300)
    y = y > np.median(y)
    own, other = SVC(kernel="linear"), SVC(kernel="linear", C=2.0 ** (-2 * power))
    own.fit(X, y), other.fit(X * 2.0**power, y)
    assert_array_equal(other.n_iter_, own.n_iter_)
    assert_array_equal(np.ldexp(other.dual_coef_, 2 * power), own.dual_coef_)
    assert_array_equal(other.intercept_, own.intercept_)
    single = SVC(kernel="linear", C=2.0**40).fit((X * 2.0**-20).astype(np.float32), y)
    assert single.n_iter_[0] < 2 * own.n_iter_[0]


def test_samples_of_seconds_since_1970_give_no_false_evidence():
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 18_000, 400)
    y = seconds / 18_000 + 0.2 * rng.normal(size=400) > 0.5
    X = np.column_stack([1.7e9 + seconds, rng.normal(size=400)])
    best = 134.1  # of a fit to X less its mean and divided by its deviations, C as large
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=100000 steps"):
        model = SVC(kernel="linear", max_iter=100_000).fit(X, y)
    assert not model.converged_
    assert model.primal_objective_ - best <= 1.001 * model.duality_gap_
    assert model.verify(X, y).duality_gap >= model.primal_objective_ - best - 0.1


# All pairs of machines, types and layouts.
OF_ANY_OFFSET = [SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), SVC(multi_class="ovr"), SVCCV(Cs=[1.0])]


@each(
    ("machine", "dtype", "layout"),
    [
        (machine, dtype, [np.asarray, sparse.csr_array][(i + j) % 2])
        for i, machine in enumerate(OF_ANY_OFFSET)
        for j, dtype in enumerate([np.float32, np.float64])
    ],
)
def test_an_offset_of_the_samples_moves_the_intercept_only(machine, dtype, layout):
    rng = np.random.default_rng(0)
    X = np.round(8 * rng.normal(size=(400, 3))) / 8
    y = X[:, 0] + 0.2 * rng.normal(size=400)
    if isinstance(machine, (SVC, NuSVC, SVCCV)):
        y = np.digitize(y, [0.0, 1.0] if dtype == np.float64 else [0.0])
    shift = np.array([2.0**23, 0.0, -(2.0**20)]) if dtype == np.float64 else np.full(3, 2.0**18)
    machine = clone(machine).set_params(kernel="linear", tol=1e-6)
    near, far = clone(machine).fit(X, y), machine.fit(layout((X + shift).astype(dtype)), y)
    assert far.converged_
    assert_allclose(far.coef_, near.coef_, atol=1e-4)
    assert_allclose(far.primal_objective_, near.primal_objective_, rtol=1e-5)
    values = X @ near.coef_.T + near.intercept_
    assert_allclose((X + shift) @ far.coef_.T + far.intercept_, values, atol=1e-3)
    found, expected = far.predict(layout((X + shift).astype(dtype))), near.predict(X)
    if hasattr(far, "classes_"):
        clear = (np.abs(values) > 1e-3).all(axis=1)
        assert clear.mean() > 0.8
        found, expected = found[clear], expected[clear]
    assert_allclose(found, expected, atol=1e-3)
    assert_allclose(far.dual_coef_.sum(), near.dual_coef_.sum(), atol=1e-6)
    assert_allclose(far.intercept_, near.intercept_ - near.coef_ @ shift, rtol=1e-4, atol=1e-3)
    moved = far.verify(layout((X + shift).astype(dtype)), y)
    assert (np.asarray(moved.duality_gap) <= 1e-4 * np.abs(far.primal_objective_)).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_kernel_that_rounding_spoils_is_warned_of(machine):
    X, y = samples(100)
    machine = clone(machine).set_params(kernel="poly", degree=2, gamma=1.0, max_iter=1000)
    targets = y > np.median(y) if isinstance(machine, (SVC, NuSVC)) else y
    with pytest.warns(UserWarning, match="rounding leaves|max_iter=1000|the margin is zero"):
        machine.fit(X + 1e8, targets)
    assert not machine.converged_


def test_a_given_matrix_of_far_samples_is_warned_of():
    X, y = samples(300)
    far = X + 1e7
    with pytest.warns(ConvergenceWarning, match="at what rounding leaves of its decision values"):
        SVR(kernel="precomputed", max_iter=10_000).fit(far @ far.T, y)


def test_the_gap_covers_rounding_of_products():
    """At the optimum the gap is what rounding can hide, not 0."""
    problem = Problem(linear=np.array([-1.0, 1.0]), lower=np.zeros(2) - [0, 4], upper=[4.0, 0.0])
    problem.upper = np.array(problem.upper)
    beta, K = np.array([0.5, -0.5]), np.array([[2.0, -2.0], [-2.0, 2.0]])
    beta /= 2  # of points -1 and 1 times sqrt 2: w.w = 1/2
    exact = measure(problem, beta, K @ beta, np.zeros(1))
    rough = measure(problem, beta, K @ beta, np.zeros(1), rounding=1e-3)
    error = 1e-3 * 2 * np.linalg.norm(beta)
    assert 0 <= exact.duality_gap < 1e-14
    assert_allclose(rough.duality_gap, 2 * (4 - 0.25) * error, rtol=1e-9)
    assert rough.dual_objective == exact.dual_objective


def test_verify_of_nu_svr_takes_what_two_variables_have_in_common_for_nothing():
    """Sums that miss by d and -d, at nearly equal multipliers, leave the tube's width times d."""
    X = np.random.default_rng(0).normal(size=(600, 4))
    model = NuSVR(kernel="linear").fit(X, 3 * X[:, 0] + 100)
    assert model.verify(X, 3 * X[:, 0] + 100).duality_gap <= 2 * model.duality_gap_


def test_verify_leaves_samples_of_weight_0_out():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(300, 3)), np.full((1, 3), 1e9)]
    y, weight = np.r_[X[:300, 0] + 0.1 * rng.normal(size=300), 0], np.r_[np.ones(300), 0]
    model = SVR(kernel="linear").fit(X, y, sample_weight=weight)
    assert model.verify(X, y, sample_weight=weight).duality_gap <= 2 * model.duality_gap_


@pytest.mark.filterwarnings("ignore:kernel 'sigmoid' is not positive semi-definite")
@pytest.mark.filterwarnings("ignore:OneClassSVM. at nu=0.5 w = 0 is optimal")
@pytest.mark.parametrize("make", [NuSVC, OneClassSVM])
def test_kernels_of_negative_diagonal_end_as_others_do(make):
    """Of which tol and rounding go by the absolute size."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    model = make(kernel="sigmoid", gamma=0.01, coef0=-1).fit(X, y)
    assert model.converged_ and model.n_iter_ < 10_000
    assert np.isfinite(model.primal_objective_)


def test_the_offset_of_float32_samples_keeps_all_but_a_thousandth():
    """Kernel values of very different sizes: their rounding bound exceeds rho itself."""
    X = np.random.default_rng(0).lognormal(sigma=1.5, size=(300, 3))
    of = {kind: OneClassSVM(kernel="poly", nu=0.05).fit(X.astype(kind)) for kind in ("f4", "f8")}
    # Two fits up to tol, and a thousandth; the rounding bound would take all of it.
    assert of["f4"].offset_ == pytest.approx(of["f8"].offset_, rel=1e-2)
