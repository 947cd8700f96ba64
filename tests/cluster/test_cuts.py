"""Values of partitions: definitions vertex by vertex, identities, laws, forms and bad input."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_graphs import graph, sides
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.cluster import (
    MinCut,
    cut_value,
    min_cut,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.cluster.cuts import edge_sums

VALUES = cut_value, ratio_cut_value, normalized_cut_value, normalized_association
EPS = np.finfo(float).eps


def brute_force(K, labels):
    """The four values of a partition by their definitions, vertex by vertex."""
    cut = ratio = normalized = association = 0.0
    n = len(K)
    for cluster in sorted(set(labels)):
        own = [i for i in range(n) if labels[i] == cluster]
        out = sum(K[i, j] for i in own for j in range(n) if labels[j] != cluster)
        within = sum(K[i, j] for i in own for j in own)
        cut += out / 2
        ratio += out / len(own)
        normalized += out / (out + within)
        association += within / (out + within)
    return cut, ratio, normalized, association


# ---- the values of a partition


@each("dtype", [np.float32, np.float64])
@each(("n", "k"), [(2, 2), (5, 3), (8, 8), (17, 4), (40, 7)])
def test_values_are_their_definitions(n, k, dtype):
    K = graph(n, 0.7, dtype=dtype)
    K[0, 1:] = K[1:, 0] = 0.5  # no cluster without an edge
    labels = np.random.default_rng(n).permutation(np.arange(n) % k)
    expected = brute_force(K.astype(np.float64), labels)
    for form in (K, sp.csr_array(K), sp.coo_array(K)):
        found = [value(form, labels) for value in VALUES]
        assert_allclose(found, expected, rtol=4 * n * EPS)  # sums in float64 for both types


@pytest.mark.parametrize("k", [2, 3, 9])
def test_what_is_cut_and_what_is_kept_make_the_number_of_clusters(k):
    K, labels = graph(60, seed=k), np.arange(60) % k
    total = normalized_cut_value(K, labels) + normalized_association(K, labels)
    assert_allclose(total, k, rtol=1e-14)


def test_ratio_cut_is_a_trace_of_the_laplacian():
    K, labels = graph(50), np.arange(50) % 3
    H = np.eye(3)[labels] / np.sqrt(np.bincount(labels))
    laplacian = np.diag(K.sum(axis=1)) - K
    assert_allclose(ratio_cut_value(K, labels), np.trace(H.T @ laplacian @ H), rtol=1e-12)


def test_a_doubly_stochastic_graph_has_sizes_for_degrees():
    permutations = [np.random.default_rng(s).permutation(np.eye(9)) for s in range(6)]
    K = sum(P + P.T for P in permutations) / 12
    labels = np.arange(9) % 3
    assert_allclose(normalized_cut_value(K, labels), ratio_cut_value(K, labels), rtol=1e-14)


def test_best_partitions_of_a_graph_of_two_cliques_fall_between_them():
    K = np.full((8, 8), 0.01)
    K[:4, :4] = K[4:, 4:] = 1.0
    truth = np.repeat([0, 1], 4)
    for value, better in zip(VALUES, [min, min, min, max], strict=True):
        best = better(sides(8), key=lambda labels, value=value: value(K, labels))
        assert_array_equal(best, truth)


@settings(max_examples=20)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.integers(-100, 100))
def test_laws_of_the_values(n, seed, power):
    rng = np.random.default_rng(seed)
    K = graph(n, 0.8, seed=seed % 1000) + 0.01
    labels = np.concatenate([[0, 1], rng.integers(0, 4, n - 2)])
    order, copies = rng.permutation(n), rng.integers(0, 4, n)
    copies[:2] = 1, 2
    repeated = np.repeat(np.arange(n), copies)
    for value, unit in zip(VALUES, [1, 1, 0, 0], strict=True):
        expected = value(K, labels)
        tolerance = 50 * n * EPS * max(expected, 1)
        assert abs(value(K[np.ix_(order, order)], labels[order]) - expected) <= tolerance
        assert value(np.ldexp(K, power), labels) == np.ldexp(expected, unit * power)
        names = np.array(["d", "b", "a", "c"])[labels]
        assert abs(value(K, names) - expected) <= tolerance
        weighted = value(K, labels, sample_weight=copies)
        copied = value(K[np.ix_(repeated, repeated)], labels[repeated])
        assert abs(weighted - copied) <= 500 * n * EPS * max(copied, 1)


# ---- forms, threads, long runs


@each("function", [*VALUES, min_cut])
def test_forms_of_input_give_the_same_and_are_left_untouched(function):
    K, labels = graph(30, 0.5), np.arange(30) % 3
    arguments = () if function is min_cut else (labels,)
    expected = function(K, *arguments)
    before = K.copy()
    K.setflags(write=False)
    wide = np.zeros((60, 60))
    wide[::2, ::2] = K
    forms = [K, np.asfortranarray(K), wide[::2, ::2], K.astype(">f8"), K.tolist()]
    for form in forms:
        assert np.all([np.all(a == b) for a, b in zip_values(function(form, *arguments), expected)])
    tangled = sp.csr_array(K)  # each row from right to left, with wide indices
    for row in range(30):
        part = slice(*tangled.indptr[row : row + 2])
        tangled.data[part] = tangled.data[part][::-1].copy()
        tangled.indices[part] = tangled.indices[part][::-1].copy()
    tangled.indices, tangled.indptr = (
        tangled.indices.astype(np.int64),
        tangled.indptr.astype(np.int64),
    )
    kinds = sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array
    for sparse in [*(kind(K) for kind in kinds), tangled]:
        data = sparse.data.copy()
        found = function(sparse, *arguments)
        for a, b in zip_values(found, expected):
            assert_allclose(a, b, rtol=1e-13)
        assert_array_equal(sparse.data, data)
    assert_array_equal(K, before)


def zip_values(found, expected):
    if isinstance(found, float):
        return [(found, expected)]
    if isinstance(found, MinCut):
        found, expected = found[:3], expected[:3]  # the flow is None
    return list(zip(found, expected, strict=True))


def test_single_precision_is_summed_in_double():
    K = np.full((3000, 3000), np.float32(0.1))
    labels = np.arange(3000) % 2
    assert_allclose(cut_value(K, labels), 1500**2 * float(np.float32(0.1)), rtol=1e-13)


def test_any_number_of_threads_gives_the_same_bytes():
    K, labels = graph(1500), np.arange(1500) % 5
    sparse = sp.random_array((3300, 3300), density=0.05, rng=np.random.default_rng(0), format="csr")
    sparse = sparse + sparse.T
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            found.append([value(K, labels) for value in VALUES])
            found[-1] += [value(sparse, np.arange(3300) % 5) for value in VALUES]
    assert found[0] == found[1]


def test_short_calls_and_small_tiles_change_nothing(monkeypatch):
    K, labels = graph(70, 0.6), np.arange(70) % 4
    sparse = sp.csr_array(K)

    def everything():
        values = [value(form, labels) for form in (K, sparse) for value in VALUES]
        cuts = [min_cut(form, *ends) for form in (K, sparse) for ends in ((), (3, 5))]
        return values, [(cut.value, cut.bound, cut.labels.tolist()) for cut in cuts]

    expected = everything()
    monkeypatch.setattr(edge_sums, "_TILE", 16)
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 200)
    assert everything() == expected


# ---- bad input

GOOD = graph(4) + 0.1


@each(
    ("K", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"K has shape \(2, 3\).*square"),
        (sp.csr_array(np.ones((2, 3))), ValueError, r"K has shape \(2, 3\).*square"),
        ([[0, 1], [2, 0]], ValueError, r"symmetric: K\[0, 1\] is 1.0 and K\[1, 0\] is 2.0"),
        (sp.csr_array([[0.0, 1], [2, 0]]), ValueError, "K is not symmetric"),
        (np.triu(np.ones((1200, 1200))), ValueError, "K is not symmetric"),
        ([[0, -1], [-1, 0]], ValueError, r"Negative values in data passed as K: K\[0, 1\] is -1.0"),
        (sp.csr_array([[0.0, -1], [-1, 0]]), ValueError, "Negative values in data passed as K"),
        ([[0, np.nan], [np.nan, 0]], ValueError, "Input K contains NaN"),
        (sp.csr_array([[0, np.inf], [np.inf, 0]]), ValueError, "Input K contains infinity"),
        ([[0, 1e200], [1e200, 0]], ValueError, "too large"),
        ([[0, 1j], [1j, 0]], ValueError, "Complex data not supported"),
        ([["a", "b"], ["c", "d"]], TypeError, "K is of type.*real numbers"),
        ([0.0, 1.0], ValueError, "Reshape your data"),
        (np.empty((0, 0)), ValueError, "0 sample"),
        (None, TypeError, "K is of type NoneType"),
    ],
)
def test_bad_affinities_are_refused(K, error, message):
    for call in (min_cut, *(lambda K, f=f: f(K, np.arange(K_size(K)) % 2) for f in VALUES)):
        with pytest.raises(error, match=message):
            call(K)


def K_size(K):
    shape = np.shape(K) if not sp.issparse(K) else K.shape
    return shape[0] if shape else 2


@each("value", VALUES)
@each(
    ("labels", "error", "message"),
    [
        ([0, 0, 0, 0], ValueError, r"labels has 1 class \(0\), but \w+ needs at least 2"),
        ([0, 1, 0], ValueError, r"inconsistent numbers of samples: \[4, 3\]: X and labels"),
        ([[0, 1, 0, 1]], ValueError, "labels should be a 1d array"),
        ([0, 1, np.nan, 1], ValueError, "labels contains NaN"),
        ([0, "a", 1, 1], TypeError, "labels has labels of mixed types"),
        (None, ValueError, "labels"),
    ],
)
def test_bad_labels_are_refused(labels, error, message, value):
    with pytest.raises(error, match=message):
        value(GOOD, labels)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1, 1, 1], "sample_weight"), ([1, -1, 1, 1], "Negative"), ([1, 0, 1, 0], "leaves 1 class")],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        cut_value(GOOD, [0, 1, 0, 1], sample_weight=weights)


def test_a_cluster_without_edges_is_refused_where_degrees_divide():
    K = np.zeros((3, 3))
    K[0, 1] = K[1, 0] = 1
    for value in (normalized_cut_value, normalized_association):
        with pytest.raises(ValueError, match="cluster z of labels has no edge in K"):
            value(K, ["a", "a", "z"])
    assert cut_value(K, ["a", "a", "z"]) == ratio_cut_value(K, ["a", "a", "z"]) == 0
    assert normalized_cut_value(K, ["a", "z", "z"]) == 2  # an isolated sample among others is fine
