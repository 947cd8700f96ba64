"""The start of k-means over blocks: any order draws the same rows, and rare clusters are found."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.blocks import fit_blocks, row_blocks
from mlcore.cluster import KMeans
from mlcore.cluster.k_means.starts.k_means_parallel import DrawFarRows, squared_distances
from mlcore.datasets import load_digits

DIGITS, _ = load_digits()


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(sys.modules["mlcore.blocks.fit_blocks"], "_SAMPLE", 300)


def begun(X, k=2):
    return KMeans(k, init=X[:k]).begin(X)


def test_rows_are_drawn_in_proportion_to_weight_times_squared_distance():
    X = np.array([[0.0], [10.0], [1.0], [2.0], [11.0], [13.0]])
    weight = np.array([5.0, 5.0, 4.0, 1.0, 2.0, 0.0])
    cost = weight * [0, 0, 1, 4, 1, 9]
    model, trials = begun(X), 2000
    drawn = [DrawFarRows(model, 2, [7, i], "")(0, X, None, weight).offsets for i in range(trials)]
    first, second = (np.array([pair[i, 0] for pair in drawn]) + model.origin_[0] for i in (0, 1))
    expected = np.array([cost[np.flatnonzero(X[:, 0] == x)[0]] for x in (1, 2, 11)]) / cost.sum()
    counts = [np.count_nonzero(first == x) for x in (1, 2, 11)]
    assert sum(counts) == trials
    deviation = np.sqrt(trials * expected * (1 - expected))
    assert (np.abs(counts - trials * expected) < 5 * deviation).all()
    assert not (first == second).any()  # without replacement


def test_any_order_of_blocks_draws_the_same_rows():
    model, draw = begun(DIGITS, 10), None
    draw = DrawFarRows(model, 25, [1], "")
    parts = [draw(i, DIGITS[i::7], None, None) for i in range(7)]
    merged = [reduce(draw.merge, [parts[i] for i in order])
              for order in (range(7), [3, 1, 6, 0, 2, 5, 4])]  # fmt: skip
    assert_array_equal(merged[0].keys, merged[1].keys)
    assert_array_equal(merged[0].offsets, merged[1].offsets)
    assert len(merged[0].keys) == 25 and (np.diff(merged[0].keys) >= 0).all()
    rows = merged[0].offsets + model.origin_
    assert_allclose(np.abs(rows[:, None] - DIGITS).sum(axis=2).min(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_squared_distances_are_those_of_the_labels(convert):
    X = convert(DIGITS[:200])
    model = begun(DIGITS[:50].astype(X.dtype), 4)
    labels = model.predict(X)
    expected = ((DIGITS[:200] - model.cluster_centers_[labels]) ** 2).sum(axis=1)
    atol = 64 * np.finfo(X.dtype).eps * (DIGITS[:200] ** 2).sum(axis=1).max()
    assert_allclose(squared_distances(X, labels, model), expected, rtol=1e-6, atol=atol)


def test_clusters_that_the_sample_misses_are_found(small_sample):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    X[rng.choice(len(X), 5, replace=False)] += 500.0  # one row of 12,000
    X[rng.choice(len(X), 40, replace=False)] -= 300.0
    model = fit_blocks(KMeans(4, random_state=0), row_blocks(X, block_size=7000))
    for place in (500.0, -300.0):
        assert np.abs(model.cluster_centers_ - place).max(axis=1).min() < 5
    whole = min(KMeans(4, random_state=i).fit(X).inertia_ for i in range(5))
    assert model.inertia_ < 1.2 * whole


def test_starts_are_as_good_as_those_of_fit(small_sample):
    blocks = row_blocks(DIGITS, block_size=400)
    parted = [fit_blocks(KMeans(10, random_state=i), blocks).inertia_ for i in range(7)]
    whole = [KMeans(10, random_state=i).fit(DIGITS).inertia_ for i in range(7)]
    assert np.median(parted) <= 1.01 * np.median(whole)
    assert max(parted) <= 1.05 * min(whole)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_workers_do_not_change_the_start(convert, small_sample):
    blocks = row_blocks(convert(DIGITS), block_size=130)
    one = fit_blocks(KMeans(8, random_state=3, max_iter=2), blocks)
    with ThreadPoolExecutor(4) as threads:
        other = fit_blocks(KMeans(8, random_state=3, max_iter=2), blocks, executor=threads)
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.cluster_centers_.dtype == convert(DIGITS).dtype


def test_a_start_that_is_not_drawn_stays(small_sample):
    given = DIGITS[:6] + 0.0
    blocks, seen = row_blocks(DIGITS, block_size=500), []
    model = KMeans(6, init=given, max_iter=1, callback=lambda **step: seen.append(step))
    fit_blocks(model, blocks)
    assert_allclose(seen[0]["objective"], -KMeans(6, init=given).begin(given).score(DIGITS))


def test_fewer_distinct_rows_than_clusters(small_sample):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], 300, axis=0)
    with pytest.warns(UserWarning, match="Number of distinct clusters"):
        model = fit_blocks(KMeans(4, random_state=0), row_blocks(X, block_size=200))
    assert model.inertia_ == 0
