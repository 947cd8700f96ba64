"""Laws of evidence: what a clustering says of itself holds wherever the data lie, in any unit.

Data are shifted by up to 1e10 deviations, scaled by 1e-150 to 1e150, weighted in any unit, and fits
begin anywhere. What a model reports is computed anew in extended precision; a fit that could not
reach what it claims must have warned.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse as sp
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist

from mlcore.cluster import (
    AgglomerativeClustering,
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    SpectralClustering,
    adjusted_rand_index,
    doubly_stochastic,
)

LONG = np.longdouble
SEEDS = st.integers(0, 2**32 - 1)
SHIFTS = st.sampled_from([0.0]) | st.floats(-2, 10).map(lambda e: 10.0**e)
SCALES = st.sampled_from([0]) | st.integers(-150, 150)
UNITS = st.integers(-12, 12)
DTYPES = st.sampled_from([np.float32, np.float64])


def fitted(model, X, **how):
    """Return the model, and the warnings of the fit that are not of copies."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, **how)
    return model, [str(w.message) for w in told if "duplicate points" not in str(w.message)]


def samples(seed, shift, scale, dtype=np.float64):
    """Three groups in a plane, `shift` deviations from 0, in units of 10**scale."""
    rng = np.random.default_rng(seed)
    X = (
        rng.normal(size=(30, 2))
        + rng.choice([3, 30, 300]) * rng.normal(size=(3, 2))[rng.integers(0, 3, 30)]
    )
    scale = scale // 10 if dtype == np.float32 else scale
    assume(abs(scale + np.log10(shift + 1)) < (15 if dtype == np.float32 else 150))
    return ((X + shift) * 10.0**scale).astype(dtype), rng


def starts(rng, X, k):
    """Centres from anywhere: as far as the data are long, or a million times as far."""
    size = float(np.abs(X).max()) * 10.0 ** rng.integers(0, 6)
    most = 1e17 if X.dtype == np.float32 else 1e140
    return (rng.normal(size=(k, X.shape[1])) * min(size, most)).astype(X.dtype)


def exact_step(X, weights, model):
    """Return the objective of the centres, of the labels and after an exact step, extended."""
    Z = X.astype(LONG) - model.origin_.astype(LONG)
    unit = np.ldexp(LONG(1), -int(np.frexp(np.abs(Z).max() or 1)[1]))
    Z, C = Z * unit, model.offsets_.astype(LONG) * unit
    squares = np.square(Z[:, None] - C).sum(axis=2)
    own = weights @ squares[np.arange(len(Z)), model.labels_]
    nearest = squares.argmin(axis=1)
    after = LONG(0)
    for j in np.unique(nearest):
        w, rows = weights[nearest == j, None], Z[nearest == j]
        mean = (w * rows).sum(axis=0) / max(w.sum(), np.finfo(LONG).tiny)
        after += (w * np.square(rows - mean)).sum()
    return own / unit**2, after / unit**2


@settings(max_examples=50)
@given(SEEDS, SHIFTS, SCALES, UNITS, DTYPES, st.sampled_from([np.asarray, sp.csr_array]))
@example(0, 1e10, 0, 0, np.float64, sp.csr_array)
@example(0, 1e8, 0, 0, np.float64, sp.csr_array)
@example(1, 1e10, 140, 12, np.float64, np.asarray)
@example(2, 1e7, 0, 0, np.float32, sp.csr_array)
@example(5792, 10.0**9.75, -2, -3, np.float64, sp.csr_array)
def test_k_means(seed, shift, scale, unit, dtype, form):
    X, rng = samples(seed, shift, scale, dtype)
    weights = rng.integers(0, 4, len(X)) * 10.0**unit
    assume(scale * 2 + unit < 290 and scale * 2 + unit > -290)
    init = starts(rng, X, 3) if rng.random() < 0.5 else "k-means++"
    model, told = fitted(KMeans(3, init=init, random_state=0), form(X), sample_weight=weights)
    own, after = exact_step(X, weights.astype(LONG), model)
    eps = float(np.finfo(dtype).eps)
    size = weights @ np.square(X.astype(LONG) - model.origin_).sum(axis=1)
    assert abs(own - model.inertia_) <= 64 * eps * own + 64 * eps**2 * size
    assert model.objective_trace_[-1] == model.inertia_
    if not told:
        rounding = 4 * (2 + 4) * eps * size + 64 * 2.3e-16 * model.objective_trace_[0]
        assert np.diff(model.objective_trace_).max(initial=0) <= rounding
        assert model.converged_
        assert own - after <= 0.02 * own + (4096 * eps) ** 2 * size


@settings(max_examples=20)
@given(SEEDS, SHIFTS, SCALES, UNITS, st.sampled_from([np.asarray, sp.csr_array]))
@example(0, 1e9, 0, 0, sp.csr_array)
def test_mini_batch_k_means(seed, shift, scale, unit, form):
    X, rng = samples(seed, shift, scale)
    weights = rng.integers(1, 4, len(X)) * 10.0**unit
    assume(-290 < scale * 2 + unit < 290)
    model = MiniBatchKMeans(3, batch_size=10, random_state=0)
    model, told = fitted(model, form(X), sample_weight=weights)
    own, _ = exact_step(X, weights.astype(LONG), model)
    assert_allclose(model.inertia_, float(own), rtol=1e-9)
    if not told:
        Z = (X.astype(LONG) - model.origin_) * 10.0**-scale
        squares = np.square(Z[:, None] - model.offsets_.astype(LONG) * 10.0**-scale).sum(axis=2)
        best = weights @ squares.min(axis=1)
        mine = weights @ squares[np.arange(30), model.labels_]
        assert mine - best <= 0.02 * mine + 1e-24 * weights @ np.square(Z).sum(axis=1)


@settings(max_examples=25)
@given(SEEDS, SHIFTS, st.integers(-70, 70), UNITS, st.sampled_from(["linear", "poly", "rbf"]))
@example(0, 1e10, 0, 0, "linear")
@example(0, 1e8, 0, 0, "poly")
@example(1, 1e5, 0, 0, "linear")
def test_kernel_k_means(seed, shift, scale, unit, kernel):
    X, rng = samples(seed, shift, scale)
    weights = rng.integers(1, 4, 30) * 10.0**unit
    model = KernelKMeans(3, kernel=kernel, degree=1, random_state=0)
    model, told = fitted(model, X, sample_weight=weights)
    Z = X.astype(LONG) - X.astype(LONG).mean(axis=0)
    squares = np.square(Z[:, None] - Z).sum(axis=2) * (1 if kernel == "linear" else model.gamma_)
    distances = squares if kernel != "rbf" else 2 - 2 * np.exp(-squares)
    own = LONG(0)
    for label in range(model.labels_.max() + 1):
        here = model.labels_ == label
        w = weights[here]
        own += w @ distances[np.ix_(here, here)] @ w / (2 * w.sum())
    if not told:
        assert model.converged_
        rtol = 0.02 if kernel == "rbf" and shift > 1e3 else 1e-9
        assert_allclose(model.inertia_, float(own), rtol=rtol)
    assert model.objective_trace_[-1] == model.inertia_
    assert (np.diff(model.objective_trace_) <= 0).all()


@settings(max_examples=20)
@given(SEEDS, SHIFTS, SCALES, UNITS, DTYPES)
@example(0, 1e10, 0, 0, np.float64)
def test_k_medians(seed, shift, scale, unit, dtype):
    X, rng = samples(seed, shift, scale, dtype)
    weights = rng.integers(0, 4, 30) * 10.0**unit
    init = starts(rng, X, 3) if rng.random() < 0.5 else "k-means++"
    model, told = fitted(KMedians(3, init=init, random_state=0), X, sample_weight=weights)
    distances = np.abs(X.astype(LONG)[:, None] - model.cluster_centers_).sum(axis=2)
    own = weights @ distances[np.arange(30), model.labels_]
    assert_allclose(model.inertia_, float(own), rtol=1e-13)
    assert model.objective_trace_[-1] == model.inertia_
    if not told:
        assert model.converged_
        assert_allclose(float(weights @ distances.min(axis=1)), float(own), rtol=1e-13)
        assert np.diff(model.objective_trace_).max() <= 1e-13 * model.objective_trace_[0]


@pytest.mark.parametrize("limit", [0, 2**24], ids=["by products", "by differences"])
@settings(max_examples=20)
@given(seed=SEEDS, shift=SHIFTS, scale=st.integers(-70, 70), unit=UNITS, dtype=DTYPES)
@example(seed=0, shift=1e10, scale=0, unit=0, dtype=np.float64)
def test_k_medoids(limit, seed, shift, scale, unit, dtype):
    X, rng = samples(seed, shift, scale, dtype)
    weights = rng.integers(1, 4, 30) * 10.0**unit
    power = int(rng.integers(1, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlcore.cluster.k_medoids.dissimilarities._EXACT", limit)
        model = KMedoids(3, power=power, random_state=0)
        model, told = fitted(model, X, sample_weight=weights)
    Z = X.astype(LONG)
    distances = np.sqrt(np.square(Z[:, None] - Z).sum(axis=2))
    own = weights @ distances[np.arange(30), model.medoid_indices_[model.labels_]] ** power
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(model.inertia_, float(own), rtol=rtol)
    assert model.objective_trace_[-1] == model.inertia_
    if not told and limit and dtype == np.float64:
        assert model.converged_
        kept = [np.delete(model.medoid_indices_, j) for j in range(len(model.medoid_indices_))]
        for rest in kept:  # no swap is better
            for i in range(30):
                other = np.r_[rest, i]
                cost = weights @ distances[:, other].min(axis=1) ** power
                assert cost >= own * (1 - 1e-9)


@settings(max_examples=20)
@given(SEEDS, SHIFTS, SCALES, st.sampled_from(["single", "complete", "average", "ward"]))
@example(0, 1e10, 0, "ward")
@example(0, 1e10, 0, "average")
def test_agglomerative(seed, shift, scale, linkage):
    X, _ = samples(seed, shift, scale)
    model = AgglomerativeClustering(3, linkage=linkage).fit(X)
    Z = (X.astype(LONG) - X.astype(LONG)[0]) * LONG(10) ** -scale
    heights = hierarchy.linkage(pdist(Z.astype(np.float64)), linkage)[:, 2]
    found = (model.distances_.astype(LONG) * LONG(10) ** -scale).astype(np.float64)
    assert_allclose(np.sort(found), np.sort(heights), rtol=1e-9, atol=1e-9 * heights.max())


@settings(max_examples=20)
@given(SEEDS, SCALES, st.sampled_from(["ratio_cut", "normalized_cut", "doubly_stochastic"]))
@example(0, -150, "ratio_cut")
@example(0, 150, "ratio_cut")
@example(79, 0, "normalized_cut")
def test_spectral(seed, scale, normalization):
    X, _ = samples(seed, 0.0, 0)
    K = np.exp(-cdist(X, X) / cdist(X, X).mean())
    unit = 10.0**scale
    model = SpectralClustering(
        3, affinity="precomputed", normalization=normalization, random_state=0
    )
    one, _ = fitted(model, K)
    labels = one.labels_.copy()
    model, told = fitted(model, K * unit)
    assert model.converged_ and not told
    assert adjusted_rand_index(labels, model.labels_) == 1
    degrees = K.sum(axis=1)
    if normalization == "ratio_cut":
        S, size = K - np.diag(degrees), 2 * (degrees - K.diagonal()).max()
    elif normalization == "normalized_cut":
        S, size = K / np.sqrt(np.outer(degrees, degrees)), 1.0
    else:
        S, size = doubly_stochastic(K).matrix, 1.0
    V = model.eigenvectors_
    rest = np.linalg.norm(S @ V - V * np.einsum("ij,ij->j", V, S @ V), axis=0) / size
    assert_allclose(rest, model.residuals_, rtol=0, atol=1e-13)
    assert model.objective_ <= model.objective_bound_ + 1e-12 * max(1.0, abs(unit * size))


@settings(max_examples=20)
@given(SEEDS, SCALES, st.sampled_from([np.asarray, sp.csr_array]), UNITS)
@example(0, 150, sp.csr_array, 12)
def test_doubly_stochastic(seed, scale, form, spread):
    rng = np.random.default_rng(seed)
    K = 10.0 ** (abs(spread) / 12 * rng.uniform(-3, 0, (12, 12)))
    K = (K + K.T) * 10.0**scale
    found = doubly_stochastic(form(K))
    x = found.scaling.astype(LONG)
    sums = (x[:, None] * K.astype(LONG) * x).sum(axis=1)
    assert found.converged
    assert_allclose(float(np.abs(sums - 1).max()), found.residual, rtol=0, atol=1e-14)
    assert found.residual_trace[-1] == found.residual
