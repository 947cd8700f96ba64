"""Least squares with absolute values by the columns that matter: beside all of them, and laws."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn import linear_model
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import ElasticNet, Lasso, LinearRegression
from mlcore.linear_model.coordinate import penalised, row_problem, working_columns
from mlcore.linear_model.coordinate.columns import Columns
from mlcore.linear_model.coordinate.penalties import Penalties, trace_of_fit
from mlcore.linear_model.coordinate.working_columns import ColumnProblem
from mlcore.linear_model.regression.rows import DataUnits, Rows

# Some fits ask for more than rounding allows, to come as near as it does.
pytestmark = pytest.mark.filterwarnings("ignore:.*rounding lets it go no further")

EXACT = {"tol": 1e-13}
few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10**6)
layouts = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])


def problem(seed, n=25, d=80, zeros=0.5):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d)) * rng.uniform(0.3, 3, size=d)
    A[rng.random(A.shape) < zeros] = 0
    y = A[:, 0] - 2 * A[:, -1] + A[:, d // 2] + rng.normal(size=n) + 5
    return A, y, rng.uniform(0.5, 3, size=n)


def objective(A, y, w, b, alpha, ratio, weight=None):
    """P by its definition."""
    weight = np.ones(len(A)) if weight is None else weight
    w, r = np.asarray(w, float), y - A @ w - b
    squares = weight @ r**2 / 2 / weight.sum()
    return squares + alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w))


# ---- values --------------------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(25, 80), (60, 7), (4, 30), (2, 5), (50, 1)])
def test_both_ways_have_one_minimum(n, d, fit_intercept, layout, monkeypatch):
    A, y, weight = problem(n + d, n, d)
    alphas = [1.0, 0.3, 0.03, 0.003]
    for ratio in (1.0, 0.4):
        model = ElasticNet(0.03, l1_ratio=ratio, fit_intercept=fit_intercept, **EXACT)
        monkeypatch.setattr(penalised, "suits_products", lambda X: True)
        products = model.path(layout(A), y, weight, alphas=alphas)
        monkeypatch.setattr(penalised, "suits_products", lambda X: False)
        columns = model.path(layout(A), y, weight, alphas=alphas)
        assert_allclose(
            columns.objective, products.objective, rtol=1e-12, atol=1e-13 * np.average(y**2)
        )
        assert (columns.duality_gap <= 1e-12 * np.average(y**2)).all()
        one = model.fit(layout(A), y, weight)
        value = objective(A, y, one.coef_, one.intercept_, 0.03, ratio, weight)
        assert_allclose(one.objective_, value, rtol=1e-13)
        assert_allclose(
            one.objective_, columns.objective[2], rtol=1e-12, atol=1e-13 * np.average(y**2)
        )
        for k, alpha in enumerate(alphas):
            value = objective(A, y, columns.coef[k], columns.intercept[k], alpha, ratio, weight)
            assert_allclose(columns.objective[k], value, rtol=1e-13)


@layouts
def test_scikit_learn_is_not_better(layout):
    A, y, _ = problem(1, 40, 300)
    for ratio in (1.0, 0.5):
        path = ElasticNet(l1_ratio=ratio, **EXACT).path(layout(A), y, alphas=20)
        for k, alpha in enumerate(path.alphas[:15]):
            theirs = linear_model.ElasticNet(
                alpha=alpha, l1_ratio=ratio, tol=1e-9, max_iter=10**5
            ).fit(A, y)
            other = objective(A, y, theirs.coef_, theirs.intercept_, alpha, ratio)
            assert path.objective[k] <= other * (1 + 1e-13)
            assert other - path.objective[k] <= 1e-7 * other
            assert_allclose(path.coef[k], theirs.coef_, atol=1e-3)


@layouts
def test_several_targets_share_members(layout):
    A, y, weight = problem(2)
    Y = np.c_[y, -y[::-1], np.full(len(y), 3.0)]
    model = ElasticNet(0.1, l1_ratio=0.8, **EXACT).fit(layout(A), Y, weight)
    path = model.path(layout(A), Y, weight, alphas=[0.2, 0.1])
    for t in range(3):
        one = ElasticNet(0.1, l1_ratio=0.8, **EXACT).fit(layout(A), Y[:, t], weight)
        assert_allclose(model.objective_[t], one.objective_, rtol=1e-12, atol=1e-15)
        assert_allclose(path.objective[1, t], one.objective_, rtol=1e-12, atol=1e-15)
        assert_allclose(model.coef_[t], one.coef_, atol=1e-9)
        assert_allclose(model.degrees_of_freedom_[t], one.degrees_of_freedom_, rtol=1e-12)


@layouts
def test_a_second_path_of_a_problem_is_that_of_a_new_one(layout):
    A, y, _ = problem(2)
    units = DataUnits.of(layout(A), y[:, None], True, False)
    rows = Rows.of(layout(A), y[:, None], None, units)

    def problem_of_rows():
        return ColumnProblem.of(rows, Columns.of(rows, True), True)

    used = problem_of_rows()
    for ratio in (0.3, 1.0, 0.8):
        penalties = Penalties.of(units, used.total, ratio)
        alphas = np.array([0.3, 0.1, 0.01])
        coef, figures = used.path(penalties, alphas, 1e-12, 1000)
        other = problem_of_rows().path(penalties, alphas, 1e-12, 1000)
        assert_allclose(figures[..., 0], other[1][..., 0], rtol=1e-11)
        assert_allclose(coef, other[0], atol=1e-9)
        assert (figures[..., 2] < 100).all()


@layouts
def test_zeros_at_the_least_penalty_without_coefficients(layout):
    A, y, weight = problem(3)
    path = Lasso().path(layout(A), y, weight, alphas=5)
    center = np.average(A, axis=0, weights=weight)
    largest = np.abs((A - center).T @ (weight * (y - np.average(y, weights=weight)))).max()
    assert_allclose(path.alphas[0], largest / weight.sum(), rtol=2e-12)
    assert_allclose(path.alphas[-1], 1e-2 * path.alphas[0])
    assert path.n_nonzero[0] == path.n_iter[0] == 0 and path.n_nonzero[1] > 0
    at = Lasso(path.alphas[0]).fit(layout(A), y, weight)
    assert at.n_iter_ == 0 and not at.coef_.any()
    assert Lasso(0.999 * path.alphas[0]).fit(layout(A), y, weight).coef_.any()


def test_degrees_of_freedom_are_the_rank_of_the_support():
    A, y, _ = problem(4, zeros=0)
    model = Lasso(0.2, **EXACT).fit(A, y)
    assert model.degrees_of_freedom_ == len(model.active_) < 25
    twice = Lasso(0.2, **EXACT).fit(np.c_[A, A], y)
    assert twice.degrees_of_freedom_ == len(model.active_)


@pytest.mark.parametrize("ridge", [1e-30, 1e-13, 1e-3, 1.0])
def test_the_trace_of_dependent_columns_is_finite(ridge):
    Z = np.random.default_rng(0).normal(size=(4, 9)) * 10.0 ** np.arange(-4, 5)
    G = Z.T @ Z
    scale = 1 / np.sqrt(G.diagonal())
    more = ridge / scale**2  # ridges of columns of unit length
    values = np.linalg.eigvalsh(G * scale * scale[:, None])[-4:]
    assert_allclose(trace_of_fit(G, more), (values / (values + ridge)).sum(), rtol=1e-9)
    assert trace_of_fit(G, 0 * more) == 4


# ---- laws ----------------------------------------------------------------------------------------


@few
@given(seeds, st.sampled_from([1.0, 0.5, 0.01]), st.sampled_from([1.0, 0.1, 1e-2, 1e-4]))
def test_no_other_point_is_below_the_gap(seed, ratio, alpha):
    A, y, weight = problem(seed)
    rng = np.random.default_rng(seed)
    layout = sp.csr_array if seed % 2 else np.asarray
    best = ElasticNet(alpha, l1_ratio=ratio, **EXACT).fit(layout(A), y, weight)
    for tol in (0.3, 1e-2, 1e-6):
        model = ElasticNet(alpha, l1_ratio=ratio, tol=tol).fit(layout(A), y, weight)
        assert model.converged_ and model.duality_gap_ <= tol * np.var(y) * 3
        others = [(best.coef_, best.intercept_)]
        for size in (1e-1, 1e-4):
            moved = model.coef_ + size * rng.normal(size=80) * (best.coef_ != 0)
            others.append((moved, model.intercept_ + size * rng.normal()))
        for w, b in others:
            other = objective(A, y, w, b, alpha, ratio, weight)
            assert model.objective_ - other <= model.duality_gap_ + 1e-14 * other


def last_proof(A, y, ratio, share, monkeypatch, layout=np.asarray, weight=None):
    """Return bounds of slopes, as proofs have them, at the end of a path down to a share of the
    largest penalty, the slopes, which columns were not read for it, and that penalty.
    """
    advance, seen, X = working_columns._ext.advance, [], layout(A)
    units = DataUnits.of(X, y[:, None], True, False)
    rows = Rows.of(X, y[:, None], weight, units)
    found = ColumnProblem.of(rows, Columns.of(rows, True), True)
    penalties = Penalties.of(units, found.total, ratio)
    alphas = np.geomspace(1, share, 8) * np.abs(found.C[:, 0] / penalties.lasso[:, 0]).max()
    watched = SimpleNamespace(advance=lambda *a: seen.append(a) or advance(*a))
    with monkeypatch.context() as patch:
        patch.setattr(working_columns, "_ext", watched)
        found.path(penalties, alphas, 1e-10, 100)
    of_columns, of_rows, figure = (seen[-1][k] for k in (12, 23, 25))
    weight = np.ones(len(A)) if weight is None else weight
    Z = np.sqrt(weight)[:, None] * (A - np.average(A, axis=0, weights=weight))
    slopes = Z.T @ of_rows[1] - of_columns[7] * of_columns[3]
    return of_columns[9], np.abs(slopes), of_columns[12] < figure[4], alphas[-1]


@pytest.mark.parametrize("ratio", [1.0, 0.7])
@pytest.mark.parametrize(("n", "d", "zeros"), [(4, 150, 0.0), (25, 80, 0.5)])
def test_slopes_of_columns_that_are_not_read_are_within_their_bounds(n, d, zeros, ratio):
    """Of 4 rows some slopes grow by 0.7 times the length of the column and of the way."""
    for seed in range(40):
        A, y, _ = problem(seed, n, d, zeros)
        share = (0.9, 0.5, 0.2)[seed % 3]
        bounds, slopes, _, _ = last_proof(A, y, ratio, share, pytest.MonkeyPatch())
        assert (slopes <= np.abs(bounds) + 1e-12 * np.abs(A).T @ np.abs(y)).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_of_sparse_columns_are_within_their_bounds(weighted):
    """Columns of one entry, in the row whose residual moves most, are at theirs."""
    tight = 0
    for seed in range(20):
        A, _, weight = problem(seed, 60, 300, zeros=0.98)
        A[1:, 200:] = 0
        rng = np.random.default_rng(seed)
        A[:, 0] = np.r_[5, rng.normal(size=59)]
        y = A[:, 0] + 0.1 * rng.normal(size=60)
        y[0], weight[0] = 0, 3
        share = (0.9, 0.5, 0.2)[seed % 3]
        bounds, slopes, out, _ = last_proof(
            A, y, 1.0, share, pytest.MonkeyPatch(), sp.csr_array, weight if weighted else None
        )
        assert (slopes <= np.abs(bounds) + 1e-12 * np.abs(A).sum(axis=0) * np.abs(y).max()).all()
        tight += np.count_nonzero(out & (slopes > 0.9 * np.abs(bounds)) & (bounds != 0))
    assert tight > 20


def test_most_columns_are_not_read_and_have_no_coefficients(monkeypatch):
    A, y, _ = problem(0, 40, 2000, zeros=0)
    _, _, unread, alpha = last_proof(A, y, 1.0, 0.6, monkeypatch)
    assert np.count_nonzero(unread) > 1000
    assert not Lasso(alpha, tol=1e-12).fit(A, y).coef_[unread].any()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_rows_alone_have_the_minimum_of_all_columns(ratio, fit_intercept, monkeypatch):
    """With no copy of all columns; two targets, weights, float32, columns that join later."""
    made, of = [], ColumnProblem.of
    monkeypatch.setattr(penalised, "_MANY", 0)
    monkeypatch.setattr(
        ColumnProblem, "of", lambda *a, **k: made.append(len(a[1].size)) or of(*a, **k)
    )
    A, y, weight = problem(3, 60, 300, zeros=0.8)
    Y = np.c_[y, y + A[:, 5]]
    center = np.average(A, axis=0, weights=weight) * fit_intercept
    mean = np.average(Y, axis=0, weights=weight) * fit_intercept
    alpha = 0.3 * np.abs((A - center).T @ (weight[:, None] * (Y - mean))).max() / weight.sum()
    how = ElasticNet(alpha / ratio, l1_ratio=ratio, fit_intercept=fit_intercept)
    best = [
        ElasticNet(**how.get_params() | EXACT).fit(A, Y[:, t], weight).objective_ for t in range(2)
    ]
    made.clear()
    for dtype, near in ((np.float64, 0.5), (np.float64, 1.5), (np.float32, 0.5)):
        monkeypatch.setattr(row_problem, "_NEAR", near)
        model = how.fit(sp.csr_array(A.astype(dtype)), Y, weight)
        assert model.converged_ and model.coef_.any(axis=1).all()
        for t in range(2):
            value = objective(
                A, Y[:, t], model.coef_[t], model.intercept_[t], how.alpha, ratio, weight
            )
            digits = 1e-12 if dtype == np.float64 else 1e-6
            assert_allclose(model.objective_[t], value, rtol=digits)
            excess = model.objective_[t] - best[t]
            assert excess <= model.duality_gap_[t] + digits * best[t]
        assert len(model.degrees_of_freedom_) == 2
    assert len(made) > 6 and max(made) < 300
    freedom = ElasticNet(**how.get_params() | EXACT).fit(A, Y, weight).degrees_of_freedom_
    assert_allclose(how.fit(sp.csr_array(A), Y, weight).degrees_of_freedom_, freedom, rtol=1e-5)


def test_where_rows_alone_do_not_do_all_columns_are_copied(monkeypatch):
    made, of = [], Columns.of
    monkeypatch.setattr(penalised, "_MANY", 0)
    monkeypatch.setattr(Columns, "of", lambda rows, b: made.append(rows.X.shape[1]) or of(rows, b))
    A, y, _ = problem(3, 60, 300, zeros=0.8)
    far, small = A.copy(), A.copy()
    far[:, 7] += 1e3
    small[:, 7] *= 1e-200
    for B, few, readings in ((A, 3, 3), (far, 100, 3), (small, 100, 3), (A, 100, 0)):
        made.clear()
        monkeypatch.setattr(row_problem, "_FEW", few)
        monkeypatch.setattr(row_problem, "_READINGS", readings)
        model = Lasso(0.3, **EXACT).fit(sp.csr_array(B), y)
        assert 300 in made
        best = Lasso(0.3, **EXACT).fit(B, y)
        assert_allclose(model.objective_, best.objective_, rtol=1e-11)
        assert_allclose(model.coef_, best.coef_, rtol=1e-5, atol=1e-6)
    made.clear()
    monkeypatch.setattr(row_problem, "_READINGS", 3)
    assert Lasso(0.3).fit(sp.csr_array(A), y).converged_ and 300 not in made


@pytest.mark.parametrize("many", [0, 2000])
@layouts
def test_room_for_members_changes_nothing(layout, many, monkeypatch):
    A, y, weight = problem(5, 30, 200)
    whole = ElasticNet(l1_ratio=0.9, **EXACT).path(layout(A), y, weight, alphas=30)
    monkeypatch.setattr(working_columns, "_ROOM", (2, 2))
    monkeypatch.setattr(working_columns, "_MANY", many)
    small = ElasticNet(l1_ratio=0.9, **EXACT).path(layout(A), y, weight, alphas=30)
    assert_allclose(small.objective, whole.objective, rtol=1e-12)
    assert_array_equal(small.n_nonzero, whole.n_nonzero)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_swept_columns_have_the_minimum_of_products(ratio, fit_intercept, monkeypatch):
    A, y, weight = problem(5, 60, 300, zeros=0.8)
    A[:, 7] += 1e3  # centred entry by entry
    A[:, 8] = 0.1
    how = ElasticNet(l1_ratio=ratio, fit_intercept=fit_intercept, tol=1e-9)
    whole = how.path(sp.csr_array(A), y, weight, alphas=20, eps=0.05)
    how.set_params(alpha=whole.alphas[15])
    freedom = how.fit(sp.csr_array(A), y, weight).degrees_of_freedom_
    monkeypatch.setattr(working_columns, "_ROOM", (20, 20))
    monkeypatch.setattr(working_columns, "_FEW_ROWS", 0)
    monkeypatch.setattr(working_columns, "_SWEPT", 20)
    swept = how.path(sp.csr_array(A), y, weight, alphas=20, eps=0.05)
    assert_allclose(swept.objective, whole.objective, atol=1e-9 * np.average(y**2))
    assert (swept.duality_gap <= 1e-9 * np.average(y**2)).all()
    for k in (3, 10, 19):
        w, b = swept.coef[k], swept.intercept[k]
        value = objective(A, y, w, b, swept.alphas[k], ratio, weight)
        assert_allclose(swept.objective[k], value, rtol=1e-12)
    one = how.fit(sp.csr_array(A), y, weight)
    assert_allclose(one.degrees_of_freedom_, freedom, rtol=1e-6)
    value = one.objective_
    both = how.fit(sp.csr_array(A), np.c_[y, y[::-1]], weight)
    assert_allclose(both.objective_[0], value, atol=1e-9 * np.average(y**2))


def test_the_rank_of_very_many_features_is_not_computed(monkeypatch):
    A, y, _ = problem(5)
    monkeypatch.setattr(working_columns, "_TRACED", 3)
    assert np.isnan(Lasso(0.1).fit(A, y).degrees_of_freedom_)


def test_a_call_that_ends_early_goes_on(monkeypatch):
    A, y, _ = problem(6, 30, 200)
    whole = Lasso().path(A, y, alphas=30)
    monkeypatch.setattr(working_columns, "OPERATIONS_PER_CALL", 1)
    monkeypatch.setattr(working_columns, "_LONG", 1)
    parts = Lasso().path(A, y, alphas=30)
    for one, other in zip(whole, parts, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@layouts
def test_any_number_of_threads_gives_the_same_bytes(layout, dtype):
    A, y, _ = problem(7, 500, 3000, zeros=0.1)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found.append(Lasso().path(layout(A.astype(dtype)), y, alphas=3).coef)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


@layouts
def test_float32_has_the_gap_of_what_it_stores(layout):
    A, y, _ = problem(8)
    single = A.astype(np.float32)
    model = Lasso(0.1).fit(layout(single), y)
    best = Lasso(0.1, **EXACT).fit(layout(single.astype(float)), y)
    value = objective(single.astype(float), y, model.coef_, model.intercept_, 0.1, 1.0)
    assert model.coef_.dtype == np.float32
    assert_allclose(model.objective_, value, rtol=1e-12)
    assert -1e-14 <= value - best.objective_ <= model.duality_gap_ <= 1e-6 * np.var(y)


# ---- hard samples --------------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_equal_and_dependent_columns(layout, ratio):
    A, y, _ = problem(9, 30, 20)
    A = np.c_[A, A, A[:, :10] + A[:, 10:20], np.zeros((30, 3)), np.ones((30, 2))]
    model = ElasticNet(0.01, l1_ratio=ratio, tol=1e-11).fit(layout(A), y)
    other = ElasticNet(0.01, l1_ratio=ratio, tol=1e-11).fit(layout(A[:, ::-1]), y)
    assert model.converged_ and other.converged_
    assert not model.coef_[-5:].any()
    assert_allclose(model.objective_, other.objective_, rtol=1e-10)
    assert_allclose(model.predict(A), other.predict(A[:, ::-1]), atol=1e-3)
    if ratio < 1:
        assert_allclose(model.coef_[:20], model.coef_[20:40], atol=1e-5)


@layouts
def test_far_offsets(layout):
    A, y, weight = problem(10, zeros=0)
    expected = Lasso(0.1, **EXACT).fit(A, y, weight)
    A[:, ::3] += 1e8
    model = Lasso(0.1, tol=1e-9).fit(layout(A), y + 1e6, weight)
    assert model.converged_
    assert_allclose(model.objective_, expected.objective_, rtol=1e-6)
    assert_allclose(model.coef_, expected.coef_, atol=1e-5)


@layouts
@pytest.mark.parametrize("unit", [1e-150, 1e150, 1e-290])
def test_units_far_from_one(unit, layout):
    A, y, _ = problem(11)
    expected = Lasso(0.1, **EXACT).fit(layout(A), y)
    A[:, 1] *= unit
    with np.errstate(all="raise", under="ignore"):
        model = Lasso(0.1, **EXACT).fit(layout(A), y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.duality_gap_)
    assert model.converged_ == (unit < 1)  # else its rounding is more than the penalty
    scaled = Lasso(0.1 * 1e100, **EXACT).fit(layout(problem(11)[0]), 1e100 * y)
    assert_allclose(scaled.coef_ / 1e100, expected.coef_, atol=1e-9)


@layouts
def test_targets_and_samples_without_variance(layout):
    A, y, _ = problem(12)
    for X, z in ((A, np.full(len(A), 3.0)), (A[:1], y[:1])):
        model = Lasso(0.1).fit(layout(X), z)
        assert not model.coef_.any() and model.intercept_ == z[0]
        assert model.duality_gap_ < 1e-25 and model.n_iter_ == 0 and model.converged_
        with pytest.warns(UserWarning, match="all alphas are 0"):
            assert not Lasso().path(layout(X), z).coef.any()
    model = Lasso(0.1).fit(layout(np.zeros((3, 5))), [1.0, 2.0, 3.0])
    assert not model.coef_.any() and model.intercept_ == 2


def test_penalties_so_small_that_nothing_is_left():
    A, y, _ = problem(13, zeros=0)
    path = Lasso().path(A, y, alphas=[1e-6, 1e-9])
    assert (path.duality_gap <= 1e-6 * np.var(y)).all()
    assert (path.n_nonzero <= 25).all()
    assert_allclose(A @ path.coef.T + path.intercept, np.c_[y, y], atol=1e-3)


@layouts
def test_a_fit_that_max_iter_ends_warns_with_its_gap(layout):
    A, y, _ = problem(14, 60, 300)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = Lasso(1e-4, tol=1e-12, max_iter=1).fit(layout(A), y)
    assert not model.converged_ and model.n_iter_ == 1
    best = Lasso(1e-4, **EXACT).fit(layout(A), y)
    assert 0 < model.objective_ - best.objective_ <= model.duality_gap_


@layouts
def test_wide_ridge_and_least_squares_are_those_of_linear_regression(layout):
    A, y, weight = problem(15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for alpha in (0.5, 0.0):
            model = ElasticNet(alpha, l1_ratio=0.0).fit(layout(A), y, weight)
            total = weight.sum()
            ridge = LinearRegression(alpha=alpha * total).fit(layout(A), y, weight)
            assert_allclose(model.coef_, ridge.coef_, rtol=1e-9, atol=1e-12)
            Z = (A - np.average(A, axis=0, weights=weight)) * np.sqrt(weight)[:, None]
            values = np.linalg.eigvalsh(Z @ Z.T)[1:]  # the first is that of the intercept
            freedom = (values / (values + alpha * total)).sum()
            assert_allclose(model.degrees_of_freedom_, freedom, rtol=1e-9)


def test_nan_is_found():
    A, y, _ = problem(16)
    A[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Lasso().fit(A, y)
