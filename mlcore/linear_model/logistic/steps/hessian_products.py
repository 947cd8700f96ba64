"""Products with the Hessian of a logistic regression, and the Newton decrement from them alone."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.special import expit

from mlcore._ext.linear_model import hessian_products as _ext
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point
from mlcore.linear_model.logistic.steps.lbfgs import Metric, metric_of
from mlcore.numerics.conjugate_gradients import Iterate, Product, conjugate_gradients
from mlcore.numerics.scatter import row_blocks
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.runtime.threads import effective_threads, items_per_call

_STEPS = 400
_NEAR = 1e-2  # share of the squared decrement that need not be known when the steps end
_VALUES = 1 << 24  # of what intercepts and columns have in common
_GROUPS = 4  # of sparse rows with sums of their own


def bounds_by_products(
    objective: Objective, point: Point, error: np.ndarray, factor: float
) -> tuple[float, float]:
    """Return bounds on the decrement and on the largest norm of a row in the inverse Hessian.

    With any s and ``r = g + H s``, ``g' H^-1 g = -2 g's - s'Hs + r' H^-1 r``. Conjugate gradients
    solve for s; the last term is at most |r|² in units of the penalty, and left out without one.
    """
    products = Products(objective, point)
    bounds = InverseBounds(products)
    penalised = bool((products.penalty[:-1] > 0).all())
    gradient = products.determined(point.gradient)
    known, rest = 0.0, 0.0
    for s in _steps(products, gradient, metric_of(objective.rows)(objective, point)):
        s, r = bounds.with_solved_intercepts(s, gradient + products(s))
        known = max(0.0, -float(((gradient + r) * s).sum()))
        if penalised:
            rest = float((r[:, :-1] ** 2 / products.penalty[:-1]).sum())
        if penalised and rest <= _NEAR * known:
            break
    decrement = math.sqrt(factor * (known + rest))
    if not penalised or bounds.centres is None:
        return decrement, math.inf
    root = math.sqrt(factor)
    return decrement + root * bounds.norm(error), bounds.radius() / root


def _steps(products: "Products", g: np.ndarray, metric: Metric) -> Iterator[np.ndarray]:
    """Yield approximations of ``-H^-1 g`` after 4, 8, 16 ... steps of conjugate gradients."""
    iterates = products.conjugate_gradients(g, metric)
    now = next(iterates)
    enough = 1e-12 * now.size
    for step, now in enumerate(iterates, start=1):
        if step == _STEPS or now.size <= enough:
            break
        if step >= 4 and step & (step - 1) == 0:
            yield now.x
    yield now.x


class Products:
    """Products with the Hessian of an objective at a point, in one reading of the rows each.

    `count` is their number, `n_scores` that of scores.
    """

    penalty: np.ndarray
    count: int
    n_scores: Any
    rows: LogisticRows

    def __init__(self, objective: Objective, point: Point) -> None:
        rows = self.rows = objective.rows
        self.penalty = objective.penalty
        self.count = 0
        scores = objective.scores(point.theta)
        c = self.n_scores = scores.shape[1]
        self._p = expit(scores) if c == 1 else np.exp(log_softmax(scores))
        self._weight = (rows.weight / rows.total)[:, None]
        if c == 1:
            self._weight = self._weight * self._p * expit(-scores)

    def curved(self, Z: np.ndarray, block: slice) -> np.ndarray:
        """Return the second derivatives of the losses of some rows in their scores, times Z."""
        if self.n_scores > 1:
            p = self._p[block]
            Z = (Z - np.einsum("ij,ij->i", p, Z)[:, None]) * p
        return self._weight[block] * Z

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows, and these rows, shifted; sparse ones have no shift."""
        rows = self.rows
        if sp.issparse(rows.X):
            yield slice(0, rows.n), rows.X
            return
        for block, B in row_blocks(rows.X):
            yield block, B - rows.shift

    def squares(self) -> np.ndarray:
        """Return the diagonal of the Hessian, (n_scores, d + 1), for sparse rows."""
        self.count += 1
        X, scale = self.rows.X, self._scale
        variance = np.ascontiguousarray(self.variances())
        out = self._sums_of_groups()
        for first, last, n_threads in self._calls():
            _ext.squares(X.data, X.indices, X.indptr, first, last, variance, out, n_threads)
        return self._added(out, scale**2) + self.penalty

    def variances(self) -> np.ndarray:
        """Return the second derivatives of the losses of rows in each score, (n, n_scores)."""
        return self._weight if self.n_scores == 1 else self._weight * self._p * (1 - self._p)

    def _sums_of_groups(self):
        return np.zeros((self.rows.groups(_GROUPS), self.rows.d + 1, self.n_scores))

    def _calls(self):
        """Yield parts of the rows, and threads, for which a call is no longer than Ctrl-C waits."""
        rows = self.rows
        work = max(1, rows.X.nnz // rows.n) * 4 * self.n_scores
        step, n_threads = max(1, items_per_call(work)), effective_threads(rows.n * work)
        for first in range(0, rows.n, step):
            yield first, min(rows.n, first + step), n_threads

    def _added(self, sums, scale):
        """Return the sums over groups, (n_scores, d + 1), in scaled columns."""
        total = sums[0] if len(sums) == 1 else sums.sum(axis=0)
        return np.ascontiguousarray(total.T) * scale

    @property
    def _scale(self):
        return np.append(self.rows.scale, float(self.rows.intercept))

    def _of_sparse_rows(self, v):
        X, scale = self.rows.X, self._scale
        V, out = np.ascontiguousarray((v * scale).T), self._sums_of_groups()
        scratch = np.empty((len(out), self.n_scores))
        weight = self._weight[:, 0]
        for first, last, n_threads in self._calls():
            _ext.products(
                X.data, X.indices, X.indptr, first, last, weight, self._p, V, scratch, out,
                n_threads,
            )  # fmt: skip
        return self._added(out, scale) + self.penalty * v

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """Return ``H v`` for v (n_scores, d + 1)."""
        self.count += 1
        if sp.issparse(self.rows.X):
            return self._of_sparse_rows(v)
        out, scale, constant = self.penalty * v, self.rows.scale, float(self.rows.intercept)
        coef = (v[:, :-1] * scale).T
        for block, B in self.blocks():
            Q = self.curved(B @ coef + constant * v[:, -1], block)
            out[:, :-1] += (B.T @ Q).T * scale
            out[:, -1] += constant * Q.sum(axis=0)
        return out

    def conjugate_gradients(
        self, g: np.ndarray, metric: Metric, times: Product | None = None
    ) -> Iterator[Iterate]:
        """Yield the iterates towards ``-H^-1 g``, or ``-A^-1 g`` for products `times` with A."""

        def precondition(r):
            return self.determined(metric(r))

        return conjugate_gradients(self if times is None else times, -g, precondition, _inner)

    def determined(self, v: np.ndarray) -> np.ndarray:
        """Return v without equal changes of all classes, where nothing depends on them."""
        if self.n_scores == 1:
            return v
        v = v.copy()
        free = self.penalty == 0
        v[:, free] -= v[:, free].mean(axis=0)
        return v


def _inner(a, b):
    return float(np.vdot(a, b))


class InverseBounds:
    """Bounds in the inverse Hessian, of which the penalty is a part that is easily inverted."""

    penalty: np.ndarray
    centres: np.ndarray | None

    def __init__(self, products: Products) -> None:
        self._times, self._rows, self._c = products, products.rows, products.n_scores
        self.penalty = products.penalty
        rows, c = self._rows, self._c
        self._inverse = np.zeros((c, c))  # of the Hessian of the intercepts
        if rows.intercept:
            every = slice(0, rows.n)
            H = [products.curved(np.tile(e, (rows.n, 1)), every).sum(axis=0) for e in np.eye(c)]
            self._inverse = self._centred(NewtonSystem(np.array(H), c).solve(np.eye(c)))
        many = c * c * (rows.d + 1) > _VALUES
        self.centres = None if many else self._regressions()

    def _centred(self, A):
        """Return A (n_scores, n_scores) for changes of the classes that sum to 0."""
        return A if self._c == 1 else A - A.mean(axis=0) - A.mean(axis=1)[:, None] + A.mean()

    def with_solved_intercepts(self, s: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a step and its residual, with intercepts for which that is 0 there."""
        if not self._rows.intercept:
            return s, r
        change = np.zeros_like(s)
        change[:, -1] = -self._inverse @ r[:, -1]
        return s + change, r + self._times(change)

    def _regressions(self):
        """Return the part of the Hessian between columns and intercepts, times the inverse of that
        between the intercepts, (n_scores, n_scores, d).
        """
        out = np.zeros((self._c, self._c, self._rows.d))
        if self._rows.intercept:
            v = np.zeros((self._c, self._rows.d + 1))
            for k, column in enumerate(self._inverse.T):
                v[:, -1] = column
                out[k] = self._times(v)[:, :-1]
        return out

    def norm(self, error: np.ndarray) -> float:
        """Return a bound on the norm, in the inverse Hessian, of gradients of at most this size."""
        root = np.sqrt(self.penalty[:-1])
        bound = float(np.linalg.norm(error[:, :-1] / root))
        if self._rows.intercept:
            squares = ((self.centres / root) ** 2).sum(axis=(1, 2)) + self._inverse.diagonal()
            bound += float(error[:, -1] @ np.sqrt(squares))
        return bound

    def radius(self) -> float:
        """Return a bound on the norm of a row in the inverse Hessian.

        Of several classes, of the difference of its copies for any two of them.
        """
        c, rows, A = self._c, self._rows, self._inverse
        pairs = [(0, 0)] if c == 1 else [(a, b) for a in range(c) for b in range(a + 1, c)]
        metric = rows.scale / np.sqrt(self.penalty[:-1])
        copies = 1 if c == 1 else 2
        projections, constants = np.empty((len(pairs), rows.d)), np.empty(len(pairs))
        for at, (a, b) in enumerate(pairs):
            u = self.centres[a] if c == 1 else self.centres[a] - self.centres[b]
            q = A[0, 0] if c == 1 else A[a, a] + A[b, b] - 2 * A[a, b]
            u = u / np.sqrt(self.penalty[:-1])
            projections[at] = u[a] if c == 1 else u[a] - u[b]
            constants[at] = (u**2).sum() + q
        largest = 0.0
        for _, B in self._times.blocks():
            if sp.issparse(B):
                B = B @ sp.diags_array(metric)
                squares = np.asarray(B.multiply(B).sum(axis=1)).ravel()
            else:
                B = B * metric
                squares = np.einsum("ij,ij->i", B, B)
            products = B @ projections.T
            distances = copies * squares[:, None] - 2 * products + constants
            largest = max(largest, float(distances.max()))
        return math.sqrt(largest)
