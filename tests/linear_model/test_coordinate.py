"""Elastic net and lasso: worked numbers, scikit-learn's fits, and laws of their problem."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn import linear_model
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_limits

from mlcore.blocks import fit_blocks
from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import ElasticNet, Lasso, LinearRegression
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.coordinate.products import Products
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows

# Some fits ask for more than rounding allows, to come as near as it does.
pytestmark = pytest.mark.filterwarnings("ignore:.*rounding lets it go no further")

X, Y = load_diabetes(return_X_y=True)
WEIGHT = 1.0 + np.arange(len(X)) % 3
EXACT = {"tol": 1e-13}
few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10**6)


def objective(A, y, w, b, alpha, ratio, weight=None):
    """P by its definition."""
    weight = np.ones(len(A)) if weight is None else weight
    w, r = np.asarray(w, float), y - A @ w - b
    squares = weight @ r**2 / 2 / weight.sum()
    return squares + alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w))


def problem(seed, n=30, d=6, rank=None):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d)) + rng.normal(size=d)
    if rank is not None:
        A = A[:, :rank] @ rng.normal(size=(rank, d))
    return A, A[:, 0] - 2 * A[:, -1] + rng.normal(size=n), rng.uniform(0.5, 3, size=n)


# ---- values --------------------------------------------------------------------------------------

# Sign patterns of a solver, the linear systems of their faces in 40 digits, and strict
# inequalities of the correlations of other columns.
WORKED = {
    "lasso 1": (
        1.0, 1.0, None, 2586.94319261425, 152.133484162896,
        {2: 367.701625821431, 3: 6.30970264417465, 8: 307.602147462196},
    ),
    "lasso .1": (
        0.1, 1.0, None, 1629.05454257888, None,
        {1: -155.343110624669, 2: 517.216241203052, 3: 275.087222928256, 4: -52.5520358119031,
         6: -210.139509035234, 8: 483.917174571961, 9: 33.6621921431308},
    ),
    "lasso .5, weights": (
        0.5, 1.0, WEIGHT, 2133.04607352227, 152.408620458398,
        {2: 461.114476061945, 3: 130.536653318225, 6: -81.4136115010058, 8: 383.139779549286},
    ),
    "elastic net": (
        0.01, 0.5, None, 2184.19604879294, None,
        {0: 33.1495298757204, 1: -35.2429725656215, 2: 211.027474565674, 3: 144.559768019236,
         4: 21.9307029668654, 6: -115.619210776629, 7: 100.657568040037, 8: 185.32517347775,
         9: 96.256986625452},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKED)
def test_worked_numbers(case):
    alpha, ratio, weight, value, intercept, coef = WORKED[case]
    model = ElasticNet(alpha, l1_ratio=ratio, **EXACT).fit(X, Y, weight)
    # Rounding of the sums, relative to the largest coefficient.
    assert_allclose(model.objective_, value, rtol=1e-14)
    assert_array_equal(model.active_, list(coef))
    assert_allclose(model.coef_[model.active_], list(coef.values()), rtol=0, atol=2e-12)
    assert model.converged_ and model.duality_gap_ <= 1e-12 * value
    if intercept is not None:
        assert_allclose(model.intercept_, intercept, rtol=1e-14)


@pytest.mark.parametrize(
    ("ratio", "weight", "value"),
    [(1.0, None, 2.1480435755295), (0.5, None, 4.296087151059), (1.0, WEIGHT, 2.14444290275531)],
)
def test_the_least_penalty_without_coefficients(ratio, weight, value):
    path = ElasticNet(l1_ratio=ratio).path(X, Y, weight, alphas=3)
    assert_allclose(path.alphas[0], value, rtol=2e-12)  # 1e-12 above it
    assert_allclose(path.alphas, path.alphas[0] * np.array([1, 1e-3**0.5, 1e-3]), rtol=1e-14)
    assert_array_equal(path.coef[0], 0)
    assert path.n_nonzero[0] == 0 and path.n_iter[0] == 0
    at = ElasticNet(path.alphas[0], l1_ratio=ratio).fit(X, Y, weight)
    below = ElasticNet(0.999 * path.alphas[0], l1_ratio=ratio).fit(X, Y, weight)
    above = ElasticNet(1e6 * path.alphas[0], l1_ratio=ratio).fit(X, Y, weight)
    assert at.n_iter_ == 0 and not at.coef_.any() and below.coef_.any()
    assert above.n_iter_ == 0 and not above.coef_.any() and above.converged_


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(40, 7), (20, 50)])
def test_scikit_learn_is_not_better(n, d, fit_intercept, layout):
    A, y, weight = problem(n + d, n, d)
    A[np.abs(A) < 0.5] = 0
    for alpha, ratio in ((0.5, 1.0), (0.05, 1.0), (0.2, 0.3)):
        ours = ElasticNet(alpha, l1_ratio=ratio, fit_intercept=fit_intercept, **EXACT)
        ours.fit(layout(A), y, weight)
        theirs = linear_model.ElasticNet(
            alpha=alpha, l1_ratio=ratio, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**6
        ).fit(A, y, weight)
        value = objective(A, y, ours.coef_, ours.intercept_, alpha, ratio, weight)
        other = objective(A, y, theirs.coef_, theirs.intercept_, alpha, ratio, weight)
        assert_allclose(ours.objective_, value, rtol=1e-13)
        assert value <= other * (1 + 1e-13)
        assert value - other <= ours.duality_gap_ + 1e-13 * value
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert_allclose(ours.predict(A), A @ ours.coef_ + ours.intercept_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_lasso_is_the_elastic_net_of_absolute_values(alpha):
    assert_array_equal(
        Lasso(alpha).fit(X, Y).coef_, ElasticNet(alpha, l1_ratio=1.0).fit(X, Y).coef_
    )


def test_degrees_of_freedom_are_the_trace_of_the_map_from_targets():
    model = ElasticNet(0.01, l1_ratio=0.5, **EXACT).fit(X, Y)
    Z = (X - X.mean(axis=0))[:, model.active_]
    ridge = 0.005 * len(X) * np.eye(Z.shape[1])
    expected = np.trace(np.linalg.solve(Z.T @ Z + ridge, Z.T @ Z))
    assert_allclose(model.degrees_of_freedom_, expected, rtol=1e-10)
    assert Lasso(0.1).fit(X, Y).degrees_of_freedom_ == 7
    twice = np.c_[X, X[:, 2]]
    assert Lasso(0.1).fit(twice, Y).degrees_of_freedom_ == 7


# ---- laws ----------------------------------------------------------------------------------------


@few
@given(seeds, st.sampled_from([1.0, 0.5, 0.01]), st.sampled_from([1.0, 0.1, 1e-3, 1e-5]))
def test_no_other_point_is_below_the_gap(seed, ratio, alpha):
    A, y, weight = problem(seed)
    rng = np.random.default_rng(seed)
    for tol in (1e-1, 1e-6):
        model = ElasticNet(alpha, l1_ratio=ratio, tol=tol).fit(A, y, weight)
        best = ElasticNet(alpha, l1_ratio=ratio, **EXACT).fit(A, y, weight)
        assert model.converged_ and model.duality_gap_ <= tol * np.var(y) * 2
        others = [(best.coef_, best.intercept_)]
        for size in (1e-1, 1e-4):
            moved = model.coef_ + size * rng.normal(size=6)
            others.append((moved, model.intercept_ + size * rng.normal()))
        for w, b in others:
            other = objective(A, y, w, b, alpha, ratio, weight)
            assert model.objective_ - other <= model.duality_gap_ + 1e-14 * other


@few
@given(seeds, st.sampled_from([1.0, 0.5]))
def test_weights_are_copies_and_their_scale_does_not_count(seed, ratio):
    A, y, _ = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 4, size=len(A)).astype(float)
    weight[0] = 1
    make = ElasticNet(0.1, l1_ratio=ratio, **EXACT)
    model = make.fit(A, y, weight)
    coef, value = model.coef_, model.objective_
    copied = make.fit(np.repeat(A, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    assert_allclose(copied.coef_, coef, atol=1e-9)
    assert_allclose(copied.objective_, value, rtol=1e-12)
    scaled = make.fit(A, y, 1e9 * weight)
    assert_allclose(scaled.coef_, coef, atol=1e-9)
    assert_allclose(scaled.objective_, value, rtol=1e-12)


@few
@given(seeds)
def test_units_and_shifts(seed):
    A, y, weight = problem(seed)
    model = Lasso(0.1, **EXACT).fit(A, y, weight)
    t = 2.0**40
    scaled = Lasso(0.1 * t, **EXACT).fit(t * A, y, weight)
    assert_allclose(t * scaled.coef_, model.coef_, atol=1e-9)
    shifted = Lasso(0.1, **EXACT).fit(A + 1e4, y - 1e3, weight)
    assert_allclose(shifted.coef_, model.coef_, atol=1e-8)
    flipped = Lasso(0.1, **EXACT).fit(A, -y, weight)
    assert_allclose(flipped.coef_, -model.coef_, atol=1e-9)
    order = np.random.default_rng(seed).permutation(6)
    permuted = Lasso(0.1, **EXACT).fit(A[:, order], y, weight)
    assert_allclose(permuted.coef_, model.coef_[order], atol=1e-9)
    order = np.random.default_rng(seed).permutation(len(A))
    permuted = Lasso(0.1, **EXACT).fit(A[order], y[order], weight[order])
    assert_allclose(permuted.coef_, model.coef_, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_far_from_one(unit):
    A, y, _ = problem(0)
    expected = Lasso(0.1, **EXACT).fit(A, y).coef_
    A[:, 1] *= unit
    with np.errstate(all="raise", under="ignore"):
        model = Lasso(0.1, **EXACT).fit(A, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.duality_gap_)
    scaled = Lasso(0.1 * 1e100, **EXACT).fit(problem(0)[0], 1e100 * y)
    assert_allclose(scaled.coef_ / 1e100, expected, atol=1e-9)


@few
@given(seeds, st.sampled_from([0.9, 0.5]))
def test_equal_features_share_their_coefficient(seed, ratio):
    A, y, _ = problem(seed)
    A = np.c_[A, A[:, 0]]
    model = ElasticNet(0.05, l1_ratio=ratio, **EXACT).fit(A, y)
    assert_allclose(model.coef_[-1], model.coef_[0], atol=1e-8)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_dependent_features_have_one_objective_and_one_fit(ratio):
    A, y, _ = problem(3, n=40, d=12, rank=4)
    model = ElasticNet(0.01, l1_ratio=ratio, tol=1e-10).fit(A, y)
    other = ElasticNet(0.01, l1_ratio=ratio, tol=1e-10).fit(A[:, ::-1], y)
    assert model.converged_ and other.converged_
    assert_allclose(model.objective_, other.objective_, rtol=1e-9)
    assert_allclose(model.predict(A), other.predict(A[:, ::-1]), atol=1e-4)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("several", [False, True])
def test_a_path_has_the_fits_of_its_penalties_in_their_order(ratio, several):
    y = np.c_[Y, X[:, 0] - X[:, 3]] if several else Y
    alphas = [0.1, 1.0, 0.01, 5.0]
    path = ElasticNet(l1_ratio=ratio).path(X, y, WEIGHT, alphas=alphas)
    assert isinstance(path, PenaltyPath)
    assert_array_equal(path.alphas, alphas)
    for k, alpha in enumerate(alphas):
        model = ElasticNet(alpha, l1_ratio=ratio).fit(X, y, WEIGHT)
        near = path.duality_gap[k] + model.duality_gap_
        near = near + 1e-14 * path.objective[k]  # rounding of the objectives themselves
        assert (np.abs(path.objective[k] - model.objective_) <= near).all()
        assert_array_equal(path.n_nonzero[k], np.count_nonzero(path.coef[k], axis=-1))
        assert_allclose(path.coef[k], model.coef_, atol=1e-2)
        assert_allclose(path.intercept[k], model.intercept_, rtol=1e-6)


def test_along_a_path_losses_rise_and_coefficients_fall():
    path = Lasso(**EXACT).path(X, Y)
    assert (np.diff(path.objective) < 0).all()  # alphas descend
    sums = np.abs(path.coef).sum(axis=1)
    assert (np.diff(sums) > 0).all()
    assert (np.diff(path.objective - path.alphas * sums) < 0).all()  # the squares
    slopes = np.diff(path.objective) / np.diff(path.alphas)
    assert (np.diff(slopes) > -1e-6).all()  # concave in alpha


def test_the_limit_of_no_absolute_values_is_ridge_regression():
    ridge = LinearRegression(alpha=0.01 * len(X)).fit(X, Y)
    near = ElasticNet(0.01, l1_ratio=1e-9, **EXACT).fit(X, Y)
    exact = ElasticNet(0.01, l1_ratio=0.0).fit(X, Y)
    assert_allclose(near.coef_, ridge.coef_, rtol=1e-6)
    assert_array_equal(exact.coef_, ridge.coef_)
    assert_allclose(exact.objective_, ridge.objective_ / 2 / len(X), rtol=1e-14)
    assert exact.converged_ and exact.duality_gap_ < 1e-9
    path = ElasticNet(l1_ratio=0.0).path(X, Y, alphas=[0.01, 1.0])
    assert_array_equal(path.coef[0], ridge.coef_)


def test_without_penalty_it_is_least_squares():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ElasticNet(0.0).fit(X, Y)
    assert_array_equal(model.coef_, LinearRegression().fit(X, Y).coef_)
    assert model.duality_gap_ == np.inf and model.converged_


def test_float32_is_as_good_as_its_digits():
    exact = Lasso(0.1, **EXACT).fit(X, Y).objective_
    model = Lasso(0.1).fit(X.astype(np.float32), Y)
    assert model.coef_.dtype == np.float32
    assert_allclose(model.objective_, exact, rtol=1e-5)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_constant_features_have_no_coefficient(layout):
    A = np.c_[X, np.full(len(X), 0.1), np.full(len(X), 1e8 / 3)]
    model = Lasso(0.1, **EXACT).fit(layout(A), Y)
    assert_array_equal(model.coef_[-2:], 0)
    assert_allclose(model.coef_[:-2], Lasso(0.1, **EXACT).fit(X, Y).coef_, atol=1e-6)
    # Without an intercept a constant is a feature.
    A = np.c_[X, np.full(len(X), 2.0)]
    free = Lasso(0.1, fit_intercept=False, **EXACT).fit(layout(A), Y)
    slopes = A.T @ (Y - A @ free.coef_) / len(A)
    assert_allclose(slopes[free.coef_ != 0], 0.1 * np.sign(free.coef_[free.coef_ != 0]), atol=1e-9)
    assert free.coef_[-1] > 70


def test_constant_targets_and_single_samples():
    for A, y in ((X, np.full(len(X), 3.0)), (X[:1], Y[:1])):
        model = Lasso(0.1).fit(A, y)
        assert not model.coef_.any() and model.intercept_ == y[0]
        assert model.duality_gap_ < 1e-25 and model.n_iter_ == 0 and model.converged_
        with pytest.warns(UserWarning, match="all alphas are 0"):
            path = Lasso().path(A, y)
        assert_array_equal(path.alphas, [0.0])
        assert not path.coef.any() and path.duality_gap[0] < 1e-25


def test_a_fit_that_max_iter_ends_warns_with_its_gap():
    A, y, _ = problem(1, n=60, d=40, rank=10)
    with pytest.warns(UserWarning, match="duality gap"):
        model = Lasso(1e-4, tol=1e-12, max_iter=1).fit(A, y)
    assert not model.converged_ and model.n_iter_ == 1
    with pytest.warns(UserWarning, match="max_iter=1"):
        Lasso(tol=1e-12, max_iter=1).path(A, y, alphas=[1e-4])


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_one_sample_of_positive_weight_is_a_single_sample(layout):
    weight = np.zeros(len(X))
    weight[7] = 2.0
    for A in (X, np.hstack([X, X**2] * 30)):
        for model in (Lasso(0.1), ElasticNet(0.1), Lasso(0.1, multi_task=True)):
            model.fit(layout(A), Y, weight)
            assert not model.coef_.any() and np.ravel(model.intercept_)[0] == Y[7]
            assert model.duality_gap_ < 1e-25 and model.n_iter_ == 0 and model.converged_
        with pytest.raises(ValueError, match="at least one weight must be positive"):
            Lasso().fit(layout(A), Y, 0 * weight)


def test_any_number_of_threads_gives_the_same_bytes():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20_000, 30))
    y = A[:, :5].sum(axis=1) + rng.normal(size=len(A))
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            model = Lasso(0.1).fit(A, y)
            found.append((model.coef_, model.intercept_, model.duality_gap_))
    for other in found[1:]:
        assert all(map(np.array_equal, other, found[0]))


@each(
    ("params", "words"),
    [
        ({"alphas": 0}, "alphas"),
        ({"alphas": [0.1, 0.0]}, "above 0"),
        ({"alphas": [np.nan]}, "alphas"),
        ({"alphas": [-1.0]}, "alphas"),
        ({"eps": 1.5}, "eps"),
    ],
)
def test_penalties_of_a_path_are_checked(params, words):
    with pytest.raises(ValueError, match=words):
        Lasso().path(X, Y, **params)


def test_a_grid_needs_absolute_values():
    with pytest.raises(ValueError, match="l1_ratio=0"):
        ElasticNet(l1_ratio=0).path(X, Y)


def test_several_targets_are_fitted_each_alone():
    both = np.c_[Y, -Y[::-1]]
    model = ElasticNet(0.01, **EXACT).fit(X, both)
    for t in range(2):
        one = ElasticNet(0.01, **EXACT).fit(X, both[:, t])
        assert_allclose(model.coef_[t], one.coef_, atol=1e-9)
        assert_allclose(model.objective_[t], one.objective_, rtol=1e-13)
        assert_allclose(model.degrees_of_freedom_[t], one.degrees_of_freedom_, rtol=1e-12)


@each("layout", [np.asarray, sp.csr_array])
@each("fit_intercept", [True, False])
@each(("n", "d"), [(40, 7), (20, 50)])
def test_a_standardized_penalty_is_that_of_standardized_features(n, d, fit_intercept, layout):
    A, y, weight = problem(n + d, n, d)
    A[np.abs(A) < 0.5] = 0
    A = np.c_[A * 2.0 ** np.arange(-3, d - 3), np.zeros(n)]
    unit = np.sqrt(np.cov(A.T, aweights=weight, ddof=0).diagonal())
    unit[-1] = 1
    for ratio in (1.0, 0.4):
        how = {"l1_ratio": ratio, "fit_intercept": fit_intercept}
        expected = ElasticNet(0.1, **how, **EXACT).fit(A / unit, y, weight)
        model = ElasticNet(0.1, standardize=True, **how, **EXACT).fit(layout(A), y, weight)
        assert_allclose(model.objective_, expected.objective_, rtol=1e-12)
        assert_allclose(model.coef_ * unit, expected.coef_, atol=1e-7)
        assert_allclose(model.intercept_, expected.intercept_, rtol=1e-6, atol=1e-7)
        path = ElasticNet(standardize=True, **how).path(layout(A), y, weight, alphas=3)
        other = ElasticNet(**how).path(A / unit, y, weight, alphas=3)
        assert_allclose(path.alphas, other.alphas, rtol=1e-12)
        assert_allclose(path.objective, other.objective, rtol=1e-5)


def test_units_of_features_do_not_count_if_they_are_standardized():
    units = 10.0 ** np.array([-150, 150, 3, -3, 0, 1, 1, 8, -8, 40])
    expected = Lasso(0.1, standardize=True, **EXACT).fit(X, Y)
    model = Lasso(0.1, standardize=True, **EXACT).fit(X * units, Y)
    assert_allclose(model.coef_ * units, expected.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-12)
    with pytest.raises(ValueError, match="standardize=True needs l1_ratio > 0"):
        ElasticNet(l1_ratio=0, standardize=True).fit(X, Y)


def test_a_fit_that_rounding_ends_says_so():
    """Products of correlated columns in float32 have too few digits for this tol."""
    A = np.cumsum(np.random.default_rng(0).normal(size=(400, 60)), axis=1)
    y = A[:, :3].sum(axis=1) + np.random.default_rng(1).normal(size=400)
    model = ElasticNet(0.001, tol=1e-8)
    assert model.fit(A, y).converged_
    with pytest.warns(ConvergenceWarning, match="where rounding lets it go no further.*tol=1e-08"):
        model.fit(A.astype(np.float32), y)
    assert not model.converged_


@pytest.mark.parametrize("multi_task", [False, True])
def test_the_rounding_of_an_intercept_of_far_samples_is_part_of_the_gap(multi_task):
    X = np.random.default_rng(0).normal(size=(300, 5)) + 1e13
    y = X[:, 0] - 1e13 + np.random.default_rng(1).normal(size=300)
    model = ElasticNet(0.1, multi_task=multi_task)
    with pytest.warns(ConvergenceWarning, match="where rounding lets it go no further"):
        model.fit(X, np.c_[y, -y] if multi_task else y)
    null = (1 + multi_task) * y.var() / 2
    assert model.duality_gap_ > model.tol * null and not model.converged_


def test_a_reading_of_rows_as_they_are_says_how_long_their_columns_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)) + [0.0, 2.0, 8.0]
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=5000)
    data_units = DataUnits.of(X, y[:, None], True, False)
    rows = Rows.of(X, y[:, None], None, data_units)
    products = Products.of(rows.sums("Lasso"), rows, True, len(X))
    assert products.is_near
    assert_allclose(products.size_as_read, np.linalg.norm(X, axis=0), rtol=1e-12)
    # Both readings are right to the rounding of their columns; errors are about the true mean.
    W = rng.normal(size=(3, 1))
    exact = y - y.mean() - (X - X.mean(axis=0)) @ W[:, 0]
    slopes = (X - X.mean(axis=0)).T @ exact
    for near, size in ((True, products.size_as_read), (False, products.size)):
        _, _, found, squares = products.residuals(W.copy(), near)
        error = products.noise(EPS)[0] * size * (np.linalg.norm(y) + size @ np.abs(W[:, 0]))
        assert (np.abs(found[:, 0] - slopes) <= error).all()
        assert_allclose(squares[0], exact @ exact, rtol=1e-12)
    far = Rows.of(X + 30, y[:, None], None, data_units)
    assert not Products.of(far.sums("Lasso"), far, True, len(X)).is_near


def test_rows_are_read_again_where_their_sums_show_too_few_digits(monkeypatch):
    rng = np.random.default_rng(0)
    X, read = rng.normal(size=(2000, 3)), []
    residuals = Rows.residuals
    monkeypatch.setattr(
        Rows, "residuals", lambda *a, **k: read.append(len(a[0].Y)) or residuals(*a, **k)
    )
    clear, noise = X @ [1.0, -2.0, 0.5], rng.normal(size=2000)
    cases = ((clear + noise, np.float64, 0), (clear + 1e-3 * noise, np.float64, 1))
    for y, dtype, count in (*cases, (clear + noise, np.float32, 1)):
        model = Lasso(1e-5, tol=1e-9 if dtype == np.float64 else 1e-3).fit(X.astype(dtype), y)
        assert model.converged_ and len(read) == count
        read.clear()
        r = y - X @ model.coef_ - model.intercept_
        objective = r @ r / 4000 + 1e-5 * np.abs(model.coef_).sum()
        assert_allclose(model.objective_, objective, rtol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("shape", "offset"), [((3000, 2), 1e13), ((200, 300), 5e13)])
def test_features_that_vary_far_from_zero_are_used(shape, offset, layout):
    """By 100 spacings of float64 and more, though by less than n eps times their mean."""
    rng = np.random.default_rng(0)
    far = rng.normal(size=shape) + offset
    near = far - offset  # exact
    y = near[:, :2] @ [1.0, -2.0] + rng.normal(size=len(near))
    exact = Lasso(0.1, **EXACT).fit(near, y)
    fits = [lambda: Lasso(0.1).fit(layout(far), y)]
    if shape[0] > shape[1]:
        parts = [(layout(far[part]), y[part]) for part in (slice(0, 900), slice(900, None))]
        fits.append(lambda: fit_blocks(Lasso(0.1), parts))
    for fit in fits:
        with pytest.warns(ConvergenceWarning, match="rounding lets it go no further"):
            model = fit()  # as the intercept is rounded
        assert not model.converged_
        assert_allclose(model.coef_, exact.coef_, rtol=0, atol=1e-4)
        assert_allclose(model.objective_, exact.objective_, rtol=1e-3)
        assert model.duality_gap_ >= model.objective_ - exact.objective_


@pytest.mark.parametrize(("n", "d"), [(90, 5), (20, 60)])
def test_standardized_features_that_are_constant_but_for_rounding_are_left_out(n, d):
    """By rows, with weights, and by blocks; two are exactly constant, two but for 3 spacings."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    near = 0.1 + 3 * np.spacing(0.1) * rng.integers(0, 2, size=(2, n))
    X[:, 1:5] = np.c_[np.full(n, 0.1), np.full(n, 1e8 / 3), near[0], 1e6 * near[1]]
    y, S = X[:, 0] + rng.normal(size=n), rng.uniform(0.1, 3, size=n)
    how = Lasso(1e-3, standardize=True)
    for form in (np.asarray, sp.csr_array):
        model = how.fit(form(X), y, S)
        assert model.converged_ and not model.coef_[1:5].any() and model.coef_.any()
    if n > d:
        halves = [(X[part], y[part], S[part]) for part in (slice(0, 31), slice(31, None))]
        blocks = fit_blocks(how, halves)
        assert blocks.converged_ and not blocks.coef_[1:5].any()
        assert_allclose(blocks.coef_, model.coef_, atol=1e-5)
