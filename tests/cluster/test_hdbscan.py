"""HDBSCAN against its definition, by plain loops over sets, and against scikit-learn."""

import itertools

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import HDBSCAN as Peer
from threadpoolctl import threadpool_limits

from mlcore.cluster import DBSCAN, HDBSCAN
from mlcore.cluster.density import hdbscan as module
from mlcore.cluster.linkage import spanning_tree
from mlcore.cluster.metrics import ALIASES, NAMED

LINE = np.array([0.0, 1, 2, 4, 20, 21, 23, 24, 26, 50])[:, None]


def blobs(n, d, seed=0, k=4):
    rng = np.random.default_rng([n, d, seed])
    centers = rng.normal(scale=4, size=(k, d))
    return centers[rng.integers(0, k, n)] + rng.uniform(0.3, 1, (n, 1)) * rng.normal(size=(n, d))


def lattice(n, d, seed=0):
    """Points of which many distances are equal, and some points are."""
    rng = np.random.default_rng([n, d, seed])
    return rng.integers(0, 9, (n, d)) * 0.25


# ---- the definition


def reach_of(D, k, alpha=1.0, weights=None):
    """Core distances, and the matrix of mutual reachability."""
    if weights is None or (weights == 1).all():
        core = np.sort(D, axis=1)[:, k - 1]
    else:
        core = np.array([min(r for r in row if weights[row <= r].sum() >= k) for row in D])
    return core, np.maximum(D / alpha, np.maximum(core, core[:, None]))


def prim(R):
    """Heights of a minimum spanning tree, in order."""
    key, left, heights = R[0].copy(), set(range(1, len(R))), []
    while left:
        j = min(left, key=key.__getitem__)
        heights.append(key[j])
        left.remove(j)
        key = np.minimum(key, R[j])
    return np.sort(heights)


class Tree:
    """Clusters of the components of R <= t for all t, with their rows, births and parents."""

    def __init__(self, R, core, least, weights):
        self.R, self.core, self.least, self.w = R, core, least, weights
        self.rows, self.birth, self.parent = [], [], []
        self.leave, self.last = np.zeros(len(R)), np.zeros(len(R), dtype=int)
        self.add(np.arange(len(R)), 0.0, -1)

    def add(self, rows, birth, parent):
        m = len(self.rows)
        self.rows.append(rows)
        self.birth.append(birth)
        self.parent.append(parent)
        while True:
            self.last[rows] = m
            if len(rows) == 1:
                with np.errstate(divide="ignore"):
                    self.leave[rows] = 1 / self.core[rows]
                return
            part = self.R[np.ix_(rows, rows)]
            h = prim(part)[-1]
            with np.errstate(divide="ignore"):
                at = 1 / h
            label = connected_components(sp.csr_array(part < h))[1]
            parts = [rows[label == c] for c in range(label.max() + 1)]
            large = [
                p
                for p in parts
                if self.w[p].sum() >= self.least and (len(p) > 1 or self.core[p[0]] < h)
            ]
            small = [i for p in parts if not any(p is q for q in large) for i in p]
            self.leave[small] = at
            if len(large) != 1:
                for p in large:
                    self.add(p, at, m)
                return
            rows = large[0]

    def stabilities(self):
        leave = self.leave
        finite = np.r_[leave[np.isfinite(leave)], self.birth]
        leave = np.where(np.isinf(leave), 2 * finite.max() or 1.0, leave)
        children = np.array(self.parent)
        end = np.tile(leave, (len(self.rows), 1))
        for m in range(len(self.rows)):
            for c in np.flatnonzero(children == m):
                end[m, self.rows[c]] = self.birth[c]
        own = [
            (self.w[rows] * (end[m, rows] - self.birth[m])).sum()
            for m, rows in enumerate(self.rows)
        ]
        return np.array(own), leave, [end[m, rows].max() for m, rows in enumerate(self.rows)]

    def antichains(self):
        above = [set() for _ in self.rows]
        for m, p in enumerate(self.parent):
            if p >= 0:
                above[m] = above[p] | {p}
        every = range(len(self.rows))
        for size in range(len(self.rows) + 1):
            for some in itertools.combinations(every, size):
                if not any(above[m] & set(some) for m in some):
                    yield some


def by_definition(X, least, k, weights=None, alpha=1.0, root=False):
    """Labels, probabilities, outlier scores, the objective, and the tree."""
    weights = np.ones(len(X)) if weights is None else weights
    core, R = reach_of(cdist(X, X), k, alpha, weights)
    tree = Tree(R, core, least, weights)
    stability, leave, last = tree.stabilities()
    chains = [c for c in tree.antichains() if root or 0 not in c]
    sums = np.array([stability[list(c)].sum() for c in chains])
    # Of equal sums, the fewest clusters: a parent comes before its children.
    best = next(c for c, s in zip(chains, sums, strict=True) if s >= sums.max() * (1 - 1e-13))
    labels, probabilities = np.full(len(X), -1), np.zeros(len(X))
    for c in best:
        labels[tree.rows[c]] = c
        top = last[c]
        probabilities[tree.rows[c]] = np.minimum(leave[tree.rows[c]], top) / top
    peak = np.array([leave[rows].max() for rows in tree.rows])
    return labels, probabilities, 1 - leave / peak[tree.last], sums.max(), tree


def renamed(labels):
    """Labels in the order of first samples."""
    names = {-1: -1}
    for label in labels:
        names.setdefault(label, len(names) - 1)
    return np.array([names[label] for label in labels])


SMALL = [
    (draw(n, d, seed), least, k)
    for draw, n, d in ((blobs, 30, 2), (lattice, 26, 2), (lattice, 24, 1), (blobs, 24, 5))
    for seed in range(6)
    for least, k in ((2, 3), (3, 2), (4, 1), (3, 5))
]


@each("X, least, k", SMALL)
def test_everything_follows_the_definition(X, least, k):
    model = HDBSCAN(least, min_samples=k).fit(X)
    core, R = reach_of(cdist(X, X), k)
    assert_allclose(model.core_distances_, core, rtol=1e-14)
    assert is_valid_linkage(model.single_linkage_tree_)
    assert_allclose(model.single_linkage_tree_[:, 2], prim(R), rtol=1e-14)
    a, b = model.spanning_tree_[:, :2].astype(int).T
    assert_allclose(model.spanning_tree_[:, 2], R[a, b], rtol=1e-14)
    tree = Tree(R, core, least, np.ones(len(X)))
    assert len(model.condensed_tree_.child) == len(X) + len(tree.rows) - 1
    if len(tree.rows) > 12:  # too many antichains
        return
    labels, probabilities, scores, objective, tree = by_definition(X, least, k)
    assert_array_equal(model.labels_, renamed(labels))
    assert_allclose(model.probabilities_, probabilities, rtol=1e-12)
    assert_allclose(model.outlier_scores_, scores, rtol=1e-12, atol=1e-12)
    assert_allclose(model.selection_objective_, objective, rtol=1e-12)
    sizes = np.sort([len(rows) for rows in tree.rows[1:]])
    assert_array_equal(np.sort(model.condensed_tree_.child_size[len(X) :]), sizes)
    assert_allclose(model.condensed_tree_.lambda_val[: len(X)], tree.leave, rtol=1e-13)


def test_worked_numbers():
    model = HDBSCAN(3).fit(LINE)
    assert_array_equal(model.labels_, [0, 0, 0, 0, 1, 1, 1, 1, 1, -1])
    assert_array_equal(model.single_linkage_tree_[:, 2], [2, 2, 2, 2, 3, 3, 3, 16, 26])
    third = 2 / 3
    assert_allclose(model.probabilities_, [1, 1, 1, third, third, 1, 1, 1, third, 0], rtol=1e-15)
    scores = [0, 0, 0, 1 / 3, 1 / 3, 0, 0, 0, 1 / 3, 12 / 13]
    assert_allclose(model.outlier_scores_, scores, atol=1e-15)
    assert_allclose(model.cluster_persistence_, [19 / 24, 89 / 120], rtol=1e-14)
    assert_allclose(model.selection_objective_, 19 / 12 + 89 / 48, rtol=1e-14)
    # Heights 2, 2, 2 | 2, 3 | 3 hang together in two groups of two and one of three.
    assert model.n_tied_merges_ == 3
    tree = model.condensed_tree_
    assert_array_equal(tree.child_size[10:], [4, 5])
    assert_array_equal(tree.selected, model.labels_[[0, 4]] + tree.selected[0])
    assert list(tree.to_frame().columns) == ["parent", "child", "lambda_val", "child_size"]
    whole = HDBSCAN(6, min_samples=3, allow_single_cluster=True).fit(LINE)
    assert_allclose(whole.selection_objective_, 0.600961538461538)
    assert_array_equal(whole.labels_, 0)


# ---- laws


@each("draw, d", [(blobs, 2), (lattice, 2), (lattice, 3), (blobs, 12)])
def test_no_result_depends_on_the_order_of_rows(draw, d):
    X = draw(200, d)
    model = HDBSCAN(4).fit(X)
    for seed in range(3):
        p = np.random.default_rng(seed).permutation(len(X))
        other = HDBSCAN(4).fit(X[p])
        assert_array_equal(other.labels_, renamed(model.labels_[p]))
        for name in ("probabilities_", "outlier_scores_", "core_distances_"):
            assert_array_equal(getattr(other, name), getattr(model, name)[p])
        assert_array_equal(other.single_linkage_tree_[:, 2], model.single_linkage_tree_[:, 2])
        assert other.n_tied_merges_ == model.n_tied_merges_


@each("power", [-500, -3, 4, 490])
def test_scaling_scales_heights_and_keeps_labels(power):
    X = blobs(150, 3)
    one, other = HDBSCAN(4).fit(X), HDBSCAN(4).fit(np.ldexp(X, power))
    for name in ("labels_", "probabilities_", "outlier_scores_", "cluster_persistence_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(np.ldexp(one.core_distances_, power), other.core_distances_)
    assert_array_equal(np.ldexp(one.selection_objective_, -power), other.selection_objective_)


def test_rotation_shift_and_far_from_the_origin():
    X = blobs(150, 3)
    model = HDBSCAN(4).fit(X)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for other in (X @ Q, X + 7, np.round(X * 2**20) / 2**20 + 1e8):
        heights = HDBSCAN(4).fit(other).single_linkage_tree_[:, 2]
        assert_allclose(heights, model.single_linkage_tree_[:, 2], rtol=1e-5)
    assert_array_equal(HDBSCAN(4).fit(X.astype(np.float32)).labels_, model.labels_)


WEIGHTED = [
    (draw(40, 2, seed), least, k, metric)
    for draw in (blobs, lattice)
    for seed in range(5)
    for least, k in ((3, 3), (4, 6), (2, 4))
    for metric in ("euclidean", "cityblock")
]


@each("X, least, k, metric", WEIGHTED)
def test_weights_are_copies(X, least, k, metric):
    rng = np.random.default_rng(len(X) + least)
    weights = rng.choice([0, 1, 1, 1, 2, 5], len(X))
    params = dict(min_cluster_size=least, min_samples=k, metric=metric, store_centers="both")
    model = HDBSCAN(**params).fit(X, sample_weight=weights)
    copies = np.repeat(np.arange(len(X)), weights)
    expected = HDBSCAN(**params).fit(X[copies])
    there = weights > 0
    assert_array_equal(model.labels_[copies], expected.labels_)
    assert_array_equal(model.core_distances_[copies], expected.core_distances_)
    for name in ("probabilities_", "outlier_scores_"):
        assert_allclose(getattr(model, name)[copies], getattr(expected, name), atol=1e-14)
    for name in ("cluster_persistence_", "selection_objective_", "centroids_", "medoids_"):
        assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-12)
    assert (model.labels_[~there] == -1).all()
    new = blobs(20, 2, seed=9)
    assert_array_equal(model.predict(new), expected.predict(new))
    shown = model.verify(X, sample_weight=weights)
    assert shown.core_error == 0 and shown.duality_gap <= 1e-12


@each("d, n", [(1, 120), (2, 300), (3, 500), (7, 200), (80, 150)])
def test_the_spanning_tree_is_minimal(d, n):
    for X in (blobs(n, d), lattice(n, d)):
        for k, alpha in ((1, 1.0), (6, 1.0), (6, 1.7)):
            model = HDBSCAN(5, min_samples=k, alpha=alpha).fit(X)
            _, R = reach_of(cdist(X, X), k, alpha)
            assert_allclose(model.spanning_tree_[:, 2], prim(R), rtol=1e-13)
            shown = model.verify(X)
            assert shown.n_pairs == n * (n - 1) // 2
            assert abs(shown.duality_gap) <= 1e-12 * shown.objective
            assert max(shown.core_error, shown.height_error) <= 1e-13


def test_verify_sees_a_tree_that_is_not_minimal():
    X = blobs(60, 2)
    model = HDBSCAN(4).fit(X)
    Z = model.spanning_tree_
    end = [int(Z[0, 0]), int(np.argmax(np.abs(X - X[int(Z[0, 0])]).sum(axis=1)))]
    longer = cdist(X[end[:1]], X[end[1:]])[0, 0]
    Z[0] = (*end, longer)
    model.spanning_tree_ = Z[np.argsort(Z[:, 2])]
    assert model.verify(X).largest_excess > 0
    model.fit(X).core_distances_[3] *= 0.5
    assert model.verify(X).core_error > 0.4
    model.fit(X).spanning_tree_[5, 2] *= 0.5
    assert model.verify(X).height_error > 0.4
    model.fit(X).spanning_tree_[5, :2] = model.spanning_tree_[4, :2]
    assert model.verify(X).duality_gap == np.inf
    with pytest.raises(ValueError, match="59 rows, but verify needs the 60"):
        model.verify(X[1:])


def test_more_rows_are_verified_in_part():
    X = blobs(3000, 2)
    shown = HDBSCAN(5).fit(X).verify(X)
    assert shown.duality_gap == np.inf and shown.n_pairs == 1999000
    assert shown.largest_excess <= 1e-15 and shown.core_error <= 1e-14


@each("d", [1, 2, 3, 30])
def test_dbscan_is_a_cut_of_the_tree(d):
    for draw in (blobs, lattice):
        X = draw(250, d)
        model = HDBSCAN(5).fit(X)
        heights = model.single_linkage_tree_[:, 2]
        for eps in (*np.quantile(heights, [0.02, 0.3, 0.6, 0.95]), 2 * heights.max()):
            if eps == 0:
                continue
            flat = DBSCAN(eps, min_samples=5).fit(X)
            core = flat.core_sample_indices_
            assert_array_equal(core, np.flatnonzero(model.core_distances_ <= eps))
            cut = model.dbscan_clustering(eps, min_cluster_size=1)
            assert_array_equal(flat.labels_[core], cut[core])
            assert (np.delete(cut, core) == -1).all()
            large = np.bincount(cut + 1)[cut + 1] >= 20
            expected = renamed(np.where(large, cut, -1))
            assert_array_equal(model.dbscan_clustering(eps, min_cluster_size=20), expected)


@each("metric", [*NAMED[1:], *ALIASES])
def test_every_metric_gives_what_its_matrix_gives(metric):
    X = np.abs(blobs(60, 3)) + 0.1
    if metric in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        X = X > 1
    if metric == "yule":
        X = np.random.default_rng(0).integers(0, 2, (60, 12)).astype(bool)
    X = X.astype(float)
    model = HDBSCAN(4, metric=metric, store_centers="medoid").fit(X)
    D = squareform(pdist(X, ALIASES.get(metric, metric)))
    other = HDBSCAN(4, metric="precomputed").fit(D)
    tree = model.single_linkage_tree_[:, 2]
    assert_allclose(tree, other.single_linkage_tree_[:, 2], rtol=1e-12, atol=1e-14)
    assert_allclose(tree, prim(reach_of(D, 4)[1]), rtol=1e-12, atol=1e-14)
    assert abs(model.verify(X).duality_gap) <= 1e-12


def test_precomputed_dense_sparse_and_a_function_agree_with_points():
    X = blobs(80, 2)
    D = cdist(X, X)
    model, new = HDBSCAN(4).fit(X), blobs(30, 2, seed=3)
    by_function = HDBSCAN(4, metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    assert_array_equal(by_function.labels_, HDBSCAN(4, metric="l1").fit(X).labels_)
    for matrix in (D, sp.csr_array(D), sp.coo_matrix(D)):
        given = HDBSCAN(4, metric="precomputed").fit(matrix)
        assert_array_equal(given.labels_, model.labels_)
        assert_allclose(given.single_linkage_tree_[:, 2], model.single_linkage_tree_[:, 2])
        assert_array_equal(given.predict(cdist(new, X)), model.predict(new))
        assert abs(given.verify(matrix).duality_gap) <= 1e-12


def test_distances_that_are_not_stored_are_infinite():
    X = np.r_[blobs(40, 2, k=2), blobs(40, 2, k=1) + 100, [[1e3, 1e3]]]
    D = cdist(X, X)
    D[D > 15] = 0
    model = HDBSCAN(4, metric="precomputed").fit(sp.csr_array(D))
    dense = HDBSCAN(4, metric="precomputed").fit(np.where(D == 0, 1e9, D) * (1 - np.eye(len(D))))
    assert np.isinf(model.core_distances_[-1]) and np.isinf(model.single_linkage_tree_[-1, 2])
    assert_array_equal(model.labels_, dense.labels_)
    assert_allclose(model.probabilities_, dense.probabilities_, atol=1e-6)
    assert model.verify(sp.csr_array(D)).largest_excess <= 1e-14
    one_way = sp.csr_array(np.triu(D))
    with pytest.raises(ValueError, match="not symmetric"):
        HDBSCAN(4, metric="precomputed").fit(one_way)


@each("method", ["eom", "leaf"])
def test_agrees_with_scikit_learn_where_no_heights_are_equal(method):
    agreed = 0.0
    for seed in range(12):
        X = blobs(150, 2, seed)
        for params in (
            {},
            {"cluster_selection_epsilon": 0.6},
            {"max_cluster_size": 40},
            {"min_samples": 2},
        ):
            if method == "leaf" and "cluster_selection_epsilon" in params:
                continue  # which the peer refuses, with NumPy 2.5
            params = {"min_cluster_size": 6, "cluster_selection_method": method, **params}
            model, peer = HDBSCAN(**params).fit(X), Peer(copy=True, **params).fit(X)
            tree = peer._single_linkage_tree_["value"]
            assert_allclose(model.single_linkage_tree_[:, 2], tree, rtol=1e-12)
            # The order in which the peer takes equal heights moves some rows.
            agreed += np.mean(renamed(peer.labels_) == model.labels_)
    assert agreed > 0.95 * (48 if method == "eom" else 36)


def test_epsilon_undoes_splits_and_leaves_are_the_smallest_clusters():
    # Two pairs of groups: gaps of 1 within, 3 between groups of a pair, 50 between pairs.
    X = np.concatenate([s + np.arange(6.0) for s in (0, 8, 58, 66)])[:, None]
    labels = np.repeat(np.arange(4), 6)
    leaf = HDBSCAN(3, min_samples=2, cluster_selection_method="leaf").fit(X)
    assert_array_equal(leaf.labels_, labels)
    for method in ("eom", "leaf"):
        params = {"min_samples": 2, "cluster_selection_method": method}
        merged = HDBSCAN(3, cluster_selection_epsilon=3.0, **params).fit(X)
        assert_array_equal(merged.labels_, labels // 2)
        kept = HDBSCAN(3, cluster_selection_epsilon=2.9, **params).fit(X)
        assert_array_equal(kept.labels_, labels)
        whole = HDBSCAN(3, cluster_selection_epsilon=60, allow_single_cluster=True, **params).fit(X)
        assert_array_equal(whole.labels_, 0)
    small = HDBSCAN(3, min_samples=2, max_cluster_size=5).fit(X)
    assert_array_equal(small.labels_, -1)


# ---- later rows, centres, hard cases


def test_predict_follows_the_definition():
    X, new = blobs(60, 2), blobs(80, 2, seed=5) * 1.3
    for alpha, k in ((1.0, 4), (1.5, 4), (1.0, 1)):
        model = HDBSCAN(4, min_samples=k, alpha=alpha).fit(X)
        tree = model.condensed_tree_
        for row, label in zip(new, model.predict(new), strict=True):
            d = np.sqrt(((X - row) ** 2).sum(axis=1))
            own = np.sort(np.r_[0, d])[k - 1]
            reach = np.maximum(d / alpha, np.maximum(model.core_distances_, own))
            j = min(range(len(X)), key=lambda j, r=reach, d=d: (r[j], d[j]))
            expected = model.labels_[j]
            if expected >= 0:
                birth = tree.lambda_val[np.flatnonzero(tree.child == tree.selected[expected])[0]]
                expected = expected if 1 / reach[j] >= birth else -1
            assert label == expected
        assert len(np.unique(model.predict(new))) > 2
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.zeros((2, 3)))


def test_centres_are_weighted_means_and_medoids():
    X = blobs(120, 2)
    model = HDBSCAN(5, store_centers="both").fit(X)
    for c in range(model.labels_.max() + 1):
        own = model.labels_ == c
        w, rows = model.probabilities_[own], X[own]
        assert_allclose(model.centroids_[c], (w[:, None] * rows).sum(axis=0) / w.sum())
        assert_array_equal(model.medoids_[c], rows[(cdist(rows, rows) * w).sum(axis=1).argmin()])
    peer = Peer(5, store_centers="both", copy=True).fit(X)
    if np.array_equal(renamed(peer.labels_), model.labels_):
        assert_allclose(np.sort(peer.centroids_, axis=0), np.sort(model.centroids_, axis=0))


def test_hard_cases():
    # All rows equal: one spike, which only the root could be.
    same = HDBSCAN(3).fit(np.ones((8, 2)))
    assert (same.labels_ == -1).all() and same.cluster_persistence_.shape == (0,)
    assert (same.single_linkage_tree_[:, 2] == 0).all() and same.n_tied_merges_ == 6
    assert np.isinf(same.condensed_tree_.lambda_val).all() and (same.outlier_scores_ == 0).all()
    root = HDBSCAN(3, allow_single_cluster=True).fit(np.ones((8, 2)))
    assert (root.labels_ == 0).all() and (root.probabilities_ == 1).all()
    # More copies than min_samples: core distance 0.
    two = np.repeat([[0.0], [1.0]], 6, axis=0)
    model = HDBSCAN(3).fit(two)
    assert (model.core_distances_ == 0).all()
    assert_array_equal(model.labels_, np.repeat([0, 1], 6))
    assert_array_equal(model.predict([[0.0], [1.0], [0.4], [9.0]]), [0, 1, 0, -1])
    # Two equal halves; a cluster that no half is large enough for.
    halves = np.concatenate((np.arange(5.0), 100 + np.arange(5.0)))[:, None]
    assert_array_equal(HDBSCAN(5, min_samples=2).fit(halves).labels_, np.repeat([0, 1], 5))
    assert_array_equal(HDBSCAN(6, min_samples=2).fit(halves).labels_, -1)
    root = HDBSCAN(6, min_samples=2, allow_single_cluster=True).fit(halves)
    assert_array_equal(root.labels_, 0)
    # Few rows.
    with pytest.raises(ValueError, match="n_samples=4 should be >= min_cluster_size=5"):
        HDBSCAN().fit(np.zeros((4, 1)))
    with pytest.raises(ValueError, match="have weight 4, which should be >= min_samples=5"):
        HDBSCAN(min_samples=5).fit(np.zeros((9, 1)), sample_weight=[1] * 4 + [0] * 5)
    one = HDBSCAN(2, min_samples=1).fit([[3.0, 1.0]])
    assert one.labels_.tolist() == [-1] and one.single_linkage_tree_.shape == (0, 4)
    assert one.predict([[3.0, 1.0]]).tolist() == [-1]
    with pytest.raises(ValueError, match="store_centers='both' does not go with"):
        HDBSCAN(metric="precomputed", store_centers="both").fit(np.zeros((5, 5)))


def test_threads_do_not_change_a_byte_and_blocks_do_not_change_labels(monkeypatch):
    X, new = blobs(3000, 3), blobs(50, 3, seed=1)
    model = HDBSCAN(10).fit(X)
    with threadpool_limits(1):
        one = HDBSCAN(10).fit(X)
    for name in ("labels_", "probabilities_", "spanning_tree_", "outlier_scores_"):
        assert getattr(model, name).tobytes() == getattr(one, name).tobytes()
    monkeypatch.setattr(module, "_ROWS", 7)
    assert_array_equal(one.predict(new), model.predict(new))


def test_the_forest_of_short_edges_joins_the_same_samples():
    for n, d in ((400, 1), (400, 2), (60, 6)):
        X = lattice(n, d) / 4
        core, R = reach_of(cdist(X, X), 3)
        for longest in (0.0625, 0.125, 0.5):
            edges, lengths = spanning_tree.spanning_tree(X, lambda _: None, core, longest)
            graph = sp.coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
            count = connected_components(sp.csr_array(R <= longest))[0]
            assert connected_components(graph, directed=False)[0] == count == n - len(edges)
            assert_array_equal(lengths, R[tuple(edges.T)])


@each("d", [2, 20])
def test_piles_of_copies_are_weights(d):
    rng = np.random.default_rng(0)
    rows = np.r_[blobs(40, d), np.zeros((1, d))]
    weights = np.r_[rng.integers(1, 4, 40), 150]
    X = np.repeat(rows, weights, axis=0)
    mixed = rng.permutation(len(X))
    for k in (5, 200):
        model = HDBSCAN(5, min_samples=k).fit(X)
        core, R = reach_of(cdist(X, X), k)
        assert_array_equal(model.core_distances_, core)
        assert_allclose(model.single_linkage_tree_[:, 2], prim(R), rtol=1e-14)
        short = HDBSCAN(5, min_samples=k).fit(rows, sample_weight=weights)
        new = blobs(30, d, seed=4)
        assert_array_equal(model.predict(new), short.predict(new))
        for eps in np.array([0.2, 0.5, 1.5]) * np.sqrt(d):
            flat = DBSCAN(eps, min_samples=k).fit(X[mixed])
            few = DBSCAN(eps, min_samples=k).fit(rows, sample_weight=weights).labels_
            assert_array_equal(renamed(flat.labels_), renamed(np.repeat(few, weights)[mixed]))
