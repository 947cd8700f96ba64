"""Sums over rows under a mixture of Gaussians, against SciPy's densities and NumPy's sums."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from mlcore.mixture import GaussianMixture
from mlcore.mixture.gaussian.covariances import TYPES
from mlcore.mixture.gaussian.e_step import Rows
from mlcore.mixture.gaussian.parameters import location_and_variances


def mixture(n, d, k, kind):
    """Rows of clusters that overlap a little, few clusters one after the other; and the model."""
    rng = np.random.default_rng([n, d, k])
    labels = rng.integers(0, k, n)
    if k < 10:
        labels.sort()
    means = 1.5 * rng.normal(size=(k, d))
    if kind == "full":
        roots = rng.normal(size=(k, d, d)) / (2 * np.sqrt(d)) + np.eye(d)
        sigma = roots @ roots.transpose(0, 2, 1)
    else:
        sigma = rng.uniform(0.5, 2, size=(k, d))
        roots = np.sqrt(sigma)[:, :, None] * np.eye(d)
    X = rng.normal(size=(n, d))
    for j, root in enumerate(roots):
        X[labels == j] = X[labels == j] @ root.T + means[j]
    weights = rng.dirichlet(np.full(k, 5.0))
    return X, GaussianMixture.from_parameters(weights, means, sigma, kind)


@pytest.mark.parametrize(
    ("n", "d", "k"), [(1025, 3, 60), (1100, 70, 4), (1100, 300, 3), (2100, 2, 90), (1100, 8, 370)]
)
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_sums_whatever_the_labels_in_a_block(kind, n, d, k):
    """Few and many rows to a component, and few and many panels taken together."""
    X, model = mixture(n, d, k, kind)
    weights, means, sigma, _ = model._fitted_components().parameters(model)
    shapes = [np.diag(one) if kind == "diag" else one for one in sigma]
    log_joint = np.stack(
        [
            np.log(w) + multivariate_normal(m, C).logpdf(X)
            for w, m, C in zip(weights, means, shapes, strict=True)
        ],
        axis=1,
    )
    density = logsumexp(log_joint, axis=1)
    r = np.exp(log_joint - density[:, None])
    rows = Rows(X, None, TYPES[kind], model.origin_)
    for _ in range(2):  # the likeliest components, by which the work is saved, are known after one
        found = rows.statistics(model._fitted_components().parameters(model))
        assert_allclose(found.log_likelihood, density.sum(), rtol=1e-11)
        assert_allclose(found.mass, r.sum(axis=0), rtol=1e-7, atol=1e-9)
        assert_allclose(found.first, r.T @ X - found.mass[:, None] * means, rtol=1e-7, atol=1e-7)
    assert (rows._labels == r.argmax(axis=1)).all()


@each("dtype", [np.float32, np.float64])
@each("n", [1, 1024, 5000])
def test_location_and_variances_are_the_weighted_mean_and_variances(n, dtype):
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 7)) * np.arange(7) + 1000).astype(dtype)  # the first is constant
    exact = X.astype(np.float64)
    for weight in (None, rng.random(n)):
        location, spread = location_and_variances(X, weight)
        mean = np.average(exact, axis=0, weights=weight)
        variances = np.average((exact - mean) ** 2, axis=0, weights=weight)
        assert_allclose(location, mean, rtol=1e-13)
        assert_allclose(spread, variances, rtol=1e-9, atol=1e-12)
        assert spread[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_scatter_of_tied_covariances_is_that_of_all_rows(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 11)) @ rng.normal(size=(11, 11)) + 5).astype(dtype)
    origin, weight = X.mean(axis=0), rng.random(3000)
    away = X.astype(np.float64) - origin
    for w in (None, weight):
        rows = Rows(X, w, TYPES["tied"], origin)
        expected = (away if w is None else away * w[:, None]).T @ away
        atol = 1e-12 * np.abs(expected).max()
        assert_allclose(rows.scatter_about_origin(), expected, rtol=1e-10, atol=atol)
