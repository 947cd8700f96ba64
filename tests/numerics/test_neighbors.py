"""Nearest neighbours against a plain loop over all pairs, to the bit."""

import numpy as np
from each import each
from numpy.testing import assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.numerics.neighbors import nearest_neighbors
from mlcore.numerics.neighbors import neighbors as searches
from mlcore.numerics.neighbors import screened_neighbors as module
from mlcore.numerics.neighbors.kd_tree import LEAF_POINTS, kd_tree


def by_definition(X, k, queries=None, include_self=False):
    rows = X if queries is None else queries
    squares = np.zeros((len(rows), len(X)))
    for x, y in zip(X.T.astype(float), rows.T.astype(float), strict=True):
        squares += np.square(y[:, None] - x)
    if queries is None and not include_self:
        np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return order, np.sqrt(np.take_along_axis(squares, order, axis=1))


def assert_nearest(X, k, queries=None, include_self=False):
    found = nearest_neighbors(X, k, queries, include_self=include_self)
    indices, distances = by_definition(X, k, queries, include_self)
    assert_array_equal(found.indices, indices)
    assert_array_equal(found.distances, distances)


def shapes_of(kind, n, d):
    rng = np.random.default_rng([n, d])
    X = rng.normal(size=(n, d))
    return {
        "normal": X,
        "single precision": X.astype(np.float32),
        "few values": rng.integers(0, 3, size=(n, d)).astype(float),
        "constant": np.full((n, d), 0.1),
        "far from the origin": X + 1e8,
        "far groups": X + 1e8 * rng.integers(0, 2, size=(n, 1)),
        "heavy tails": np.exp(8 * X),
        "outliers": X * np.where(rng.random(n) < 0.1, 1e6, 1)[:, None],
        "not contiguous": np.asfortranarray(np.hstack([X, X]))[::-1, ::2],
    }[kind]


KINDS = (
    "normal", "single precision", "few values", "constant", "far from the origin", "far groups",
    "heavy tails", "outliers", "not contiguous",
)  # fmt: skip
SHAPES = [(2, 1), (33, 2), (64, 3), (131, 5), (260, 9), (150, 16), (200, 20), (140, 200), (5, 70)]


@each("kind, shape", [(kind, shape) for kind in KINDS for shape in SHAPES])
def test_neighbors_are_those_of_a_loop_over_all_pairs(kind, shape):
    X = shapes_of(kind, *shape)
    X.flags.writeable = False
    n = len(X)
    for k in {min(k, n - 1) for k in (1, 7, 33, n - 1)}:
        assert_nearest(X, k)
    assert_nearest(X, min(8, n), include_self=True)
    assert_nearest(X, n, include_self=True)


@each("kind, shape", [(kind, shape) for kind in KINDS for shape in SHAPES])
def test_neighbors_of_other_rows(kind, shape):
    X = shapes_of(kind, *shape)
    queries = np.vstack([X[: len(X) // 2], X[:1] + 3, np.zeros_like(X[:40])])
    for k in {1, len(X)}:
        assert_nearest(X, k, queries)
    assert nearest_neighbors(X, 1, X[:0]).indices.shape == (0, 1)


@each("kind, shape", [(kind, (n, d)) for kind in KINDS[:4] for n, d in [(60, 5), (300, 90)]])
def test_sparse_rows_have_the_same_neighbors(kind, shape):
    X = np.asarray(shapes_of(kind, *shape), dtype=float)
    X[np.random.default_rng(0).random(shape) < 0.7] = 0
    queries = np.vstack([X[:20], X[:1] + 1])
    for k in (1, 9, len(X) - 1):
        for rows, include_self in ((None, False), (None, True), (queries, False)):
            expected = nearest_neighbors(X, k, rows, include_self=include_self)
            rows = None if rows is None else sp.csr_array(rows)
            found = nearest_neighbors(sp.csr_array(X), k, rows, include_self=include_self)
            assert_array_equal(found.indices, expected.indices)
            assert_array_equal(found.distances, expected.distances)


@each("kind", KINDS)
def test_leading_directions_leave_out_no_neighbor(kind, monkeypatch):
    monkeypatch.setattr(module, "_FEWEST", 1)
    monkeypatch.setattr(module, "_SHARE", np.inf)
    rng = np.random.default_rng(0)
    X = shapes_of(kind, 500, 12)
    X = (X @ rng.normal(size=(12, 80)) + 0.01 * shapes_of(kind, 500, 80)).astype(X.dtype)
    assert_nearest(X, 9)
    assert_nearest(X, 40, X[::3] + 1)


@each("scale, d", [(s, d) for s in (1e-300, 1e-150, 1e150, 1e307) for d in (2, 30)])
def test_squares_out_of_range(scale, d):
    X = np.random.default_rng(d).uniform(-1, 1, size=(90, d))
    power = 2.0 ** np.round(np.log2(scale))
    found, expected = nearest_neighbors(X * power, 5), nearest_neighbors(X, 5)
    assert_array_equal(found.indices, expected.indices)
    assert_array_equal(found.distances, expected.distances * power)


@each("d, dtype", [(d, dtype) for d in (1, 2, 20) for dtype in (np.float32, np.float64)])
def test_many_copies_have_the_neighbors_of_a_loop_over_all_pairs(d, dtype):
    rng = np.random.default_rng(d)
    X = rng.integers(-1, 2, size=(4, d)).astype(dtype)
    X = np.concatenate([X[rng.integers(0, 4, size=200)], rng.normal(size=(40, d))])
    X = rng.permutation(X).astype(dtype)
    X[::7] *= -1.0  # zeros of both signs
    for k in (1, 3, 40):
        assert_nearest(X, k)
        assert_nearest(X, k, include_self=True)
        assert_nearest(X, k, X[10:90])
    assert_nearest(np.full((100, d), 0.1, dtype=dtype), 99)


@each("d", [3, 30])
def test_a_search_among_copies_takes_linear_time(d, monkeypatch):
    sizes = []
    for name in ("search_tree", "search_screen"):
        search = getattr(searches, name)
        monkeypatch.setattr(
            searches, name, lambda X, *rest, search=search: (sizes.append(len(X)), search(X, *rest))
        )
    X = np.random.default_rng(d).normal(size=(4, d))[np.arange(4000) % 4]
    found = nearest_neighbors(X, 5)
    assert sizes == [4 * 6]
    assert_array_equal(found.indices[-1], np.arange(3, 23, 4))


@each("d", [2, 12, 40])
def test_threads_do_not_change_a_bit(d):
    X = np.random.default_rng(d).normal(size=(3000, d))
    X[::3] = X[1::3]
    with threadpool_limits(1, user_api="openmp"):
        expected = nearest_neighbors(X, 6)
    with threadpool_limits(3, user_api="openmp"):
        found = nearest_neighbors(X, 6)
    assert_array_equal(found.indices, expected.indices)
    assert_array_equal(found.distances, expected.distances)


@each("n, d", [(1, 1), (LEAF_POINTS, 2), (LEAF_POINTS + 1, 3), (1000, 4)])
def test_boxes_of_a_tree_hold_their_points(n, d):
    X = np.random.default_rng(n).normal(size=(n, d))
    tree = kd_tree(X)
    assert_array_equal(np.sort(tree.order), np.arange(n))
    for leaf, node in enumerate(tree.node):
        points = X[tree.order[leaf * LEAF_POINTS : (leaf + 1) * LEAF_POINTS]]
        assert_array_equal(tree.panels[leaf, :, : len(points)], points.T)
        assert_array_equal(tree.boxes[node], [points.min(axis=0), points.max(axis=0)])
        assert tree.right[node] == -1 - leaf
    for node in np.flatnonzero(tree.right > 0):
        low, high = tree.boxes[node + 1], tree.boxes[tree.right[node]]
        assert_array_equal(tree.boxes[node, 0], np.minimum(low[0], high[0]))
        assert_array_equal(tree.boxes[node, 1], np.maximum(low[1], high[1]))
