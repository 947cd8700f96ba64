"""Distances that the user gives: rounding is taken off, anything else is refused by its entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.cluster import (
    AgglomerativeClustering,
    KMedoids,
    SpectralClustering,
    clustering_cost,
    silhouette_samples,
    silhouette_score,
)
from mlcore.cluster.k_medoids.dissimilarities import given_distances

LABELS = np.arange(12) % 3
LINE = np.diag(np.ones(11), 1)


def agglomerative(linkage, **how):
    model = AgglomerativeClustering(3, linkage=linkage, metric="precomputed", **how)
    return lambda D: model.fit(D).linkage_matrix_


TAKERS = {
    "single": agglomerative("single"),
    "average": agglomerative("average"),
    "ward": agglomerative("ward"),
    "connectivity": agglomerative("average", connectivity=LINE),
    "medoids": lambda D: KMedoids(3, metric="precomputed", init=[0, 1, 2]).fit(D).inertia_,
    "medoids of squares": lambda D: (
        KMedoids(3, metric="precomputed", power=2, init=[0, 1, 2]).fit(D).inertia_
    ),
    "silhouettes": lambda D: silhouette_samples(D, LABELS, metric="precomputed"),
    "silhouette": lambda D: silhouette_score(D, LABELS, metric="precomputed"),
    "cost": lambda D: clustering_cost(D, LABELS, "kmedian", metric="precomputed"),
    "sum": lambda D: clustering_cost(D, LABELS, "sum_of_distances", metric="precomputed"),
    "neighbours": lambda D: (
        SpectralClustering(
            2, affinity="precomputed_nearest_neighbors", n_neighbors=6, random_state=0
        )
        .fit(D)
        .labels_
    ),
}


def cleaned(D):
    D = np.maximum((D + D.T) / 2, 0)
    np.fill_diagonal(D, 0)
    return D


@pytest.fixture(params=["correlation", "cosine", "negative", "expanded"])
def rounded(request):
    X = np.random.default_rng(0).normal(size=(12, 30))
    if request.param == "correlation":
        D = np.abs(1 - np.corrcoef(X))
    elif request.param == "cosine":
        D = cdist(X, X, "cosine")
    elif request.param == "negative":
        D = 1 - np.corrcoef(X)
        D[4, 4] = -3e-16
        D[2, 7] = D[7, 2] = -2e-16
    else:
        squares = np.square(X).sum(axis=1)
        D = np.sqrt(np.abs(squares[:, None] + squares - 2 * X @ X.T))
    assert np.diag(D).any() or (D != D.T).any()
    return D


@pytest.mark.parametrize("taker", TAKERS)
def test_rounding_is_taken_off_and_the_matrix_stays(taker, rounded):
    before = rounded.copy()
    found = TAKERS[taker](rounded)
    assert_array_equal(rounded, before)
    assert_allclose(found, TAKERS[taker](cleaned(rounded)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [((5, 5), 0.5, r"X\[5, 5\] is 0.5"), ((3, 8), -0.25, r"X\[3, 8\] is -0.25")],
)
def test_what_is_no_rounding_is_refused_by_its_entry(taker, entry, value, message):
    X = np.random.default_rng(1).normal(size=(12, 3))
    D = cdist(X, X)
    D[entry] = value
    with pytest.raises(ValueError, match=message):
        TAKERS[taker](D)


@pytest.mark.parametrize("taker", ["single", "connectivity", "medoids"])
def test_asymmetry_is_refused_by_its_entry(taker):
    X = np.random.default_rng(1).normal(size=(12, 3))
    D = cdist(X, X)
    D[9, 4] += 1
    with pytest.raises(ValueError, match=r"not symmetric: X\[(4, 9|9, 4)\] is .* \(X \+ X.T\) / 2"):
        TAKERS[taker](D)


def test_new_distances_of_medoids_may_be_rounded_too():
    X = np.random.default_rng(0).normal(size=(12, 30))
    D = 1 - np.corrcoef(X)
    model = KMedoids(3, metric="precomputed", random_state=0).fit(D)
    assert_array_equal(model.predict(D - 1e-16), model.labels_)
    with pytest.raises(ValueError, match=r"Negative values .* X\[0, 0\] is -1"):
        model.predict(D - 1)


def test_sparse_distances_lose_rounding_in_place_of_their_entries():
    D = sp.csr_array(np.array([[1e-17, 2.0, -1e-17], [2.0, 0.0, 1.0], [-1e-17, 1.0, 1e-17]]))
    found = given_distances(D, "f")
    assert_array_equal(found.toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert found.nnz == D.nnz
    assert D.data[0] == 1e-17
    with pytest.raises(ValueError, match=r"X\[0, 2\] is -1"):
        given_distances(sp.csr_array(np.array([[0.0, 2.0, -1.0], [2.0, 0, 1], [1, 1, 0]])), "f")
