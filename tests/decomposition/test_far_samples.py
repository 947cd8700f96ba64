"""Samples far from the origin, in any unit and weight: the same answers, or a warning."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse as sp

from mlcore.decomposition import CCA, PCA, KernelCCA, KernelPCA, NystroemPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

PROBLEM = {
    "seed": st.integers(0, 10**6),
    "shift": st.sampled_from([0.0, 1e3, 1e6, 1e8, 1e10]),
    "weights": st.integers(-12, 12),
}
POWERS = st.sampled_from([-490, -300, 0, 300, 460])  # with the shift up to 3e148


def grid(rng, shape):
    """Numbers that an offset of 1e10 leaves exact."""
    return np.round(rng.normal(size=shape) * 1024) / 1024


@settings(max_examples=12, deadline=None)
@given(power=POWERS, single=st.booleans(), **PROBLEM)
@example(seed=0, shift=1e10, weights=-12, power=460, single=False)
def test_linear_models_do_not_know_where_the_samples_are(seed, shift, weights, power, single):
    """Up to 1e10 deviations from the origin, units to 1e±147, weights to 1e±12."""
    rng = np.random.default_rng(seed)
    X, w = grid(rng, (30, 3)), rng.integers(1, 4, 30).astype(float)
    Y, y = X @ grid(rng, (3, 2)) + grid(rng, (30, 2)), np.arange(30) % 3
    if single:
        X, Y, shift, power = X.astype(np.float32), Y.astype(np.float32), min(shift, 1e3), 0
    moved, scale = ((X + X.dtype.type(shift)) * 2.0**power).astype(X.dtype), 2.0**power
    heavy, rtol = w * 10.0**weights, 1e-3 if single else 1e-7
    one, other = PCA(ddof=0).fit(X, sample_weight=w), PCA(ddof=0).fit(moved, sample_weight=heavy)
    assert_allclose(other.explained_variance_ / scale**2, one.explained_variance_, rtol=rtol)
    found = CCA(2, ddof=0).fit(moved, Y, sample_weight=heavy)
    expected = CCA(2, ddof=0).fit(X, Y, sample_weight=w).canonical_correlations_
    assert_allclose(found.canonical_correlations_, expected, atol=rtol)
    for model in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        by = {"unbiased": False}  # of so little weight a class has less than one sample
        one, other = model(**by).fit(X, y, w), model(**by).fit(moved, y, heavy)
        assert_allclose(other.predict_proba(moved), one.predict_proba(X), atol=10 * rtol)


def exact_spectrum(X, w, degree, gamma):
    """Eigenvalues of the weighted, centred Gram matrix, of exact kernel values."""
    rows, n = [[Fraction(v) for v in x] for x in X.tolist()], len(X)
    K = [
        [(gamma * sum(a * b for a, b in zip(x, z, strict=True)) + 1) ** degree for z in rows]
        for x in rows
    ]
    u = [Fraction(v) / Fraction(float(w.sum())) for v in w.tolist()]
    means = [sum(a * v for a, v in zip(u, row, strict=True)) for row in K]
    mean = sum(a * v for a, v in zip(u, means, strict=True))
    A = np.array(
        [[float(K[i][j] - means[i] - means[j] + mean) for j in range(n)] for i in range(n)]
    )
    return np.linalg.eigvalsh(np.sqrt(w)[:, None] * A * np.sqrt(w))[::-1]


@settings(max_examples=15, deadline=None)
@given(method=st.sampled_from(["exact", "nystroem"]), degree=st.integers(1, 3), **PROBLEM)
@example(seed=0, shift=1e8, weights=0, method="exact", degree=2)
@example(seed=0, shift=1e10, weights=12, method="nystroem", degree=3)
def test_polynomial_components_are_near_or_their_rounding_is_told(
    seed, shift, weights, method, degree
):
    """The offset is part of these functions; their values are rounded before they are centred."""
    rng = np.random.default_rng(seed)
    X, w = grid(rng, (14, 2)) + shift, rng.integers(1, 4, 14) * 10.0**weights
    cls = NystroemPCA if method == "nystroem" else KernelPCA
    model = cls(2, kernel="poly", degree=degree, gamma=0.5, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, sample_weight=w)
    values = exact_spectrum(X, w, degree, Fraction(1, 2))[:2]
    told = any("rounding makes up" in str(one.message) for one in caught)
    error = np.abs(model.eigenvalues_ - values) / values[0]
    if method == "nystroem" and not told:
        low, high = model.eigenvalue_bounds_
        assert (low <= values * (1 + 1e-9)).all() and (values <= high * (1 + 1e-9)).all()
    elif not told:
        # By Weyl's theorem the rounding of the matrix, of which 1e-3 would be told, and a residual.
        assert (error <= model.residuals_ + 0.05).all()
    assert told or model.angle_bounds_[0] > 0
    if told:
        assert not model.complete_ and np.isinf(model.angle_bounds_).any()


@pytest.mark.parametrize("shift", [1e8, 1e10])
def test_rounding_of_a_kernel_is_told(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) + shift
    for cls in (KernelPCA, NystroemPCA):
        told = f"{cls.__name__}: .*rounding makes up .*subtract the mean"
        with pytest.warns(UserWarning, match=told):
            cls(2, kernel="poly", degree=3, random_state=0).fit(X)
    with (
        pytest.warns(UserWarning, match="KernelCCA: .*rounding makes up .*subtract the mean"),
        pytest.raises(ValueError, match="constant for their kernel"),
    ):
        KernelCCA(1, kernel=("poly", "linear")).fit(X, X)
    KernelPCA(2, kernel="poly").fit(np.full((9, 2), shift))  # equal samples have no rounding


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_samples_nearer_than_the_kernel_can_tell_are_warned_of(layout):
    """All kernel values are 1, of samples that differ; of samples that are equal that is right."""
    X = np.random.default_rng(0).normal(size=(8, 2)) * 1e-9
    with pytest.warns(UserWarning, match="rounding makes up 1 of the largest eigenvalue"):
        KernelPCA(2, kernel="rbf", gamma=0.5, random_state=0).fit(layout(X))
    same = KernelPCA(2, kernel="rbf", gamma=0.5, random_state=0).fit(layout(np.ones((8, 2))))
    assert (same.eigenvalues_ == 0).all()
