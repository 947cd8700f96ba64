"""Scores from centres: scikit-learn, definitions, worked numbers, laws, scales, bad input."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.cluster import calinski_harabasz_score, clustering_cost, davies_bouldin_score
from mlcore.cluster.scores import centers
from mlcore.datasets import load_iris

SCORES = calinski_harabasz_score, davies_bouldin_score


def samples(n, d, k, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[labels], labels


def variance_ratio(X, labels):
    n, k = len(X), len(set(labels))
    inside = sum(((X[labels == c] - X[labels == c].mean(0)) ** 2).sum() for c in set(labels))
    return (((X - X.mean(0)) ** 2).sum() - inside) / inside * (n - k) / (k - 1)


def overlap(X, labels):
    names = sorted(set(labels))
    means = np.array([X[labels == c].mean(0) for c in names])
    radii = [
        np.linalg.norm(X[labels == c] - m, axis=1).mean() for c, m in zip(names, means, strict=True)
    ]
    D = cdist(means, means)
    k = range(len(names))
    return np.mean([max((radii[i] + radii[j]) / D[i, j] for j in k if j != i) for i in k])


def test_worked_numbers():
    """Of the irises' species, by scikit-learn and in 40 digits."""
    X, y = load_iris()
    assert_allclose(calinski_harabasz_score(X, y), 487.330876374900, rtol=1e-13)
    assert_allclose(davies_bouldin_score(X, y), 0.751370709475674, rtol=1e-13)


@each("dtype", [np.float32, np.float64])
@each(("n", "d", "k"), [(3, 1, 2), (40, 1, 4), (60, 5, 7), (300, 400, 3), (200, 3, 40)])
def test_definitions_and_scikit_learn(n, d, k, dtype):
    from sklearn import metrics

    X, labels = samples(n, d, k)
    X = X.astype(dtype)
    exact = X.astype(np.float64)
    found = calinski_harabasz_score(X, labels)
    assert_allclose(found, variance_ratio(exact, labels), rtol=1e-11)
    assert_allclose(found, metrics.calinski_harabasz_score(exact, labels), rtol=1e-12)
    found = davies_bouldin_score(X, labels)
    assert_allclose(found, overlap(exact, labels), rtol=1e-12)
    if k < 40:  # its distances of near centres are expanded squares
        assert_allclose(found, metrics.davies_bouldin_score(exact, labels), rtol=1e-12)


@each("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.random((80, 30)) * (rng.random((80, 30)) < 0.2)
    X[:, 5], labels = 0, rng.integers(0, 4, 80)
    for shift in (0.0, 1e8):  # a feature that all rows store, far from 0
        X[:, 7] = shift + rng.random(80)
        for score in SCORES:
            assert_allclose(score(kind(X), labels), score(X, labels), rtol=1e-10)


def test_narrow_clusters_of_sparse_rows():
    """Expanded squares would have no digits left."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = np.zeros((60, 9))
    X[np.arange(60), labels] = 1 + 1e-7 * rng.normal(size=60)
    X[np.arange(60), 3 + labels] = 1e-7 * rng.normal(size=60)
    for score in SCORES:
        assert_allclose(score(sp.csr_array(X), labels), score(X, labels), rtol=1e-9)
    found = clustering_cost(sp.csr_array(X), labels)
    assert_allclose(found, clustering_cost(X, labels), rtol=1e-9)


@settings(max_examples=20)
@given(st.integers(6, 60), st.integers(1, 9), st.integers(0, 2**32 - 1), st.integers(-900, 400))
def test_laws(n, d, seed, power):
    rng = np.random.default_rng(seed)
    X, labels = samples(n, d, 3, seed)
    copies, order = rng.integers(0, 4, n), rng.permutation(n)
    copies[:6] = 2
    repeated = np.repeat(np.arange(n), copies)
    for score in SCORES:
        value = score(X, labels)
        assert_allclose(score(X[order], labels[order]), value, rtol=1e-10)
        assert_allclose(score(X, np.array(["c", "a", "b"])[labels]), value, rtol=1e-10)
        assert_allclose(score(np.ldexp(X, power), labels), value, rtol=1e-10)
        rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
        assert_allclose(score(X @ rotation + 10, labels), value, rtol=1e-9)
        weighted = score(X, labels, sample_weight=copies)
        assert_allclose(weighted, score(X[repeated], labels[repeated]), rtol=1e-10)
        weighted = score(sp.csr_array(X), labels, sample_weight=copies)
        assert_allclose(weighted, score(X[repeated], labels[repeated]), rtol=1e-9)


@pytest.mark.parametrize("offset", [1e8, -1e12])
def test_far_from_the_origin(offset):
    X, labels = samples(50, 3, 4)
    X += offset
    near = X - X[0]
    for score, definition in zip(SCORES, (variance_ratio, overlap), strict=True):
        assert_allclose(score(X, labels), definition(near, labels), rtol=1e-11)


@each("scale", [1e-307, 1e-160, 1e-30, 1e150])
def test_any_scale(scale):
    X, labels = samples(40, 3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for score in SCORES:
            for form in (np.asarray, sp.csr_array):
                assert_allclose(score(form(X * scale), labels), score(X, labels), rtol=1e-10)


def test_blocks_give_the_same(monkeypatch):
    X, labels = samples(300, 5, 40)
    narrow = sp.csr_array(1 + 1e-9 * X)
    before = [score(form, labels) for score in SCORES for form in (X, narrow)]
    monkeypatch.setattr(centers, "_BLOCK", 64)
    after = [score(form, labels) for score in SCORES for form in (X, narrow)]
    assert_allclose(after, before, rtol=1e-12)


def test_coincident_centres_overlap_entirely():
    X = [[-1.0], [1.0], [-2.0], [2.0], [9.0]]
    assert davies_bouldin_score(X, [0, 0, 1, 1, 2]) == np.inf
    rounded = [[0.1], [0.3], [0.2], [0.2], [0.15], [0.25]]  # 0.1 + 0.3 is no 2 * 0.2
    assert davies_bouldin_score(rounded, [0, 0, 1, 1, 2, 2]) == np.inf
    assert davies_bouldin_score([[3.0], [3.0]], [0, 1]) == np.inf
    assert davies_bouldin_score([[3.0], [4.0]], [0, 1]) == 0


def test_clusters_of_equal_samples():
    assert calinski_harabasz_score([[1.0], [1.0], [2.0], [2.0]], [0, 0, 1, 1]) == np.inf
    assert calinski_harabasz_score(np.ones((4, 2)), [0, 0, 1, 1]) == 1
    assert calinski_harabasz_score([[0.0], [2.0], [0.0], [2.0]], [0, 0, 1, 1]) == 0


def test_forms_of_input_give_the_same_and_are_left_untouched():
    X, labels = samples(40, 3, 3)
    before = X.copy()
    X.setflags(write=False)
    for score in SCORES:
        expected = score(X, labels)
        for form in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()):
            assert score(form, labels.tolist()) == expected
    assert_array_equal(X, before)


@each(
    ("arguments", "error", "message"),
    [
        ({"labels": [1, 1, 1]}, ValueError, r"labels has 1 class \(1\)"),
        ({"labels": [0, 1]}, ValueError, r"inconsistent numbers of samples"),
        ({"X": [[np.nan], [1.0], [2.0]]}, ValueError, "NaN"),
        ({"sample_weight": [1, 1]}, ValueError, "sample_weight"),
        ({"sample_weight": [1, 1, 0]}, ValueError, "positive weight are of 1 cluster"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    arguments = {"X": [[0.0], [1.0], [5.0]], "labels": [0, 0, 1]} | arguments
    for score in SCORES:
        with pytest.raises(error, match=message):
            score(**arguments)


def test_a_variance_ratio_needs_more_samples_than_clusters():
    with pytest.raises(ValueError, match=r"n_samples=2 .* above the number of clusters, 2"):
        calinski_harabasz_score([[0.0], [1.0]], [0, 1])
    assert calinski_harabasz_score([[0.0], [1.0]], [0, 1], sample_weight=[2, 2]) == np.inf
