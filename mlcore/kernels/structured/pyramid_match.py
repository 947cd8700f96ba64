"""Pyramid match: compares sets of vectors by the points that share cubes of growing size."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_integer, as_real
from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.structured.encoded_kernel import EncodedKernel, StructuredKernel
from mlcore.kernels.structured.sets import Sets
from mlcore.kernels.structured.spectrum import places_in, ranked

_FINEST = 2.0**-20  # of the range of the points, as the side of a cube
_FAR = 2.0**53  # cubes from the origin that float64 can distinguish
_MOST = 60  # levels


class Pyramid(NamedTuple):
    """Grids of cubes, each of twice the side of the one before.

    `side` is that of the smallest cubes, `levels` the number of grids above them.
    """

    side: float
    levels: int


class PyramidMatch(EncodedKernel):
    r"""Compares sets of vectors by how many points of both are in the same cubes of a grid.

    Grids i = 0 ... L have cubes of side :math:`2^i` times the smallest. With :math:`I_i` the number
    of points that can be matched within cubes of grid i, the sum over cubes of the smaller of the
    two counts,

    .. math:: k(x, y) = \sum_{i=0}^L 2^{-i} (I_i - I_{i-1}), \qquad I_{-1} = 0:

    a pair counts less the larger the cube that it needs. A sample is an array (m, d), m its own;
    models take the object as ``kernel=``, and lists of arrays as samples.

    Parameters
    ----------
    side : float or "auto", default="auto"
        Side of the smallest cubes; "auto" is the smallest distance between different values of a
        coordinate, at least 2⁻²⁰ of the range of the points and 2⁻⁵¹ of the largest.
    levels : int, optional
        L, at most 60. By default the first at which one cube holds all points, or those on each
        side of the origin.
    shift : float, default=0.0
        Origin of the grids, in sides, in each coordinate.
    normalize : bool, default=True
        Divide by the root of k(x, x) k(y, y): values up to 1, the diagonal exactly 1. Empty sets
        are like each other (1) and unlike all others (0).

    Attributes
    ----------
    side_ : float
    levels_ : int
    X_fit_ : Sets
        Sets of `fit`, encoded.
    n_features_in_ : int

    Notes
    -----
    Positive semi-definite. O(m L d) a set, and the products of sparse features. k(x, x) is m. What
    is "auto" is found from the sets of the fit; of two lists ``kernel(X, Y)`` from Y.

    References
    ----------
    K. Grauman, T. Darrell, *The pyramid match kernel: efficient learning with sets of features*,
    Journal of Machine Learning Research 8, 2007, equation 3.

    Examples
    --------
    >>> from mlcore.kernels import PyramidMatch
    >>> kernel = PyramidMatch(side=1.0, levels=4, normalize=False)
    >>> kernel([[[1], [3], [5]], [[2], [3], [9]]]).tolist()
    [[3.0, 1.3125], [1.3125, 3.0]]
    """

    _tags: ClassVar[dict[str, Any]] = {
        "input_tags.two_d_array": False,
        "input_tags.three_d_array": True,
    }
    side_: float
    levels_: int
    X_fit_: Sets
    _stored = {"side_": "float", "levels_": "count"}

    def __init__(
        self,
        *,
        side: float | Literal["auto"] = "auto",
        levels: int | None = None,
        shift: float = 0.0,
        normalize: bool = True,
    ) -> None:
        self.side = side
        self.levels = levels
        self.shift = shift
        self.normalize = normalize

    def encode(self, X: Any) -> Sets:
        """Return the sets, checked and encoded.

        Parameters
        ----------
        X : list of arrays of shape (m, d)

        Returns
        -------
        sets : Sets
            As the loops take them.

        Raises
        ------
        TypeError, ValueError
            For what is no list of arrays (m, d), NaN and infinity, sets of different d: with the
            place.
        """
        return X if isinstance(X, Sets) else Sets.of(X, owner=type(self).__name__)

    def features(self, X: Any) -> sp.csr_array:
        """Return features whose inner products are the kernel values, up to rounding.

        Parameters
        ----------
        X : list, tuple, array or series of n arrays (m, d)

        Returns
        -------
        features : csr_array (n, n_features), float64
            A column for each cube of the sets of the fit, or of X itself before a fit, and each of
            the points that a set has in it. If normalised, the last one is that of empty sets.
        """
        kernel, X = self._settings(), self.encode(X)
        even, odd = kernel.cubes(getattr(self, "X_fit_", X)).of(X)
        return kernel.scaled_features(X, sp.hstack([even, np.sqrt(0.5) * odd]))

    def _settings(self) -> "PyramidKernel":
        owner = type(self).__name__
        if self.side != "auto":
            as_real(self.side, "side", owner=owner, above=0)
        if self.levels is not None:
            as_integer(self.levels, "levels", owner=owner, at_least=0, at_most=_MOST)
        as_real(self.shift, "shift", owner=owner)
        normalize = as_bool(self.normalize, "normalize", owner=owner)
        return PyramidKernel(normalize, self.side, self.levels, float(self.shift))


@dataclass(frozen=True)
class PyramidKernel(StructuredKernel):
    """The kernel of encoded sets; `side` and `levels` as the user gave them, checked."""

    normalize: bool
    side: float | str
    levels: int | None
    shift: float

    name = "PyramidMatch"

    def products(self, X: Any, Y: Any) -> Any:
        cubes = self.cubes(Y)
        even, odd = (
            gram_matrix(*((rows,) if X is Y else (rows, columns)), kernel="linear")
            for rows, columns in zip(cubes.of(X), cubes.of(Y), strict=True)
        )
        odd /= 2
        return np.add(even, odd, out=even)

    def squares(self, X: Any) -> Any:
        return X.lengths().astype(np.float64)

    def fitted(self, samples: Any) -> Any:
        side, levels = self.cubes(samples).pyramid
        return {"side_": side, "levels_": levels}

    def cubes(self, X: Sets) -> "Cubes":
        """Return the cubes of the list of which X is a part."""
        name = "pyramid", self.side, self.levels, self.shift
        return X.of_all(name, lambda whole: Cubes(whole, self._pyramid(whole), self.shift))

    def _pyramid(self, X):
        name = str(self.side), str(self.levels), self.shift
        if name not in X.grids:
            side = _auto_side(X.points) if self.side == "auto" else float(self.side)
            cells = _cells(X.points, side, self.shift)
            if np.abs(cells).max(initial=0.0) >= _FAR:
                raise ValueError(
                    f"{self.name}: side={side:g} is too small for points of up to "
                    f"{np.abs(X.points).max():g}: more than 2^53 cubes from the origin cannot be "
                    "told apart; take a larger side, or subtract the mean."
                )
            levels = _auto_levels(cells) if self.levels is None else int(self.levels)
            X.grids[name] = (side, levels)
        return Pyramid(*X.grids[name])


class Cubes:
    """The cubes, of all grids, that the points of sets are in; the origin is at `shift` sides."""

    shift: float
    features: tuple[Any, ...]
    sets: Sets
    pyramid: "Pyramid"

    def __init__(self, sets: Sets, pyramid: Pyramid, shift: float) -> None:
        self.sets, self.pyramid, self.shift = sets, pyramid, shift
        self._grids: list[_Grid] = []
        self._n_columns: list[np.ndarray] = []  # before the columns of each cube, of each grid
        cells = _cells(sets.points, pyramid.side, shift).astype(np.int64)
        cube_of_point = np.arange(len(cells))
        owners = np.repeat(np.arange(len(sets.offsets) - 1), np.diff(sets.offsets))
        for _ in range(pyramid.levels + 1):
            grid = _Grid(cells)
            cube_of_point = grid.ranks[cube_of_point]
            _, nth = _numbered(owners, cube_of_point, grid.size)
            most = np.zeros(grid.size, np.int64)
            np.maximum.at(most, cube_of_point, nth + 1)
            self._grids.append(grid)
            self._n_columns.append(np.append(0, np.cumsum(most)))
            first = np.empty(grid.size, np.intp)  # a point of each cube
            first[grid.ranks[::-1]] = np.arange(len(cells))[::-1]
            cells = cells[first] >> 1
        self.features = self._features(sets)

    def of(self, sets: Sets) -> tuple[sp.csr_array, sp.csr_array]:
        """Return A and B, each (n, columns): k(x, y) is the sum of a'a and b'b / 2, exactly."""
        if sets.same(self.sets):
            return tuple(features[sets.chosen] for features in self.features)
        places, offsets = sets.places()
        return self._features(Sets(sets.points[places], offsets))

    def _features(self, sets):
        points = sets.points
        if len(points) and points.shape[1] != self.sets.points.shape[1]:
            raise ValueError(
                f"X has sets of vectors of {points.shape[1]} numbers, but those that they are "
                f"compared with have {self.sets.points.shape[1]}."
            )
        # Cubes so far away hold no point of the list; a cast would not be defined.
        cells = np.clip(_cells(points, self.pyramid.side, self.shift), -_FAR, _FAR)
        cells = cells.astype(np.int64)
        n = len(sets.offsets) - 1
        owners = np.repeat(np.arange(n), np.diff(sets.offsets))
        parts = [], []
        top = self.pyramid.levels
        for level, (grid, before) in enumerate(zip(self._grids, self._n_columns, strict=True)):
            cubes = grid.places(cells >> level)
            inside = np.flatnonzero(cubes >= 0)
            rows, cubes = owners[inside], cubes[inside]
            order, nth = _numbered(rows, cubes, grid.size)
            columns = before[cubes] + nth
            kept = order[(nth < np.diff(before)[cubes])[order]]
            # The weight is 2^-exponent: the square of a power of two, or half of one.
            exponent = level + (level < top)
            size = 2.0 ** -(exponent // 2)
            ends = np.append(0, np.cumsum(np.bincount(rows[kept], minlength=n)))
            values = np.full(len(kept), size)
            shape = (n, max(1, int(before[-1])))
            parts[exponent % 2].append(sp.csr_array((values, columns[kept], ends), shape=shape))
        return tuple(
            sp.csr_array(sp.hstack(blocks)) if blocks else sp.csr_array((n, 1)) for blocks in parts
        )


class _Grid:
    """The cubes of one side that cells are in, ranked; `cells` (n, d) int64."""

    def __init__(self, cells):
        self._steps = []
        self.ranks, self.size = np.zeros(len(cells), np.int64), min(1, len(cells))
        for column in cells.T:
            least = column.min(initial=0)
            span = int(column.max(initial=0)) - int(least) + 1
            values, own = ranked(column - least, span)
            numbers = self.ranks * len(values) + own
            pairs, self.ranks = ranked(numbers, self.size * len(values))
            self.size = len(pairs)
            self._steps.append((least, values, pairs))

    def places(self, cells):
        """Return the rank of the cube of each cell, -1 for one that is not known."""
        places = np.zeros(len(cells), np.int64)
        for column, (least, values, pairs) in zip(cells.T, self._steps, strict=True):
            own = places_in(column - least, values)
            numbers = np.where((own < 0) | (places < 0), -1, places * len(values) + own)
            places = places_in(numbers, pairs)
        return places


def _cells(points, side, shift):
    """Return the smallest cube of each point as whole numbers, float64 (n, d)."""
    return np.floor(points.astype(np.float64) / side - shift)


def _numbered(owners, cubes, n_cubes):
    """Return the order by set and cube, and of each point the number before it in both."""
    keys = owners * n_cubes + cubes
    order = np.argsort(keys, kind="stable")
    new = np.flatnonzero(np.diff(keys[order], prepend=-1))
    first = np.repeat(new, np.diff(new, append=len(keys)))
    nth = np.empty(len(keys), np.int64)
    nth[order] = np.arange(len(keys)) - first
    return order, nth


def _auto_side(points):
    values = np.sort(points.astype(np.float64), axis=0)
    gaps = np.diff(values, axis=0)
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return 1.0
    finest = max(_FINEST * (values[-1] - values[0]).max(), 4 / _FAR * abs(values).max())
    return float(max(gaps.min(), finest))


def _auto_levels(cells):
    """Return the first level at which cubes no longer join."""
    if not len(cells):
        return 0
    levels = 0
    for low, high in zip(cells.min(axis=0), cells.max(axis=0), strict=True):
        low, high = int(low), int(high)
        apart = max(high, -low - 1) if low < 0 <= high else low ^ high
        levels = max(levels, apart.bit_length())
    return min(levels, _MOST)
