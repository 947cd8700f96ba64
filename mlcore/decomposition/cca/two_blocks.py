"""Rows of two blocks of features side by side, and the units of sums over them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.arrays import real_array
from mlcore.numerics.scatter import larger_powers, origin_of, powers_of_two

_VALUES = 1 << 20  # of a block of rows
_PLAIN = {np.dtype(np.float64): 230, np.dtype(np.float32): 28}  # powers of two squared safely


class Blocks(NamedTuple):
    """Checked rows of positive weight of X (n, p) and Y (n, q), of one type."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray | None

    def joined(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield ranges of rows, and these rows of both blocks side by side."""
        n, d = len(self.X), self.X.shape[1] + self.Y.shape[1]
        step = max(1024, _VALUES // d)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            yield rows, np.concatenate((self.X[rows], self.Y[rows]), axis=1)

    @property
    def p(self) -> int:
        """The number of features of X."""
        return self.X.shape[1]


def one_or_two(value: Any, name: str, owner: str) -> tuple[Any, Any]:
    """Return a parameter of X and of Y: the same, or a tuple or list of both."""
    if not isinstance(value, (tuple, list, np.ndarray)):
        return value, value
    if len(value) != 2:
        raise ValueError(f"{owner}: {name}={value!r} must be one value, or two: of X and of y.")
    return value[0], value[1]


def as_columns(Y: Any, name: str, owner: str) -> tuple[np.ndarray, bool]:
    """Return numbers in columns, and whether they had one dimension."""
    if Y is None:
        raise ValueError(f"{owner} requires {name} to be passed, but the target {name} is None.")
    array = real_array(Y, name)
    return (array[:, None], True) if array.ndim == 1 else (array, False)


def require_as_many(X: Any, Y: Any, name: str) -> None:
    """Refuse a second block of another number of rows."""
    n, m = X.shape[0], Y.shape[0]
    if n != m:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n}, {m}]: X and {name} "
            "must have the same."
        )


def origin_of_both(blocks: Blocks) -> np.ndarray:
    """Return the origin of the sums, (p + q,), near the first rows and in their type."""
    return np.concatenate([origin_of(blocks.X), origin_of(blocks.Y)]).astype(blocks.X.dtype)


def powers_of_both(blocks: Blocks, origin: np.ndarray) -> np.ndarray:
    """Return powers of two that bring the features into range, 0 for those that are in it."""
    limit = _PLAIN[origin.dtype]
    both = powers_of_two(blocks.X, origin[: blocks.p]), powers_of_two(blocks.Y, origin[blocks.p :])
    powers = np.concatenate(both).astype(np.int64)
    return np.where(np.abs(powers) > limit, powers, 0)


def larger_powers_of_both(powers: np.ndarray, blocks: Blocks, origin: np.ndarray) -> np.ndarray:
    """Return powers, raised for features of these rows whose squares they let overflow."""
    x, y = slice(blocks.p), slice(blocks.p, None)
    return np.concatenate(
        [
            larger_powers(powers[x], blocks.X, origin[x]),
            larger_powers(powers[y], blocks.Y, origin[y]),
        ]
    )
