"""Newton's method by conjugate gradients, for sparse rows of more columns than a Hessian may have.

Steps solve for Newton's direction in the metric of the diagonal of the Hessian, with its block of
the columns that many rows have, and are no more exact than the rest of the way asks for. Where this
takes many conjugate gradients, and rows are few, a fit goes on with the dual (`SampleSystem`). T.
Steihaug, *The conjugate gradient method and trust regions in large scale optimization*, SIAM
Journal on Numerical Analysis 20, 1983.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.steps.hessian_products import Products
from mlcore.linear_model.logistic.steps.lbfgs import Metric, inverse_of
from mlcore.linear_model.logistic.steps.newton import Step, search
from mlcore.linear_model.logistic.steps.sample_system import SampleSystem
from mlcore.numerics.sparse_products import column_counts

_STEPS = 400  # of conjugate gradients
_SHARES = 0.25, 0.1  # of the decrement that the first step leaves, and later ones
_LEFT = 0.3  # of the excess at which the fit ends, that the last step may leave
_LEAST = 1e-6  # Ritz value
_OFTEN = 1 / 16, 1 / 2  # share of rows with a value, of columns in a block, and in one of few
_BLOCK = 256  # columns of the block at most
_ROWS = 4  # of the block, times the number of its columns
_DEAR = 128  # multiplications for each value, from which the first block is one of few columns
_TOO_MANY = 15  # after which a fit goes on with a number for each row
_FEWER = 8  # columns for a row, from which it does
_CHANGED = 0.1  # share of the variances of rows, beyond which the diagonal is computed again
_MANY = 8, 10  # conjugate gradients, after which a block is computed again, and one of few


def conjugate_newton_steps(
    objective: Objective, theta: np.ndarray, excess: float
) -> Iterator[Step]:
    """Yield the points from `theta` on, until no step helps; none where the objective is infinite.

    Points rise by rounding at most. A squared decrement is what conjugate gradients have found, and
    their residual in the metric, divided by its least Ritz value. `excess` is the relative one at
    which the fit ends.
    """
    point, least, share = objective.at(theta), 1.0, _SHARES[0]
    if not np.isfinite(point.value):
        return
    metric, samples = _Metric(objective), None
    while True:
        products = Products(objective, point)
        enough = 2 * excess * point.value
        if samples is not None:
            ends = share, point.value, _LEFT * enough
            found = samples.direction(products, point.gradient, ends, _STEPS)
            objective.n_passes += products.count
            yield Step(point, float(np.sqrt(found.squared)), found.step)
            slope = float((point.gradient * found.step).sum())
            following = search(objective, point, found.step, slope)
            if following is None:
                return
            point = following
            continue
        inverse, g = metric.at(products), products.determined(point.gradient)
        # Near the minimum the gradient in the metric shows it.
        plain = products.determined(inverse(g))
        squared = float((g * plain).sum()) / least
        is_near = squared <= enough
        if is_near:
            objective.n_passes += products.count
            products.count = 0
            yield Step(point, float(np.sqrt(squared)), -plain)
        found = _direction(products, g, inverse, least, (share, point.value, _LEFT * enough))
        objective.n_passes += products.count
        slope = float((g * found.step).sum())
        if not is_near:
            squared = max(0.0, -slope) + found.rest
            yield Step(point, float(np.sqrt(squared)), found.step)
        following = search(objective, point, found.step, slope)
        if following is None:
            return
        rows = objective.rows
        if found.count >= _TOO_MANY and rows.n_scores == 1 and _FEWER * rows.n <= rows.d:
            samples = SampleSystem(objective, metric.rows)
        elif found.count >= _MANY[metric.has_few]:
            metric.renew()
        point, least, share = following, found.least, _SHARES[1]


class _Direction(NamedTuple):
    """Step near ``-H^-1 g``, a bound on the `rest` of the squared decrement if `least` is the least
    eigenvalue of the Hessian in the metric, and the count of conjugate gradients.
    """

    step: np.ndarray
    rest: float
    least: float
    count: int


def _direction(products, g, inverse, least, ends):
    """Return the direction, with a share of the decrement left, less near the minimum."""
    share, value, enough = ends
    iterates = products.conjugate_gradients(g, inverse)
    now = next(iterates)
    first, size, count, squared = now.size, now.size, 0, 0.0
    diagonal, beside, ratio, length = [], [], 0.0, 1.0
    for count, now in enumerate(iterates, start=1):
        # The matrix of Lanczos, whose eigenvalues are the Ritz values.
        squared += now.length * size
        diagonal.append(1 / now.length + ratio / length)
        ratio, length = now.size / size if size > 0 else 0.0, now.length
        beside.append(np.sqrt(ratio) / length)
        size = now.size
        left = min(share**2, squared / (2 * value)) * first
        if count == _STEPS or not size > max(left, enough):
            least = _least_eigenvalue(diagonal, beside[:-1])
            if count == _STEPS or not size > max(left, least * enough):
                break
    return _Direction(now.x, size / least, least, count)


def _least_eigenvalue(diagonal, beside):
    diagonal, beside = np.array(diagonal), np.array(beside)
    values = eigvalsh_tridiagonal(diagonal, beside, select="i", select_range=(0, 0))
    return min(1.0, max(_LEAST, float(values[0])))


class _Metric:
    """Inverses of the diagonals of Hessians, with the blocks of the columns that many rows have.

    Where many are dear, few are the first: a fit of few conjugate gradients needs no more.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective, self._columns = objective, None
        self._inverse, self._variances = None, 0.0
        rows = objective.rows
        self._counts = column_counts(rows.X)
        count = min(_BLOCK, int((self._counts >= _OFTEN[0] * rows.n).sum()))
        read = min(rows.n, 2 * _ROWS * (count + 1))
        self.has_few = read * count**2 > _DEAR * rows.X.nnz
        self._choose()

    def renew(self) -> None:
        """Compute the blocks again, of more columns, where they are next asked for."""
        self.has_few = False
        self._choose()

    def _choose(self):
        objective, rows = self._objective, self._objective.rows
        often = np.flatnonzero(self._counts >= _OFTEN[self.has_few] * rows.n)
        if len(often) > _BLOCK:
            squares = objective.mean[often] ** 2 + objective.deviation[often] ** 2
            often = np.sort(often[np.argpartition(squares, -_BLOCK)[-_BLOCK:]])
        if self._columns is None or not np.array_equal(often, self._columns):
            self.rows = rows.of_columns(often, int(self._counts[often].sum()))
        self._columns, self._share, self._is_old = often, len(often) / rows.d, True

    def at(self, products: Products) -> Metric:
        """Return the product of the inverse with gradients, at the point of these products."""
        variances, inverse = products.variances(), self._inverse
        change = np.abs(variances - self._variances).sum()
        if inverse is None or change > _CHANGED * variances.sum():
            diagonal = products.squares()
            inverse = self._inverse = np.zeros_like(diagonal)
            np.divide(1, diagonal, out=inverse, where=diagonal > 0)
            self._variances = variances
        if not len(self._columns):
            return lambda g: g * inverse
        if self._is_old:
            self._is_old = False
            self._blocks = [self._block(variance) for variance in variances.T]
        at, blocks = np.append(self._columns, inverse.shape[1] - 1), self._blocks

        def product(g):
            out = g * inverse
            for k, block in enumerate(blocks):
                out[k, at] = block(g[k : k + 1, at])[0]
            return out

        return product

    def _block(self, variance):
        """Return the inverse of a block, from as many rows as it needs."""
        rows = self.rows.weighted(np.ascontiguousarray(variance))
        n_effective = rows.total**2 / max(float((variance**2).sum()), np.finfo(float).tiny)
        stride = 1
        while n_effective >= 2 * stride * _ROWS * (rows.d + 1) and stride < 64:
            stride *= 2
        M = rows.gram(stride)[1] * (self.rows.total / self.rows.weight_of(stride))
        self._objective.n_passes += self._share / stride
        return inverse_of(M, np.append(self._objective.penalty[self._columns], 0.0))
