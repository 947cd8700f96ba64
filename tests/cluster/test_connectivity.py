"""Merges along a graph, against scikit-learn, SciPy, and a search over all pairs of clusters."""

import re

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.cluster.hierarchy import linkage as scipys
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering as ScikitLearns
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.neighbors import kneighbors_graph

from contract import case
from mlcore.cluster import AgglomerativeClustering

LINKAGES = "single", "complete", "average", "ward"


def samples(n, d=3, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def merged(X, graph, **params):
    return AgglomerativeClustering(
        n_clusters=None, distance_threshold=0.0, connectivity=graph, **params
    ).fit(X)


def clusters_of(children, n):
    """The set of samples of each cluster in turn."""
    found = [frozenset([i]) for i in range(n)]
    for a, b in children:
        found.append(found[a] | found[b])
    return found


# ---- oracles


@pytest.mark.parametrize("linkage", LINKAGES)
def test_merges_are_scikit_learns(linkage):
    for n, k, seed in [(2, 1, 0), (40, 3, 0), (40, 3, 1), (40, 3, 2), (200, 6, 0)]:
        X = samples(n, seed=seed)
        graph = kneighbors_graph(X, k)
        if connected_components(graph)[0] > 1:
            graph = graph + sp.diags_array([np.ones(n - 1)], offsets=[1])  # a chain
        model = merged(X, graph, linkage=linkage)
        peer = ScikitLearns(
            n_clusters=None, distance_threshold=0.0, connectivity=graph, linkage=linkage
        ).fit(X)
        with case(n, k, seed):
            assert_allclose(model.distances_, peer.distances_, rtol=1e-10)
            assert_array_equal(model.children_, np.sort(peer.children_, axis=1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("seed", range(2))
def test_components_are_joined_as_scikit_learn_does(seed, linkage):
    X = samples(60, seed=seed)
    graph = kneighbors_graph(X, 1)
    model = merged(X, graph, linkage=linkage)
    peer = ScikitLearns(
        n_clusters=None, distance_threshold=0.0, connectivity=graph, linkage=linkage
    ).fit(X)
    assert model.n_connected_components_ == peer.n_connected_components_ > 10
    assert_allclose(model.distances_, peer.distances_, rtol=1e-10)
    assert clusters_of(model.children_, 60) == clusters_of(peer.children_, 60)


@each("linkage", LINKAGES)
@each("metric", ["euclidean", "cityblock", "l1", "cosine", "precomputed"])
def test_the_complete_graph_leaves_scipys_merges(metric, linkage):
    X = samples(60)
    if metric != "euclidean" and linkage == "ward":
        return
    named = {"l1": "cityblock", "precomputed": "euclidean"}.get(metric, metric)
    Z = scipys(X, linkage, named)
    given = cdist(X, X) if metric == "precomputed" else X
    model = merged(given, np.ones((60, 60)), linkage=linkage, metric=metric)
    assert_allclose(model.linkage_matrix_, Z, rtol=1e-9)


def by_search(X, graph, linkage):
    """Heights, and clusters as sets, by looking at all pairs of clusters before each merge."""
    adjacent = (graph + graph.T).toarray() != 0
    D = cdist(X, X)
    clusters, heights, found = [[i] for i in range(len(X))], [], []
    while len(clusters) > 1:
        members, sizes = np.concatenate(clusters), np.array([len(c) for c in clusters])
        starts, block = np.cumsum(sizes) - sizes, np.ix_(members, members)

        def reduced(ufunc, values, starts=starts):
            return ufunc.reduceat(ufunc.reduceat(values, starts, axis=0), starts, axis=1)

        if linkage == "ward":
            means = np.add.reduceat(X[members], starts) / sizes[:, None]
            between = np.sqrt(2 / (1 / sizes[:, None] + 1 / sizes)) * cdist(means, means)
        elif linkage == "single":
            between = reduced(np.minimum, np.where(adjacent, D, np.inf)[block])
        else:
            between = reduced(np.maximum, np.where(adjacent, D, 0.0)[block])
        joined = reduced(np.logical_or, adjacent[block]) & ~np.eye(len(sizes), dtype=bool)
        between = np.where(joined, between, np.inf)
        a, b = np.unravel_index(between.argmin(), between.shape)
        heights.append(between[a, b])
        found.append(clusters[a] + clusters[b])
        clusters = [c for k, c in enumerate(clusters) if k not in (a, b)] + [found[-1]]
    return heights, [frozenset(c) for c in found]


@pytest.mark.parametrize("linkage", ["single", "complete", "ward"])
def test_each_merge_is_the_nearest_that_the_graph_allows(linkage):
    for seed in range(4):
        X = samples(25, seed=seed)
        graph = grid_to_graph(5, 5).tocsr()
        heights, clusters = by_search(X, graph, linkage)
        model = merged(X, graph, linkage=linkage)
        assert_allclose(model.distances_, heights, rtol=1e-10, err_msg=f"seed {seed}")
        assert clusters_of(model.children_, 25)[25:] == clusters, seed


# ---- laws


@each("linkage", LINKAGES)
@each("n_clusters", [2, 7, 30])
def test_clusters_are_connected(n_clusters, linkage):
    X, graph = samples(100), grid_to_graph(10, 10).tocsr()
    model = AgglomerativeClustering(n_clusters, connectivity=graph, linkage=linkage).fit(X)
    assert model.n_clusters_ == n_clusters
    for label in range(n_clusters):
        own = np.flatnonzero(model.labels_ == label)
        assert connected_components(graph[own][:, own])[0] == 1


@pytest.mark.parametrize("linkage", LINKAGES)
def test_permuted_samples_have_permuted_clusters(linkage):
    X, order = samples(80), np.random.default_rng(0).permutation(80)
    graph = grid_to_graph(8, 10).tocsr()
    first = merged(X, graph, linkage=linkage)
    second = merged(X[order], graph[order][:, order], linkage=linkage)
    assert_allclose(second.distances_, first.distances_, rtol=1e-10)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_how_the_graph_is_given_changes_nothing(linkage):
    X = samples(60).astype(np.float32)
    graph = kneighbors_graph(X, 8)
    expected = merged(X, graph, linkage=linkage)
    loops = graph + sp.eye_array(60)
    one_way = sp.tril(graph + graph.T)
    forms = [
        graph.toarray(), graph.toarray() > 0, sp.coo_array(-graph), sp.lil_array(graph), loops,
        one_way, lambda A: kneighbors_graph(A, 8),
    ]  # fmt: skip
    for form in forms:
        assert_array_equal(
            merged(X, form, linkage=linkage).linkage_matrix_, expected.linkage_matrix_
        )


@each("linkage", LINKAGES)
@each("power", [-400, 400])
def test_the_unit_changes_no_digit(linkage, power):
    X, graph = samples(50), grid_to_graph(5, 10)
    model, other = (
        merged(X, graph, linkage=linkage),
        merged(np.ldexp(X, power), graph, linkage=linkage),
    )
    assert_array_equal(model.children_, other.children_)
    assert_array_equal(np.ldexp(model.distances_, power), other.distances_)


def test_equal_samples_and_a_star():
    X = np.zeros((50, 2))
    star = sp.coo_array((np.ones(49), (np.zeros(49, dtype=int), np.arange(1, 50))), shape=(50, 50))
    for linkage in LINKAGES:
        model = merged(X, star, linkage=linkage)
        assert_array_equal(model.distances_, 0)
        assert clusters_of(model.children_, 50)[-1] == frozenset(range(50))


def test_many_calls_are_one(monkeypatch):

    X, graph = samples(200), grid_to_graph(10, 20)
    seen = []
    expected = [merged(X, graph, linkage=linkage).linkage_matrix_ for linkage in LINKAGES]
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 2000)
    for linkage, Z in zip(LINKAGES, expected, strict=True):
        model = merged(X, graph, linkage=linkage, callback=lambda **step: seen.append(step))
        assert_array_equal(model.linkage_matrix_, Z)
    assert len(seen) > 50 and seen[-1]["step"] == 199


def test_thresholds_and_distances():
    X, graph = samples(60), grid_to_graph(6, 10)
    model = merged(X, graph, linkage="complete")
    half = AgglomerativeClustering(
        None, distance_threshold=model.distances_[30], connectivity=graph, linkage="complete"
    ).fit(X)
    assert half.n_clusters_ == 60 - 30
    largest = cdist(X, X).max()
    scaled = AgglomerativeClustering(
        None, scaled_distance_threshold=0.25, connectivity=graph, linkage="complete"
    ).fit(X)
    assert_allclose(scaled.distance_threshold_, 0.25 * largest, rtol=1e-12)
    plain = AgglomerativeClustering(4, compute_distances=False).fit(X)
    assert not hasattr(plain, "distances_") and hasattr(plain, "linkage_matrix_")


# ---- bad input


@each(
    ("params", "error", "message"),
    [
        ({"connectivity": np.ones((4, 4))}, ValueError, "connectivity has shape (4, 4)"),
        ({"connectivity": "grid"}, (TypeError, ValueError), "connectivity"),
        ({"connectivity": np.full((9, 9), np.nan)}, ValueError, "connectivity"),
        ({"connectivity": lambda X: X[:, :2]}, ValueError, "connectivity has shape (9, 2)"),
        ({"linkage": "median"}, ValueError, "with connectivity, linkage='median' must be one of"),
        ({"metric": "cosine"}, ValueError, "metric='cosine' does not go with linkage='ward'"),
        ({"metric": "precomputed"}, ValueError, "metric='precomputed' does not go with"),
        ({"metric": "precomputed", "linkage": "single"}, ValueError, "should be square"),
        (
            {
                "metric": "l1",
                "linkage": "single",
                "scaled_distance_threshold": 1,
                "n_clusters": None,
            },
            ValueError,
            "scaled_distance_threshold with connectivity needs metric",
        ),
        ({"metric": lambda x, y: -1.0, "linkage": "average"}, ValueError, "gave -1.0 for two"),
    ],
)
def test_what_does_not_go_together_is_refused(params, error, message):
    model = AgglomerativeClustering(**{"connectivity": np.ones((9, 9)), **params})
    with pytest.raises(error, match=re.escape(message)):
        model.fit(samples(9))


def test_a_graph_in_parts_is_told():
    X, graph = samples(10), sp.block_diag([np.ones((4, 4)), np.ones((6, 6))])
    with pytest.warns(UserWarning, match="connectivity has 2 connected components"):
        model = AgglomerativeClustering(connectivity=graph, linkage="single").fit(X)
    assert model.n_connected_components_ == 2
    assert len(model.children_) == 9


@pytest.mark.filterwarnings("ignore:AgglomerativeClustering. connectivity has")
@each("metric", ["euclidean", "cityblock", "precomputed"])
@each("linkage", LINKAGES)
def test_components_are_merged_last_where_they_are_no_more_than_clusters(linkage, metric):
    metric = "euclidean" if linkage == "ward" else metric
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))  # components that lie amid each other
    component = rng.integers(0, 3, 60)
    graph = component[:, None] == component
    rows = cdist(X, X) if metric == "precomputed" else X
    fit = {"linkage": linkage, "metric": metric}
    for k in (3, 5):
        model = AgglomerativeClustering(k, connectivity=graph, **fit).fit(rows)
        assert all(len(set(component[model.labels_ == label])) == 1 for label in range(k))
    heights = []
    for c in range(3):
        own = np.flatnonzero(component == c)
        part = rows[np.ix_(own, own)] if metric == "precomputed" else rows[own]
        heights.append(AgglomerativeClustering(1, **fit).fit(part).distances_)
    assert_allclose(np.sort(model.distances_[:-2]), np.sort(np.concatenate(heights)), rtol=1e-9)
    pair = model.children_[-2]
    a, b = (np.flatnonzero(clusters_mask(model.children_, 60, node)) for node in pair)
    if linkage == "ward":
        gap = np.square(X[a].mean(axis=0) - X[b].mean(axis=0)).sum()
        expected = np.sqrt(2 * gap / (1 / len(a) + 1 / len(b)))
    else:
        kind = "cityblock" if metric == "cityblock" else "euclidean"
        expected = cdist(X[a], X[b], kind).min()  # one edge joins two components
    assert_allclose(model.distances_[-2], expected, rtol=1e-9)


def clusters_mask(children, n, node):
    """Return which samples a node of the tree holds."""
    mask, waiting = np.zeros(n, dtype=bool), [node]
    while waiting:
        node = waiting.pop()
        if node < n:
            mask[node] = True
        else:
            waiting.extend(children[node - n])
    return mask
