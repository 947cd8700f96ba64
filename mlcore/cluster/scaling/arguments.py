"""The matrix and the sums that `sinkhorn` takes, checked."""

from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_real, as_samples
from mlcore.checks.targets import as_targets

_EQUAL_TOTALS = 1e-9  # relative


class Matrix(NamedTuple):
    """Entries (n, m), dense or CSR without zeros, whose logarithms are scale times them.

    With scale None they are the entries of K themselves. `zero` is the value for no entry, and
    `full` True if no entry of a dense matrix has it; `extreme` is the least entry of K or of the
    cost, the largest of log_K, of those that are not `zero`; `least` the one that stands for the
    least of K.
    """

    entries: Any
    scale: float | None
    zero: float
    full: bool
    extreme: float
    least: float
    name: str


def as_matrix(K: Any, log_K: Any, cost: Any, reg: Any, owner: str) -> tuple[Matrix, float]:
    """Return the one matrix that is given, and reg, 1 without a cost."""
    given = {"K": K, "log_K": log_K, "cost": cost}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise ValueError(
            f"{owner} takes exactly one of K, log_K and cost, but "
            f"{' and '.join(names) + ' are given' if names else 'none is given'}."
        )
    name = names[0]
    if (reg is None) == (name == "cost"):
        raise ValueError(f"{owner}: reg is given if and only if cost is, here reg={reg!r}.")
    strength = 1.0 if reg is None else as_real(reg, "reg", owner=owner, above=0.0)
    X = as_samples(given[name], owner=owner, name=name, accept_sparse=True, check_finite=False)
    scale = {"K": None, "log_K": 1.0, "cost": -1.0 / strength}[name]
    zero = {"K": 0.0, "log_K": -np.inf, "cost": np.inf}[name]
    values = X.data if sp.issparse(X) else X
    full, extreme, least = True, 0.0, 0.0
    if values.size:
        full, extreme, least = _require_values(X, values, name, owner)
    if sp.issparse(X) and not full:
        X = with_entries(X, X.data != zero)
    if scale is not None:
        _require_range(X, scale, strength, name, owner)
    return Matrix(X, scale, zero, full, extreme, least, name), strength


def with_entries(X: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """Return CSR with those of its entries that are True in `kept`."""
    indptr = np.concatenate(([0], np.cumsum(kept)))[X.indptr]
    return sp.csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)


def _require_values(X, values, name, owner):
    """Refuse values that no matrix has; return `full`, `extreme` and `least` of `Matrix`."""
    low = float(values.min())
    if name == "K":  # of which infinity is found by the first sums
        if not low >= 0.0:
            refuse(X, name, owner)
        return low > 0.0, low or float(values.min(where=values > 0, initial=np.inf)), low
    high = float(values.max())
    if not (low == low and (high < np.inf if name == "log_K" else low > -np.inf)):
        refuse(X, name, owner)
    if name == "log_K":
        return low > -np.inf, high if high > -np.inf else 0.0, low
    return high < np.inf, low if low < np.inf else 0.0, high


def refuse(X: Any, name: str, owner: str) -> NoReturn:
    """Name the first value that is NaN, infinite on the wrong side, or below 0 in K."""
    values = X.data if sp.issparse(X) else X
    wrong = np.isnan(values)
    if name == "K":
        wrong |= np.isinf(values) | (values < 0)
    else:
        wrong |= values == (np.inf if name == "log_K" else -np.inf)
    at = int(np.argmax(wrong))
    if sp.issparse(X):
        i = int(np.searchsorted(X.indptr, at, side="right")) - 1
        j, value = int(X.indices[at]), values[at]
    else:
        i, j = map(int, np.unravel_index(at, X.shape))
        value = values[i, j]
    what = {
        "K": "finite numbers of at least 0",
        "log_K": "finite numbers, or -inf for an entry 0 of K",
        "cost": "finite numbers, or inf for an entry 0 of K",
    }[name]
    shown = "NaN" if np.isnan(value) else f"{value:g}"
    begin = "Negative values in data passed as" if name == "K" and value < 0 else "Bad value in"
    raise ValueError(f"{begin} {name}: {name}[{i}, {j}] is {shown}; {owner} takes {what}.")


def _require_range(X, scale, reg, name, owner):
    values = X.data if sp.issparse(X) else X
    with np.errstate(all="ignore"):
        largest = 0.0
        for extreme in (values.min(initial=0.0), values.max(initial=0.0)):
            largest = max(largest, abs(float(extreme)) if np.isfinite(extreme) else 0.0)
        finite = np.isfinite(4.0 * largest * scale)
    if not finite:
        raise ValueError(
            f"{owner}: {name} of up to {largest:g} over reg={reg:g} leaves the range of float64; "
            "a larger reg is needed."
        )


def as_sums(
    rows: Any, columns: Any, shape: tuple[int, int], owner: str, *, exact: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return both sums, float64; with the same total if they are `exact`."""
    n, m = shape
    r = None if rows is None else _sums(rows, n, "rows", owner)
    c = None if columns is None else _sums(columns, m, "columns", owner)
    if r is None:
        r = np.ones(n) if c is None else np.full(n, c.sum() / n)
    if c is None:
        return r, np.full(m, r.sum() / m)
    if not exact:
        return r, c
    if abs(r.sum() - c.sum()) > _EQUAL_TOTALS * max(r.sum(), c.sum()):
        raise ValueError(
            f"{owner}: rows sum to {r.sum():.12g} and columns to {c.sum():.12g}, but must have the "
            "same total."
        )
    return r, c * (r.sum() / c.sum())


def _sums(values, length, name, owner):
    sums = as_targets(values, length, owner=owner, name=name)
    if len(sums) and sums.min() < 0:
        at = int(np.argmin(sums))
        raise ValueError(
            f"{name}[{at}] is {sums[at]:g}; {owner} takes sums of at least 0, and above 0 in all."
        )
    with np.errstate(over="ignore"):
        total = sums.sum()
    if not 0.0 < total < np.inf:
        raise ValueError(f"{name} sums to {total:g}; {owner} needs a finite total above 0.")
    return sums


def as_slacks(marginal_penalty: Any, reg: float, owner: str) -> tuple[float, float]:
    """Return reg over the penalties of rows and columns, 0 for exact sums."""
    if marginal_penalty is None:
        return 0.0, 0.0
    pair = marginal_penalty if isinstance(marginal_penalty, tuple) else (marginal_penalty,) * 2
    if len(pair) != 2:
        raise ValueError(
            f"{owner}: marginal_penalty has {len(pair)} values; it must be a number or a pair, for "
            "rows and columns."
        )
    first, second = (
        reg / as_real(value, "marginal_penalty", owner=owner, above=0.0, allow_inf=True)
        for value in pair
    )
    return first, second


def as_start(
    init: Any, reg: float, shape: tuple[int, int], owner: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the logarithms of both factors to start from; None for the usual start."""
    if init is None:
        return None
    if not isinstance(init, tuple) or len(init) != 2:
        raise ValueError(
            f"{owner}: init must be the pair (row_potentials, column_potentials), here {init!r}."
        )
    given = [_without_infinity(values) for values in init]
    names = "row_potentials of init", "column_potentials of init"
    rows, columns = (
        as_targets(values, length, owner=owner, name=name)
        for values, length, name in zip(given, shape, names, strict=True)
    )
    return rows / reg, columns / reg


def _without_infinity(values):
    """Return potentials with 0 for those of rows and columns left out, -inf."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    return np.where(np.isneginf(values), 0.0, values)
