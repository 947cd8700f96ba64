"""Newton's direction for sparse rows of more columns than rows, from one number for each row.

With rows X, second derivatives D of their losses and the gradient g, the step of the coefficients
is ``-(g + X'sqrt(D) u) / lambda``, where u is the minimiser of the dual of the quadratic model,
``1/2 u'Au - c'u`` with ``A = I + sqrt(D) XX' sqrt(D) / lambda`` and ``c = -sqrt(D) X g / lambda``,
for which ``sqrt(D)'u`` is the intercept's part of -g. Columns that few rows have add little to XX'
but its diagonal, so that conjugate gradients take a third of the steps, and each half the time.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.rounding import ULP
from mlcore.linear_model.logistic.steps.hessian_products import Products
from mlcore.linear_model.logistic.steps.lbfgs import inverse_of
from mlcore.numerics.conjugate_gradients import Product, conjugate_gradients
from mlcore.numerics.sparse_products import CentredProducts
from mlcore.runtime.memory import require_memory


class SampleDirection(NamedTuple):
    """Step (1, d + 1), a bound on the squared decrement, and the count of conjugate gradients."""

    step: np.ndarray
    squared: float
    count: int


class SampleSystem:
    """The dual systems of an objective of one score, at any of its points.

    Their metric is the diagonal of A, with the `heavy` columns, which most rows have, as they are.
    """

    def __init__(self, objective: Objective, heavy: LogisticRows) -> None:
        rows, self._strength = objective.rows, objective.strength
        X, self._scale, self._intercept = rows.X, rows.scale, rows.intercept
        what, instead = "a copy of the columns", "use solver='lbfgs'"
        require_memory(max(1, X.nnz), 1, 24, what=what, instead=instead)
        no_center = np.zeros(rows.n), np.zeros(rows.d)
        self._rows = CentredProducts(sp.csr_array(X), *no_center)
        self._columns, self._place = self._rows.columns_by_length()
        self._heavy = heavy
        self._light = np.maximum(_squares(X) - _squares(heavy.X), 0.0)

    def direction(
        self, products: Products, g: np.ndarray, ends: tuple[float, float, float], most: int
    ) -> SampleDirection:
        """Return the direction at the point of `products`, of gradient g (1, d + 1).

        The ends are the share of the decrement that may be left, the value of the objective, and
        the squared decrement that may be left in any case.
        """
        share, value, enough = ends
        root, strength = np.sqrt(products.variances()[:, 0]), self._strength
        # The part of the intercept, about which saturated probabilities tell nothing.
        size = float(np.linalg.norm(root)) if self._intercept else 0.0
        unit = root / size if size > 0 else np.zeros_like(root)
        u = -g[0, -1] / size * unit if size > 0 else np.zeros_like(root)
        unknown = math.inf if size == 0 and g[0, -1] != 0 else 0.0
        slopes = g[0, :-1] / self._scale
        c = root * self._rows.times(slopes[:, None])[:, 0] / -strength

        def times(v):
            return v + root * (self._columns @ (root * v)[:, None])[:, 0] / strength

        length = float(slopes @ slopes) / strength
        right, metric = c - times(u), self._metric(root, unit)
        for count, now in enumerate(conjugate_gradients(times, right, metric, np.dot)):
            # Half the square of the residual is the gap of the quadratic model and its dual.
            off = now.residual - unit * (unit @ now.residual)
            dual, along = u + now.x, c + now.residual
            rounding = len(dual) * ULP * (length + float(np.abs(dual) @ np.abs(along)))
            squared = length - float(dual @ along) + rounding + unknown
            rest = float(off @ off)
            found = squared - rest
            left = min(share**2, found / (2 * value)) * found
            if count == most or (found > 0 and rest <= max(left, enough)):
                break
        products.count += count + 3
        step = np.zeros_like(g)
        sums = self._columns.times((root * dual)[:, None])[self._place, 0]
        step[0, :-1] = (slopes + sums) / (-strength * self._scale)
        if size > 0:
            step[0, -1] = -float(unit @ now.residual) / size
        return SampleDirection(step, squared, count)

    def _metric(self, root: np.ndarray, unit: np.ndarray) -> Product:
        """Return the inverse of the metric, by Woodbury's formula, among vectors orthogonal to
        `unit`.
        """
        heavy, weight = self._heavy, root / np.sqrt(self._strength)
        diagonal, units, H = 1 + weight**2 * self._light, heavy.scale, heavy.X
        M = heavy.weighted(weight**2 / diagonal).gram(1)[1]
        solve = inverse_of(M[:-1, :-1].copy(), units**2) if len(units) else None

        def of_all(r):
            z = r / diagonal
            if solve is None:
                return z
            y = solve((units * (H.T @ (weight * z)))[None])[0]
            return z - weight * (H @ (units * y)) / diagonal

        if not unit.any():
            return of_all
        normal = of_all(unit)
        normal /= unit @ normal

        def product(r):
            z = of_all(r)
            return z - (unit @ z) * normal

        return product


def _squares(X):
    """Return the sums of squares of rows."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    squares = X.data.astype(np.float64) ** 2
    return sp.csr_array((squares, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1])
