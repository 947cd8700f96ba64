"""Jackknife+ intervals against n refits, and their coverage by simulation."""

import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy import sparse

from mlcore.conformal import jackknife_plus
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidge, NystroemRidge
from mlcore.linear_model import LinearRegression


def by_refits(make, X, y, Z, coverage):
    """Both ends from n refits; numerators and denominators of coverage are tenths."""
    n, tenths = len(y), round(10 * (1 - coverage))
    ends = np.empty((2, n, len(Z)))
    for i in range(n):
        kept = np.arange(n) != i
        model = make().fit(X[kept], y[kept])
        error = abs(y[i] - model.predict(X[i : i + 1])[0])
        ends[:, i] = model.predict(Z) - error, model.predict(Z) + error
    ends.sort(axis=1)
    down, up = tenths * (n + 1) // 10, -((tenths - 10) * (n + 1) // 10)
    return ends[0, down - 1], ends[1, up - 1]


MODELS = {
    "least squares": LinearRegression,
    "ridge": lambda: LinearRegression(alpha=2.0),
    "ridge through 0": lambda: LinearRegression(alpha=2.0, fit_intercept=False),
    "linear kernel": lambda: KernelRidge(alpha=0.7, fit_intercept=True),
    "gaussian kernel": lambda: KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5),
}


@each(("name", "n", "d"), [(name, n, d) for name in MODELS
                           for n, d in ((25, 1), (40, 4), (11, 30)) if name != "least squares"
                           or n > d])  # fmt: skip
def test_ends_are_those_of_n_refits(name, n, d):
    rng = np.random.default_rng([n, d])
    X, Z = rng.normal(size=(n, d)), 3 * rng.normal(size=(15, d))
    y = X.sum(axis=1) + rng.standard_t(3, n) + 5
    model = MODELS[name]().fit(X, y)
    for coverage in (0.9, 0.6):
        expected = by_refits(MODELS[name], X, y, Z, coverage)
        assert_allclose(jackknife_plus(model, X, y, coverage).predict(Z), expected, rtol=1e-8)


@each(("scale", "origin"), [(1e-100, 0.0), (1e100, 0.0), (1.0, 1e8)])
def test_units_and_origins_of_targets_and_samples_move_the_ends_alone(scale, origin):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(9, 2))
    y = X @ [1, 2] + rng.normal(size=30)
    plain = jackknife_plus(LinearRegression().fit(X, y), X, y).predict(Z)
    moved = LinearRegression().fit(X + origin, scale * y + origin)
    found = jackknife_plus(moved, X + origin, scale * y + origin).predict(Z + origin)
    tolerance = 1e-6 if origin else 1e-10
    assert_allclose((np.array(found) - origin) / scale, plain, rtol=tolerance, atol=tolerance)


def test_blocks_and_types_give_the_same_ends(monkeypatch):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(50, 3)), rng.normal(size=(30, 3))
    y = X @ [1, 2, 3] + rng.normal(size=50)
    model = LinearRegression(alpha=1.0).fit(X, y)
    plain = jackknife_plus(model, X, y).predict(Z)
    sparse_model = LinearRegression(alpha=1.0).fit(sparse.csr_array(X), y)
    of_sparse = jackknife_plus(sparse_model, sparse.csr_array(X), y).predict(sparse.coo_array(Z))
    assert_allclose(of_sparse, plain, rtol=1e-9)
    narrow = LinearRegression(alpha=1.0).fit(X.astype(np.float32), y)
    of_narrow = jackknife_plus(narrow, X.astype(np.float32), y).predict(Z.astype(np.float32))
    assert_allclose(of_narrow, plain, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr("mlcore.conformal.jackknife._VALUES", 400)
    found = jackknife_plus(model, X, y)
    assert len(found.influences) == 7
    assert_allclose(found.predict(Z), plain, rtol=1e-12)
    assert_allclose(jackknife_plus(model, X.tolist(), y.tolist()).predict(Z.tolist()), plain)


def test_coverage_by_simulation():
    """About 1 - alpha for ridge regression, and so above 1 - 2 alpha."""
    rng, runs, covered = np.random.default_rng(0), 400, []
    for _ in range(runs):
        X = rng.normal(size=(39, 3))
        y = X.sum(axis=1) + rng.standard_t(3, 39)
        X, y, Z, t = X[:19], y[:19], X[19:], y[19:]
        found = jackknife_plus(LinearRegression(alpha=1.0).fit(X, y), X, y, 0.8)
        lower, upper = found.predict(Z)
        covered.append(((lower <= t) & (t <= upper)).mean())
    assert found.guaranteed_coverage == 0.6
    assert abs(np.mean(covered) - 0.8) < 0.03


def test_too_few_samples_give_infinite_intervals():
    X, y = np.arange(8.0)[:, None], np.arange(8.0) ** 2
    model = LinearRegression().fit(X, y)
    with pytest.warns(UserWarning, match="8, of at least 9 needed"):
        found = jackknife_plus(model, X, y)
    lower, upper = found.predict(X)
    assert (lower == -math.inf).all() and (upper == math.inf).all()
    assert "infinite" in repr(found) and "infinite" in found._repr_html_()
    assert jackknife_plus(model, X, y, 0.5).guaranteed_coverage == 0


RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X.sum(axis=1) + RNG.normal(size=30)
WIDE = RNG.normal(size=(12, 40))


@each(("call", "said"), [
    (lambda: jackknife_plus(LinearRegression, X, Y), "LinearRegression or KernelRidge"),
    (lambda: jackknife_plus(LinearRegression().fit(X, Y), X, Y, 90), "^coverage="),
    (lambda: jackknife_plus(LinearRegression().fit(X, Y), X, Y + 1), "samples of the fit"),
    (lambda: jackknife_plus(LinearRegression().fit(X, Y), X[:9], Y[:9]), "samples of the fit"),
    (lambda: jackknife_plus(KernelRidge().fit(X, Y), X, 2 * Y), "samples of the fit"),
    (lambda: jackknife_plus(KernelRidge().fit(X, Y, np.arange(1, 31)), X, Y), "weights of 1"),
    (lambda: jackknife_plus(KernelRidge().fit(X, Y), X[:9], Y[:9]), "those of the fit"),
    (lambda: jackknife_plus(LinearRegression(alpha=[1.0]).fit(X, Y), X, Y), "^model.alpha="),
    (lambda: jackknife_plus(LinearRegression().fit(WIDE, Y[:12]), WIDE, Y[:12]), "above 0"),
    (lambda: jackknife_plus(NystroemRidge(random_state=0).fit(X, Y), X, Y), "^model=Nystroem"),
    (lambda: jackknife_plus(LinearDiscriminantAnalysis().fit(X, Y > 0), X, Y), "^model=Linear"),
    (lambda: jackknife_plus(LinearRegression(), X, Y), "not fitted"),
])  # fmt: skip
def test_refusals_name_the_argument(call, said):
    with pytest.raises(ValueError, match=said):
        call()
