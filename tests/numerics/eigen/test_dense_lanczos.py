"""Few eigenpairs of dense matrices: against closed forms and LAPACK, and what asks for LAPACK."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import linalg
from threadpoolctl import threadpool_limits

from mlcore.decomposition import PCA
from mlcore.decomposition.scatter_eigenpairs import scatter_eigenpairs
from mlcore.numerics.eigen import largest_by_lanczos

EPS = float(np.finfo(np.float64).eps)


def with_values(values, seed=0):
    """Return a symmetric matrix of known eigenvalues."""
    n = len(values)
    Q = linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    S = (Q * values) @ Q.T
    return (S + S.T) / 2


N = 600
SPECTRA = {
    "powers": 0.95 ** np.arange(N),
    "a power law": 1 / (1.0 + np.arange(N)) ** 2,
    "pairs": np.repeat(0.9 ** np.arange(N // 2), 2),
    "a block of equal ones": np.r_[np.full(8, 2.0), 0.9 ** np.arange(N - 8)],
    "nearly equal": np.r_[1 + 1e-12 * np.arange(4)[::-1], 0.9 ** np.arange(1, N - 3)],
    "low rank": np.r_[0.7 ** np.arange(30), np.zeros(N - 30)],
    "huge": 1e90 * 0.95 ** np.arange(N),
    "tiny": 1e-90 * 0.95 ** np.arange(N),
}


@pytest.mark.parametrize("case", SPECTRA)
def test_eigenpairs_are_those_of_the_matrix(case):
    exact = SPECTRA[case]
    S = with_values(exact)
    rounding = 8 * np.sqrt(N) * EPS  # of products, and of the matrix itself
    for k, tol in ((1, 1e-15), (7, 1e-7), (7, 1e-15), (20, 1e-15), (50, 1e-7), (50, 1e-15)):
        found = largest_by_lanczos(S, k, tol)
        assert found is not None, (k, tol)
        values, U = found
        off = np.abs(values / exact[0] - exact[:k] / exact[0]).max()
        assert off <= rounding + tol**2 / 1e-3, (k, tol)
        residuals = np.linalg.norm(S @ U - U * values, axis=0) / exact[0]
        assert residuals.max() <= tol + rounding, (k, tol)
        assert np.abs(U.T @ U - np.eye(k)).max() <= rounding, (k, tol)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    decay=st.floats(0.3, 0.8),  # slower ones are mostly left to LAPACK
    k=st.integers(1, 35),
    tol=st.sampled_from([1e-15, 1e-12, 1e-7]),
)
def test_values_lie_below_the_exact_ones_and_no_farther_than_their_residuals(seed, decay, k, tol):
    """The theorems of Cauchy (interlacing) and of Krylov and Weinstein."""
    exact = np.sort(decay ** (np.arange(420) * np.random.default_rng(seed).uniform(0, 1, 420)))
    S = with_values(exact, seed)
    found = largest_by_lanczos(S, k, tol)
    assume(found is not None)
    values, U = found
    rounding = 8 * np.sqrt(len(S)) * EPS
    assert np.all(values <= exact[::-1][:k] + rounding)
    residuals = np.linalg.norm(S @ U - U * values, axis=0)
    nearest = np.abs(values[:, None] - exact).min(axis=1)
    assert np.all(nearest <= residuals + rounding)
    assert residuals.max() <= tol + rounding


def test_lapack_is_asked_for_small_matrices_many_vectors_and_flat_spectra():
    S = with_values(0.9 ** np.arange(300))
    assert largest_by_lanczos(S, 3, 1e-15) is None
    S = with_values(SPECTRA["powers"])
    assert largest_by_lanczos(S, 51, 1e-15) is None
    X = np.random.default_rng(0).normal(size=(6000, 600))
    assert largest_by_lanczos(X.T @ X, 50, 1e-15) is None


def test_the_same_bytes_on_any_number_of_threads():
    S = with_values(SPECTRA["powers"])
    values, vectors = largest_by_lanczos(S, 20, 1e-15)
    with threadpool_limits(1):
        alone = largest_by_lanczos(S, 20, 1e-15)
    assert_array_equal(values, alone[0])
    assert_array_equal(vectors, alone[1])


@pytest.mark.parametrize("copies", [9, 20, 33])
def test_a_value_that_is_repeated_more_often_than_a_block_finds_is_found_by_all_its_copies(copies):
    exact = np.r_[np.full(copies, 1.5), 0.8 ** np.arange(500 - copies)]
    S = with_values(exact)
    found = scatter_eigenpairs(S, 40, False, np.float64).spectrum(None, "scatter")
    assert np.abs(found.values[:40] - exact[:40]).max() <= 8 * np.sqrt(500) * EPS * 1.5
    assert found.complete


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1e-15), (np.float32, 1.0), (np.float32, 1e15)]
    + [(np.float64, 1e-140), (np.float64, 1.0), (np.float64, 1e140)],
)
def test_components_of_many_features_are_those_of_singular_values(dtype, scale):
    rng, n, d, k = np.random.default_rng(0), 600, 420, 12
    X = (rng.normal(size=(n, d)) * 0.9 ** np.arange(d) + rng.normal(size=d)) * scale
    X = X.astype(dtype)
    model = PCA(k).fit(X)
    assert model.solver_ == "scatter" and model.complete_
    centred = X.astype(np.float64) / scale
    centred -= centred.mean(axis=0)
    _, deviations, Vt = np.linalg.svd(centred, full_matrices=False)
    u = np.finfo(dtype).eps / 2
    part = (deviations / deviations[0])[:k] ** 2
    error = np.abs(model.singular_values_.astype(float) / scale / deviations[:k] - 1)
    assert np.all(error <= 4 * np.sqrt(d) * u / part)  # also that of the other decomposition
    for j in range(k):
        v = model.components_[j].astype(float)
        off = np.linalg.norm(v - Vt[j] * (v @ Vt[j]))
        assert off <= model.angle_bounds_[j] + 4 * np.sqrt(d) * u
