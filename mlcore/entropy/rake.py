"""Raking: weights of the rows of a sample that give its categories known totals."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_integer, as_labels, as_real, as_weights
from mlcore.checks.arrays import column_names, plain_array
from mlcore.entropy.entropies import non_negative
from mlcore.entropy.margins import Margin, scale_to_margins
from mlcore.estimator.printed import fields_as_table


class Raking(NamedTuple):
    """Weights of rows.

    Parameters
    ----------
    weights : (n_rows,) array
        They sum to the total of the targets.
    residual : float
        Largest error of the weight of any category, as a share of the total.
    n_iter : int
    converged : bool
        `residual` is at most `tol`.

    Examples
    --------
    >>> from mlcore.entropy import rake
    >>> rake([["f"], ["f"], ["m"]], [{"f": 50, "m": 50}]).weights
    array([25., 25., 50.])
    """

    weights: np.ndarray
    residual: float
    n_iter: int
    converged: bool

    __repr__ = fields_as_table


def rake(
    categories: Any,
    targets: Any,
    sample_weight: Any = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Raking:
    """Return weights nearest to given ones under which each category has a known total.

    Rows with the same categories keep their ratio: it is `fit_table` on the combinations that
    there are.

    Parameters
    ----------
    categories : array-like of shape (n_rows, n_columns)
        Labels, such as sex and age group of each person.
    targets : sequence of n_columns mappings, or mapping of column names or numbers to mappings
        For each column the total, or share, of every category: ``{"f": 0.51, "m": 0.49}``, or a
        Series by category. Columns without targets are left alone.
    sample_weight : array-like of shape (n_rows,), optional
        Weights to begin with; 1 by default. A row of weight 0 stays so, and needs no target.
    tol : float, default=1e-10
        Largest `residual` at which the iteration ends.
    max_iter : int, default=1000

    Returns
    -------
    result : Raking
        The weights with their evidence.

    Raises
    ------
    ValueError
        If a category has no target, or a target above 0 no row; if totals of columns differ by
        more than 1e-9 of them; and if the combinations in the sample make the targets impossible:
        they are named.

    Warns
    -----
    ConvergenceWarning
        If `residual` is above `tol` after `max_iter` steps.

    References
    ----------
    W. E. Deming, F. F. Stephan, *On a least squares adjustment of a sampled frequency table when
    the expected marginal totals are known*, Annals of Mathematical Statistics 11, 1940.

    Examples
    --------
    >>> from mlcore.entropy import rake
    >>> people = [["f", "old"], ["f", "young"], ["m", "old"], ["m", "young"], ["m", "young"]]
    >>> found = rake(people, [{"f": 0.5, "m": 0.5}, {"old": 0.4, "young": 0.6}])
    >>> found.weights.round(4)
    array([0.2411, 0.2589, 0.1589, 0.1706, 0.1706])
    """
    table = plain_array(categories, "categories")
    if table.ndim != 2 or not table.size:
        raise ValueError(f"categories has shape {table.shape}, but must be (n_rows, n_columns).")
    weights = as_weights(sample_weight, len(table))
    tol = as_real(tol, "tol", above=0)
    max_iter = as_integer(max_iter, "max_iter", at_least=1)
    wanted = _by_column(targets, table.shape[1], column_names(categories))
    weights = weights / weights.max()
    counted = weights > 0
    coded = {j: _codes(table[counted, j], totals, j) for j, totals in wanted.items()}
    together = np.column_stack([codes for codes, _, _ in coded.values()])
    cells, cell_of_row = np.unique(together, axis=0, return_inverse=True)
    cell_of_row = cell_of_row.ravel()
    margins = [
        Margin(cells[:, place], numbers, _namer(column, labels))
        for place, (column, (_, numbers, labels)) in enumerate(coded.items())
    ]
    before = np.bincount(cell_of_row, weights[counted], len(cells))
    scaled = scale_to_margins(
        before, margins, solver="ipf", tol=tol, max_iter=max_iter, owner="rake"
    )
    fitted = np.zeros(len(weights))
    fitted[counted] = weights[counted] * (scaled.cells / before)[cell_of_row]
    return Raking(
        fitted,
        float(scaled.trace[-1]),
        scaled.n_iter,
        scaled.converged,
    )


def _by_column(targets, n_columns, names):
    """Return the mapping of totals for each column that has one, by its number."""
    # A sequence has an item for each column.
    targets = _as_mapping(targets)
    if not isinstance(targets, Mapping):
        scalar = isinstance(targets, np.ndarray) and targets.ndim == 0
        if scalar or isinstance(targets, (str, bytes)) or not isinstance(targets, Iterable):
            raise ValueError(
                f"targets={targets!r} must be a mapping of totals for each column, or a mapping "
                "of columns to them."
            )
        targets = list(targets)
        if len(targets) != n_columns:
            raise ValueError(
                f"targets has {len(targets)} items, but there are {n_columns} columns."
            )
        targets = dict(enumerate(targets))
    # Columns are called by their number or name.
    places = {} if names is None else {name: j for j, name in enumerate(names)}
    by_column = {}
    for column, totals in targets.items():
        j = places.get(column, column)
        whole = isinstance(j, (int, np.integer)) and 0 <= j < n_columns
        if not whole or int(j) in by_column:
            raise ValueError(
                f"targets names the column {column!r}, which is unknown or twice there."
            )
        totals = _as_mapping(totals)
        if not isinstance(totals, Mapping) or not totals:
            raise ValueError(f"targets of column {column!r} must map its categories to totals.")
        by_column[int(j)] = totals
    if not by_column:
        raise ValueError("targets names no column.")
    return by_column


def _as_mapping(values):
    """Return a Series or a data frame as a dict, anything else as it is."""
    return dict(values.items()) if hasattr(values, "items") else values


def _codes(column, totals, j):
    """Return codes of the rows, and targets and labels by code."""
    labels, codes = as_labels(column, len(column), owner="rake", name=f"categories[:, {j}]")
    labels = labels.tolist()
    missing = [label for label in labels if label not in totals]
    if missing:
        raise ValueError(f"targets of column {j} lack the category {missing[0]!r} of the rows.")
    absent = [label for label, total in totals.items() if label not in labels]
    numbers = non_negative(
        [totals[label] for label in (*labels, *absent)], f"targets of column {j}"
    )
    return codes, numbers, [*labels, *absent]


def _namer(column, labels):
    return lambda s: f"category {labels[s]!r} of column {column}"
