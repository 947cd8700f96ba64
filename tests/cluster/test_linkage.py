"""Agglomerative clustering against SciPy, and against what its linkages are by definition."""

import functools
import itertools

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import AgglomerativeClustering as Peer
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.cluster import AgglomerativeClustering
from mlcore.cluster.linkage import lance_williams, reciprocal_neighbors, spanning_tree
from mlcore.cluster.linkage import linkage as module
from mlcore.cluster.metrics import NAMED
from mlcore.runtime import memory

LINKAGES = ("single", "complete", "average", "weighted", "ward", "centroid", "median")
MONOTONE = LINKAGES[:5]
ALL = pytest.mark.parametrize("method", LINKAGES)


@pytest.fixture(params=["whole", "bounds"])
def way(request, monkeypatch):
    """Whether average, complete and Ward linkage begin with a matrix, or clusters of points."""
    if request.param == "bounds":
        monkeypatch.setattr(module, "_WHOLE", 1)
        monkeypatch.setattr(module, "_SMALL", 1)
        monkeypatch.setattr(module, "_FEWEST", 8)
        monkeypatch.setattr(module, "_LAST", 5)
    return request.param


def blobs(n, d, seed=0, k=5):
    rng = np.random.default_rng([n, d, seed])
    return rng.normal(scale=3, size=(k, d))[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def merge(X, method, **params):
    return AgglomerativeClustering(None, linkage=method, distance_threshold=0, **params).fit(X)


def partition(labels):
    return np.asarray(labels)[:, None] == np.asarray(labels)


# ---- against SciPy


@functools.cache
def blobs_and_merges(method, shape):
    X = blobs(*shape)
    return X, linkage(X, method)


@ALL
def test_linkage_matrix_is_scipys(method, way):
    for shape in ((2, 1), (3, 2), (65, 1), (300, 3), (257, 9), (400, 70), (90, 200)):
        X, expected = blobs_and_merges(method, shape)
        model = merge(X, method)
        with case(shape):
            assert is_valid_linkage(model.linkage_matrix_)
            # A recurrence of up to n steps, each rounding; centroids and medians subtract.
            assert_allclose(model.distances_, expected[:, 2], rtol=1e-11)
            assert_array_equal(model.linkage_matrix_[:, [0, 1, 3]], expected[:, [0, 1, 3]])
            assert_array_equal(model.children_, expected[:, :2])


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
def test_larger_samples(method):
    X = blobs(1300, 4)
    assert_allclose(merge(X, method).linkage_matrix_, linkage(X, method), rtol=1e-11)


@each("method", ["single", "complete", "average", "weighted", "ward"])
@each("n_blobs", [0, 300])
def test_where_few_are_each_others_nearest(method, n_blobs):
    """A chain, of which no two clusters but its first are that, alone and beside other samples."""
    chain = 1.1 ** np.arange(150.0)[:, None] * [1.0, 0.5]
    X = np.r_[chain, 1e-3 * blobs(n_blobs, 2) - 10]
    D = pdist(np.random.default_rng(0).permutation(X))
    Z = merge(squareform(D), method, metric="precomputed").linkage_matrix_
    assert_allclose(Z, linkage(D, method), rtol=1e-10)


@pytest.mark.parametrize("ties", [False, True])
def test_trees_of_few_features_are_shortest(ties, monkeypatch):
    """By boxes of points; on a lattice most distances are equal, and many are 0."""
    monkeypatch.setattr(spanning_tree, "_SAMPLES", 0)
    for n, d in [
        (2, 1), (9, 1), (17, 2), (300, 1), (600, 2), (900, 3), (700, 5), (400, 10),
        (32, 2), (33, 2), (65, 4), (1025, 2),  # full leaves, and one with a single point
    ]:  # fmt: skip
        X = blobs(n, d)
        X = np.round(X) if ties else X
        with case(n, d):
            assert_allclose(merge(X, "single").distances_, linkage(X, "single")[:, 2], rtol=1e-12)


def test_trees_of_many_points_are_shortest():
    X = blobs(3500, 3)
    assert_allclose(merge(X, "single").distances_, linkage(X, "single")[:, 2], rtol=1e-12)


@each("metric", NAMED)
def test_metrics_of_scipy(metric):
    rng = np.random.default_rng(0)
    binary = metric in (
        "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule", "hamming"
    )  # fmt: skip
    X = rng.integers(0, 2, size=(20, 31)) if binary else rng.random((40, 5))
    distances = pdist(X.astype(bool) if binary else X, metric)
    for method in ("single", "complete", "average", "weighted"):
        model = merge(X, method, metric=metric)
        with case(method):
            if binary:  # ties
                replay(squareform(distances), method, model)
            else:
                assert_allclose(model.linkage_matrix_, linkage(distances, method), rtol=1e-9)


@ALL
def test_given_distances(method):
    X = blobs(80, 3)
    D = squareform(pdist(X))
    before = D.copy()
    model = merge(D, method, metric="precomputed")
    assert_allclose(model.linkage_matrix_, linkage(X, method), rtol=1e-11)
    assert_array_equal(D, before)


def test_a_function_of_two_samples():
    X = blobs(30, 3)
    model = merge(X, "average", metric=lambda a, b: np.abs(a - b).sum())
    assert_allclose(model.linkage_matrix_, linkage(X, "average", "cityblock"), rtol=1e-12)


# ---- against the definition, also where distances are equal


def between_groups(D, method, groups, X):
    """The linkage distances of groups of samples by definition, a square matrix."""
    members, sizes = np.concatenate(groups), np.array([len(group) for group in groups])
    starts = np.cumsum(sizes) - sizes
    if method == "ward":
        means = np.add.reduceat(X[members], starts) / sizes[:, None]
        return np.sqrt(2 / (1 / sizes[:, None] + 1 / sizes)) * cdist(means, means)
    reduced = {"single": np.minimum, "complete": np.maximum, "average": np.add}[method].reduceat
    found = reduced(reduced(D[np.ix_(members, members)], starts, axis=0), starts, axis=1)
    return found / np.outer(sizes, sizes) if method == "average" else found


def replay(D, method, model, X=None, rtol=1e-12):
    """Each merge is at its height by definition, and no two clusters were nearer then."""
    if method == "weighted":
        return
    groups = {i: [i] for i in range(len(D))}
    for k, (a, b, height, size) in enumerate(model.linkage_matrix_):
        apart, keys = between_groups(D, method, list(groups.values()), X), list(groups)
        found = apart[keys.index(a), keys.index(b)]
        assert_allclose(found, height, rtol=rtol, atol=1e-15 * (D.max() or 1))
        np.fill_diagonal(apart, np.inf)
        assert height <= apart.min() * (1 + 1e-12) + 1e-14 * D.max()
        groups[len(D) + k] = groups.pop(a) + groups.pop(b)
        assert size == len(groups[len(D) + k])


TIES = {
    "grid": lambda: np.array([[i, j] for i in range(5) for j in range(4)], float),
    "line": lambda: np.arange(18.0)[:, None],
    "equal points": lambda: np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 3, axis=0),
    "one point": lambda: np.ones((12, 3)),
    "simplex": lambda: np.eye(13),
    "minus zero": lambda: np.array([[0.0], [-0.0], [1.0], [1.0], [0.0], [3.0]]),
}


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
def test_merges_replayed_where_distances_are_equal(method, way):
    for name, samples in TIES.items():
        X = samples()
        with case(name):
            replay(cdist(X, X), method, merge(X, method), X)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 24),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.sampled_from(["single", "complete", "average", "ward"]),
    st.booleans(),
)
def test_merges_replayed(n, d, seed, method, whole):
    X = np.random.default_rng(seed).integers(0, 9, size=(n, d)) / 4
    limits = module._WHOLE, module._FEWEST
    try:
        if not whole:
            module._WHOLE, module._FEWEST = 1, 3
        replay(cdist(X, X), method, merge(X, method), X)
    finally:
        module._WHOLE, module._FEWEST = limits


@pytest.mark.parametrize("d", [3, 100])
@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
def test_near_points_far_from_zero_keep_their_digits(method, d, way):
    """Groups that are tiny beside their distances, which are small beside their distance from 0."""
    rng = np.random.default_rng(0)
    X = np.ldexp(rng.integers(0, 2**20, size=(40, d)).astype(float), -50)
    X += rng.integers(0, 4, size=(4, 1))[rng.integers(0, 4, 40)] + 64.0
    D = cdist(X, X)
    # Means are rounded to the magnitude of the data about their own mean, 4; heights are 1e-10.
    rtol = 1e-12 if method != "ward" else 16 * np.finfo(float).eps / 1e-10
    Z = merge(X, method).linkage_matrix_
    assert_allclose(Z[:, 2], linkage(squareform(D), method)[:, 2], rtol=rtol)


def test_smallest_tree_where_the_screen_tells_nothing():
    """Distances that single precision cannot tell apart."""
    rng = np.random.default_rng(0)
    for d in (2, 90):
        X = 1.0 + 1e-9 * rng.normal(size=(150, d))
        X[0] = 0
        assert_allclose(merge(X, "single").linkage_matrix_, linkage(X, "single"), rtol=1e-12)


# ---- laws


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(MONOTONE), st.integers(0, 10**6))
def test_order_of_samples_and_unit_do_not_matter(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    order = rng.permutation(40)
    model, shuffled = merge(X, method), merge(X[order], method)
    assert_allclose(shuffled.distances_, model.distances_, rtol=1e-11)
    labels = AgglomerativeClustering(4, linkage=method).fit_predict(X)
    again = AgglomerativeClustering(4, linkage=method).fit_predict(X[order])
    assert_array_equal(partition(again), partition(labels[order]))
    scaled = merge(np.ldexp(X, 300), method)
    assert_array_equal(scaled.distances_, np.ldexp(model.distances_, 300))


@ALL
def test_heights_never_fall_but_for_centroids_and_medians(method):
    heights = merge(blobs(300, 2), method).distances_
    assert (np.diff(heights) >= 0).all() == (method in MONOTONE)


def test_single_precision_and_layouts():
    X = blobs(200, 4).astype(np.float32)
    for method in LINKAGES:
        expected = merge(X.astype(np.float64), method).linkage_matrix_
        assert_array_equal(merge(X, method).linkage_matrix_, expected)
        assert_array_equal(merge(np.asfortranarray(X), method).linkage_matrix_, expected)


@pytest.mark.parametrize("shape", [(1500, 3), (500, 120)])
def test_threads_change_no_byte(shape, monkeypatch):
    """Also where so few samples would not pay for them."""
    X = np.random.default_rng(0).normal(size=shape)
    for method in ("single", "complete", "average", "ward", "weighted"):
        found = []
        for n_threads in (1, 2, 5):
            for part in (lance_williams, reciprocal_neighbors):
                monkeypatch.setattr(part, "effective_threads", lambda work=0, n=n_threads: n)
            with threadpool_limits(n_threads, user_api="openmp"):
                found.append(merge(X, method).linkage_matrix_.tobytes())
        assert found[0] == found[1] == found[2], method


# ---- where the tree is cut


@ALL
def test_as_many_clusters_as_asked_for(method):
    X = blobs(60, 2)
    Z = linkage(X, method)
    for k in (1, 2, 7, 59, 60):
        model = AgglomerativeClustering(k, linkage=method).fit(X)
        assert model.n_clusters_ == k == len(set(model.labels_))
        if method in MONOTONE:
            expected = fcluster(Z, Z[-k, 2] if k < len(X) else -1, "distance")
            with case(k):
                assert_array_equal(partition(model.labels_), partition(expected))
        firsts = [np.flatnonzero(model.labels_ == label)[0] for label in range(k)]
        assert firsts == sorted(firsts)


@ALL
def test_thresholds(method):
    X = blobs(60, 2)
    for threshold in (0, 0.5, 1.3, 5.0, np.inf):
        model = AgglomerativeClustering(None, linkage=method, distance_threshold=threshold).fit(X)
        expected = fcluster(linkage(X, method), np.nextafter(threshold, -1), "distance")
        with case(threshold):
            assert_array_equal(partition(model.labels_), partition(expected))
            assert model.n_clusters_ == len(set(expected))
            assert model.distance_threshold_ == threshold


@pytest.mark.parametrize("method", ["ward", "single", "average", "complete"])
def test_scikit_learns_attributes(method):
    X = blobs(70, 3)
    for params in ({"n_clusters": 4}, {"n_clusters": None, "distance_threshold": 2.0}):
        ours = AgglomerativeClustering(linkage=method, **params).fit(X)
        peer = Peer(linkage=method, compute_distances=True, **params).fit(X)
        assert_allclose(ours.distances_, peer.distances_, rtol=1e-12)
        assert_array_equal(np.sort(ours.children_, axis=1), np.sort(peer.children_, axis=1))
        assert_array_equal(partition(ours.labels_), partition(peer.labels_))
        for name in ("n_clusters_", "n_leaves_", "n_connected_components_", "n_features_in_"):
            assert getattr(ours, name) == getattr(peer, name)


@pytest.mark.parametrize("d", [1, 3, 100])
def test_scaled_threshold(d):
    X = blobs(50, d)
    for metric, alpha in itertools.product(("euclidean", "cityblock"), (0.0, 0.1, 0.3, 1.0)):
        params = {"linkage": "average", "metric": metric}
        model = AgglomerativeClustering(None, scaled_distance_threshold=alpha, **params).fit(X)
        threshold = alpha * pdist(X, metric).max()
        assert_allclose(model.distance_threshold_, threshold, rtol=1e-15)
        same = AgglomerativeClustering(None, distance_threshold=threshold, **params).fit(X)
        assert_array_equal(model.labels_, same.labels_)


def test_clusters_of_the_textbook():
    """Single linkage below alpha times the diameter: components of the graph of near samples."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0]])
    model = AgglomerativeClustering(None, linkage="single", scaled_distance_threshold=0.1).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 2]


# ---- edges


@ALL
def test_one_sample_and_two(method):
    one = AgglomerativeClustering(1, linkage=method).fit([[3.0, 4.0]])
    assert one.labels_.tolist() == [0] and one.n_clusters_ == 1
    assert one.children_.shape == (0, 2) and one.linkage_matrix_.shape == (0, 4)
    two = AgglomerativeClustering(1, linkage=method).fit([[0.0, 0.0], [3.0, 4.0]])
    assert_allclose(two.linkage_matrix_, [[0, 1, 5, 2]])


@ALL
def test_any_unit(method):
    X = blobs(50, 3)
    expected = merge(X, method).distances_
    for scale in (1e-300, 1e-100, 1e100, 1e150):
        found = merge(X * scale, method).distances_ / scale
        assert_allclose(found, expected, 1e-9, err_msg=f"scale={scale}")


def test_equal_points_in_numbers():
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 2)), 24, axis=0)
    for method in ("single", "complete", "average", "ward"):
        heights = merge(X, method).distances_
        assert (heights[:1150] == 0).all() and (heights[1150:] > 0).all()


STOPS = "Exactly one of n_clusters, distance_threshold and scaled_distance_threshold"


@each(
    ("params", "error", "message"),
    [
        ({"n_clusters": None}, ValueError, f"{STOPS}.*but none is"),
        ({"distance_threshold": 1.0}, ValueError, f"{STOPS}.*n_clusters and distance_threshold is"),
        ({"n_clusters": 11}, ValueError, "n_samples=10 should be >= n_clusters=11"),
        ({"linkage": "wards"}, ValueError, "linkage='wards' must be one of 'single', 'complete'"),
        ({"metric": "cityblock"}, ValueError, "metric='cityblock' does not go with linkage='ward'"),
        ({"metric": "precomputed"}, ValueError, r"should be square, got matrix of shape \(10, 2\)"),
        ({"metric": "cosine", "linkage": "single"}, ValueError, "metric=cosine gave nan"),
    ],
)
def test_refused(params, error, message):
    X = np.r_[np.zeros((1, 2)), blobs(9, 2)]
    with pytest.raises(error, match=message):
        AgglomerativeClustering(**params).fit(X)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ((0, 1, 50.0), r"not symmetric: X\[0, 1\] is 50 and X\[1, 0\]"),
        ((3, 3, 1.0), r"X\[3, 3\] is 1, but the distance of a sample from itself"),
        ((2, 7, -1.0), r"X\[2, 7\] is -1, but distances are at least 0"),
    ],
)
def test_what_are_no_distances_is_refused(spoil, message):
    D = squareform(pdist(blobs(10, 2)))
    D[spoil[0], spoil[1]] = spoil[2]
    with pytest.raises(ValueError, match=message):
        merge(D, "average", metric="precomputed")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_from_expanded_squares_are_symmetric_to_their_rounding(dtype):
    """Of two copies |x|² + |y|² - 2 x.y can round to some units of |x|²; its root is far larger."""
    D = squareform(pdist(np.repeat(blobs(10, 2), 2, axis=0))).astype(dtype)
    D[0, 1] = np.sqrt(20 * np.finfo(dtype).eps) * D.max()
    expected = linkage(squareform(D / 2.0 + D.T / 2.0), "average")
    found = merge(D, "average", metric="precomputed").distances_
    assert_allclose(found, expected[:, 2], rtol=1e-12)
    D[0, 1] *= 3
    with pytest.raises(ValueError, match="symmetric"):
        merge(D, "average", metric="precomputed")


def test_a_matrix_too_large_is_refused_with_the_way_out(monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**25)
    message = "matrix of distances of 3000 x 3008 needs .*single or ward linkage of points"
    for method in ("weighted", "centroid"):
        with pytest.raises(MemoryError, match=message):
            merge(X, method)
    assert merge(X, "ward").n_leaves_ == merge(X, "single").n_leaves_ == 3000


@pytest.mark.filterwarnings("default::UserWarning")
@each("method", LINKAGES)
def test_scikit_learns_clustering_checks(method):
    estimator = AgglomerativeClustering(linkage=method)
    for check in _yield_clustering_checks(estimator):
        check("AgglomerativeClustering", estimator)


def test_progress_counts_merges():
    seen = []
    model = AgglomerativeClustering(callback=lambda **step: seen.append(step)).fit(blobs(100, 3))
    assert seen[-1]["step"] == 99
    assert_allclose(seen[-1]["objective"], model.distances_[-1])
