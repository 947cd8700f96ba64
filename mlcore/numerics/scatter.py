"""Weight, mean and scatter of rows: the sums from which linear projections are computed."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.numerics import scatter as _ext
from mlcore.checks.arrays import require_finite
from mlcore.checks.stored import stored
from mlcore.numerics.sparse_products import column_products, column_sums
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, pieces

ROWS = 1024  # of a block
_FIRST = 256  # rows that the origin is near to
_FEW = 32  # of these, where it need be near only
_SAMPLE = 64  # of these
_OPTIONS = {"power": 0, "owner": ""}
_FAR = 100.0  # squared distance of mean and origin over the variance, beyond which digits are lost
_WIDE = 48  # features from which rows that are the origin are looked for
_OFTEN = 1 / 8  # share of rows that are the origin, from which it is worth it
_GROUPS = 8  # of rows, with sums of their own
_SUMS_OF_GROUPS = 1 << 19  # values of these at most
_BLOCKS_OF_GROUP = 4  # blocks of rows in a group at least
_NEAR = 16  # powers of two that a unit may be too small
_SQUARES = 1e140  # mean squares at most, so that their squares can be added
_SPARSE = 0.6, 0.01  # products of entries in the time of a dense value, and of a dense product


class BeyondUnits(ValueError):
    """Rows are so large in the units of the sums, which first rows have set, that squares overflow.

    The message names `owner`, the model.
    """

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"{owner}: these rows are so much larger than the first ones, in whose units the sums "
            "are, that squares of squares overflow: begin with rows that stand for all."
        )


@stored(version=1)
class Scatter(NamedTuple):
    """Sums over weighted rows x, in float64.

    `weight` is ``W = sum_i w_i``, `mean` (d,) ``sum_i w_i (x_i - origin) / W``, and `scatter` (d,
    d) is about the mean of rows: symmetric, and 0 for constant features.
    """

    weight: float
    mean: np.ndarray
    scatter: np.ndarray
    _stored = {"weight": "float", "mean": "float64 s", "scatter": "float64 s s"}

    @property
    def squares(self) -> np.ndarray:
        """Sums of squares about the mean, (d,): the diagonal of the scatter."""
        return self.scatter.diagonal()


class Moments(NamedTuple):
    """The same sums without the products of different features.

    `mean` is (d,), as `squares` is: ``sum_i w_i (x_i - m)²``.
    """

    weight: float
    mean: np.ndarray
    squares: np.ndarray


def origin_of(X: Any, *, zeros: bool = True) -> np.ndarray:
    """Return the origin of the sums, (d,) float64 that `X` can hold: a frequent value, or the mean.

    Products of zeros need not be computed. A value that a share p of rows has costs few digits:
    ``(mean - v)² <= (1 - p)/p variance`` (Cauchy, Schwarz), 7 times the variance at the least p,
    1/8. Without `zeros` it is the mean of a few rows, unless `X` is CSR.
    """
    if sp.issparse(X) and X.shape[1] >= _WIDE:
        return _sparse_origin(X[:_FIRST])
    if not zeros and not sp.issparse(X):
        with np.errstate(all="ignore"):
            return X[:_FEW].mean(axis=0, dtype=np.float64).astype(X.dtype).astype(np.float64)
    return _dense_origin(_dense(X, slice(0, _FIRST)), X.shape[1] >= _WIDE)


def _sparse_origin(first):
    """Return the origin by first rows, CSR: 0 but for columns of which few values are zeros."""
    n, d = first.shape
    filled = np.bincount(first.indices[first.data != 0], minlength=d)
    few = np.flatnonzero((n - filled) / n < _OFTEN)
    origin = np.zeros(d)
    if len(few):
        origin[few] = _dense_origin(first[:, few].toarray(), True)
    return origin


def _dense_origin(first, frequent):
    with np.errstate(all="ignore"):
        origin = first.mean(axis=0, dtype=np.float64).astype(first.dtype)
        if frequent:
            for value in (first.min(axis=0), np.zeros(1, first.dtype)):
                origin = np.where(np.mean(first == value, axis=0) >= _OFTEN, value, origin)
    return origin.astype(np.float64)


def has_zeros(X: np.ndarray, origin: np.ndarray) -> bool:
    """Return True if zeros after the subtraction of the origin are so many that lists pay."""
    return X.shape[1] >= _WIDE and bool(np.mean(X[:_SAMPLE] == origin) >= _OFTEN)


def scatter_of(
    X: Any, weight: np.ndarray | None, origin: np.ndarray, *, power: Any = 0, owner: str = ""
) -> Scatter:
    """Return the sums over the rows of `X`, which is read once and need not be checked for NaN.

    `X` is (n, d) in C order, or canonical CSR. `origin` is near the rows, in the type of `X`. The
    sums are those of ``2^-power x``, the mean is about ``2^-power origin``. ValueError for values
    that are NaN, infinite or too large. Time is O(n v²) for v features that vary. Far rows are
    summed again about their mean. Chan, Golub, LeVeque, *Algorithms for computing the sample
    variance*, 1983.
    """
    d = X.shape[1]
    require_memory(d, d, 16, what="the scatter matrix", instead="use fewer features")
    with np.errstate(all="ignore"):
        sums = _sparse_sums(X, weight, origin, power) if sp.issparse(X) else None
        return _sums((X,), weight, None, 1, origin, power, owner)[0] if sums is None else sums


def scatter_side_by_side(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, origin: np.ndarray, **options: Any
) -> Scatter:
    """Return the sums over the rows of `X` and `Y`, joined; as `scatter_of` otherwise."""
    d = X.shape[1] + Y.shape[1]
    require_memory(d, d, 16, what="the scatter matrix", instead="use fewer features")
    with np.errstate(all="ignore"):
        return _sums((X, Y), weight, None, 1, origin, **_OPTIONS | options)[0]


def scatter_by_class(
    X: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    origin: np.ndarray,
    **options: Any,
) -> tuple[Scatter, np.ndarray]:
    """Return the sums over all rows of dense `X`, as `scatter_of`, and ``sum w (x - origin)`` over
    those of each class, (n_classes, d) float64; `codes` (n,) int64 are the classes of rows.
    """
    d = X.shape[1]
    require_memory(d, d, 16, what="the scatter matrix", instead="use fewer features")
    with np.errstate(all="ignore"):
        return _sums((X,), weight, codes, n_classes, origin, **_OPTIONS | options)


def merged_scatter(a: Scatter, b: Scatter) -> Scatter:
    """Return the sums over the rows of both, of the same origin and power, by Chan's formula."""
    if a.mean.shape != b.mean.shape:
        raise ValueError(
            f"statistics of {len(a.mean)} and {len(b.mean)} features cannot be merged: they come "
            "from different models."
        )
    weight = a.weight + b.weight
    between = b.mean - a.mean
    step = between * np.sqrt(a.weight * (b.weight / weight))
    scatter = np.outer(step, step)  # symmetric to the last bit
    scatter += a.scatter
    scatter += b.scatter
    return Scatter(weight, a.mean + between * (b.weight / weight), scatter)


def in_larger_units(sums: Scatter, more: np.ndarray) -> Scatter:
    """Return the same sums in units that are 2^more times as large, (d,) ints."""
    scatter = np.ldexp(sums.scatter, -(more[:, None] + more))
    return Scatter(sums.weight, np.ldexp(sums.mean, -more), scatter)


def require_in_units(sums: Scatter, owner: str) -> Scatter:
    """Return the sums; raise `BeyondUnits` for those that overflow, or whose squares do."""
    with np.errstate(all="ignore"):
        squares = sums.scatter.diagonal() / sums.weight + sums.mean**2
    if not (squares <= _SQUARES).all():  # NaN too
        raise BeyondUnits(owner)
    return sums


def in_range(squares: np.ndarray, dtype: Any) -> np.ndarray:
    """Return True for each sum of squares in `dtype` that is far from over- and underflow."""
    largest = float(np.finfo(dtype).max) ** 0.45
    return (squares <= largest) & (squares >= 1 / largest)


def powers_of_two(X: Any, origin: np.ndarray) -> np.ndarray:
    """Return for each column the least p, int (d,), with ``|x - origin| < 2^p``; 0 for zeros."""
    return np.frexp(_largest(X, origin))[1]


def larger_powers(power: np.ndarray, X: Any, origin: np.ndarray) -> np.ndarray:
    """Return powers (d,), raised to `powers_of_two` of columns whose squares they let overflow."""
    largest = _largest(X, origin)
    powers = np.frexp(largest)[1]
    return np.where((largest > 0) & (powers > power + _NEAR), powers, power)


def _largest(X, origin):
    largest = np.zeros(X.shape[1])
    for _, block in row_blocks(X):
        np.maximum(largest, np.abs(block - origin.astype(X.dtype)).max(axis=0), out=largest)
    return largest


def _dense(X, rows):
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def row_blocks(X: Any, values: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of rows of `X`, dense or CSR, and these rows, dense.

    Blocks of narrow rows are longer than others if they may hold these `values`.
    """
    n, d = X.shape
    size = min(max(ROWS, values // max(1, d)), max(32, items_per_call(d * d / 16)))
    for start in range(0, n, size):
        rows = slice(start, min(n, start + size))
        yield rows, _dense(X, rows)


def _sums(parts, weight, codes, n_classes, origin, power, owner):
    """Return the sums about the mean of the rows of all parts side by side, and those by class."""
    if weight is None:
        return _sums_about(parts, weight, codes, n_classes, origin, power, owner)
    # Products of weighted rows in float32 leave its range where weights do: a power of 4 is exact.
    exponent = int(np.frexp(weight.max(initial=0.0))[1]) // 2 * 2
    weight = np.ldexp(weight, -exponent, dtype=np.float64)
    total, by_class = _sums_about(parts, weight, codes, n_classes, origin, power, owner)
    if exponent:
        np.ldexp(total.scatter, exponent, out=total.scatter)
        total = total._replace(weight=float(np.ldexp(total.weight, exponent)))
    return total, np.ldexp(by_class, exponent)


def _sums_about(parts, weight, codes, n_classes, origin, power, owner, again=False):
    X, dtype = parts[0], parts[0].dtype
    power = np.broadcast_to(power, len(origin))
    products = _Products(dtype, len(origin), n_classes)
    # Products of all rows, less the origin rounded to their precision.
    scaled = bool(power.any())
    if scaled:
        near = np.zeros(len(origin), dtype)
        for rows, block in _scaled_blocks(parts, origin.astype(dtype), power):
            products.add(rows, (block,), near, weight, codes)
    else:
        near = origin.astype(dtype)
        blocks = row_blocks(X) if sp.issparse(X) else _row_pieces(parts)
        for rows, block in blocks:
            products.add(rows, block if isinstance(block, tuple) else (block,), near, weight, codes)
    # The origin of a constant column is its value.
    S, still = products.S, products.columns[products.n_varying :]
    near[still] = products.first[still]
    first = np.concatenate([_dense(part, slice(0, 1))[0] for part in parts])
    finite = np.isfinite(S.diagonal()).all() and np.isfinite(first @ first)  # of constants too
    if not finite and not sp.issparse(X):
        for name, part in zip("Xy", parts, strict=False):
            require_finite(part, name, owner)
    # Where the mean is far from the origin: once more about the mean.
    total = float(X.shape[0]) if weight is None else float(weight.sum())
    columns = products.columns[: products.n_varying]
    sums = products.sums[:, : len(columns)]
    mean = sums.sum(axis=0) / total
    squares = S.diagonal()[: len(columns)] - total * mean**2
    shift = near.astype(np.float64) if scaled else near - origin
    if not again and (total * mean**2 > _FAR * squares).any():
        shift[columns] += mean
        nearer = (origin + np.ldexp(shift, power)).astype(dtype).astype(np.float64)
        refined, by_class = _sums_about(parts, weight, codes, n_classes, nearer, power, owner, True)
        moved = np.ldexp(nearer - origin, -power)
        shares = _class_weights(codes, weight, n_classes, total)
        return refined._replace(mean=refined.mean + moved), by_class + shares[:, None] * moved
    # Scatter about the mean, and sums of each class about the origin.
    full = np.zeros((len(origin), len(origin)))
    _ext.centred(S, mean, total, columns, full)
    by_class = _class_weights(codes, weight, n_classes, total)[:, None] * shift
    by_class[:, columns] += sums
    shift[columns] += mean
    return Scatter(total, shift, full), by_class


def _class_weights(codes, weight, n_classes, total):
    if codes is None:
        return np.full(1, total)
    return np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)


def _row_pieces(parts):
    """Yield slices of rows, and these rows of all parts, as long as Ctrl-C may wait."""
    d = sum(part.shape[1] for part in parts)
    for first, last in pieces(len(parts[0]), d * d / 16):
        rows = slice(first, last)
        yield rows, tuple(np.ascontiguousarray(part[rows]) for part in parts)


def _scaled_blocks(parts, origin, power):
    """Yield slices of rows, and ``2^-power (x - origin)`` for these rows of all parts joined."""
    unit = np.ldexp(np.ones(1, origin.dtype), -power)
    exact = bool((np.isfinite(unit) & (unit > 0)).all())
    d = parts[0].shape[1]
    for rows, block in row_blocks(parts[0]):
        whole = np.empty((len(block), len(origin)), origin.dtype)
        np.subtract(block, origin[:d], out=whole[:, :d])
        for part in parts[1:]:
            np.subtract(part[rows], origin[d:], out=whole[:, d:])
        if exact:  # a product takes a fourth of the time of ldexp
            whole *= unit
        else:
            np.ldexp(whole, -power, out=whole)
        yield rows, whole


class _Products:
    """Sums of products of the columns that vary, in the order in which they were found to."""

    def __init__(self, dtype, d, n_classes):
        self.dtype = np.dtype(dtype)
        panel = _ext.panel_width(self.dtype.itemsize)
        rows = _ext.rows_of_block(self.dtype.itemsize)
        self.width = -(-d // panel) * panel
        self.S = np.zeros((self.width, self.width))
        self.sums = np.zeros((n_classes, self.width))
        self.columns, self.n_varying = np.arange(d), 0
        self.rows = rows
        self.first = None

    def add(self, rows, parts, near, weight, codes):
        """Add the rows, which lie side by side in one or two parts, less `near`."""
        X, dtype = parts[0], self.dtype
        Y = parts[1] if len(parts) > 1 else np.zeros((len(X), 0), dtype)
        if self.first is None:
            self.first = np.concatenate([part[0] for part in parts])
            self.has_zeros = has_zeros(X, near[: X.shape[1]])
        # Groups of rows have sums of their own, added in one order.
        n_threads = effective_threads(len(X) * self.width**2 / 16)
        groups = self._groups(len(X))
        S, sums = self.S[None], self.sums[None]
        if groups > 1:
            S, sums = np.zeros((groups, *self.S.shape)), np.zeros((groups, *self.sums.shape))
        together = groups == 1 and n_threads > 1
        size, width = dtype.itemsize, self.width
        # Scratch of all threads.
        blocks = _ext.blocks_at_once(size, width, together)
        chunks = _ext.chunks_at_once(together)
        at_once = blocks * (chunks if together else n_threads)
        of_lists = _ext.values_of_lists(size, width) if self.has_zeros else 0
        packed = scratch_array((at_once * self.rows * width,), dtype)
        lists = scratch_array((at_once * of_lists,), np.dtype(np.uint16))
        self.n_varying = _ext.add_rows(
            X,
            Y,
            np.zeros(0, dtype) if weight is None else np.sqrt(weight[rows]).astype(dtype),
            np.zeros(0, np.int64) if codes is None else codes[rows],
            self.first,
            near,
            self.columns,
            self.n_varying,
            np.empty((chunks + 1, 2 * len(self.columns)), np.int64),
            S,
            sums,
            np.empty((chunks + 1, width), dtype),
            np.empty((n_threads, self.width), dtype),
            packed,
            lists,
            np.zeros(_ext.tasks_of_chunk(size, width), np.intp),
            blocks,
            n_threads,
        )
        if groups > 1:
            self.S += S.sum(axis=0)
            self.sums += sums.sum(axis=0)

    def _groups(self, n):
        """Return the number of groups of rows with sums of their own, which are no large ones."""
        values = _GROUPS * self.width * (self.width + len(self.sums))
        if values > _SUMS_OF_GROUPS:
            return 1
        return max(1, min(_GROUPS, n // (_BLOCKS_OF_GROUP * self.rows)))


def _sparse_sums(X, weight, origin, power):
    """Return the sums by a product of sparse matrices; None if it is slow or loses digits."""
    n, d = X.shape
    of_rows = np.diff(X.indptr).astype(np.float64)
    if of_rows @ of_rows > n * d * (_SPARSE[0] + _SPARSE[1] * d):
        return None
    data = X.data.astype(np.float64, copy=False)
    if np.any(power):
        data = np.ldexp(data, -np.broadcast_to(power, d)[X.indices])
    X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    total, weighted = float(n), X
    if weight is not None:
        total = float(weight.sum())
        weighted = sp.csr_array(
            (np.repeat(weight, np.diff(X.indptr)) * data, X.indices, X.indptr), shape=X.shape
        )
    sums = np.asarray(weighted.sum(axis=0))
    mean = sums / total
    S = column_products(X, weighted)
    S -= np.outer(sums, mean)
    if not (total * mean**2 <= _FAR * S.diagonal()).all():
        return None
    return Scatter(total, mean - np.ldexp(origin, -np.asarray(power)), (S + S.T) / 2)


def column_moments(
    X: Any, weight: np.ndarray | None, origin: np.ndarray, *, power: Any = 0
) -> Moments:
    """Return weight, mean and sums of squares, as `scatter_of`, of `X` without NaN.

    Time O(n d), memory O(d) beside a block of rows; O(nnz) for CSR whose power is 0.
    """
    n, d = X.shape
    if sp.issparse(X) and not np.any(power):
        return _sparse_moments(X, np.ones(n) if weight is None else weight, origin)
    total, mean, squares = 0.0, np.zeros(d), np.zeros(d)
    power = np.broadcast_to(power, d)
    for rows, block in row_blocks(X):
        w = np.ones(len(block)) if weight is None else weight[rows]
        part = float(w.sum())
        if not part:
            continue
        offsets = np.ldexp(block - origin, -power)
        center = w @ offsets / part
        offsets -= center
        between = center - mean
        squares += w @ np.square(offsets) + between**2 * (total * (part / (total + part)))
        total += part
        mean += between * (part / total)
    return Moments(total, mean, squares)


def _sparse_moments(X, weight, origin):
    """Return the moments by two readings of the entries, the second about the mean."""
    total = float(weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # the caller takes other units then
        counts, entries, sums, _ = column_sums(X, weight, origin)
        zeros = np.where(counts < X.shape[0], np.maximum(total - entries, 0.0), 0.0)
        center = origin + (sums - zeros * origin) / total
        sums, squares = column_sums(X, weight, center)[2:]
        # The digits of the mean that its rounding has lost.
        error = (sums - zeros * center) / total
        squares += zeros * center**2 - total * error**2
        return Moments(total, center - origin + error, np.maximum(squares, 0.0))
