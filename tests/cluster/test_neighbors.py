"""Neighbours of users' samples against scikit-learn, and their graph against its definition."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.neighbors import NearestNeighbors

from mlcore.cluster import affinity, nearest_neighbors


def samples(n, d):
    return np.random.default_rng([n, d]).normal(size=(n, d))


@each("n, d, sparse", [(80, 3, False), (200, 40, False), (90, 30, True)])
def test_neighbors_are_those_of_scikit_learn(n, d, sparse):
    X, queries = samples(n, d), samples(11, d)
    peer = NearestNeighbors(n_neighbors=6, algorithm="brute").fit(X)
    as_given = sp.coo_array if sparse else np.array
    for asked, arguments in (
        (None, {}),
        (X, {"include_self": True}),
        (queries, {"queries": as_given(queries)}),
    ):
        found = nearest_neighbors(as_given(X), 6, **arguments)
        distances, indices = peer.kneighbors(asked)
        assert found.indices.dtype == np.int64
        assert_array_equal(found.indices, indices)
        # The peer's distance of a row from itself is a difference of products.
        assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-6)


def test_lists_and_single_precision_are_taken():
    assert nearest_neighbors([[0], [2], [5]], 2).indices.tolist() == [[1, 2], [0, 2], [1, 0]]
    X = samples(60, 30).astype(np.float32)
    expected = nearest_neighbors(X.astype(float), 4)
    assert_array_equal(nearest_neighbors(X, 4).distances, expected.distances)
    assert nearest_neighbors(X, 1, queries=X.astype(float)).distances.max() == 0


@each(
    "arguments, message",
    [
        ({"n_neighbors": 3}, "n_neighbors must be at most 2"),
        ({"n_neighbors": 4, "include_self": True}, "n_neighbors must be at most 3"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"queries": [[1.0]]}, "queries has 1 features, but X has 2"),
        ({"queries": [[1.0, np.nan]]}, "queries"),
        ({"queries": [[1.0, 2.0]], "include_self": True}, "include_self=True was given"),
        ({"X": [[1.0, np.inf]]}, "X"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    given = {"X": np.eye(3, 2), "n_neighbors": 1, **arguments}
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(given.pop("X"), given.pop("n_neighbors"), **given)


@each("kind", ["nearest_neighbors", "mutual_nearest_neighbors"])
def test_graph_joins_one_or_both_ways(kind):
    for n, d, k in ((2, 1, 1), (70, 2, 5), (50, 20, 40)):
        X = np.round(samples(n, d), 1).astype(np.float32)
        joined = np.zeros((n, n))
        np.put_along_axis(joined, nearest_neighbors(X, k).indices, 1, axis=1)
        both = np.maximum if kind == "nearest_neighbors" else np.minimum
        graph = affinity(X, kind=kind, n_neighbors=k)
        assert graph.dtype == np.float32 and graph.has_canonical_format
        assert_array_equal(graph.toarray(), both(joined, joined.T) + np.eye(n))


def test_graph_stores_no_zeros():
    graph = affinity([[0.0], [1.0], [100.0]], kind="nearest_neighbors", gamma=1.0, n_neighbors=2)
    assert graph.nnz == 5
