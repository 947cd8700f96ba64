"""DBSCAN against its definition, and against scikit-learn."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN as Peer

from mlcore.cluster import DBSCAN


def samples(n, d, seed=0, ties=False):
    rng = np.random.default_rng([n, d, seed])
    if ties:
        return rng.integers(0, 8, (n, d)) * 0.5
    return rng.normal(scale=3, size=(4, d))[rng.integers(0, 4, n)] + rng.normal(size=(n, d))


def by_definition(D, eps, least, weights):
    """Labels and core samples, from the matrix of distances."""
    near = D <= eps
    core = np.flatnonzero((near @ weights >= least) & (weights > 0))
    labels = np.full(len(D), -1)
    if len(core):
        labels[core] = connected_components(sp.csr_array(near[np.ix_(core, core)]))[1]
        for i in np.setdiff1d(np.arange(len(D)), core):
            j = core[D[i, core].argmin()]
            labels[i] = labels[j] if D[i, j] <= eps else -1
    return labels, core


CASES = [
    (n, d, ties, eps, least)
    for n, d, ties in (
        (80, 1, True),
        (120, 2, False),
        (150, 2, True),
        (90, 6, False),
        (60, 30, False),
    )
    for eps in (0.3, 0.5, 1.0, 2.5, 100.0)
    for least in (1, 3, 8, 200)
]


@each("n, d, ties, eps, least", CASES)
def test_labels_follow_the_definition(n, d, ties, eps, least):
    X = samples(n, d, ties=ties)
    eps *= np.sqrt(d)
    if ties:
        eps = np.ceil(eps * 2) / 2
    D = cdist(X, X)
    near = D <= eps  # with zeros that are stored
    weights = np.random.default_rng(n).integers(0, 4, n).astype(float)
    for w in (None, weights):
        labels, core = by_definition(D, eps, least, np.ones(n) if w is None else w)
        params = {"eps": eps, "min_samples": least}
        for metric, data in (
            ("euclidean", X),
            ("minkowski", X),
            ("precomputed", D),
            ("precomputed", sp.csr_array((D[near], np.nonzero(near)), D.shape)),
        ):
            model = DBSCAN(metric=metric, **params).fit(data, sample_weight=w)
            assert_array_equal(model.labels_, labels)
            assert_array_equal(model.core_sample_indices_, core)


@each("d", [1, 2, 5])
def test_core_samples_and_their_clusters_are_those_of_scikit_learn(d):
    for seed in range(6):
        X = samples(200, d, seed)
        model = DBSCAN(0.5 * d, min_samples=6).fit(X)
        peer = Peer(eps=0.5 * d, min_samples=6).fit(X)
        core = model.core_sample_indices_
        assert_array_equal(core, peer.core_sample_indices_)
        assert_array_equal(model.components_, peer.components_)
        assert_array_equal(model.labels_[core], peer.labels_[core])
        assert_array_equal(model.labels_ < 0, peer.labels_ < 0)


def test_a_border_row_goes_to_the_nearest_core_row_and_of_ties_to_the_first():
    X = np.array([10.0, 0, 0, 0, 2, 4, 4, 4, 20, 18.5, 18.5, 18.5, 22, 22, 22])[:, None]
    labels = DBSCAN(2.0, min_samples=4).fit(X).labels_
    assert_array_equal(labels, [-1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])


def test_hard_cases():
    assert DBSCAN(1.0, min_samples=2).fit([[0.0]]).labels_.tolist() == [-1]
    assert DBSCAN(1.0, min_samples=1).fit([[0.0]]).labels_.tolist() == [0]
    assert DBSCAN(1e-3).fit(np.ones((5, 3))).labels_.tolist() == [0] * 5
    noise = DBSCAN(1e-3).fit(np.arange(9.0)[:, None])
    assert noise.labels_.tolist() == [-1] * 9
    assert noise.components_.shape == (0, 1)
    assert not hasattr(DBSCAN(metric="precomputed").fit(np.zeros((3, 3))), "components_")
    for unit in (1e-150, 1e150):
        X = samples(100, 2)
        scaled = DBSCAN(0.7 * unit).fit(X * unit)
        assert_array_equal(scaled.labels_, DBSCAN(0.7).fit(X).labels_)
    # 0.1 + 0.2 is above 0.3: the edge from 0.3 counts, that from 0.30000000000000004 does not.
    assert DBSCAN(0.3, min_samples=2).fit([[0.0], [0.3]]).labels_.tolist() == [0, 0]
    assert DBSCAN(0.3, min_samples=2).fit([[0.0], [0.1 + 0.2]]).labels_.tolist() == [-1, -1]
    for wrong, message in (({"eps": 0}, "eps"), ({"min_samples": 0}, "min_samples")):
        with pytest.raises(ValueError, match=message):
            DBSCAN(**wrong).fit(np.zeros((3, 1)))
    with pytest.raises(TypeError, match="algorithm"):
        DBSCAN(algorithm="brute")
