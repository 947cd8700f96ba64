"""Nearest neighbours of rows with many features: a screen in single precision, proof in double."""

from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.numerics import screened_neighbors as _ext
from mlcore.numerics.leading_directions import leading_directions
from mlcore.numerics.panels import as_panels
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

_ROWS = 1 << 12  # a multiple of a panel's, whose differences are held at once
_MANY, _FEWEST = 64, 4000  # features and samples from which on leading directions are looked at
_DIRECTIONS, _PILOT = 127, 256  # at most, and a quarter of the features; rows that they are of
_SHARE = 1 / 16  # of the pairs that may be left to compare: then directions pay
_CENTERED = 32  # rows whose medians are the origin
_FEW_PANELS = 4  # up to which an order does not pay
_SAMPLE = 128  # rows by which a group is parted
_ROUNDS = 3  # of 2-means


class _Screen(NamedTuple):
    """Samples as the screen of `screened_neighbors.c` has them, in an order of neighbourhoods."""

    order: np.ndarray  # (n,) int64
    images: np.ndarray  # (n, m) float32

    @classmethod
    @single_threaded_blas()
    def of(cls, X: np.ndarray, origin: np.ndarray, power: int, basis: Any) -> "_Screen":
        """Return the images of rows, in units of 2^-power."""
        m = X.shape[1] if basis is None else basis.shape[1] + 1
        images = np.empty((len(X), m), dtype=np.float32)
        for first in range(0, len(X), _ROWS):
            part = slice(first, first + _ROWS)
            rows = X[part] - origin
            rows *= 2.0**power
            if basis is not None:
                along = rows @ basis
                rest = np.sqrt(np.maximum(0, _squares(rows) - _squares(along)))
                rows = np.c_[along, rest]
            images[part] = rows
        order = neighborhoods(images)
        return cls(order, images[order])

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


def search_screen(X: np.ndarray, queries: np.ndarray, others: bool, result: Any) -> None:
    """Set indices and distances of the rows of `queries` that are nearest."""
    # The median, as outliers would take the mean away from the others.
    origin = np.median(X[:: max(1, len(X) // _CENTERED)][:_CENTERED], axis=0).astype(np.float64)
    if X.shape[1] > _MANY and len(X) >= _FEWEST:
        pilot = X[:: max(1, len(X) // _PILOT)][:_PILOT] - origin
        search = _Search(X, queries, others, result, origin, leading_directions(pilot, _DIRECTIONS))
        if search.pays():
            search.all_blocks()
            return
    _Search(X, queries, others, result, origin, None).all_blocks()


class _Search:
    """A search by images of samples and queries on a screen.

    These are all coordinates about `origin`, or those along a `basis` and the length of the rest.
    """

    def __init__(self, X, queries, others, result, origin, basis):
        n, d = X.shape
        self.n, self.result, self.blocks = n, result, -(-len(queries) // _ext.PANEL)
        longest = _length(X, origin)
        if queries is not X:
            longest = max(longest, _length(queries, origin))
        power = -even_exponent(longest, 0)
        screen = _Screen.of(X, origin, power, basis)
        asked = screen if queries is X else _Screen.of(queries, origin, power, basis)
        m, panels = screen.images.shape[1], screen.panels()
        # Of the sums of a product, of an image, and of the length of a rest, a root.
        rounding = (m + 10) * 2.0**-25 + 2.0**-24
        rounding += 0 if basis is None else np.sqrt(8 * d * 2.0**-53)
        self.work = float(n) * m * _ext.PANEL
        self.n_threads = effective_threads(self.work * self.blocks)
        shape = self.n_threads, _ext.scratch_values(len(panels[0]), m, result.indices.shape[1])
        self.scratch = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
        self.arguments = (
            X, screen.order, *panels, queries, asked.order, asked.images, 2.0**power, rounding,
            basis is not None, others,
        )  # fmt: skip

    def __call__(self, first, last):
        return _ext.search(
            *self.arguments, first, last, *self.result, *self.scratch, self.n_threads
        )

    def pays(self):
        """Search some blocks, and return True if few pairs are left to compare."""
        pilot = range(0, self.blocks, max(1, self.blocks // 3))
        compared = sum(self(block, block + 1) for block in pilot)
        return compared <= _SHARE * len(pilot) * _ext.PANEL * self.n

    def all_blocks(self):
        for first, last in pieces(self.blocks, self.work / self.n_threads):
            self(first, last)


def _length(X, origin):
    starts = range(0, len(X), _ROWS)
    return max(np.sqrt(_squares(X[at : at + _ROWS] - origin).max()) for at in starts)


def neighborhoods(rows: np.ndarray) -> np.ndarray:
    """Return an order of `rows` in which those of a panel are near each other."""
    order = np.arange(len(rows))
    parts = [(0, len(rows))] if len(rows) > _FEW_PANELS * _ext.PANEL else []
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
