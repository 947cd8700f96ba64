"""Models of two blocks of features, fitted to sums over rows of both side by side."""

from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.checks import as_samples, as_weights, scaled_weights
from mlcore.checks.arrays import real_array
from mlcore.estimator.model import Model
from mlcore.numerics.scatter import (
    BeyondUnits,
    Scatter,
    in_larger_units,
    larger_powers,
    merged_scatter,
    origin_of,
    powers_of_two,
    require_in_units,
    scatter_side_by_side,
)
from mlcore.row_sums import OnePass

_VALUES = 1 << 20  # of a block of rows
_PLAIN = {np.dtype(np.float64): 230, np.dtype(np.float32): 28}  # powers of two squared safely


class Blocks(NamedTuple):
    """Checked rows of positive weight of X (n, p) and Y (n, q), of one type."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray | None

    def joined(self):
        """Yield ranges of rows, and these rows of both blocks side by side."""
        n, d = len(self.X), self.X.shape[1] + self.Y.shape[1]
        step = max(1024, _VALUES // d)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            yield rows, np.concatenate((self.X[rows], self.Y[rows]), axis=1)

    def weights(self, rows):
        return None if self.weight is None else self.weight[rows]


class TwoBlocks(OnePass, Model):
    """Model that follows from the scatter of X and Y; a subclass has `_solve` and parameters."""

    statistics_: tuple
    origin_: np.ndarray
    powers_: np.ndarray
    one_target_: bool

    _result = "all_correlations_"
    _stored = {
        "origin_": "float f+q",
        "powers_": "int f+q",
        "one_target_": "bool",
        "statistics_": ("float", "float64 f+q", "float64 f+q f+q"),
    }

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _solve(self, sums, origin, powers, p, blocks=None) -> dict[str, Any]:
        """Return the fitted attributes that follow from the sums; `blocks` are all rows, if any."""
        raise NotImplementedError

    def _checked(self, X, y, sample_weight, *, reset, min_samples=1, check_finite=True):
        """Return the rows of positive weight, and whether `y` has one dimension."""
        if not reset:
            self._check_fitted()
        like = None if reset else self.origin_
        X = self._check_X(
            X, reset=reset, like=like, min_samples=min_samples, check_finite=check_finite
        )
        Y, one_target = self._check_Y(y, "y", X, reset, check_finite)
        if sample_weight is None:
            return Blocks(X, Y, None), one_target
        weight = as_weights(sample_weight, len(X))
        present = weight > 0
        if not present.all():
            X, Y, weight = X[present], Y[present], weight[present]
        return Blocks(X, Y, weight), one_target

    def _check_Y(self, Y, name, X, reset=False, check_finite=True):
        """Return the second block in the precision of X, and whether it has one dimension."""
        owner = type(self).__name__
        columns, one_target = as_columns(Y, name, owner)
        Y = as_samples(columns, name=name, owner=owner, like=X.dtype, check_finite=check_finite)
        require_as_many(X, Y, name)
        if not reset and Y.shape[1] != len(self.origin_) - self.n_features_in_:
            raise ValueError(
                f"{name} has {Y.shape[1]} columns, but {owner} was fitted to "
                f"{len(self.origin_) - self.n_features_in_}."
            )
        return Y, one_target

    def _sums(self, blocks, origin, powers):
        """Return the sums over X and Y side by side."""
        weight, power = scaled_weights(blocks.weight, plain=0)
        center, owner = origin.astype(np.float64), type(self).__name__
        found = scatter_side_by_side(blocks.X, blocks.Y, weight, center, power=powers, owner=owner)
        return Scatter(
            float(np.ldexp(found.weight, power)), found.mean, np.ldexp(found.scatter, power)
        )

    # ---- the same, by sums over blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the origin of the sums: a point near these first rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._check_parameters()
        blocks, one_target = self._checked(X, y, sample_weight, reset=True)
        self._set_fitted(X, **start(blocks, one_target))
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Scatter:
        """Return weight, mean and scatter of rows of X and Y side by side.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter
            Sums over these rows.
        """
        blocks, _ = self._checked(X, y, sample_weight, reset=False)
        sums = self._sums(blocks, self.origin_, self.powers_)
        return require_in_units(sums, type(self).__name__)

    def merge(self, a: Scatter, b: Scatter) -> Scatter:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : Scatter
            From `partial_statistics`, after the same `begin`.

        Returns
        -------
        statistics : Scatter
            Their sums.
        """
        return merged_scatter(a, b)

    def update(self, statistics: Scatter) -> Self:
        """Find the pairs from the statistics of all rows.

        Parameters
        ----------
        statistics : Scatter
            From `partial_statistics`, merged.

        Returns
        -------
        self
            This model.
        """
        self._check_parameters()
        self._check_fitted()
        if not isinstance(statistics, Scatter) or statistics.mean.shape != self.origin_.shape:
            raise ValueError(
                f"{type(self).__name__}: statistics must come from partial_statistics of a model "
                "that has begun with as many features."
            )
        self._update_state(self._solve(statistics, self.origin_, self.powers_, self.n_features_in_))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to all those seen before, and find the pairs of all.

        Until the rows vary in both blocks there are no pairs yet.

        Parameters
        ----------
        X : array-like of shape (n_samples, p)
        y : array-like of shape (n_samples, q) or (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._check_parameters()
        first = not hasattr(self, "origin_")
        blocks, one_target = self._checked(X, y, sample_weight, reset=first)
        begun = start(blocks, one_target) if first else {}
        origin, powers = begun.get("origin_"), begun.get("powers_")
        if not first:
            origin, powers = self.origin_, self.powers_
        before = Scatter(*self.statistics_) if hasattr(self, "statistics_") else None
        owner = type(self).__name__
        try:
            sums = require_in_units(self._sums(blocks, origin, powers), owner)
        except BeyondUnits:
            p, parts = blocks.X.shape[1], (blocks.X, blocks.Y)
            places = slice(p), slice(p, None)
            larger = np.concatenate(
                [larger_powers(powers[a], Z, origin[a]) for a, Z in zip(places, parts, strict=True)]
            )
            before, powers = in_larger_units(before, larger - powers), larger
            begun = {"powers_": powers}
            sums = self._sums(blocks, origin, powers)
        if before is not None:
            sums = merged_scatter(before, sums)
        p, state = blocks.X.shape[1], {"statistics_": tuple(sums), "total_weight_": sums.weight}
        varies = sums.scatter.diagonal() > 0
        if sums.weight > self.ddof and varies[:p].any() and varies[p:].any():
            state = self._solve(sums, origin, powers, p)
        if first:
            self._set_fitted(X, **begun, **state)
        else:
            self._update_state(begun | state)
        return self


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


def start(blocks, one_target, origin=None, powers=None):
    """Return the fitted attributes that a model begins with."""
    origin = origin_of_both(blocks) if origin is None else origin
    powers = powers_of_both(blocks, origin) if powers is None else powers
    return {"origin_": origin, "powers_": powers, "one_target_": one_target}


def origin_of_both(blocks):
    return np.concatenate([origin_of(blocks.X), origin_of(blocks.Y)]).astype(blocks.X.dtype)


def powers_of_both(blocks, origin):
    """Return powers of two that bring the features into range, 0 for those that are in it."""
    p, limit = blocks.X.shape[1], _PLAIN[origin.dtype]
    parts = powers_of_two(blocks.X, origin[:p]), powers_of_two(blocks.Y, origin[p:])
    found = np.concatenate(parts).astype(np.int64)
    return np.where(np.abs(found) > limit, found, 0)
