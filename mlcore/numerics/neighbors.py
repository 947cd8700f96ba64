"""Exact nearest neighbours by Euclidean distance."""

from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.numerics import neighbors as _ext
from mlcore.numerics.kd_tree import kd_tree
from mlcore.numerics.leading_directions import leading_directions
from mlcore.numerics.panels import as_panels
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

_ROWS = 1 << 12  # a multiple of a panel's, whose differences are held at once
_MANY, _FEWEST = 64, 4000  # features and samples from which on leading directions are looked at
_DIRECTIONS, _PILOT = 127, 256  # at most, and a quarter of the features; rows that they are of
_SHARE = 1 / 16  # of the pairs that may be left to compare: then directions pay
_SAMPLE = 128  # rows by which a group is parted
_ROUNDS = 3  # of 2-means


class Neighbors(NamedTuple):
    """The nearest samples of each query, nearest first, of equal distances the lowest index."""

    indices: np.ndarray  # (n_queries, k) int64
    distances: np.ndarray  # (n_queries, k) float64


def nearest_neighbors(
    X: np.ndarray, k: int, queries: np.ndarray | None = None, *, include_self: bool = False
) -> Neighbors:
    """Return the `k` nearest rows of X by Euclidean distance, of `queries` or of the rows of X.

    X is float32 or float64 (n, d) and finite, `queries` (m, d) likewise. Without queries, a row is
    not its own neighbour unless `include_self`, where it comes before copies with higher indices; k
    is at most the number of rows left. A distance is the root of the sum of squared differences in
    float64, from the first feature to the last, and a tie goes to the lower index: the result is
    the same, to the bit, as that of a plain loop over all pairs. Values far from 1 are scaled by a
    power of two, so that squares are in range.
    """
    others = queries is None and not include_self
    rows = X if queries is None else queries
    power = even_exponent(max(_largest(X), _largest(rows)))
    X = _scaled(X, -power)
    result = Neighbors(np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k)))
    if len(rows):
        queries = X if queries is None else _scaled(queries, -power)
        search = _by_tree if X.shape[1] <= _ext.MOST_FEATURES else _by_screen
        search(X, queries, others, result)
    if power:
        np.ldexp(result.distances, power, out=result.distances)
    return result


def _largest(X):
    return max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))


def _scaled(X, power):
    X = np.asarray(X, dtype=np.float64)
    return np.ldexp(X, power) if power else X


def _by_tree(X, queries, others, result):
    tree = kd_tree(X)
    asked = tree if queries is X else kd_tree(queries)
    k = result.indices.shape[1]
    n_threads = effective_threads(len(queries) * 100.0 * k)
    shape = n_threads, _ext.N_LISTS, _ext.places(k) + 1
    squares, rows = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
    _ext.search_tree(
        *tree, asked.panels, asked.order, others, *result, squares, rows, n_threads,
    )  # fmt: skip


class _Screen(NamedTuple):
    """Samples as the screen of `screened_neighbors.c` has them, in an order of neighbourhoods."""

    order: np.ndarray  # (n,) int64
    images: np.ndarray  # (n, m) float32

    def panels(self) -> Any:
        """Return panels, their half norms, those of their centres, radii and largest norms."""
        n, m = self.images.shape
        starts = np.arange(0, n, _ext.PANEL)
        counts = np.diff(np.append(starts, n))
        centers = np.add.reduceat(self.images, starts) / counts[:, None].astype(np.float32)
        squares, from_center = _squares(self.images), np.empty(n)
        for first in range(0, n, _ROWS):
            part = slice(first, first + _ROWS)
            owner = np.arange(first, min(n, first + _ROWS)) // _ext.PANEL
            from_center[part] = _squares(self.images[part] - centers[owner])
        wider = 1 + (m + 8) * 2.0**-23
        radius = np.sqrt(np.maximum.reduceat(from_center, starts)) * wider
        longest = np.sqrt(np.maximum.reduceat(squares, starts)) * wider
        return (
            as_panels(self.images), _halves(squares), as_panels(centers),
            _halves(_squares(centers)), radius, longest,
        )  # fmt: skip


def _squares(rows):
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def _halves(squares):
    halves = np.full(-(-len(squares) // _ext.PANEL) * _ext.PANEL, np.inf, dtype=np.float32)
    halves[: len(squares)] = 0.5 * squares
    return halves.reshape(-1, _ext.PANEL)


def _by_screen(X, queries, others, result):
    origin = X.mean(axis=0)
    if X.shape[1] > _MANY and len(X) >= _FEWEST:
        basis = leading_directions(X[:: max(1, len(X) // _PILOT)][:_PILOT] - origin, _DIRECTIONS)
        blocks = -(-len(queries) // _ext.PANEL)
        search = _Search(X, queries, others, result, origin, basis)
        pilot = range(0, blocks, max(1, blocks // 3))
        compared = sum(search(block, block + 1) for block in pilot)
        if compared <= _SHARE * len(pilot) * _ext.PANEL * len(X):
            search.all_blocks()
            return
    _Search(X, queries, others, result, origin, None).all_blocks()


class _Search:
    """A search by images of samples and queries on a screen.

    These are all coordinates about `origin`, or those along a `basis` and the length of the rest.
    """

    def __init__(self, X, queries, others, result, origin, basis):
        n, d = X.shape
        self.result, self.blocks = result, -(-len(queries) // _ext.PANEL)
        samples = _images(X, origin, basis)
        asked = samples if queries is X else _images(queries, origin, basis)
        length = np.sqrt(max(_squares(images).max() for images in (samples, asked)))
        m, power = samples.shape[1], -even_exponent(float(length), 0)
        screen = _on_screen(samples, power)
        asked = screen if queries is X else _on_screen(asked, power)
        panels = screen.panels()
        # Of the sums of a product, of an image, and of the length of a rest, a root.
        rounding = (m + 10) * 2.0**-25 + 2.0**-24
        rounding += 0 if basis is None else np.sqrt(8 * d * 2.0**-53)
        self.work = float(n) * m * _ext.PANEL
        self.n_threads = effective_threads(self.work * self.blocks)
        shape = self.n_threads, _ext.screen_scratch(len(panels[0]), result.indices.shape[1])
        self.scratch = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
        self.arguments = (
            np.ascontiguousarray(X), screen.order, *panels, np.ascontiguousarray(queries),
            asked.order, asked.images, 4.0**power, rounding, basis is not None, others,
        )  # fmt: skip

    def __call__(self, first, last):
        return _ext.search_screen(
            *self.arguments, first, last, *self.result, *self.scratch, self.n_threads
        )

    def all_blocks(self):
        for first, last in pieces(self.blocks, self.work / self.n_threads):
            self(first, last)


@single_threaded_blas()
def _images(X, origin, basis):
    if basis is None:
        return X - origin
    images = np.empty((len(X), basis.shape[1] + 1))
    for first in range(0, len(X), _ROWS):
        part = slice(first, first + _ROWS)
        rows = X[part] - origin
        images[part, :-1] = along = rows @ basis
        images[part, -1] = np.sqrt(np.maximum(0, _squares(rows) - _squares(along)))
    return images


def _on_screen(images, power):
    images = np.ldexp(images, power).astype(np.float32)
    order = neighborhoods(images)
    return _Screen(order, images[order])


def neighborhoods(rows):
    """Return an order of `rows` in which those of a panel are near each other."""
    order = np.arange(len(rows))
    parts = [(0, len(rows))]
    while parts:
        first, last = parts.pop()
        size = last - first
        if size <= _ext.PANEL:
            continue
        part = order[first:last]
        sample = rows[part[:: -(-size // _SAMPLE)]]
        direction, threshold = _halving(sample)
        along = rows[part] @ direction
        low = np.count_nonzero(along < threshold)
        low = min(max(low, size // 8), size - size // 8)
        low = min(max(1, round(low / _ext.PANEL)), (size - 1) // _ext.PANEL) * _ext.PANEL
        order[first:last] = part[np.argpartition(along, low)]
        parts += [(first, first + low), (first + low, last)]
    return order


def _halving(sample):
    """Return a direction and a threshold that part the sample into two groups, as 2-means does."""
    middle = sample.mean(axis=0)
    from_middle = sample - middle
    one = sample[_squares(from_middle).argmax()]
    two = sample[_squares(sample - one).argmax()]
    for _ in range(_ROUNDS):
        direction = two - one
        threshold = direction @ (one + two) / 2
        first = sample @ direction < threshold
        if not first.any() or first.all():
            break
        one, two = sample[first].mean(axis=0), sample[~first].mean(axis=0)
    return direction, threshold


