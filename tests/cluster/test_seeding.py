"""Seeds of k-means, drawn by greedy k-means++ or by weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as ScikitLearns

from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import KMeans
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.cluster.k_means.sparse_assignment import SparseRows, seed_columns


def test_k_means_plus_plus_finds_what_lies_apart():
    rng = np.random.default_rng(0)
    X = (100 * np.arange(30)[:, None, None] + rng.normal(size=(30, 20, 2))).reshape(-1, 2)
    model = KMeans(30, random_state=0).fit(X)
    assert_array_equal(np.bincount(model.labels_), np.full(30, 20))


def test_k_means_plus_plus_is_as_good_as_scikit_learns():
    rng = np.random.default_rng([2000, 2, 5])
    X = rng.normal(size=(2000, 2)) + 3 * rng.integers(0, 3, size=(2000, 1))
    ours = [KMeans(20, random_state=s, max_iter=1).fit(X).inertia_ for s in range(30)]
    theirs = [ScikitLearns(20, random_state=s, max_iter=1).fit(X).inertia_ for s in range(30)]
    # Two means of thirty, each with the deviation of its own thirty.
    deviation = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(30)
    assert abs(np.mean(ours) - np.mean(theirs)) < 5 * deviation


def test_random_rows_are_drawn_by_their_weights():
    X = np.arange(4.0)[:, None]
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    draws = [
        KMeans(1, init="random", n_init=1, random_state=s).begin(X, sample_weight=weights)
        for s in range(600)
    ]
    counts = np.bincount([int(m.cluster_centers_[0, 0]) for m in draws], minlength=4)
    assert counts[3] == 0
    # Binomial deviations of 600 draws: at most 13.
    assert_allclose(counts[:3], [100, 200, 300], atol=5 * 13)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_that_coincide_with_a_seed_cost_nothing(dtype, index):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(6, 40)) * (rng.random((6, 40)) < 0.3)
    X = sp.csr_array(np.repeat(distinct, 5, axis=0).astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    rows = SparseRows(X, OriginAndUnit())
    costs = np.full((3, 30), np.inf)
    rows.compare(np.array([0, 7]), seed_columns(40, 2), costs)
    expected = cdist(X.toarray(), X[[0, 7]].toarray(), "sqeuclidean").T
    assert_allclose(costs[1:], expected, rtol=1e-6, atol=0)
    assert not costs[1, :5].any() and not costs[2, 5:10].any()
    for seed in range(10):  # each point once, and no more seeds than points
        found = KMeans(6, random_state=seed, max_iter=1).fit(X)
        assert found.inertia_ < 1e-9 and len(found.cluster_centers_) == 6
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(6\)"):
            assert len(KMeans(9, random_state=seed).fit(X).cluster_centers_) == 6
