"""A sample of the rows of all blocks, the same whatever computes it: what a fit begins with."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp


class Sample(NamedTuple):
    """Rows with the keys by which they were drawn, and where they are.

    Attributes
    ----------
    keys : (m,) float64
        Uniform random numbers; the rows of the smallest are the sample.
    places : (m, 2) int64
        Number of the block, and of the row in it.
    X, y, weight
        The rows; y and weight may be None.
    """

    keys: np.ndarray
    places: np.ndarray
    X: Any
    y: Any
    weight: Any


class Draw:
    """The task that draws: of each block the rows that may be in the sample.

    Parameters
    ----------
    n_rows : int
        Rows of the sample.
    seed : int
    by_class : bool
        Take one row at least of every value of y beside.
    n_features : int
        That every block must have.
    representatives : callable, optional
        Returns indices of rows of X that the sample must have beside.
    """

    name = "sample"

    def __init__(
        self,
        n_rows: int,
        seed: int,
        by_class: bool,
        n_features: int,
        representatives: Callable[[Any], np.ndarray] | None = None,
    ) -> None:
        self.n_rows, self.seed, self.by_class, self.n_features = n_rows, seed, by_class, n_features
        self.representatives = representatives

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Sample:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_features_of(X) != self.n_features:
            raise ValueError(
                f"X has {n_features_of(X)} features, but the first block has {self.n_features}."
            )
        keys = np.random.default_rng([self.seed, number]).random(n)
        rows = np.arange(n)
        y = None if y is None else np.asarray(y)
        kept = self._kept(keys, X, y)
        weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        places = np.column_stack([np.full(n, number), rows])[kept]
        labels = None if y is None else y[kept]
        return Sample(keys[kept], places, rows_of(X, kept), labels, weight)

    def merge(self, a: Sample, b: Sample) -> Sample:
        """Return the sample of the rows of both."""
        keys = np.concatenate([a.keys, b.keys])
        y = None if a.y is None else np.concatenate([a.y, b.y])
        X = joined(a.X, b.X)
        kept = self._kept(keys, X, y)
        weight = None if a.weight is None else np.concatenate([a.weight, b.weight])[kept]
        return Sample(
            keys[kept],
            np.concatenate([a.places, b.places])[kept],
            rows_of(X, kept),
            None if y is None else y[kept],
            weight,
        )

    def _kept(self, keys, X, y):
        """Return the rows to keep, in their order."""
        order = np.argsort(keys, kind="stable")
        kept = order[: self.n_rows]
        if self.by_class and y is not None and y.ndim == 1:
            kept = np.union1d(kept, order[np.unique(y[order], return_index=True)[1]])
        if self.representatives is not None:
            kept = np.union1d(kept, self.representatives(X))
        return np.sort(kept)


def n_features_of(X: Any) -> int:
    """Return the number of columns of what a block holds, 1 for a list."""
    return int(X.shape[1]) if len(getattr(X, "shape", ())) > 1 else 1


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array, a sparse array or a table, as one of its kind."""
    if sp.issparse(X):
        return X.tocsr()[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if type(X).__module__.partition(".")[0] == "pyarrow":
        return X.take(rows)
    if type(X).__module__.partition(".")[0] == "polars":
        return X[rows]
    if isinstance(X, list):
        return [X[i] for i in rows]
    return np.asarray(X)[rows]


def joined(a: Any, b: Any) -> Any:
    """Return the rows of both."""
    if sp.issparse(a):
        return sp.vstack([a, b], format="csr")
    library = type(a).__module__.partition(".")[0]
    if library in ("pandas", "polars"):
        return sys.modules[library].concat([a, b])
    if library == "pyarrow":
        return sys.modules[library].concat_tables([a, b])
    if isinstance(a, list):
        return a + b
    return np.concatenate([a, b])
