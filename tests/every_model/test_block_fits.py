"""Fits to blocks of rows, by the loop that `RowSums` tells, are those of `fit` to all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.cluster import KMeans
from mlcore.datasets import load_digits, load_iris
from mlcore.decomposition import CCA, PCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernels import TfidfTransformer
from mlcore.linear_model import LinearRegression
from mlcore.mixture import GaussianMixture
from mlcore.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB

CUTS = (0.0, 0.31, 0.33, 0.7, 1.0)  # of the rows: blocks of very different sizes
DIGITS, DIGIT = load_digits()
IRIS, SPECIES = load_iris()
WEIGHT = np.random.default_rng(0).integers(0, 4, len(DIGITS)).astype(float)
MIXED = {"gaussian": [0, 1], "multinomial": [2], "bernoulli": [3]}


def blocks(*arrays):
    """The same rows of arrays, or None for None, block after block."""
    n = len(arrays[0])
    for first, last in zip(CUTS[:-1], CUTS[1:], strict=True):
        rows = slice(int(first * n), int(last * n))
        yield tuple(None if array is None else array[rows] for array in arrays)


def total_of(model, *arrays):
    total = None
    for block in blocks(*arrays):
        part = model.partial_statistics(*block)
        total = part if total is None else model.merge(total, part)
    return total


def fitted_to_blocks(model, X, y=None, weight=None):
    """The fitted model, and the number of passes over the rows."""
    model.begin(X, y, weight)
    passes = 0
    while model.needs_another_pass():
        model.update(total_of(model, X, y, weight))
        passes += 1
        assert passes < 10_000
    return model, passes


ONE_PASS = {
    "PCA": (PCA(5), DIGITS, None),
    "CCA": (CCA(2), IRIS[:, :2], IRIS[:, 2:]),
    "LDA": (LinearDiscriminantAnalysis(), IRIS, SPECIES),
    "QDA": (QuadraticDiscriminantAnalysis(), IRIS, SPECIES),
    "GaussianNB": (GaussianNB(), IRIS, SPECIES),
    "BernoulliNB": (BernoulliNB(binarize=7.5), DIGITS, DIGIT),
    "MultinomialNB": (MultinomialNB(), DIGITS, DIGIT),
    "CategoricalNB": (CategoricalNB(), DIGITS, DIGIT),
    "MixedNB": (MixedNB(columns=MIXED), IRIS, SPECIES),
    "LinearRegression": (LinearRegression(alpha=0.1), IRIS[:, :3], IRIS[:, 3]),
    "TfidfTransformer": (TfidfTransformer(), DIGITS, None),
}


@pytest.mark.parametrize("name", ONE_PASS)
def test_sums_over_all_rows_are_the_whole_fit_of_most_models(name):
    model, X, y = ONE_PASS[name]
    model.begin(X, y)
    assert model.needs_another_pass()
    model.update(total_of(model, X, y))
    assert not model.needs_another_pass()
    assert not model.fit(X, y).needs_another_pass()


@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
def test_k_means_stops_where_fit_does(tol):
    start = DIGITS[::180].astype(float)
    expected = KMeans(len(start), init=start, tol=tol).fit(DIGITS, None, WEIGHT)
    model, passes = fitted_to_blocks(KMeans(len(start), init=start, tol=tol), DIGITS, None, WEIGHT)
    assert model.converged_ and expected.converged_
    assert passes == model.n_iter_ == expected.n_iter_
    assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=1e-10, atol=1e-10)
    short, passes = fitted_to_blocks(KMeans(len(start), init=start, max_iter=3), DIGITS)
    assert passes == 3 and not short.converged_


def test_mixtures_stop_where_fit_does():
    start = GaussianMixture(3, max_iter=2, random_state=0, tol=0).fit(IRIS)
    given = {"weights_init": start.weights_, "means_init": start.means_}
    given |= {"precisions_init": start.precisions_, "tol": 1e-5}
    expected = GaussianMixture(3, **given).fit(IRIS)
    model, passes = fitted_to_blocks(GaussianMixture(3, **given), IRIS)
    assert passes == model.n_iter_ == expected.n_iter_ and model.converged_
    assert_allclose(model.log_likelihood_trace_, expected.log_likelihood_trace_, rtol=1e-10)
    assert_array_equal(model.predict(IRIS), expected.predict(IRIS))
