"""Minimum cuts: brute force over all partitions, maximum flow as linear programme, and laws."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_graphs import cuts, graph, sides
from scipy import sparse as sp
from scipy.optimize import linprog

from contract import case
from mlcore.cluster import cut_value, min_cut
from mlcore.runtime import memory

EPS = np.finfo(float).eps


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_min_cut_is_the_best_of_all_partitions(form):
    for seed in range(18):  # each n from 2 to 10, with ties and without
        n = 2 + seed % 9
        K = graph(n, [1.0, 0.6, 0.3][seed % 3], seed)
        if seed % 2:
            K = np.ceil(3 * K)  # ties, and sums without rounding
        best = cuts(K, sides(n)).min()
        cut = min_cut(form(K))
        with case("seed", seed):
            assert cut.labels[0] == 0 and set(cut.labels) == {0, 1}
            assert cut.labels.dtype == np.int32
            assert cut.value == cut_value(K, cut.labels)
            assert_allclose(cut.value, best, rtol=2 * n * EPS, atol=0)
            assert_allclose(cut.bound, best, rtol=2 * n * n * EPS, atol=0)


@each("seed", range(18))
def test_cut_between_two_is_the_best_of_all_partitions_and_the_largest_flow(seed):
    n = 2 + seed % 8
    K = graph(n, [1.0, 0.6, 0.3][seed % 3], seed)
    if seed % 2:
        K = np.ceil(3 * K)
    source, sink = np.random.default_rng(seed).choice(n, 2, replace=False)
    parted = sides(n)
    best = cuts(K, parted[parted[:, source] != parted[:, sink]]).min()
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


@settings(max_examples=20)
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


# ---- larger graphs


def test_bounds_of_larger_graphs_are_reached():
    cut = min_cut(graph(1000, seed=1))
    flow = min_cut(graph(1000, seed=1), 0, 999)
    assert_allclose([cut.bound, flow.bound], [cut.value, flow.value], rtol=1e-12)


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


INTERRUPTED = """
import _thread, sys, threading, time
import numpy as np
from mlcore.cluster import min_cut
n = 3001
at = np.arange(n)
K = np.zeros((n, n))
K[at, (at + 1) % n] = K[(at + 1) % n, at] = 1  # a ring: as many rounds as samples
threading.Timer(0.2, _thread.interrupt_main).start()
start = time.perf_counter()
try:
    min_cut(K)
except KeyboardInterrupt:
    sys.exit(0 if time.perf_counter() - start < 1.2 else 3)
sys.exit(4)
"""


def test_ctrl_c_stops_within_a_second(tmp_path):
    assert subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=tmp_path).returncode == 0


def test_what_cannot_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 20)
    K = np.ones((1500, 1500))
    with pytest.raises(MemoryError, match="copy of K of 1500 x 1500.*CSR"):
        min_cut(K)
    assert cut_value(K, np.arange(1500) % 2) == 750**2  # needs no copy


# ---- bad input


@each(
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
        min_cut(graph(4), source, sink)


def test_one_sample_cannot_be_cut():
    with pytest.raises(ValueError, match="n_samples=1"):
        min_cut([[1.0]])


def test_asymmetry_of_rounding_is_taken_and_averaged():
    K = graph(20)
    shaken = K * (1 + 1e-10 * np.random.default_rng(0).standard_normal(K.shape))
    for form in (shaken, sp.csr_array(shaken)):
        for ends in ((), (0, 1)):
            assert_allclose(min_cut(form, *ends).value, min_cut(K, *ends).value, rtol=1e-8)


@each("seed", range(24))
def test_directed_cut_and_its_flow_as_proof(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 8
    K = rng.random((n, n)) * (rng.random((n, n)) < [1.0, 0.6, 0.3][seed % 3])
    if seed % 2:
        K = np.ceil(3 * K)
    source, sink = rng.choice(n, 2, replace=False)
    best = min(
        K[np.ix_(side == 0, side == 1)].sum()
        for side in np.indices((2,) * n).reshape(n, -1).T
        if side[source] == 0 and side[sink] == 1
    )
    tolerance = dict(rtol=2 * n * n * EPS, atol=2 * n * n * EPS)
    forms = [K, sp.csr_array(K), K.astype(np.float32)]
    for form in forms:
        cut, flow = min_cut(form, source, sink, directed=True, return_flow=True)
        assert (cut.labels[source], cut.labels[sink]) == (0, 1)
        exact = 1 if form.dtype == np.float64 else 1e9  # rounded capacities
        assert_allclose([cut.value, cut.bound], best, atol=exact * 1e-15, rtol=exact * 1e-15)
        check_flow(cut, flow, form.toarray() if sp.issparse(form) else form, source, sink)
        value, labels, bound = min_cut(form, source, sink, directed=True)
        assert (value, bound) == (cut.value, cut.bound)
        assert_array_equal(labels, cut.labels)
    both = K + K.T
    cut, flow = min_cut(both, source, sink, return_flow=True)
    check_flow(cut, flow, both, source, sink)
    assert_allclose(min_cut(both, source, sink, directed=True).value, cut.value, **tolerance)


def check_flow(cut, flow, K, source, sink):
    """Within the capacities, conserved, and of the cut's value."""
    F = flow.toarray()
    assert (F >= 0).all() and (F <= K * (1 + 4 * EPS)).all() and not F.diagonal().any()
    net = F.sum(axis=1) - F.sum(axis=0)
    slack = 1e-13 * (1.0 + K.sum())
    assert_allclose(net[[source, sink]], [cut.value, -cut.value], atol=slack)
    assert_allclose(np.delete(net, [source, sink]), 0, atol=slack)


def test_directed_cuts_need_source_and_sink_and_capacities():
    K = [[0.0, 2.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match="K is not symmetric.* need directed=True"):
        min_cut(K, 0, 1)
    with pytest.raises(ValueError, match="directed=True needs a source and a sink"):
        min_cut(K, directed=True)
    with pytest.raises(ValueError, match="return_flow=True needs a source and a sink"):
        min_cut([[0.0, 1.0], [1.0, 0.0]], return_flow=True)
    for form in (np.array, sp.csr_array):
        with pytest.raises(ValueError, match=r"K\[1, 0\] is -1.0"):
            min_cut(form([[0.0, 2.0], [-1.0, 0.0]]), 0, 1, directed=True)
    assert min_cut(K, 0, 1, directed=True).value == 2.0
    assert min_cut(K, 1, 0, directed=True).value == 1.0
