"""Consensus of clusterings: its definition by pairs, subsamples, noise, models, sparse results."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.cluster import KMeans, consensus_matrix
from mlcore.cluster.scores import consensus


def by_pairs(runs, n):
    """Share of runs that join two samples, pair by pair; -1 joins nothing."""
    shares = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            both = [run for run in runs if i in run and j in run]
            joined = [r for r in both if i == j or (r[i] == r[j] and r[i] != -1)]
            shares[i, j] = len(joined) / len(both) if both else 0
    return shares


@each("n", [1, 2, 17])
def test_the_definition(n):
    rng = np.random.default_rng(n)
    runs, plain = [], []
    for number in range(6):
        rows = rng.permutation(n)[: max(1, n - number)]
        labels = rng.integers(-1, 3, len(rows))
        runs.append((rows, labels))
        plain.append(dict(zip(rows.tolist(), labels.tolist(), strict=True)))
    runs.append(np.arange(n) % 3)
    plain.append(dict(enumerate((np.arange(n) % 3).tolist())))
    X = np.zeros((n, 1))
    found = consensus_matrix(runs, X)
    assert_allclose(found, by_pairs(plain, n), rtol=1e-14)
    stored = consensus_matrix(runs, sp.csr_array(X), sparse=True)
    assert sp.issparse(stored) and stored.data.all()
    assert_allclose(stored.toarray(), found, rtol=1e-14)


def test_names_of_clusters_do_not_matter():
    rng = np.random.default_rng(0)
    labels, X = rng.integers(0, 3, (5, 30)), np.zeros((30, 1))
    names = np.array(["c", "a", "b"])
    expected = consensus_matrix(labels, X)
    assert_array_equal(consensus_matrix([names[run] for run in labels], X), expected)
    order = rng.permutation(30)
    found = consensus_matrix(labels[:, order], X)
    assert_array_equal(found, expected[np.ix_(order, order)])


def test_fitted_models():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [20]], 20, axis=0)
    models = [KMeans(2, random_state=seed).fit(X[seed::2]) for seed in range(2)]
    found = consensus_matrix(models, X)
    half = np.arange(40) < 20
    assert_array_equal(found, (half[:, None] == half).astype(float))


def test_blocks_give_the_same(monkeypatch):
    labels, X = np.random.default_rng(0).integers(0, 4, (7, 50)), np.zeros((50, 1))
    expected = consensus_matrix(labels, X)
    monkeypatch.setattr(consensus, "_BLOCK", 100)
    assert_array_equal(consensus_matrix(labels, X), expected)


def test_a_matrix_that_does_not_fit_is_a_memory_error(monkeypatch):
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 10**6)
    X = np.zeros((3000, 1))
    with pytest.raises(MemoryError, match="The matrix of 3000 x 3000.*pass sparse=True"):
        consensus_matrix([np.arange(3000)], X)
    assert consensus_matrix([np.arange(3000)], X, sparse=True).nnz == 3000


@each(
    ("runs", "error", "message"),
    [
        ([], ValueError, "runs is empty"),
        ([[0, 1, 1], [0, 1]], ValueError, r"inconsistent numbers of samples"),
        ([([0, 0], [1, 1])], ValueError, r"runs\[0\]\[0\].*different rows from 0 to 2"),
        ([([0, 3], [1, 1])], ValueError, r"runs\[0\]\[0\].*different rows from 0 to 2"),
        ([([0.5], [1])], ValueError, r"runs\[0\]\[0\].*at least one row"),
        ([[0, 1, np.nan]], ValueError, r"runs\[0\] contains NaN"),
        (3, TypeError, "runs"),
    ],
)
def test_bad_input_is_refused(runs, error, message):
    with pytest.raises(error, match=message):
        consensus_matrix(runs, np.zeros((3, 1)))
