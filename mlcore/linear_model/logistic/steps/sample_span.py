"""Logistic regression with more features than samples, in coordinates of the samples' span."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.runtime.memory import require_memory

_LARGEST = 4000  # samples whose products with each other are decomposed


class Span(NamedTuple):
    """Objective in orthonormal coordinates of the span of shifted rows, and the way back.

    With ``X X' = U L U'`` coefficients u are ``W = u L^-1/2 U' X``, of the same norm.
    """

    objective: Objective
    factors: np.ndarray  # (rank, n): L^-1/2 U'
    rows: LogisticRows

    def theta(self, theta: np.ndarray) -> np.ndarray:
        """Return parameters of the span as parameters of the rows."""
        of_span, rows = self.objective.rows, self.rows
        u = theta[:, :-1] * of_span.scale
        W = (u @ self.factors) @ (rows.X - rows.shift)
        return np.c_[W / rows.scale, theta[:, -1] - u @ of_span.shift]


def in_span(objective: Objective) -> Span | None:
    """Return the problem in the span of the samples; None where that is of no use."""
    rows, strength = objective.rows, objective.strength
    if sparse.issparse(rows.X) or not rows.n < rows.d or rows.n > _LARGEST or strength == 0:
        return None
    require_memory(rows.n, rows.d, 8, what="a copy of the samples", instead="use solver='lbfgs'")
    X = rows.X - rows.shift
    power = np.frexp(np.abs(X).max())[1]
    X = np.ldexp(X, -power)
    values, vectors = linalg.eigh(X @ X.T)
    kept = values > len(values) * 1e-15 * values.max()
    if not kept.any():
        return None
    roots = np.ldexp(np.sqrt(values[kept]), power)
    coordinates = np.ascontiguousarray(vectors[:, kept] * roots)
    offset = rows.offset if len(rows.offset) else None
    span_rows = LogisticRows(
        coordinates, rows.codes, rows.weight, offset, rows.n_scores, rows.intercept
    )
    return Span(Objective(span_rows, strength), vectors[:, kept].T / roots[:, None], rows)
