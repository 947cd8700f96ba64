"""Weight, mean and scatter of rows: the sums from which linear projections are computed."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.checks import require_memory
from mlcore.checks.arrays import require_finite
from mlcore.threads import items_per_call, single_threaded_blas

ROWS = 1024  # of a block: summed in the type of the data, the blocks in float64
_FAR = 100.0  # squared distance of mean and origin over the variance, beyond which digits are lost
_SPARSE = 0.1  # share of nonzero values up to which the product of sparse matrices is quicker


class Scatter(NamedTuple):
    """Sums over weighted rows x.

    Attributes
    ----------
    weight : float
        ``W = sum_i w_i``.
    mean : (d,) float64
        ``sum_i w_i (x_i - origin) / W``.
    scatter : (d, d) float64
        ``sum_i w_i (x_i - m)(x_i - m)'`` about the mean m of the rows; symmetric, and 0 in the
        rows and columns of features that do not vary.
    """

    weight: float
    mean: np.ndarray
    scatter: np.ndarray


def origin_of(X: Any) -> np.ndarray:
    """Return the mean of the first rows, (d,) float64, rounded to the type of `X`."""
    first = _dense(X, slice(0, ROWS))
    with np.errstate(all="ignore"):
        return first.mean(axis=0, dtype=np.float64).astype(X.dtype).astype(np.float64)


def scatter_of(
    X: Any, weight: np.ndarray | None, origin: np.ndarray, *, power: Any = 0, owner: str = ""
) -> Scatter:
    """Return the sums over the rows of `X`, which is read once and need not be checked for NaN.

    Parameters
    ----------
    X : float32 or float64 (n, d), C order, or canonical csr_array
    weight : float64 (n,), optional
        2 is a copy, 0 is absence.
    origin : float64 (d,)
        A point near the rows, to which the mean refers, in the type of `X`.
    power : int or (d,) ints
        The sums are those of ``2^-power x``, and the mean refers to ``2^-power origin``.
    owner : str
        Model to name in errors.

    Returns
    -------
    Scatter

    Raises
    ------
    ValueError
        If a value is NaN, infinite or too large.
    MemoryError
        If (d, d) values do not fit.

    Notes
    -----
    Time O(n v²) for v features that vary; memory of a block of rows beside (d, d) values.
    Cancellation costs two digits at most: rows that are far from the origin are summed again about
    their own mean.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque, *Algorithms for computing the sample variance*, The American
    Statistician 37, 1983.
    """
    d = X.shape[1]
    require_memory(d, d, 16, what="the scatter matrix", instead="use fewer features")
    with single_threaded_blas(), np.errstate(all="ignore"):
        found = _sparse_sums(X, weight, origin, power) if sp.issparse(X) else None
        return _sums(X, weight, origin, power, owner) if found is None else found


def merged_scatter(a: Scatter, b: Scatter) -> Scatter:
    """Return the sums over the rows of both, of the same origin and power, by Chan's formula."""
    if a.mean.shape != b.mean.shape:
        raise ValueError(
            f"statistics of {len(a.mean)} and {len(b.mean)} features cannot be merged: they come "
            "from different models."
        )
    weight = a.weight + b.weight
    between = b.mean - a.mean
    scatter = np.outer(between, between * (a.weight * (b.weight / weight)))
    scatter += a.scatter
    scatter += b.scatter
    return Scatter(weight, a.mean + between * (b.weight / weight), scatter)


def in_range(squares: np.ndarray, dtype: Any) -> np.ndarray:
    """Return True for each sum of squares in `dtype` that is far from over- and underflow."""
    largest = float(np.finfo(dtype).max) ** 0.45
    return (squares <= largest) & (squares >= 1 / largest)


def powers_of_two(X: Any, origin: np.ndarray) -> np.ndarray:
    """Return for each column the least p, int (d,), with ``|x - origin| < 2^p``; 0 for zeros."""
    largest = np.zeros(X.shape[1])
    for _, block in row_blocks(X):
        np.maximum(largest, np.abs(block - origin.astype(X.dtype)).max(axis=0), out=largest)
    return np.frexp(largest)[1]


def _dense(X, rows):
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def row_blocks(X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of rows of `X`, dense or CSR, and these rows, dense."""
    n, d = X.shape
    size = min(ROWS, max(32, items_per_call(d * d / 16)))
    for start in range(0, n, size):
        rows = slice(start, min(n, start + size))
        yield rows, _dense(X, rows)


def _sums(X, weight, origin, power, owner, again=False):
    """Return the sums about the mean, from those about the origin."""
    d, dtype = X.shape[1], X.dtype
    syrk = linalg.blas.ssyrk if dtype == np.float32 else linalg.blas.dsyrk
    power = np.broadcast_to(power, d)
    first = _dense(X, slice(0, 1))[0]
    near, varying = origin.astype(dtype), np.zeros(d, bool)
    S, sums = np.zeros((0, 0), order="F"), np.zeros(0)
    for rows, block in row_blocks(X):
        still = np.flatnonzero(~varying)
        new = still[(block[:, still] != first[still]).any(axis=0)] if len(still) else still
        if len(new):
            before = varying.copy()
            varying[new] = True
            S, sums = _with_zeros(S, sums, before[varying])
        if rows.start == 0:  # until they vary, columns add nothing about their first value
            near = np.where(varying, near, first)
        if not len(sums):
            continue
        where = slice(None) if len(sums) == d else np.flatnonzero(varying)
        # `take`, as indexing gives columns in Fortran order, which BLAS would get as a copy.
        packed = (block if len(sums) == d else np.take(block, where, axis=1)) - near[where]
        if power.any():
            packed = np.ldexp(packed, -power[where])
        root = np.ones(len(packed), dtype)
        if weight is not None:
            root = np.sqrt(weight[rows]).astype(dtype)
            packed *= root[:, None]
        sums += root @ packed
        if dtype == np.float32:
            S += syrk(1.0, packed.T, lower=1)
        else:
            S = syrk(1.0, packed.T, beta=1.0, c=S, lower=1, overwrite_c=1)
    finite = np.isfinite(S.diagonal()).all() and np.isfinite(first @ first)  # of constants too
    if not finite and not sp.issparse(X):
        require_finite(X, "X", owner)
    total = float(X.shape[0]) if weight is None else float(weight.sum())
    mean = sums / total
    squares = S.diagonal() - total * mean**2
    if not again and (total * mean**2 > _FAR * squares).any():
        nearer = near.copy()
        nearer[varying] += np.ldexp(mean, power[varying]).astype(dtype)
        found = _sums(X, weight, nearer, power, owner, again=True)
        return found._replace(mean=found.mean + np.ldexp(nearer - origin, -power))
    S = S + S.T  # above the diagonal S is 0
    between = np.outer(mean, mean)
    between *= total
    S -= between
    np.fill_diagonal(S, np.maximum(squares, 0.0))
    full, means = S, np.ldexp(near - origin, -power)
    if len(sums) < d:
        full = np.zeros((d, d))
        full[np.ix_(varying, varying)] = S
    means[varying] += mean
    return Scatter(total, means, full)


def _with_zeros(S, sums, kept):
    """Return S and the sums with zeros for further columns; those there are, are `kept`."""
    grown, more = np.zeros((len(kept), len(kept)), order="F"), np.zeros(len(kept))
    grown[np.ix_(kept, kept)] = S
    more[kept] = sums
    return grown, more


def _sparse_sums(X, weight, origin, power):
    """Return the sums by a product of sparse matrices; None if it is slow or loses digits."""
    n, d = X.shape
    if X.nnz > _SPARSE * n * d:
        return None
    data = np.ldexp(X.data.astype(np.float64), -np.broadcast_to(power, d)[X.indices])
    X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    total, weighted = float(n), X
    if weight is not None:
        total = float(weight.sum())
        weighted = sp.csr_array(
            (np.repeat(weight, np.diff(X.indptr)) * data, X.indices, X.indptr), shape=X.shape
        )
    sums = np.asarray(weighted.sum(axis=0))
    mean = sums / total
    S = (X.T @ weighted).toarray()
    S -= np.outer(sums, mean)
    if not (total * mean**2 <= _FAR * S.diagonal()).all():
        return None
    return Scatter(total, mean - np.ldexp(origin, -np.asarray(power)), (S + S.T) / 2)


def column_moments(
    X: Any, weight: np.ndarray | None, origin: np.ndarray, *, power: Any = 0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return weight, mean and diagonal of the scatter, as `scatter_of`, of `X` without NaN.

    Time O(n d), memory O(d) beside a block of rows.
    """
    n, d = X.shape
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
    return total, mean, squares
