"""Cuts: brute force over all partitions, maximum flow as linear programme, laws, and bad input."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from mlcore.checks import memory
from mlcore.cluster import (
    cut_value,
    min_cut,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.cluster.cuts import edge_sums

VALUES = cut_value, ratio_cut_value, normalized_cut_value, normalized_association
EPS = np.finfo(float).eps


def graph(n, density=1.0, seed=0, dtype=np.float64):
    """A random symmetric matrix of weights between 0 and 1, some of them 0."""
    rng = np.random.default_rng([n, int(100 * density), seed])
    K = rng.random((n, n)) * (rng.random((n, n)) < density)
    K = np.triu(K)
    return (K + np.triu(K, 1).T).astype(dtype)


def sides(n):
    """All partitions of n samples into two, sample 0 on side 0."""
    for rest in itertools.product([0, 1], repeat=n - 1):
        if any(rest):
            yield np.array([0, *rest])


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "k"), [(2, 2), (5, 3), (8, 8), (17, 4), (40, 7)])
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


# ---- the lightest cut


@pytest.mark.parametrize("seed", range(40))
def test_min_cut_is_the_best_of_all_partitions(seed):
    n = 2 + seed % 9
    K = graph(n, [1.0, 0.6, 0.3][seed % 3], seed)
    if seed % 2:
        K = np.ceil(3 * K)  # ties, and sums without rounding
    best = min(cut_value(K, labels) for labels in sides(n))
    for form in (K, sp.csr_array(K)):
        cut = min_cut(form)
        assert cut.labels[0] == 0 and set(cut.labels) == {0, 1} and cut.labels.dtype == np.int32
        assert cut.value == cut_value(K, cut.labels)
        assert_allclose(cut.value, best, rtol=2 * n * EPS, atol=0)
        assert_allclose(cut.bound, best, rtol=2 * n * n * EPS, atol=0)


@pytest.mark.parametrize("seed", range(40))
def test_cut_between_two_is_the_best_of_all_partitions_and_the_largest_flow(seed):
    n = 2 + seed % 8
    K = graph(n, [1.0, 0.6, 0.3][seed % 3], seed)
    if seed % 2:
        K = np.ceil(3 * K)
    source, sink = np.random.default_rng(seed).choice(n, 2, replace=False)
    parted = [labels for labels in sides(n) if labels[source] != labels[sink]]
    best = min(cut_value(K, labels) for labels in parted)
    tolerance = dict(rtol=2 * n * n * EPS, atol=0)
    for form in (K, sp.csr_array(K)):
        cut = min_cut(form, source, sink)
        assert (cut.labels[source], cut.labels[sink]) == (0, 1)
        assert cut.value == cut_value(K, cut.labels)
        assert_allclose([cut.value, cut.bound], best, **tolerance)
    if best > 0:
        assert_allclose(largest_flow(K, source, sink), best, rtol=1e-9)


def largest_flow(K, source, sink):
    """The linear programme: flows within capacities, conserved but at the two ends."""
    arcs = [(i, j) for i, j in np.argwhere(K > 0) if i != j]
    conserved = np.zeros((len(K), len(arcs)))
    for column, (i, j) in enumerate(arcs):
        conserved[i, column] += 1
        conserved[j, column] -= 1
    inner = [v for v in range(len(K)) if v not in (source, sink)]
    done = linprog(
        -conserved[source],
        A_eq=conserved[inner] if inner else None,
        b_eq=np.zeros(len(inner)) if inner else None,
        bounds=[(0, K[i, j]) for i, j in arcs],
    )
    return -done.fun


def test_the_example_of_stoer_and_wagner():
    """Their figure 1: eight vertices, minimum cut 4 between {3, 4, 7, 8} and the rest."""
    K = np.zeros((8, 8))
    for i, j, weight in [
        (1, 2, 2), (1, 5, 3), (2, 3, 3), (2, 5, 2), (2, 6, 2), (3, 4, 4),
        (3, 7, 2), (4, 7, 2), (4, 8, 2), (5, 6, 3), (6, 7, 1), (7, 8, 3),
    ]:  # fmt: skip
        K[i - 1, j - 1] = K[j - 1, i - 1] = weight
    cut = min_cut(K)
    assert cut.value == cut.bound == 4
    assert_array_equal(cut.labels, [0, 0, 1, 1, 0, 0, 1, 1])


def test_the_lightest_of_all_is_the_lightest_from_one_sample_to_any_other():
    K = graph(60, 0.2, 3) + 1e-3
    best = min(min_cut(K, 0, sink).value for sink in range(1, 60))
    assert_allclose(min_cut(K).value, best, rtol=1e-13)


def test_dense_and_sparse_agree_where_many_rounds_are_needed():
    """A ring of equal edges: each round merges two samples."""
    n = 101
    at = np.arange(n)
    one_way = sp.csr_array((np.ones(n), (at, (at + 1) % n)), shape=(n, n))
    ring = one_way + one_way.T
    for form in (ring, ring.toarray()):
        assert min_cut(form).value == min_cut(form).bound == 2
        cut = min_cut(form, 0, 50)
        assert cut.value == cut.bound == 2


def test_cuts_of_blobs_fall_between_them():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 7])
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    K += 0.05 * (np.arange(300)[:, None] // 150 == np.arange(300) // 150)  # no outliers
    truth = np.repeat([0, 1], 150)
    assert_array_equal(min_cut(K).labels, truth)
    assert_array_equal(min_cut(K, 3, 299).labels, truth)
    K[K < 1e-3] = 0
    assert_array_equal(min_cut(sp.csr_array(K)).labels, truth)
    assert_array_equal(min_cut(sp.csr_array(K), 3, 299).labels, truth)


def test_graphs_that_fall_apart_have_a_cut_of_weight_0():
    K = np.zeros((6, 6))
    K[:3, :3] = K[3:, 3:] = 1
    for form in (K, sp.csr_array(K)):
        assert min_cut(form).value == 0 and min_cut(form).bound == 0
        assert_array_equal(min_cut(form).labels, [0, 0, 0, 1, 1, 1])
        assert_array_equal(min_cut(form, 4, 0).labels, [1, 1, 1, 0, 0, 0])
    for form in (np.eye(3), sp.csr_array((3, 3))):
        assert min_cut(form).value == 0
        assert min_cut(form, 1, 2).value == 0


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.integers(-300, 100), st.booleans())
def test_laws_of_the_lightest_cut(n, seed, power, sparse):
    rng = np.random.default_rng(seed)
    K = graph(n, 0.5, seed=seed % 1000)
    form = sp.csr_array if sparse else np.asarray
    order = rng.permutation(n)
    ends = rng.choice(n, 2, replace=False)
    for between in ((), tuple(ends)):
        cut = min_cut(form(K), *between)
        scaled = min_cut(form(np.ldexp(K, power)), *between)
        assert scaled.value == np.ldexp(cut.value, power)
        assert_array_equal(scaled.labels, cut.labels)
        places = [int(np.flatnonzero(order == end)[0]) for end in between]
        permuted = min_cut(form(K[np.ix_(order, order)]), *places)
        assert_allclose(permuted.value, cut.value, rtol=4 * n * EPS)
        assert_allclose(cut.bound, cut.value, rtol=2 * n * n * EPS)


def test_samples_tied_together_count_as_one():
    """A copy of a sample, with an unbreakable edge to it, changes no cut but their own."""
    K = graph(12, seed=5)
    copies = np.repeat(np.arange(12), [1, 2, 3] * 4)
    shares = 1 / np.bincount(copies)[copies]
    repeated = K[np.ix_(copies, copies)] * np.outer(shares, shares)
    repeated[copies[:, None] == copies] = 1e6
    assert_allclose(min_cut(repeated).value, min_cut(K).value, rtol=1e-13)
    expected = min_cut(K, 2, 7)
    found = min_cut(repeated, *(int(np.argmax(copies == end)) for end in (2, 7)))
    assert_allclose(found.value, expected.value, rtol=1e-13)
    assert_array_equal(found.labels, expected.labels[copies])


def test_peaked_weights_and_the_diagonal():
    K = graph(40, seed=2) ** 60  # from 1 down to 1e-200
    cut = min_cut(K)
    assert 0 < cut.value and abs(cut.bound - cut.value) <= 1e-12 * cut.value
    loops = min_cut(K + np.diag(np.arange(40.0)))
    assert loops.value == cut.value
    flow = min_cut(K, 0, 1)
    assert abs(flow.bound - flow.value) <= 1e-12 * flow.value


# ---- forms, threads, long runs


@pytest.mark.parametrize("function", [*VALUES, min_cut])
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
    return list(zip(found, expected, strict=True))


def test_single_precision_is_summed_in_double():
    K = np.full((3000, 3000), np.float32(0.1))
    labels = np.arange(3000) % 2
    assert_allclose(cut_value(K, labels), 1500**2 * float(np.float32(0.1)), rtol=1e-13)


def test_any_number_of_threads_gives_the_same_bytes():
    K, labels = graph(1500), np.arange(1500) % 5
    sparse = sp.csr_array(graph(4000, 0.1))
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append([value(K, labels) for value in VALUES])
            found[-1] += [value(sparse, np.arange(4000) % 5) for value in VALUES]
    assert found[0] == found[1] == found[2]


def test_short_calls_and_small_tiles_change_nothing(monkeypatch):
    K, labels = graph(70, 0.6), np.arange(70) % 4
    sparse = sp.csr_array(K)

    def everything():
        values = [value(form, labels) for form in (K, sparse) for value in VALUES]
        cuts = [min_cut(form, *ends) for form in (K, sparse) for ends in ((), (3, 5))]
        return values, [(cut.value, cut.bound, cut.labels.tolist()) for cut in cuts]

    expected = everything()
    monkeypatch.setattr(edge_sums, "_TILE", 16)
    monkeypatch.setattr("mlcore.threads.OPERATIONS_PER_CALL", 200)
    assert everything() == expected


def test_what_cannot_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 20)
    K = np.ones((1500, 1500))
    with pytest.raises(MemoryError, match="copy of K of 1500 x 1500.*CSR"):
        min_cut(K)
    assert cut_value(K, np.arange(1500) % 2) == 750**2  # needs no copy


INTERRUPTED = """
import _thread, sys, threading, time
import numpy as np
from mlcore.cluster import min_cut
n = 3001
at = np.arange(n)
K = np.zeros((n, n))
K[at, (at + 1) % n] = K[(at + 1) % n, at] = 1  # a ring: as many rounds as samples
threading.Timer(0.7, _thread.interrupt_main).start()
start = time.perf_counter()
try:
    min_cut(K)
except KeyboardInterrupt:
    sys.exit(0 if time.perf_counter() - start < 1.7 else 3)
sys.exit(4)
"""


def test_ctrl_c_stops_within_a_second(tmp_path):
    assert subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=tmp_path).returncode == 0


def test_threads_cut_different_graphs_at_once():
    graphs = [graph(200, seed=seed) for seed in range(4)]
    expected = [min_cut(K, 0, 1).value for K in graphs]
    found = [None] * 4

    def run(i):
        found[i] = min_cut(graphs[i], 0, 1).value

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_bounds_of_larger_graphs_are_reached():
    cut = min_cut(graph(1000, seed=1))
    flow = min_cut(graph(1000, seed=1), 0, 999)
    assert_allclose([cut.bound, flow.bound], [cut.value, flow.value], rtol=1e-12)


# ---- bad input

GOOD = graph(4) + 0.1


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 0, 0, 0], ValueError, r"labels has 1 class \(0\), but \w+ needs at least 2"),
        ([0, 1, 0], ValueError, r"inconsistent numbers of samples: \[4, 3\]: X and labels"),
        ([[0, 1, 0, 1]], ValueError, "labels should be a 1d array"),
        ([0, 1, np.nan, 1], ValueError, "labels contains NaN"),
        ([0.5, 1, 2, 3], ValueError, "labels holds 0.5"),
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


@pytest.mark.parametrize(
    ("source", "sink", "error", "message"),
    [
        (0, None, ValueError, "sink is missing"),
        (None, 1, ValueError, "source is missing"),
        (1, 1, ValueError, "source and sink are both 1"),
        (0, 4, ValueError, "sink=4 must be an integer >= 0 and <= 3"),
        (-1, 1, ValueError, "source=-1"),
        (0.0, 1, TypeError, "source=0.0"),
        (0, "1", TypeError, "sink='1'"),
        (True, 0, TypeError, "source=True"),
    ],
)
def test_bad_ends_are_refused(source, sink, error, message):
    with pytest.raises(error, match=message):
        min_cut(GOOD, source, sink)


def test_one_sample_cannot_be_cut():
    with pytest.raises(ValueError, match="n_samples=1"):
        min_cut([[1.0]])


def test_asymmetry_of_rounding_is_taken_and_averaged():
    K = graph(20)
    shaken = K * (1 + 1e-10 * np.random.default_rng(0).standard_normal(K.shape))
    for form in (shaken, sp.csr_array(shaken)):
        for ends in ((), (0, 1)):
            assert_allclose(min_cut(form, *ends).value, min_cut(K, *ends).value, rtol=1e-8)
