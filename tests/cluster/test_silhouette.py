"""Silhouettes: against their definition with exact distances, scikit-learn, laws, bad input."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from mlcore.cluster import silhouette_samples, silhouette_score
from mlcore.cluster.metrics import PLAIN
from mlcore.cluster.scores import distance_sums

ALIASES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
METRICS = [*PLAIN, *ALIASES]
EPS = np.finfo(float).eps


def samples(n, d, k, seed=0):
    """Blobs, some samples twice, and labels that mostly tell the blobs."""
    rng = np.random.default_rng([n, d, k, seed])
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[labels]
    X[n // 2 :: 7] = X[0]
    return X, labels


def by_definition(D, labels):
    """Rousseeuw's definition, sample by sample, from distances."""
    n, found = len(D), []
    for i in range(n):
        own = (labels == labels[i]) & (np.arange(n) != i)
        others = set(labels) - {labels[i]}
        b = min(D[i, labels == c].mean() for c in others)
        a = D[i, own].mean() if own.any() else 0
        found.append((b - a) / max(a, b) if own.any() and max(a, b) > 0 else 0.0)
    return np.array(found)


@each("metric", METRICS)
def test_the_definition(metric):
    for n, d, k in [(2, 3, 2), (31, 4, 3), (33, 17, 5), (18, 5, 17)]:
        X, labels = samples(n, d, k)
        expected = by_definition(cdist(X, X, ALIASES.get(metric, metric)), labels)
        found = silhouette_samples(X, labels, metric=metric)
        assert_allclose(found, expected, atol=1e-12, err_msg=f"{n} samples, {k} clusters")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), [(300, 1, 2), (600, 5, 4), (700, 70, 300)])
def test_scikit_learn_and_tiles(n, d, k, dtype):
    from sklearn.metrics import silhouette_samples as peer
    from sklearn.metrics import silhouette_score as peer_score

    X, labels = samples(n, d, k)
    X = X.astype(dtype)
    found = silhouette_samples(X, labels)
    assert found.dtype == dtype
    expected = peer(cdist(X, X), labels, metric="precomputed")  # its own distances are less exact
    assert_allclose(found, expected, rtol=0, atol=1e-10 if dtype == np.float64 else 1e-6)
    assert_allclose(silhouette_score(X, labels), peer_score(X, labels), atol=1e-6)
    assert isinstance(silhouette_score(X, labels), float)


def test_a_function_and_given_distances():
    X, labels = samples(50, 3, 4)
    expected = silhouette_samples(X, labels, metric="cityblock")

    def cityblock(x, y):
        return np.abs(x - y).sum()

    assert_allclose(silhouette_samples(X, labels, metric=cityblock), expected, atol=1e-14)
    D = cdist(X, X, "cityblock")
    assert_allclose(silhouette_samples(D, labels, metric="precomputed"), expected, atol=1e-14)


def test_clusters_of_one_and_of_equal_samples_are_0():
    assert_array_equal(silhouette_samples([[0.0], [1.0], [2.0]], [0, 1, 2]), [0, 0, 0])
    assert_array_equal(silhouette_samples(np.ones((4, 2)), [0, 0, 1, 1]), [0, 0, 0, 0])
    assert_array_equal(silhouette_samples([[0.0], [0.0], [5.0]], [0, 0, 1]), [1, 1, 0])


@settings(max_examples=20)
@given(st.integers(4, 90), st.integers(1, 12), st.integers(0, 2**32 - 1), st.integers(-1000, 400))
def test_laws(n, d, seed, power):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, min(n, 8)))
    X, labels = samples(n, d, k, seed=seed)
    expected = silhouette_samples(X, labels)
    order = rng.permutation(n)
    tolerance = dict(rtol=0, atol=1e-10)
    assert_allclose(silhouette_samples(X[order], labels[order]), expected[order], **tolerance)
    names = np.array(["h", "g", "f", "e", "d", "c", "b", "a"])[labels]
    assert_allclose(silhouette_samples(X, names), expected, **tolerance)
    assert_array_equal(silhouette_samples(np.ldexp(X, power), labels), expected)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    assert_allclose(silhouette_samples(X @ rotation + 10, labels), expected, **tolerance)


@pytest.mark.parametrize("offset", [1e3, 1e8, -1e12])
def test_far_from_the_origin(offset):
    """The offset rounds the samples themselves; nothing more is lost."""
    X, labels = samples(80, 3, 3)
    X += offset
    expected = by_definition(cdist(X, X), labels)
    assert_allclose(silhouette_samples(X, labels), expected, atol=1e-12)


def test_tight_clusters_far_apart():
    """Where distances are small beside norms the product's digits are not enough."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 20)) * 1e-9 + labels[:, None]
    expected = by_definition(cdist(X, X), labels)
    found = silhouette_samples(X, labels)
    assert_allclose(1 - found, 1 - expected, rtol=1e-6)  # of 1e-9, in steps of 1e-16


@pytest.mark.parametrize("noise", [1.0, 0.6, 1e-3, 0.0])  # 0.6 loses some digits
@pytest.mark.parametrize(("n", "d", "k"), [(390, 3, 4), (500, 70, 250), (600, 300, 3)])
def test_products_in_single_precision(n, d, k, noise):
    """Products that lose digits are formed anew: few by themselves, more with their tile."""
    rng = np.random.default_rng([n, d, k])
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = (rng.normal(size=(k, d))[labels] + noise * rng.normal(size=(n, d))).astype(np.float32)
    X[n // 2 :: 100] = X[0]
    order, starts = distance_sums.by_cluster(labels)
    (places, found), *others = distance_sums.distance_sums(
        X, "euclidean", order, starts, single=True
    )
    assert (places, others) == (slice(0, n), [])
    D = cdist(X[order].astype(np.float64), X[order].astype(np.float64))
    expected = np.add.reduceat(D, starts[:-1], axis=1)
    # A product is off by a few eps of the norms, of which the square is a quarter at least.
    assert_allclose(found, expected, rtol=16 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_threads_and_blocks_give_the_same(metric, dtype, monkeypatch):
    X, labels = samples(900, 30, 6)
    X = X.astype(dtype)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(silhouette_samples(X, labels, metric=metric))
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 1)
    monkeypatch.setattr(distance_sums, "_BLOCK", 100)
    found.append(silhouette_samples(X, labels, metric=metric))
    for other in found[1:-1]:
        assert_array_equal(other, found[0])
    assert_allclose(found[-1], found[0], atol=1e-13 if dtype == np.float64 else 1e-6)


@pytest.mark.ordinary_build
def test_no_matrix_of_distances_is_held():
    import tracemalloc

    X, labels = samples(12_000, 2, 3)
    tracemalloc.start()
    silhouette_samples(X, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000**2 * 8 / 100


def test_forms_of_input_give_the_same_and_are_left_untouched():
    X, labels = samples(40, 3, 3)
    expected, before = silhouette_samples(X, labels), X.copy()
    X.setflags(write=False)
    for form in (
        X,
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.astype(">f8"),
        X.tolist(),
    ):
        assert_array_equal(silhouette_samples(form, labels.tolist()), expected)
    assert_array_equal(X, before)


@each("scale", [1e-310, 1e-160, 1e-30, 1e30, 1e150])
def test_any_scale(scale):
    X, labels = samples(40, 3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = silhouette_samples(X * scale, labels)
    atol = 1e-12 if scale > 1e-300 else 1e-9  # denormal numbers have fewer digits
    assert_allclose(found, silhouette_samples(X, labels), atol=atol)


GOOD = np.arange(8.0).reshape(4, 2)


@each(
    ("arguments", "error", "message"),
    [
        ({"labels": [1, 1, 1, 1]}, ValueError, r"labels has 1 class \(1\)"),
        ({"labels": [0, 1]}, ValueError, r"inconsistent numbers of samples: \[4, 2\]"),
        ({"labels": None}, ValueError, "labels"),
        ({"X": [[np.nan, 1.0]] * 4}, ValueError, "NaN"),
        ({"X": np.arange(4.0)}, ValueError, "Reshape your data"),
        ({"X": GOOD * 1e160}, ValueError, "too large"),
        ({"metric": "euclid"}, ValueError, "metric='euclid'.*one of 'precomputed', 'euclidean'"),
        ({"metric": 2}, TypeError, "metric=2"),
        ({"metric": "precomputed"}, ValueError, r"square.*shape \(4, 2\)"),
        ({"X": -np.eye(4), "metric": "precomputed"}, ValueError, "Negative values"),
        ({"X": np.eye(4), "metric": "precomputed"}, ValueError, r"X\[0, 0\] is 1"),
        (
            {"X": GOOD * [[0], [1], [1], [1]], "metric": "cosine"},
            ValueError,
            "metric=cosine gave nan",
        ),
        ({"metric": lambda x, y: -1.0}, ValueError, "metric=<lambda> gave -1"),
        ({"metric": lambda x, y: np.nan}, ValueError, "metric=<lambda> gave nan"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    arguments = {"X": GOOD, "labels": [0, 0, 1, 1]} | arguments
    for function in (silhouette_samples, silhouette_score):
        with pytest.raises(error, match=message):
            function(**arguments)


def test_sparse_samples_are_refused():
    from scipy import sparse as sp

    with pytest.raises(TypeError, match="[Ss]parse"):
        silhouette_samples(sp.csr_array(GOOD), [0, 0, 1, 1])


def test_the_users_own_exception_passes_unchanged():
    def metric(x, y):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        silhouette_samples(GOOD, [0, 0, 1, 1], metric=metric)


# ---- samples drawn, and weights


def test_weights_are_copies():
    for n, d, k in [(6, 2, 2), (60, 3, 4), (80, 100, 3)]:
        X, labels = samples(n, d, k)
        rng = np.random.default_rng(n)
        weights = rng.integers(0, 4, n)
        weights[:k] = 1
        repeated = np.repeat(np.arange(n), weights)
        for dtype in (np.float32, np.float64):
            Z = X.astype(dtype)
            found = silhouette_score(Z, labels, sample_weight=weights)
            expected = silhouette_score(Z[repeated], labels[repeated])
            assert_allclose(found, expected, atol=1e-12 if dtype == np.float64 else 1e-6)
        for metric in ("cityblock", "precomputed"):
            Z = cdist(X, X) if metric == "precomputed" else X
            copies = Z[np.ix_(repeated, repeated)] if metric == "precomputed" else X[repeated]
            found = silhouette_score(Z, labels, metric=metric, sample_weight=weights)
            expected = silhouette_score(copies, labels[repeated], metric=metric)
            assert_allclose(found, expected, atol=1e-12)
        ones = silhouette_score(X, labels, sample_weight=np.ones(n))
        assert_allclose(ones, silhouette_score(X, labels), rtol=1e-13)


def test_samples_drawn():
    X, labels = samples(400, 3, 3)
    D = cdist(X, X)
    all_of_them = silhouette_score(X, labels, sample_size=400, random_state=0)
    assert_allclose(all_of_them, silhouette_score(X, labels), rtol=1e-13)
    seen = []
    for seed in range(30):
        found = silhouette_score(X, labels, sample_size=120, random_state=seed)
        rows = np.sort(np.random.default_rng(seed).choice(400, 120, replace=False))
        assert_allclose(
            found, by_definition(D[np.ix_(rows, rows)], labels[rows]).mean(), atol=1e-12
        )
        given_distances = silhouette_score(
            D, labels, metric="precomputed", sample_size=120, random_state=seed
        )
        assert_allclose(given_distances, found, atol=1e-12)
        seen.append(found)
    deviation = np.std(silhouette_samples(X, labels)) / np.sqrt(120)
    assert abs(np.mean(seen) - silhouette_score(X, labels)) < deviation
    assert 0 < np.std(seen) < 2 * deviation


def test_copies_drawn():
    X, labels = samples(20, 2, 2)
    weights = np.arange(20) + 1
    found = silhouette_score(X, labels, sample_weight=weights, sample_size=210, random_state=3)
    assert_allclose(found, silhouette_score(X, labels, sample_weight=weights), rtol=1e-13)
    huge = silhouette_score(X, labels, sample_weight=1e12 * weights, sample_size=50, random_state=3)
    assert -1 <= huge <= 1


@each(
    ("arguments", "error", "message"),
    [
        ({"sample_size": 1}, ValueError, "sample_size=1.*integer >= 2 and <= 4"),
        ({"sample_size": 5}, ValueError, "sample_size=5.*integer >= 2 and <= 4"),
        ({"sample_size": 2.5}, TypeError, "sample_size=2.5"),
        ({"sample_size": 3, "random_state": "a"}, TypeError, "random_state='a'"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
        ({"sample_weight": [1, 1, 0.5, 1]}, ValueError, r"sample_weight\[2\] is 0.5.*whole number"),
        ({"sample_weight": [1, 1, 0, 0]}, ValueError, "scored are of one cluster.*sample_size"),
        ({"sample_weight": [1, 1]}, ValueError, "sample_weight"),
    ],
)
def test_bad_samples_and_weights_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        silhouette_score(GOOD, [0, 0, 1, 1], **arguments)
