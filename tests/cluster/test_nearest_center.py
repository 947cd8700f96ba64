"""The passes of Lloyd's algorithm against a full search, pass after pass."""

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from contract import case
from mlcore.cluster.k_means import nearest_center
from mlcore.cluster.k_means.assignment import Assignment, nearest_labels
from mlcore.cluster.k_means.nearest_center import Bounds, PlainSearch
from mlcore.cluster.k_means.origin_and_unit import choose_units

SHAPES = [
    (1, 1, 1),
    (5, 1, 3),
    (63, 2, 16),
    (64, 2, 17),
    (4097, 2, 33),
    (9000, 3, 5),
    (700, 7, 31),
    (5003, 8, 64),
    (1000, 9, 40),
    (300, 16, 30),
    (200, 40, 7),
    (130, 129, 9),  # panels of several parts of the features
    (200, 300, 6),
]


@pytest.fixture(autouse=True)
def every_means_for_the_smallest_problems(monkeypatch):
    monkeypatch.setattr(nearest_center, "_MIN_WORK", 0)


def samples(n, d, k, dtype, seed=0):
    """Blobs with centres among them, and samples halfway between two centres but for some ulps."""
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d)) + 2 * rng.integers(0, 3, size=(n, 1))
    centers = X[rng.choice(n, k, replace=False)]
    for i in range(0, n, 3):
        a, b = centers[rng.integers(0, k, 2)]
        X[i] = (a + b) / 2 * (1 + rng.integers(-3, 4) * 10.0 ** rng.integers(-17, -5))
    return X.astype(dtype), centers.astype(dtype)


def excess(X, centers, labels):
    """How much farther than the nearest the centres of these labels are, squared."""
    wide = np.longdouble if X.dtype == np.float64 else np.float64
    X, centers = X.astype(wide), centers.astype(wide)
    squared = np.stack([np.square(X - c).sum(axis=1) for c in centers], axis=1)
    return (squared[np.arange(len(X)), labels] - squared.min(axis=1)).max()


def passes(X, centers, steps, seed=0):
    """Yield the centres and the assignment, after each of some passes; the centres come to rest."""
    rng = np.random.default_rng(seed)
    units, _ = choose_units(X, np.empty(0))
    assignment = Assignment(X, np.empty(0), units, len(centers), steps)
    spread = X.astype(np.float64).std()
    centers = units.place(centers).astype(np.float64)
    for step in range(steps):
        changed_before = assignment.labels.copy()
        rounded = np.ascontiguousarray(centers.astype(X.dtype))
        n_changed = assignment.assign(rounded)
        assert n_changed == (assignment.labels != changed_before).sum()
        yield units, rounded, assignment
        drift = rng.normal(size=centers.shape) * (rng.random((len(centers), 1)) < 0.5)
        centers = centers + drift * np.ldexp(spread, -units.power) * 0.3 * 0.4**step


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_every_pass_gives_the_labels_of_a_full_search(n, d, k, dtype):
    X, centers = samples(n, d, k, dtype)
    for step, (units, now, assignment) in enumerate(passes(X, centers, 5)):
        assert_array_equal(assignment.labels, nearest_labels(X, units, now))
        placed = units.place(X)
        # |c|²/2 - x.c is formed of d + 1 products and sums.
        reach = np.square(placed, dtype=np.float64).sum(axis=1).max() + np.square(now).sum(1).max()
        eps = 4 * (d + 4) * np.finfo(dtype).eps * reach
        some = slice(step % n, None, 5)  # all labels, which are those of the full search
        assert excess(placed[some], now, assignment.labels[some]) <= eps
        sums, counts = assignment.totals()
        assert_array_equal(counts, np.bincount(assignment.labels, minlength=k))
        expected = np.zeros((k, d))
        np.add.at(expected, assignment.labels, placed)
        np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12 * n * np.sqrt(reach))


@pytest.mark.parametrize(("d", "k"), [(1, 9), (2, 40), (8, 64)])
def test_bounds_rule_out_no_nearer_center(d, k):
    """Samples fill the space, so that many cross from one centre to the next at each small step."""
    for dtype in (np.float32, np.float64):
        rng = np.random.default_rng(0)
        X = rng.random((2000, d)).astype(dtype)
        units, _ = choose_units(X, np.empty(0))
        placed, bounds = units.place(X), Bounds(X, units, k, 1)
        labels, sums, counts = np.full(2000, -1, np.int32), np.zeros((1, k, d)), np.zeros((1, k))
        centers = placed[rng.choice(2000, k, replace=False)].astype(np.float64)
        for step in range(6):
            now = np.ascontiguousarray(centers.astype(dtype))
            bounds.move(now, 1)
            bounds.search(slice(0, 2000), placed, np.empty(0), labels, sums, counts, 1)
            with case(np.dtype(dtype).name, step):
                assert_array_equal(labels, nearest_labels(X, units, now))
            centers += 0.02 * np.ptp(placed) / k ** (1 / d) * rng.normal(size=centers.shape)


# All pairs of scales, offsets and shapes.
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1, 1e8, 1e30, 1e150])
def test_single_precision_decides_nothing_that_double_would_not(scale, monkeypatch):
    def unscreened(self, *arguments):
        self._screened = False
        plain_move(self, *arguments)

    plain_move = PlainSearch.move
    turn = int(np.log10(scale)) % 3
    for (n, d, k), offset in zip(
        [(300, 2, 9), (1000, 8, 40), (150, 20, 6)], np.roll([0, 1e3, 1e7], turn), strict=True
    ):
        X, centers = samples(n, d, k, np.float64)
        X, centers = (X + offset) * scale, (centers + offset) * scale
        screened = [p.labels.copy() for *_, p in passes(X, centers, 6)]
        with monkeypatch.context() as patch, case(n, d, k, offset):
            patch.setattr(PlainSearch, "move", unscreened)
            again = passes(X, centers, 6)
            for labels, (units, now, assignment) in zip(screened, again, strict=True):
                assert_array_equal(labels, assignment.labels)
                assert_array_equal(labels, nearest_labels(X, units, now))


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 20))
def test_equal_values_go_to_the_lower_index(seed, d, k):
    """On a grid, where many samples are as near to one centre as to another; exactly so."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(200, d)).astype(np.float64)
    centers = rng.integers(-3, 4, size=(k, d)).astype(np.float64)
    expected = np.square(X[:, None] - centers).sum(axis=2).argmin(axis=1)
    units, _ = choose_units(X, np.empty(0), origin=np.zeros(d))
    for dtype in (np.float32, np.float64):
        found = nearest_labels(X.astype(dtype), units, centers.astype(dtype))
        assert_array_equal(found, expected)


def test_samples_beyond_single_precision_are_searched_in_double():
    X = np.array([[1.0, 2], [3, 4], [1e100, 0], [-1e200, 1], [1e-200, 0]])
    centers = np.array([[1.0, 1], [4, 4], [-3, 0], [0, 0]])
    units, _ = choose_units(X[:2], np.empty(0))
    expected = (0.5 * np.square(centers).sum(axis=1) - X @ centers.T).argmin(axis=1)
    assert_array_equal(nearest_labels(X, units, centers), expected)


def test_data_that_single_precision_cannot_tell_apart_are_no_longer_screened():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) * 1e-9
    X[:2] = [[1, 1], [-1, -1]]  # so that the others are near together
    centers = np.ascontiguousarray(X[:12])
    units, _ = choose_units(X, np.empty(0))
    assignment = Assignment(X, np.empty(0), units, 12, 10)
    for _ in range(3):
        assignment.assign(centers)
    assert not assignment._search._screened
    assert excess(X, centers, assignment.labels) <= 100 * np.finfo(float).eps
    assert_array_equal(assignment.labels, nearest_labels(X, units, centers))


@pytest.mark.parametrize(("dtype", "k"), [(np.float32, 8), (np.float64, 8)])
def test_bounds_with_one_group_see_which_centre_moved(dtype, k):
    """A centre that moves alone comes nearer to samples whose own centre stays."""
    rng = np.random.default_rng(k)
    d = 700 if dtype == np.float32 else 2100
    centers = 4 * rng.normal(size=(k, d))
    near = rng.integers(0, k, 400)
    X = (centers[near] + rng.normal(size=(400, d))).astype(dtype)
    units, _ = choose_units(X, np.empty(0))
    assignment = Assignment(X, np.empty(0), units, k, 20)
    away = centers[1] - centers[0]
    for step in range(12):
        now = centers.copy()
        now[0] += (1 - 0.6**step) * away
        placed = np.ascontiguousarray(units.place(now.astype(dtype)))
        assignment.assign(placed)
        assert_array_equal(assignment.labels, nearest_labels(X, units, placed))
    assert isinstance(assignment._search, nearest_center.Bounds)
    assert assignment._search._home.max() == 0  # one group
    assert len(np.unique(assignment.labels[near == 1])) == 2  # some of its samples went over


def test_half_gaps_are_those_of_all_pairs_whatever_the_block(monkeypatch):
    centers = np.random.default_rng(0).normal(size=(37, 3))
    norms = np.square(centers).sum(axis=1)
    away = cdist(centers, centers)
    np.fill_diagonal(away, np.inf)
    for values in (1, 100, 37 * 37):
        monkeypatch.setattr(nearest_center, "_GAPS", values)
        gaps = nearest_center._half_gaps(centers, norms)
        assert_allclose(gaps, away.min(axis=1) / 2, rtol=1e-9)
        assert (gaps <= away.min(axis=1) / 2).all()


@each("n, d, count", [(1, 1, 1), (70, 127, 3), (65, 129, 5), (33, 300, 4), (200, 256, 9)])
def test_candidates_lower_the_distances_from_the_nearest_centre(n, d, count):
    for dtype in (np.float32, np.float64):
        rng = np.random.default_rng([n, d, count])
        X, candidates = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(count, d))
        candidates, weights = candidates.astype(dtype), rng.uniform(0, 2, n)
        nearest = rng.uniform(0, 3 * d, n).astype(dtype)
        squared = np.minimum(cdist(X, candidates, "sqeuclidean"), nearest[:, None])
        objectives = np.zeros((2, count))
        nearest_center.lower_to_candidates(
            X, candidates, weights, nearest, objectives, 1, take=False
        )
        rtol = 10 * np.finfo(dtype).eps * np.sqrt(d)
        assert_allclose(objectives.sum(axis=0), weights @ squared, rtol=rtol)
        one, none = np.ascontiguousarray(candidates[-1:]), np.zeros((2, 1))
        nearest_center.lower_to_candidates(X, one, weights, nearest, none, 1, take=True)
        assert_allclose(nearest, squared[:, -1], rtol=rtol)


@each("k, limit", [(1, 8), (2, 1), (30, 1), (30, 7 * 30), (30, 2**22)])
def test_half_gaps_are_half_the_distances_to_the_nearest_other_centre(k, limit):
    centers = np.random.default_rng(k).normal(size=(k, 5)) + 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_center, "_GAPS", limit)
        half_gaps = nearest_center._half_gaps(centers, np.square(centers).sum(axis=1))
    distances = cdist(centers, centers) + np.diag(np.full(k, np.inf))
    assert_allclose(half_gaps, distances.min(axis=1) / 2, rtol=1e-9)
    assert (half_gaps <= distances.min(axis=1) / 2).all()
