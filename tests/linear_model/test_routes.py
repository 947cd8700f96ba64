"""Ways to the minimum of a logistic regression: each ends at the same one, chosen by shape."""

import numpy as np
import pytest
from scipy import sparse as sp

from mlcore._ext.linear_model import hessian_products
from mlcore.estimator.progress import Progress
from mlcore.linear_model import LogisticRegression
from mlcore.linear_model.logistic.logistic_pass import Columns, LogisticRows
from mlcore.linear_model.logistic.objective import Objective, hessian_of
from mlcore.linear_model.logistic.solution import Settings, route_of, solve
from mlcore.linear_model.logistic.steps import conjugate_newton
from mlcore.linear_model.logistic.steps.hessian_products import Products
from mlcore.linear_model.logistic.steps.lbfgs import steps_before_dense
from mlcore.linear_model.logistic.steps.sample_system import SampleSystem


def problem(n, d, k, dtype=np.float64, seed=3):
    """Return counts, some columns far more frequent than others, and k classes."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(2 / (1 + np.arange(d) / 3), (n, d)).astype(dtype)
    z = X @ rng.normal(size=(d, k)) * 0.4
    return X, (z - z.mean(axis=0) + rng.gumbel(size=(n, k))).argmax(axis=1), rng


def rows_of(X, y, weight=None, offset=None):
    k = y.max() + 1
    weight = np.ones(len(y)) if weight is None else weight
    return LogisticRows(X, y, weight, offset, 1 if k == 2 else k, True)


def solution_of(rows, route, C=1.0, tol=1e-8):
    settings = Settings(C, 0.0, True, "auto", tol, 2000, False)
    objective, factor = Objective(rows, 1 / C / rows.total), C * rows.total
    with Progress(False, None, "LogisticRegression") as progress:
        return solve(objective, factor, None, settings, progress, lambda theta: {}, route), factor


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_every_route_ends_at_the_same_minimum(k, C):
    X, y, rng = problem(60, 30, k)
    weight = rng.uniform(0.5, 2, len(y))
    offset = rng.normal(size=(len(y), 1 if k == 2 else k))
    values = {}
    for route in ("newton", "conjugate", "lbfgs"):
        found, factor = solution_of(rows_of(sp.csr_array(X), y, weight, offset), route, C)
        assert found.converged, route
        values[route] = factor * found.value, found.duality_gap
    dense, factor = solution_of(rows_of(X, y, weight, offset), "newton", C)
    for value, gap in values.values():
        rounding = len(y) * np.finfo(float).eps * value
        assert abs(value - factor * dense.value) <= gap + dense.duality_gap + rounding


@pytest.mark.parametrize("k", [2, 4])
def test_blocks_of_few_columns_and_of_many_end_at_the_same_minimum(monkeypatch, k):
    X, y, _ = problem(300, 40, k)
    rows, sizes, values = rows_of(sp.csr_array(X), y), [], []
    inverse = conjugate_newton.inverse_of
    monkeypatch.setattr(
        conjugate_newton, "inverse_of", lambda M, c: sizes.append(len(M)) or inverse(M, c)
    )
    monkeypatch.setattr(conjugate_newton, "_MANY", (8, 2))
    for dear in (np.inf, 0):
        monkeypatch.setattr(conjugate_newton, "_DEAR", dear)
        sizes.clear()
        found, _ = solution_of(rows, "conjugate")
        assert found.converged
        values.append((sizes[0], sizes[-1], found.value, found.duality_gap))
    (many, last, a, gap), (few, later, b, other) = values
    assert few < many == last == later
    assert abs(a - b) <= gap + other + len(y) * np.finfo(float).eps * a


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("k", [2, 5])
def test_conjugate_gradients_end_within_the_excess_that_tol_allows(k, tol):
    X, y, _ = problem(90, 120, k)
    rows = rows_of(sp.csr_array(X), y)
    best, _ = solution_of(rows, "conjugate", tol=1e-10)
    found, _ = solution_of(rows, "conjugate", tol=tol)
    assert found.converged
    assert found.value - best.value <= 2e-5 * tol * best.value
    assert found.n_iter <= best.n_iter


@pytest.mark.parametrize("k", [2, 3])
def test_steps_for_wide_dense_rows_in_their_span_agree_with_sparse_ones(k):
    X, y, _ = problem(60, 600, k)
    dense, factor = solution_of(rows_of(X, y), "span")
    sparse, _ = solution_of(rows_of(sp.csr_array(X), y), "conjugate")
    gaps = dense.duality_gap + sparse.duality_gap
    rounding = len(y) * np.finfo(float).eps * sparse.value
    assert factor * (abs(dense.value - sparse.value) - rounding) <= gaps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("often", [0, 12])
def test_directions_of_sample_systems_are_newtons(often, intercept, dtype):
    X, y, rng = problem(50, 400, 2, dtype)
    X[7] = 0
    weight = rng.uniform(0.5, 2, len(y))
    rows = LogisticRows(sp.csr_array(X), y, weight, None, 1, intercept)
    objective, heavy = Objective(rows, 0.01), np.arange(often)
    part = LogisticRows(
        rows.X[:, heavy], y, weight, None, 1, intercept,
        Columns(np.zeros(often), rows.scale[heavy]),
    )  # fmt: skip
    point = objective.at(rng.normal(size=(1, 401)) * np.append(np.full(400, 0.3), intercept))
    system, products = SampleSystem(objective, part), Products(objective, point)
    # Newton's direction from the Hessian itself.
    B = np.c_[X.astype(float) * rows.scale, np.full(50, float(intercept))]
    H = (B.T * products.variances()[:, 0]) @ B + np.diag(objective.penalty)
    kept = slice(None) if intercept else slice(-1)
    newton = np.zeros(401)
    newton[kept] = -np.linalg.solve(H[kept, kept], point.gradient[0, kept])
    true = -float(point.gradient[0] @ newton)
    found = system.direction(products, point.gradient, (1e-8, point.value, 0.0), 400)
    error = found.step[0] - newton
    assert error @ H @ error <= 1e-15 * true
    assert found.squared == pytest.approx(true, rel=1e-10)
    assert products.count == found.count + 3
    # Early ends tell a bound, by as much too large as the quadratic model's gap.
    for most in (0, 1, 2, 5, 12):
        found = system.direction(products, point.gradient, (0.0, point.value, 0.0), most)
        step = found.step[0]
        assert found.count == most
        assert found.squared >= true
        assert -2 * (point.gradient[0] @ step + step @ H @ step / 2) <= (1 + 1e-12) * true
    assert found.squared < 1.2 * true


def test_saturated_probabilities_leave_the_decrement_unknown():
    X, y, _ = problem(50, 400, 2)
    rows = rows_of(sp.csr_array(X), y)
    objective = Objective(rows, 0.01)
    point = objective.at(np.append(np.zeros(400), 1e4)[None])
    part = LogisticRows(
        rows.X[:, :3], y, rows.weight, None, 1, True, Columns(np.zeros(3), rows.scale[:3])
    )
    ends = 0.1, point.value, 1e-9
    products = Products(objective, point)
    found = SampleSystem(objective, part).direction(products, point.gradient, ends, 400)
    assert found.squared == np.inf
    assert np.isfinite(found.step).all()


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_wide_sparse_rows_go_on_with_a_number_for_each_row(monkeypatch, C):
    X, y, rng = problem(60, 600, 2)
    weight, offset = rng.uniform(0.5, 2, 60), rng.normal(size=(60, 1))
    rows, systems = rows_of(sp.csr_array(X), y, weight, offset), []
    of_samples = conjugate_newton.SampleSystem
    monkeypatch.setattr(
        conjugate_newton, "SampleSystem", lambda *a: systems.append(a) or of_samples(*a)
    )
    monkeypatch.setattr(conjugate_newton, "_TOO_MANY", 2)
    by_samples, factor = solution_of(rows, "conjugate", C)
    assert len(systems) == 1
    monkeypatch.setattr(conjugate_newton, "_FEWER", 11)
    by_columns, _ = solution_of(rows, "conjugate", C)
    assert len(systems) == 1
    assert by_samples.converged and by_columns.converged
    gaps = by_samples.duality_gap + by_columns.duality_gap
    rounding = len(y) * np.finfo(float).eps * by_columns.value
    assert factor * (abs(by_samples.value - by_columns.value) - rounding) <= gaps
    assert gaps <= 1e-6 * factor * by_columns.value


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_a_dear_metric_waits_until_the_diagonal_one_has_taken_its_time(C):
    rng = np.random.default_rng(0)
    n, d = 400, 200
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))  # correlated
    y = (X[:, 0] + 5 * rng.normal(size=n) > 0).astype(int)
    rows = rows_of(X, y)
    assert steps_before_dense(rows) > 8
    found, factor = solution_of(rows, "lbfgs", C)
    assert found.converged
    assert found.n_iter > steps_before_dense(rows)
    newton, _ = solution_of(rows, "newton", C)
    assert factor * (found.value - newton.value) <= found.duality_gap + 1e-12 * factor


def test_shape_penalty_and_solver_choose_the_route():
    X, y, _ = problem(60, 600, 2)
    dense, sparse = Objective(rows_of(X, y), 0.1), Objective(rows_of(sp.csr_array(X), y), 0.1)
    assert route_of(dense, "auto", True) == "span"
    assert route_of(dense, "auto", False) == "lbfgs"
    assert route_of(sparse, "auto", True) == "conjugate"
    assert route_of(sparse, "lbfgs", True) == "lbfgs"
    assert route_of(Objective(sparse.rows, 0.0), "auto", True) == "lbfgs"
    assert route_of(Objective(rows_of(sp.csr_array(X[:, :30]), y), 0.1), "auto", True) == "newton"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_to_sparse_and_dense_rows_have_the_same_objective(dtype):
    X, y, _ = problem(60, 300, 3, dtype)
    dense, sparse = (LogisticRegression(tol=1e-6).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert dense.converged_ and sparse.converged_
    gaps = dense.duality_gap_ + sparse.duality_gap_
    rounding = len(y) * np.finfo(float).eps * sparse.objective_
    assert abs(dense.objective_ - sparse.objective_) <= gaps + rounding
    assert sparse.verify(sp.csr_array(X), y).excess_bound <= 1e-4 * sparse.objective_


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_products_are_those_with_the_hessian(k, indices):
    X, y, rng = problem(50, 12, k)
    A = sp.csr_array(X)
    A.indices, A.indptr = A.indices.astype(indices), A.indptr.astype(indices)
    objective = Objective(rows_of(A, y, rng.uniform(0.5, 2, len(y))), 0.01)
    shape = (1 if k == 2 else k, X.shape[1] + 1)
    point = objective.at(rng.normal(size=shape) / 4, hessian=True)
    H, products = hessian_of(point, objective.penalty), Products(objective, point)
    v = rng.normal(size=shape)
    np.testing.assert_allclose(products(v).ravel(), H @ v.ravel(), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(products.squares().ravel(), H.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("c", [1, 3])
def test_any_number_of_threads_gives_the_same_bytes(c):
    X, _, rng = problem(200, 30, 2)
    A, weight = sp.csr_array(X), rng.uniform(size=200)
    p, V = rng.dirichlet(np.ones(c), 200), rng.normal(size=(31, c))
    results = []
    for n_threads in (1, 2, 4):
        out = np.zeros((4, 31, c))
        scratch = np.empty((4, c))
        hessian_products.products(
            A.data, A.indices, A.indptr, 0, 200, weight, p, V, scratch, out, n_threads
        )
        hessian_products.squares(A.data, A.indices, A.indptr, 0, 200, p, out, n_threads)
        results.append(out.tobytes())
    assert len(set(results)) == 1
