"""First rows of data that come in blocks, kept by `partial_fit` for its start.

A start fitted to a few rows is poor, and later steps hardly leave it. So `partial_fit` keeps its
first rows, and fits to all of them again each time that their number has grown by half, until there
are enough for each component or cluster; from then on each block is a step.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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


def first_rows_of_older(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a model of 0.2, which kept its first rows as a dict, as it is now."""
    if isinstance(state.get("_first_rows"), dict):
        state["_first_rows"] = FirstRows(**state["_first_rows"])
    return state


def add_first_rows(
    model: Model,
    X: Any,
    sample_weight: Any,
    *,
    check: Callable[[Any, Any], Any],
    enough: Callable[[int], int],
    n_groups: int,
    fit: Callable[[Any, Any], Model],
) -> None:
    """Add a block to the first rows of a model; fit to them if they are enough for a new fit.

    Parameters
    ----------
    model : Model
        Its attribute `_first_rows` holds the rows; None once there are enough of them.
    X : array-like or sparse of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), or None
    check : callable
        ``check(X, like)`` returns the block checked, of the type of `like`, an earlier one or None.
    enough : callable
        ``enough(n_features)`` is the number of rows that are enough for each group.
    n_groups : int
        Number of components or clusters; fewer rows are not fitted.
    fit : callable
        ``fit(X, weight)`` returns a model fitted to the first rows.
    """
    owner = type(model).__name__
    held = model._first_rows or FirstRows([], [], None, 0, 0)
    # The block must have the columns of the blocks before.
    names, like = column_names(X), held.blocks[0] if held.blocks else None
    if like is not None:
        check_column_names(names, held.names, owner)
    X = check(X, like)
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but {owner} is expecting {like.shape[1]} features "
            "as input."
        )
    n = X.shape[0]
    weight = None if sample_weight is None else as_weights(sample_weight, n)
    blocks, weights = [*held.blocks, X], [*held.weights, weight]
    n_rows = held.n_rows + (n if weight is None else int(np.count_nonzero(weight)))
    n_fitted, most = held.n_fitted, n_groups * enough(X.shape[1])
    changed, kept = {}, None
    # A new fit, if they have grown by half or are enough.
    if n_rows >= n_groups and n_rows >= min(most, _GROWTH * n_fitted):
        changed, n_fitted = vars(fit(_stacked(blocks), _joined(weights, blocks))), n_rows
        if names is not None:
            changed["feature_names_in_"] = names
    # They are kept while more are needed.
    if n_rows < most:
        blocks[-1] = X.copy()  # the caller may read each block into the same array
        weights[-1] = None if weight is None else weight.copy()
        kept = FirstRows(blocks, weights, names, n_rows, n_fitted)
    model._update_state(changed | {"_first_rows": kept})


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
