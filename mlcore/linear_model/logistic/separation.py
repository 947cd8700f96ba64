"""Separated classes, for which an unpenalised logistic regression has no maximum likelihood."""

import math
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model.logistic.evidence import LARGEST_SYSTEM, evidence
from mlcore.linear_model.logistic.logistic_pass import Columns, LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.numerics.linear_programme import separating_direction

_LARGE = 6.0  # scores below which classes are not separated: their gradient is above any tol
_WIDE = 1000  # parameters up to which the linear programme is solved
_DENSE = 20_000_000  # values of its rows
_SHOWN = 1e-6  # part of a direction that counts


class SeparatedClasses(ValueError):
    """Error for classes that a linear function separates: their likelihood has no maximum.

    Parameters
    ----------
    message : str
    verdict : str
        "complete": every sample's own class has the largest score alone. "quasi-complete": no
        sample's class has a smaller score than another, and some have a larger one.
    direction : (1 or n_classes, n_features + 1) array
        Coefficients that separate, the intercepts last; one row for two classes, of the second.
        Adding multiples of it to any coefficients lowers the loss without end.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.linear_model import LogisticRegression, SeparatedClasses
    >>> try:
    ...     LogisticRegression(C=np.inf).fit([[1.0], [2.0], [2.0], [3.0]], [0, 0, 1, 1])
    ... except SeparatedClasses as error:
    ...     print(error.verdict, np.round(error.direction / error.direction[0, 0], 6))
    quasi-complete [[ 1. -2.]]
    """

    verdict: str
    direction: np.ndarray

    def __init__(self, message: str, verdict: str, direction: np.ndarray) -> None:
        super().__init__(message)
        self.verdict, self.direction = verdict, direction

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.verdict, self.direction)


def require_overlap(objective: Objective, theta: np.ndarray, names: Any, owner: str) -> None:
    """Refuse rows whose classes a linear function separates, with `SeparatedClasses`.

    A finite bound on the excess at theta proves a maximum; else a linear programme decides.
    """
    rows = objective.rows
    scores = objective.scores(theta)
    if np.abs(scores).max() < _LARGE:
        return
    if not len(rows.offset) and _all_right(rows, scores):
        raise separated("complete", theta / np.abs(theta).max(), rows, names, owner)
    if theta.size > LARGEST_SYSTEM:
        return
    if evidence(objective, theta, rows.total).excess_bound < math.inf or theta.size > _WIDE:
        return
    try:
        separation = separating_direction(_signed_rows(rows))
    except ArithmeticError:  # too ill-conditioned a programme to prove anything
        return
    if separation.verdict == "none":
        return
    u = np.zeros((rows.n_scores, rows.d + 1))
    free = max(1, rows.n_scores - 1)
    part = separation.direction.reshape(free, -1)
    u[-free:, : part.shape[1]] = part
    raise separated(separation.verdict, u, rows, names, owner)


def _all_right(rows, scores):
    """Return True if each row's class alone has the largest score: then theta separates."""
    if scores.shape[1] == 1:
        return bool((np.where(rows.codes == 1, scores[:, 0], -scores[:, 0]) > 0).all())
    every = np.arange(rows.n)
    own = scores[every, rows.codes]
    others = scores.copy()
    others[every, rows.codes] = -np.inf
    return bool((own > others.max(axis=1)).all())


def separated(
    verdict: str, u: np.ndarray, columns: LogisticRows | Columns, names: Any, owner: str
) -> SeparatedClasses:
    """Return the error for classes that u (n_scores, d + 1), of these columns, separates."""
    moved = np.abs(u[:, :-1])
    used = np.flatnonzero((moved > _SHOWN * np.abs(u).max()).any(axis=0))
    coef = u[:, :-1] * columns.scale
    direction = np.c_[coef, u[:, -1] - coef @ columns.shift]
    shown = [f"x{j}" if names is None else str(names[j]) for j in used[:10]]
    more = f" and {len(used) - 10} more" if len(used) > 10 else ""
    separation = "completely separated" if verdict == "complete" else "quasi-completely separated"
    message = (
        f"{owner}: the classes are {separation} by a linear function of {', '.join(shown)}{more}: "
        "without penalty the likelihood has no maximum, and coefficients grow without end. Use a "
        "finite C, or leave these features out."
    )
    return SeparatedClasses(message, verdict, direction)


def _signed_rows(rows: LogisticRows) -> Any:
    """Return rows a with a.u the score of each row's class less that of another class.

    Columns are those of the second class, and of those after it, with the intercept each.
    """
    # The rows in units of the objective, with a column for the intercept.
    X = rows.X
    if sp.issparse(X):
        Z = sp.csr_array(X.astype(np.float64) @ sp.diags_array(rows.scale))
        if rows.intercept:
            Z = sp.csr_array(sp.hstack((Z, sp.csr_array(np.ones((rows.n, 1))))))
    else:
        Z = (X - rows.shift) * rows.scale
        Z = np.column_stack((Z, np.ones(rows.n))) if rows.intercept else Z
    # Two classes: a sign for each row.
    if rows.n_scores == 1:
        sign = np.where(rows.codes == 1, 1.0, -1.0)
        return sp.csr_array(Z * sign[:, None]) if sp.issparse(Z) else Z * sign[:, None]
    c, D = rows.n_scores, Z.shape[1]
    if not sp.issparse(Z) and rows.n * (c - 1) ** 2 * D > _DENSE:
        Z = sp.csr_array(Z)
    # More classes: a column block for each but the first; rows for each pair of classes.
    parts = []
    for own in range(c):
        mine = Z[rows.codes == own]
        for other in range(c):
            if other == own:
                continue
            blocks = [None] * (c - 1)
            for k, sign in ((own, 1.0), (other, -1.0)):
                if k:
                    blocks[k - 1] = sign * mine
            if sp.issparse(mine):
                empty = sp.csr_array(mine.shape)
                parts.append(sp.hstack([empty if b is None else b for b in blocks]))
            else:
                parts.append(np.hstack([np.zeros_like(mine) if b is None else b for b in blocks]))
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(Z) else np.concatenate(parts)
