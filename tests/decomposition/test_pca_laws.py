"""Principal components keep their laws, and their evidence is true: 50 digits are the judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from mlcore.decomposition import PCA

SOLVERS = ("covariance_eigh", "gram", "full", "arpack")
EPS = np.finfo(np.float64).eps


def by_digits(X):
    """Eigenvalues, descending, and eigenvectors of the scatter of X about its mean, 50 digits."""
    n, d = X.shape
    with mp.workdps(50):
        rows = [[mpf(float(x)) for x in row] for row in X]
        means = [sum(row[j] for row in rows) / n for j in range(d)]
        Z = mp.matrix([[row[j] - means[j] for j in range(d)] for row in rows])
        values, vectors = mp.eigsy(Z.T * Z)
        return [values[d - 1 - j] for j in range(d)], vectors[:, ::-1]


def sine(component, vectors, j):
    """That of the angle between a float64 component and the j-th exact one."""
    with mp.workdps(50):
        u = [mpf(float(x)) for x in component]
        own = sum(u[i] * vectors[i, j] for i in range(len(u)))
        rest = sum((u[i] - own * vectors[i, j]) ** 2 for i in range(len(u)))
        return float(mp.sqrt(rest / sum(x * x for x in u)))


@st.composite
def problems(draw):
    """Rows of any condition to 1e12, far from 0 by 1e10 of their spread, at any scale to 1e100."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(3, 9)), draw(st.integers(2, 4))
    condition = 10.0 ** draw(st.integers(0, 12))
    X = rng.normal(size=(n, d)) * condition ** (-np.arange(d) / (2 * (d - 1)))
    X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = X + draw(st.sampled_from((0.0, 1.0, 1e5, 1e10))) * rng.normal(size=d)
    return X * 2.0 ** draw(st.sampled_from((0, -300, 300))), draw(st.integers(1, min(n, d)))


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_no_component_is_farther_from_the_exact_one_than_its_bound(solver, problem):
    X, k = problem
    model = PCA(k, svd_solver=solver, random_state=0).fit(X)
    with mp.workdps(50):
        _, exponent = np.frexp(np.abs(X - X.mean(axis=0)).max())
        unit = np.ldexp(1.0, -int(exponent))
        values, vectors = by_digits(X * unit)
        total = sum(values)
        share = float(sum(values[:k]) / total)
        found = [float(v / total) for v in values[:k]]
    for j in range(k):
        assert sine(model.components_[j], vectors, j) <= model.angle_bounds_[j] + 4 * EPS
    least, most = model.explained_fraction_bounds_
    assert least - 4 * EPS <= share <= most + 4 * EPS
    # An eigenvalue of a symmetric matrix is as far off as its pair leaves, and the matrix is.
    slack = 1e-12 + 2 * model.residuals_.max() * found[0]
    assert_allclose(model.explained_variance_ratio_, found, rtol=0, atol=slack)


@pytest.mark.parametrize("decades", [2, 4, 7, 12])
@pytest.mark.parametrize("k", [3, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variances_are_as_exact_as_sums_in_the_type_of_the_data_allow(dtype, k, decades):
    """Above the threshold the scatter's rounding u of the largest; below it that of an SVD."""
    rng, u = np.random.default_rng(decades), np.finfo(dtype).eps / 2
    threshold = 1e-3 if dtype == np.float32 else 1e-6
    n, d = 40, 6
    Q = np.linalg.qr(np.c_[np.ones(n), rng.normal(size=(n, d))])[0][:, 1:]
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    steps = np.linspace(0, decades * (1 if dtype == np.float32 else 2), d)
    if decades == 2:  # two eigenvalues on either side of the threshold
        steps[-3:] = -np.log10(threshold * np.array([1.2, 1.02, 0.98]))
    X = (Q * 10 ** (-steps / 2) @ V.T * 30).astype(dtype)
    model = PCA(k, svd_solver="covariance_eigh").fit(X)
    with mp.workdps(50):
        exact = np.array([float(v / (n - 1)) for v in by_digits(X)[0]])[: model.n_components_]
    part = exact / exact[0]
    error = np.abs(model.explained_variance_ / exact - 1)
    allowed = np.where(part > threshold, 4 * u / part, 16 * u / np.sqrt(part))
    assert (error <= allowed).all()
    if dtype == np.float32:
        assert (error[part > 0.03] <= 1e-5).all()


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(4, 30),
    d=st.integers(2, 8),
    solver=st.sampled_from(SOLVERS),
)
def test_laws(seed, n, d, solver):
    """Turned, moved, rescaled, shuffled and copied rows have the components that follow."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 0.5 ** np.arange(d)
    k = min(n - 1, d)

    def fit(X, weight=None):
        return PCA(k, svd_solver=solver, ddof=0, random_state=0).fit(X, sample_weight=weight)

    model = fit(X)
    values, tol = model.explained_variance_, 1e-12 * model.explained_variance_[0]
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    assert_allclose(fit(X @ Q).explained_variance_, values, rtol=0, atol=tol)
    assert_allclose(fit(X[rng.permutation(n)]).explained_variance_, values, rtol=0, atol=tol)
    assert_allclose(fit(X + 1024.0).explained_variance_, values, rtol=0, atol=1e-9 * values[0])
    assert_allclose(fit(X * 2.0**90).explained_variance_, values * 2.0**180, rtol=1e-11)
    copies = rng.integers(1, 4, n)
    assert_allclose(
        fit(X, copies.astype(float)).explained_variance_,
        fit(np.repeat(X, copies, axis=0)).explained_variance_,
        rtol=0,
        atol=tol,
    )
    # What is kept and what is left add up to all, row by row and over all rows.
    left, kept = model.reconstruction_errors(X), (model.transform(X) ** 2).sum(axis=1)
    assert_allclose(left + kept, ((X - X.mean(axis=0)) ** 2).sum(axis=1), rtol=1e-10, atol=1e-12)
    assert_allclose(kept.sum() / n, values.sum(), rtol=1e-10)
    assert_allclose(model.total_variance_, X.var(axis=0).sum(), rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_is_called_complete_where_components_are_not_unique(solver):
    """The last component shares its variance with one that was left out."""
    corners = np.vstack([np.eye(5), -np.eye(5)])
    for k in (1, 3, 4):
        model = PCA(k, svd_solver=solver, random_state=0).fit(corners)
        assert not model.complete_ and np.isinf(model.angle_bounds_[-1])
    assert np.isinf(PCA(5, svd_solver=solver, random_state=0).fit(corners).angle_bounds_).all()
