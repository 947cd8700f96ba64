"""Principal components of sparse rows against the SVD of the dense ones, centred or not."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.decomposition import TruncatedSVD
from threadpoolctl import threadpool_limits

from mlcore.decomposition import PCA

EPS = np.finfo(float).eps


def sparse_rows(shape, seed=0, density=0.05, dtype=float):
    rng = np.random.default_rng([seed, *shape])
    X = np.where(rng.random(shape) < density, rng.normal(size=shape), 0.0)
    X *= 0.97 ** np.arange(shape[1])
    return sp.csr_array(X.astype(dtype))


def by_lapack(X, weight=None, center=True, scale=False):
    """Variances with ddof=1, components of the dense rows by LAPACK, and these rows."""
    X = X.toarray().astype(float)
    weight = np.ones(len(X)) if weight is None else weight
    Z = X - np.average(X, axis=0, weights=weight) if center else X
    divisor = weight.sum() - 1
    Z = Z * np.sqrt(weight)[:, None]
    if scale:
        deviations = np.sqrt((Z**2).sum(axis=0) / divisor)
        Z /= np.where(deviations > 0, deviations, 1.0)
    if min(Z.shape) < 100:
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        return s**2 / divisor, Vt, Z
    values, V = np.linalg.eigh(Z.T @ Z)  # a third of the time
    return values[::-1] / divisor, V[:, ::-1].T, Z


KINDS = ["plain", "weights", "scale", "offset", "single", "long indices"]
TALL_AND_WIDE = [(450, 405), (405, 450)]


# All pairs of shapes, kinds, and rows that are centred or not.
@pytest.mark.parametrize(
    ("shape", "center", "kind"),
    [
        (shape, (i + j) % 2 == 0, kind)
        for i, kind in enumerate(KINDS)
        for j, shape in enumerate(TALL_AND_WIDE)
    ],
)
def test_leading_components_are_those_of_the_svd(shape, center, kind):
    X = sparse_rows(shape, dtype=np.float32 if kind == "single" else float)
    weight = None
    if kind == "weights":
        weight = np.random.default_rng(1).integers(0, 4, shape[0]).astype(float)
    if kind == "offset":  # of features that then have no zeros
        offset = np.zeros(shape[1])
        offset[:5] = 30.0
        X = sp.csr_array(X.toarray() + offset)
    if kind == "long indices":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    variances, Vt, Z = by_lapack(X, weight, center, kind == "scale")
    model = PCA(6, center=center, scale=kind == "scale", random_state=0)
    model.fit(X, sample_weight=weight)
    assert model.solver_ == "lanczos" and model.converged_ and not model.complete_
    # The errors of values are squares of residuals, which tol=1e-8 bounds, over gaps.
    size = variances[0]
    assert_allclose(model.explained_variance_, variances[:6], rtol=1e-10, atol=1e-11 * size)
    assert_allclose(model.total_variance_, variances.sum(), rtol=1e-12)
    single = np.finfo(np.float32).eps if kind == "single" else 0.0
    for i in range(6):
        U = model.components_.astype(float)
        sine = np.linalg.norm(U[i] - (U[i] @ Vt[i]) * Vt[i])
        assert sine <= model.angle_bounds_[i] + 2 * single
    if not single:
        C = U @ Z.T @ Z
        values = np.einsum("ij,ij->i", C, U)
        residuals = np.linalg.norm(C - values[:, None] * U, axis=1) / values[0]
        assert_allclose(model.residuals_, residuals, rtol=1e-3, atol=1e-14)
    assert model.orthogonality_ < (1e-6 if single else 1e-14)
    assert model.next_value_ <= variances[6] * (1 + 1e-12)
    low, high = model.explained_fraction_bounds_
    assert low <= variances[:6].sum() / variances.sum() <= high
    assert_allclose(
        model.mean_, np.average(X.toarray(), axis=0, weights=weight) * center, atol=1e-6
    )


@pytest.mark.parametrize("k", [3, 10, 12, 20])
def test_no_copy_of_a_multiple_value_is_missed(k):
    deviations = np.concatenate([np.full(12, 3.0), 2.0 * 0.99 ** np.arange(488)])
    X = sp.csr_array(sp.diags_array(deviations))
    model = PCA(k, center=False, ddof=0, random_state=0).fit(X)
    assert model.solver_ == "lanczos"
    assert_allclose(model.singular_values_, deviations[:k], rtol=1e-9)
    assert not model.verify(X).complete or k >= 12
    assert np.isinf(model.angle_bounds_[:12]).all()


@pytest.mark.parametrize("shape", [(450, 405), (405, 450)])
def test_more_components_than_rank(shape):
    rng = np.random.default_rng(0)
    X = np.zeros(shape)
    X[:40, :5] = rng.normal(size=(40, 5))
    variances, _, _ = by_lapack(sp.csr_array(X))
    model = PCA(8, random_state=0).fit(sp.csr_array(X))
    assert model.solver_ == "lanczos" and model.rank_ == 5
    assert_allclose(model.explained_variance_, variances[:8], atol=1e-12 * variances[0])
    assert model.orthogonality_ < 1e-12
    empty = PCA(2, random_state=0).fit(sp.csr_array(shape))
    assert empty.rank_ == 0 and empty.total_variance_ == 0


@each("center", [True, False])
@each("shape", [(40, 25), (25, 40)])
@each("solver", ["auto", "full", "gram", "covariance_eigh", "arpack"])
def test_all_components(shape, solver, center):
    X = sparse_rows(shape, density=0.4)
    k = min(shape)
    variances, _, _ = by_lapack(X, center=center)
    model = PCA(svd_solver=solver, center=center, random_state=0).fit(X)
    assert model.n_components_ == k
    rounding = 100 * EPS * variances[0]  # of routes by the scatter
    assert_allclose(model.explained_variance_, variances, rtol=1e-8, atol=rounding)
    assert model.rank_ == k - (center and shape[0] <= shape[1])


@given(st.integers(0, 10**6), st.integers(5, 60), st.integers(5, 60), st.booleans())
@settings(max_examples=20)
def test_sparse_and_dense_rows_give_the_same(seed, n, d, center):
    X = sparse_rows((n, d), seed, density=0.3)
    X = sp.csr_array(X + sp.random_array(X.shape, density=0.2, rng=seed))
    weight = np.random.default_rng(seed).random(n) + 0.1
    k = min(n, d, 4)
    shared = {"center": center, "random_state": 0, "ddof": 0}
    first = PCA(k, svd_solver="arpack", **shared).fit(X, sample_weight=weight)
    second = PCA(k, svd_solver="full", **shared).fit(X.toarray(), sample_weight=weight)
    size = second.explained_variance_[0]
    assert_allclose(first.explained_variance_, second.explained_variance_, atol=1e-11 * size)
    assert_allclose(first.total_variance_, second.total_variance_, rtol=1e-12)
    bounds = first.angle_bounds_ + second.angle_bounds_
    cosines = np.abs(np.einsum("ij,ij->i", first.components_, second.components_))
    sure = bounds < 0.1
    assert (cosines[sure] >= 1 - bounds[sure] ** 2 - 1e-12).all()


@pytest.mark.parametrize("shape", [(3000, 500), (500, 3000)])
def test_random_state_and_threads_give_the_same_bytes(shape):
    X = sparse_rows(shape, density=0.1)
    fits = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            fits.append(PCA(5, random_state=3).fit(X))
    for model in fits:
        assert_array_equal(model.components_, fits[0].components_)
        assert_array_equal(model.explained_variance_, fits[0].explained_variance_)
        assert_array_equal(model.residuals_, fits[0].residuals_)


@each(
    ("kind", "shape"),
    [(np.asarray, (120, 50)), (sp.csr_array, (120, 50)), (sp.csr_array, (50, 120))],
)
@each("params", [{}, {"center": False}, {"scale": True}])
@each("tol", [1e-8, 0.3])
def test_verify_bounds_the_excess(kind, shape, params, tol):
    X = sparse_rows(shape, density=0.3)
    variances, _, Z = by_lapack(X, **params)
    rows = kind(X.toarray())
    # A loose search of one step finds other directions.
    steps = 0 if tol > 0.1 else "auto"
    model = PCA(4, svd_solver="randomized", tol=tol, iterated_power=steps, random_state=0, **params)
    model.fit(rows)
    if tol > 0.1:
        U = model.components_ + 1e-3 * np.random.default_rng(0).normal(size=(4, shape[1]))
        model.components_ = np.linalg.qr(U.T)[0].T
    along = ((Z @ model.components_.T) ** 2).sum() / (shape[0] - 1)
    found = model.verify(rows)
    assert found.complete or tol > 0.1
    assert_allclose(found.objective, variances.sum() - along, rtol=1e-10)
    excess = variances[:4].sum() - along
    assert found.duality_gap >= excess - 1e-13 * variances.sum()
    if tol < 0.1:
        assert found.duality_gap <= 1e-9 * variances.sum()


def test_verify_finds_a_component_that_was_missed():
    X = sparse_rows((600, 50), density=0.3)
    model = PCA(4, svd_solver="covariance_eigh").fit(X)
    assert model.verify(X).complete
    fifth = PCA(5, svd_solver="covariance_eigh").fit(X).components_[[4]]
    model.components_ = np.vstack([model.components_[:3], fifth])
    found = model.verify(X)
    assert not found.complete
    assert found.duality_gap == found.objective
    weight = np.arange(600) % 3
    weighted = PCA(4, svd_solver="arpack", random_state=0).fit(X, sample_weight=weight)
    assert weighted.verify(X, sample_weight=weight).complete


def test_not_centred_is_a_truncated_svd():
    X = sparse_rows((500, 410))
    X.data += 1.0
    peer = TruncatedSVD(8, algorithm="arpack", random_state=0).fit(X)
    for solver in ("auto", "covariance_eigh", "full", "gram"):
        model = PCA(8, center=False, svd_solver=solver, random_state=0).fit(X)
        assert_allclose(model.singular_values_, peer.singular_values_, rtol=1e-9)
        signs = np.sign(np.einsum("ij,ij->i", model.components_, peer.components_))
        assert_allclose(model.components_, peer.components_ * signs[:, None], atol=1e-7)
        assert_allclose(model.transform(X), peer.transform(X) * signs, atol=1e-5)
        assert not model.mean_.any()
    back = model.inverse_transform(model.transform(X))
    assert_allclose(back, peer.inverse_transform(peer.transform(X)), atol=1e-5)


@pytest.mark.parametrize("scale", [False, True])
def test_blocks_that_are_not_centred(scale):
    X = sparse_rows((300, 20), density=0.4).toarray() + 2.0
    whole = PCA(3, center=False, scale=scale).fit(X)
    model = PCA(3, center=False, scale=scale).partial_fit(X[:100]).partial_fit(X[100:])
    blocks = PCA(3, center=False, scale=scale).begin(X[:10])
    parts = [blocks.partial_statistics(X[rows]) for rows in (slice(0, 50), slice(50, 300))]
    blocks.update(blocks.merge(*parts))
    added = PCA(3, center=False, scale=scale).fit(X[:200]).partial_fit(X[200:])
    for other in (model, blocks, added):
        assert_allclose(other.explained_variance_, whole.explained_variance_, rtol=1e-10)
        assert_allclose(other.components_, whole.components_, atol=1e-9)
        assert not other.mean_.any()
    _, _, Z = by_lapack(sp.csr_array(X), center=False, scale=scale)
    assert_allclose(whole.singular_values_, np.linalg.svd(Z, compute_uv=False)[:3], rtol=1e-10)
