"""Origins and units: moments against exact sums, and KMeans on data far from 0 or of any scale."""

import itertools
import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans as ScikitLearns

from contract import case
from mlcore.cluster import KMeans
from mlcore.cluster.k_means.origin_and_unit import choose_units


def blobs(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, seed])
    return (rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_units_and_moments_of_few_samples_are_those_of_many(weighted, dtype):
    """The same rows again and again are many."""
    for n, scale, shift in itertools.product(
        [2, 30, 700], [1e-30, 1.0, 1e12], [0.0, 3.0, 1e5, 1e12]
    ):
        with case(n, scale, shift):
            check_units_and_moments(n, scale, shift, weighted, dtype)


def check_units_and_moments(n, scale, shift, weighted, dtype):
    rng = np.random.default_rng(n)
    X = (scale * (rng.normal(size=(n, 3)) + shift)).astype(dtype)
    weights = rng.integers(1, 4, n).astype(np.float64) if weighted else np.empty(0)
    few, moments = choose_units(X, weights)
    times = -(-(2**13) // X.size) + 1
    many, expected = choose_units(np.repeat(X, times, axis=0), np.repeat(weights, times))
    assert (few.origin is None) == (many.origin is None) and few.power == many.power
    rtol = 1e-9 if few.origin is None else 1e-3  # measured from another sample of the rows
    assert moments.weight == pytest.approx(expected.weight / times)
    if few.origin is None:
        assert moments.squares == pytest.approx(expected.squares / times, rel=rtol)
    size = moments.squares / moments.weight
    assert moments.variance == pytest.approx(expected.variance, abs=1e-12 * size)


@each("weighted", [False, True])
@each("dtype", [np.float32, np.float64])
@each(("n", "d"), [(1, 1), (33, 3), (1000, 19)])
def test_moments_of_the_samples(n, d, dtype, weighted):
    rng = np.random.default_rng([n, d])
    X = (3 + rng.normal(size=(n, d))).astype(dtype)
    weights = rng.random(n) if weighted else np.empty(0)
    units, found = choose_units(X, weights)
    w, wide = weights if weighted else np.ones(n), units.place(X).astype(np.float64)
    mean = [math.fsum(w * column) / math.fsum(w) for column in wide.T]
    squares = math.fsum((w[:, None] * wide**2).ravel())
    deviations = math.fsum((w[:, None] * (wide - mean) ** 2).ravel())
    assert_allclose(found.weight, math.fsum(w), rtol=1e-14)
    assert_allclose(found.squares, squares, rtol=1e-14)
    # The square of the mean is taken off the mean square: each is off by an eps or so of itself.
    atol = 8 * np.finfo(np.float64).eps * squares / math.fsum(w) / d
    assert_allclose(found.variance, deviations / math.fsum(w) / d, rtol=0, atol=atol)


@pytest.mark.parametrize("d", [1, 8, 64])
def test_an_offset_in_single_precision_gives_the_labels_of_double(d):
    X = (blobs(1000, d, seed=3) + 1e4).astype(np.float32)
    start = X[np.random.default_rng(0).choice(len(X), 12, replace=False)]
    peer = ScikitLearns(12, init=start.astype(np.float64), n_init=1, tol=0).fit(
        X.astype(np.float64)
    )
    model = KMeans(12, init=start, tol=0).fit(X)
    assert_array_equal(model.labels_, peer.labels_)
    assert_array_equal(model.predict(X), peer.labels_)
    assert_allclose(model.inertia_, peer.inertia_, rtol=1e-6)
    assert_allclose(model.cluster_centers_, peer.cluster_centers_, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-45, 1e-8, 1.0, 1e8, 1e-310, 1e-160, 1e150])
def test_any_scale_gives_finite_answers(scale, dtype):
    if dtype == np.float32 and not 1e-45 <= scale <= 1e15:
        pytest.skip("beyond the type")
    X = (blobs(300, 3) * scale).astype(dtype)
    model = KMeans(5, random_state=0).fit(X)
    assert np.isfinite(model.cluster_centers_).all() and np.isfinite(model.objective_trace_).all()
    assert len(set(model.labels_)) == 5
    assert np.isfinite(model.transform(X)).all()
    if scale >= np.finfo(dtype).tiny:  # below, the centres are rounded as the data are
        assert_array_equal(model.predict(X), model.labels_)
