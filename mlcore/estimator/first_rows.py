"""First rows of data that come in blocks, kept by `partial_fit` for its start.

A start fitted to a few rows is poor, and later steps hardly leave it. So `partial_fit` keeps its
first rows, and fits to all of them again each time that their number has grown by half, until there
are enough for each component or cluster; from then on each block is a step.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_weights
from mlcore.checks.arrays import check_column_names, column_names
from mlcore.checks.stored import stored
from mlcore.estimator.model import Model

ENOUGH = 100  # rows for each component or cluster
_GROWTH = 1.5  # factor of the number of rows after which they are fitted again


@stored(version=1)
class FirstRows(NamedTuple):
    """Blocks of rows that a model keeps as `_first_rows`."""

    blocks: list[Any]
    weights: list[np.ndarray | None]
    names: np.ndarray | None  # of the columns
    n_rows: int  # of positive weight
    n_fitted: int  # of the last fit to them
    _stored = {
        "blocks": ["b", "rows r[] f"],
        "weights": ["b", "none | float64 r[]"],
        "names": "none | names f",
        "n_rows": "count",
        "n_fitted": "count",
    }


class BeginsWithFirstRows:
    """Mixin, listed before other bases, of models fitted to the first rows, then a step per block.

    A model defines `_waits`, `_as_first`, `_fitted_to_first` and `_step`.
    """

    _first_rows: FirstRows | None = None  # None once there are enough of them
    _groups: ClassVar[str] = "n_components"  # the parameter; fewer rows are not fitted
    _stored = {"_first_rows": ("|", "none", FirstRows)}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take one step with new rows, after those of `fit` and of earlier calls.

        On a new model without a given start the first rows are kept and fitted to, again each time
        that they have grown by half, until there are 100 for each component or cluster (twice as
        many as features, if these are more, for full and tied covariances). With fewer rows than
        components or clusters there is no fit yet.

        A cluster moves to the mean of all its rows so far. Components stand for earlier rows
        themselves: of the weight of all rows seen, new ones get twice their share, since earlier
        ones were summed under worse parameters (the step sizes 2 / t of stepwise EM), and blocks of
        few rows never count for more than their share of the first rows. A warning names components
        that collapse. The trace of the objective grows by the value of the new rows before the
        step; `converged_` of components is False, as more rows may follow.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        if self._first_rows is not None or self._waits():
            self._add_first(X, sample_weight, getattr(settings, self._groups))
        else:
            self._step(X, sample_weight)
        return self

    def _waits(self) -> bool:
        """Return True before the first fit, if that needs rows for its start."""
        raise NotImplementedError

    def _as_first(self, X: Any, like: Any) -> Any:
        """Return a block of first rows, checked, of the type of `like`, an earlier one or None."""
        return self._check_X(X, reset=True, like=like)

    def _enough(self, n_features: int) -> int:
        """Return the number of rows for each group that a start may be fitted to for good."""
        return ENOUGH

    def _fitted_to_first(self, X: Any, weight: Any) -> Model:
        """Return a new model, fitted to the first rows."""
        raise NotImplementedError

    def _step(self, X: Any, sample_weight: Any) -> None:
        """Take one step with a block."""
        raise NotImplementedError

    def _add_first(self, X, sample_weight, n_groups):
        """Add a block to the first rows; fit to them if they are enough for a new fit."""
        owner = type(self).__name__
        held = self._first_rows or FirstRows([], [], None, 0, 0)
        # The block must have the columns of the blocks before.
        names, like = column_names(X), held.blocks[0] if held.blocks else None
        if like is not None:
            check_column_names(names, held.names, owner)
        X = self._as_first(X, like)
        if like is not None and X.shape[1] != like.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but {owner} is expecting {like.shape[1]} features "
                "as input."
            )
        n = X.shape[0]
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        blocks, weights = [*held.blocks, X], [*held.weights, weight]
        n_rows = held.n_rows + (n if weight is None else int(np.count_nonzero(weight)))
        n_fitted, most = held.n_fitted, n_groups * self._enough(X.shape[1])
        changed, kept = {}, None
        # A new fit, if they have grown by half or are enough.
        if n_rows >= n_groups and n_rows >= min(most, _GROWTH * n_fitted):
            model = self._fitted_to_first(_stacked(blocks), _joined(weights, blocks))
            changed, n_fitted = vars(model), n_rows
            if names is not None:
                changed["feature_names_in_"] = names
        # They are kept while more are needed.
        if n_rows < most:
            blocks[-1] = X.copy()  # the caller may read each block into the same array
            weights[-1] = None if weight is None else weight.copy()
            kept = FirstRows(blocks, weights, names, n_rows, n_fitted)
        self._update_state(changed | {"_first_rows": kept})

    def _set_fitted(self, X_original, **attributes):
        self.__dict__.pop("_first_rows", None)
        super()._set_fitted(X_original, **attributes)

    def _from_older_state(self, state):
        if isinstance(state.get("_first_rows"), dict):  # of 0.2
            state["_first_rows"] = FirstRows(**state["_first_rows"])
        return super()._from_older_state(state)


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
