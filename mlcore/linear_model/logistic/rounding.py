"""Bounds on what rounding does to the sums of logistic regression."""

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model.logistic.logistic_pass import GROUPS, LogisticRows
from mlcore.linear_model.logistic.objective import Objective

ULP = 2.0**-53


def roundings_of_sum(n: int) -> float:
    """Return a bound on the roundings of a sum of scores' terms over n rows."""
    return 16 + n / GROUPS


def roundings_of_pass(rows: LogisticRows) -> float:
    """Return a bound on the roundings of a sum in a pass over the rows, with a Hessian or not."""
    return 16 + rows.n / rows.groups_of_sums(rows.n_pairs)


def roundings_of_score(rows: LogisticRows) -> int:
    """Return a bound on the roundings of a score."""
    longest = np.diff(rows.X.indptr).max(initial=0) if sp.issparse(rows.X) else rows.d
    return int(longest) + 3


def error_of_gradient(objective: Objective, theta: np.ndarray) -> np.ndarray:
    """Return a bound on the error of the gradient at theta, of its shape.

    Every term ``w x (p - y)`` is rounded, and its p errs by at most the error of the scores.
    """
    rows = objective.rows
    per_score = roundings_of_score(rows) * largest_terms(objective, theta)
    root = np.hypot(objective.deviation, objective.mean)
    with np.errstate(over="ignore", under="ignore"):
        per_sum = roundings_of_pass(rows)
        error = np.outer(np.ones(len(theta)), (per_sum + per_score) * root)
        return ULP * (error + np.abs(objective.penalty * theta))


def largest_terms(objective: Objective, theta: np.ndarray) -> float:
    """Return the root mean square, at most, of the sum of absolute terms of a class's scores."""
    objective.measure()
    rows, root = objective.rows, np.hypot(objective.deviation, objective.mean)
    with np.errstate(over="ignore", under="ignore"):
        size = np.abs(theta) @ root + np.abs(theta[:, :-1] * rows.scale) @ np.abs(rows.shift)
    largest = float(size.max())
    if len(rows.offset):
        largest += float(np.abs(rows.offset).max())
    return largest
