"""A sample of the rows of all blocks, the same whatever computes it: what a fit begins with."""

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.blocks.rounds import n_rows_of
from mlcore.checks import as_labels, as_targets, as_weights, column_names
from mlcore.checks.arrays import real_array
from mlcore.estimator.mixins import Classifier, Regressor
from mlcore.row_sums import RowSums


class Sample(NamedTuple):
    """Rows with the keys by which they were drawn, and where they are; y and weight may be None.

    `keys` (m,) are uniform, the sample has the smallest; `places` (m, 2) are block and row in it.
    """

    keys: np.ndarray
    places: np.ndarray
    X: Any
    y: Any
    weight: Any


class Draw:
    """The task that draws: of each block the rows that may be in the sample of `n_rows`.

    `first` is X of the first block, of the form of others; `model` is a class of `RowSums`, whose
    `representatives` the sample has; a classifier's sample has every label.
    """

    n_rows: int
    seed: int
    form: "_Form"
    model: type[RowSums]

    name = "sample"

    def __init__(self, n_rows: int, seed: int, first: Any, model: type[RowSums] = RowSums) -> None:
        self.n_rows, self.seed, self.form, self.model = n_rows, seed, _form(first), model

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Sample:
        n = n_rows_of(X)
        self._require_same_form(X)
        y = None if y is None else self._checked(y, n)
        keys = np.random.default_rng([self.seed, number]).random(n)
        rows = np.arange(n)
        kept = self._kept(keys, X, y)
        weight = None
        if sample_weight is not None:
            weight = np.broadcast_to(real_array(sample_weight, "sample_weight"), n)
            if weight.any():  # a block may have none
                weight = as_weights(weight, n)
            weight = weight[kept]
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

    def _require_same_form(self, X):
        form = _form(X)
        if form == self.form:
            return
        for name, one, other in zip(form._fields, form, self.form, strict=True):
            if one != other:
                raise ValueError(f"X is of {name} {one}, but that of the first block of {other}.")

    def _checked(self, y, n):
        """Return labels or numbers as an array, refusing here what the joined ones would hide."""
        if issubclass(self.model, Classifier):
            classes, codes = as_labels(y, n)
            return classes[codes]
        if issubclass(self.model, Regressor):
            return as_targets(y, n, several=True)
        return np.asarray(y)

    def _kept(self, keys, X, y):
        """Return the rows to keep, in their order."""
        order = np.argsort(keys, kind="stable")
        kept = order[: self.n_rows]
        if issubclass(self.model, Classifier) and y is not None and y.ndim == 1:
            kept = np.union1d(kept, order[np.unique(y[order], return_index=True)[1]])
        also = self.model.representatives(X)
        return np.union1d(kept, also) if len(also) else np.sort(kept)


class _Form(NamedTuple):
    """Form of X, the same of all blocks that are joined; its fields are words of a message."""

    kind: str
    type: str
    columns: tuple[str, ...] | None


def _form(X):
    names = column_names(X)
    columns = None if names is None else tuple(names.tolist())
    if sp.issparse(X):
        return _Form("sparse array", "numbers", columns)
    if columns is not None or hasattr(X, "iloc"):
        return _Form(f"table of {type(X).__module__.partition('.')[0]}", "columns", columns)
    if isinstance(X, list):
        return _Form("list", "objects", columns)
    dtype = getattr(X, "dtype", None)
    numbers = dtype is None or getattr(dtype, "kind", "O") in "biufO"
    return _Form("array", "numbers" if numbers else str(dtype), columns)


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
    if library == "pandas":
        return sys.modules[library].concat([a, b])
    if library == "polars":
        return sys.modules[library].concat([a, b], how="vertical_relaxed")
    if library == "pyarrow":
        return sys.modules[library].concat_tables([a, b], promote_options="permissive")
    if isinstance(a, list):
        return a + b
    return np.concatenate([a, b])
