"""First rows of data that come in blocks, kept by `partial_fit` for its start.

A start fitted to a few rows is poor, and later steps hardly leave it. So `partial_fit` keeps its
first rows, and fits to all of them again each time that their number has grown by half, until there
are enough for each component or cluster; from then on each block is a step.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_weights
from mlcore.checks.feature_names import check_column_names, column_names
from mlcore.estimator.model import Model

_ENOUGH = 100  # rows for each component or cluster
_GROWTH = 1.5  # factor of the number of rows after which they are fitted again


class KeepsFirstRows(Model):
    """Model whose `partial_fit` starts from more rows than its first block.

    A subclass may define ``_fitted_to_first(X, weight)``, a model fitted to the first rows,
    ``_as_first(X, like)``, a checked block, and ``_enough(n_features)``, the number of rows that
    are enough for each component or cluster.
    """

    _first_rows: dict[str, Any] | None = None
    _stored = {
        "_first_rows": {
            "blocks": ["b", "rows r[] f"],
            "weights": ["b", "none | float64 r[]"],
            "names": "none | names f",
            "n_rows": "count",
            "n_fitted": "count",
        },
    }

    def _set_fitted(self, X_original, **attributes):
        self.__dict__.pop("_first_rows", None)
        super()._set_fitted(X_original, **attributes)

    def _take_first(self, X: Any, sample_weight: Any, n_groups: int) -> Self:
        """Add a block to the first rows; fit to them if they are enough for a new fit."""
        owner, held = type(self).__name__, self._first_rows or {}
        names = column_names(X)
        if held:
            check_column_names(names, held["names"], owner)
        like = held["blocks"][0] if held else None
        X = self._as_first(X, like)
        if held and X.shape[1] != like.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but {owner} is expecting {like.shape[1]} features "
                "as input."
            )
        n = X.shape[0]
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        blocks, weights = [*held.get("blocks", []), X], [*held.get("weights", []), weight]
        n_rows = held.get("n_rows", 0) + (n if weight is None else int(np.count_nonzero(weight)))
        n_fitted, enough = held.get("n_fitted", 0), n_groups * self._enough(X.shape[1])
        found, kept = {}, None
        if n_rows >= n_groups and n_rows >= min(enough, _GROWTH * n_fitted):
            found, n_fitted = (
                vars(self._fitted_to_first(_stacked(blocks), _joined(weights, blocks))),
                n_rows,
            )
            if names is not None:
                found["feature_names_in_"] = names
        if n_rows < enough:
            blocks[-1] = X.copy()  # the caller may read each block into the same array
            weights[-1] = None if weight is None else weight.copy()
            kept = {"blocks": blocks, "weights": weights, "names": names}
            kept |= {"n_rows": n_rows, "n_fitted": n_fitted}
        self._update_state(found | {"_first_rows": kept})
        return self

    def _as_first(self, X, like):
        return self._check_X(X, reset=True, like=like)

    def _enough(self, n_features):
        return _ENOUGH

    def _fitted_to_first(self, X, weight):
        # A warm start would keep the poor fit to fewer rows.
        model = type(self)(**self.get_params(deep=False) | {"warm_start": False})
        return model.fit(X, sample_weight=weight).set_params(warm_start=self.warm_start)


def _stacked(blocks):
    if any(map(sp.issparse, blocks)):
        return sp.vstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.concatenate(blocks)


def _joined(weights, blocks):
    if all(weight is None for weight in weights):
        return None
    ones = [np.ones(block.shape[0]) for block in blocks]
    return np.concatenate(
        [one if weight is None else weight for weight, one in zip(weights, ones, strict=True)]
    )
