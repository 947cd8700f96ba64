"""Least squares with absolute values in the penalty, of sparse rows, in the columns that matter."""

import math
from collections.abc import Callable

import numpy as np

from mlcore._ext.linear_model.coordinate import duality_gap
from mlcore.linear_model.coordinate.columns import FAR, Columns
from mlcore.linear_model.coordinate.penalties import Penalties, Solution
from mlcore.linear_model.coordinate.working_columns import ColumnProblem
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.scatter import in_range
from mlcore.numerics.sparse_products import chosen_columns, target_sums
from mlcore.runtime.memory import require_memory

_READINGS = 3  # with new columns, after which all columns are copied
_FEW = 100  # columns whose slopes exceed the penalty at coefficients of 0, at most
_NEAR = 0.7  # share of the penalty that the slopes of the first columns exceed
_INNER = 0.3  # of the tolerance, for the problem of the columns that are copied


class RowProblem:
    """Least squares of k targets by the columns of sparse rows in `DataUnits` of powers 0.

    If few slopes exceed the penalty at coefficients of 0, a fit copies the columns of the largest
    slopes alone, and reads the rows for the slopes of all: half the time of a copy of all columns.
    Fields are those of `ColumnProblem`.
    """

    eps = eps_of_evidence = EPS

    def __init__(self, rows: Rows, fit_intercept: bool) -> None:
        (self.n, d), k = rows.X.shape, rows.Y.shape[1]
        self.rows, self.fit_intercept = rows, fit_intercept
        self.data_units: DataUnits = rows.data_units
        self.dtype = rows.X.dtype
        weight = np.ones(self.n) if rows.weight is None else rows.weight.astype(np.float64)
        self.root, self.total = np.sqrt(weight), float(weight.sum())
        Y, self.offset = rows.Y.T.astype(np.float64), np.zeros(k)
        if fit_intercept:
            self.offset = np.average(Y, axis=1, weights=rows.weight)
        Y -= self.offset[:, None]
        weighted = Y * weight
        with np.errstate(all="ignore"):  # the caller looks
            first = np.ascontiguousarray(weighted[0])
            counts, sums, squares, products = target_sums(rows.X, weight, first)
            self.C = np.column_stack([products, rows.X.T @ weighted[1:].T])
            self.counts = counts.astype(np.int64)
            self.mean = sums / self.total if fit_intercept else np.zeros(d)
            self._squares = np.maximum(squares - self.total * self.mean**2, 0.0)
        self.center = self.mean - self.data_units.origin
        self.size, self.reach = np.sqrt(self._squares), np.sqrt(squares)
        self.Y = Y * self.root
        self.squares = np.einsum("ij,ij->i", self.Y, self.Y)
        self._solved: list[tuple[np.ndarray, ColumnProblem]] = []

    def is_sound(self) -> bool:
        """Return True if the sums have their digits: no column is far from 0, or out of range."""
        entries = self.counts > 0
        squares = self._squares[entries]
        far = self.total * self.mean[entries] ** 2 > FAR * squares
        return bool(in_range(squares, np.dtype(np.float64)).all() and not far.any())

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations of features, (d,)."""
        if self.fit_intercept:
            return self.size / math.sqrt(self.total)
        return self._all_columns().deviation

    def solve(
        self, penalties: Penalties, tol: float, max_iter: int, report: Callable[[Solution], None]
    ) -> Solution:
        """Return the best coefficients, as `ColumnProblem.solve` does."""
        found = [self._solve(penalties, t, tol, max_iter) for t in range(len(self.squares))]
        if any(one is None for one in found):
            problem = ColumnProblem.of(self.rows, self._all_columns(), self.fit_intercept, self.C)
            self._solved = [(np.arange(len(self.counts)), problem)]
            return problem.solve(penalties, tol, max_iter, report)
        coef = np.stack([w for w, *_ in found], axis=1)
        objective, gap, n_iter = np.array([figures for _, *figures in found]).T
        solution = Solution(coef, self.center, self.offset, objective, gap, n_iter)
        report(solution)
        return solution

    def _all_columns(self):
        return Columns.of(self.rows, self.fit_intercept)

    def _solve(self, penalties, t, tol, max_iter):
        """Return coefficients (d,), objective, gap and rounds; None if columns should be copied."""
        lasso, ridge = np.ascontiguousarray(penalties.lasso[:, t]), penalties.ridge
        X, y, y2, n_iter = self.rows.X, self.Y[t], float(self.squares[t]), 0
        noise = np.array([2 * math.sqrt(max(X.shape)) * EPS, 0.0, 2 * EPS])
        h, members = self.C[:, t], np.zeros(0, np.intp)
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.where(h == 0, 0.0, np.abs(h) / lasso)
        if np.count_nonzero(steep > 1) > _FEW:
            return None
        more = np.flatnonzero(steep > _NEAR)
        more = more[np.argsort(-steep[more], kind="stable")[: 2 * _FEW]]
        for _ in range(_READINGS):
            members = np.union1d(members, more)
            problem = self._problem_of(members, t)
            inside = Penalties(penalties.lasso[members, t : t + 1], ridge[members])
            found, figures = problem.path(inside, np.ones(1), _INNER * tol, max_iter - n_iter)
            n_iter += int(figures[0, 0, 2])
            # The slopes of all, and the certificate, by the rows, whose residuals sum to 0.
            w = np.zeros(len(h))
            w[members] = found[0, :, 0]
            face = np.flatnonzero(found[0, :, 0])
            r = y - problem.columns.fitted(found[0, face].T, face)[0]
            h = X.T @ (r * self.root)
            evidence = duality_gap(
                w, h - ridge * w, float(r @ r), y2, lasso, ridge, self.reach, noise
            )
            if evidence[1] <= tol * y2 / 2 or n_iter >= max_iter:
                self._solved.append((members, problem))
                return w, *evidence, n_iter
            more = np.flatnonzero(np.abs(h) > lasso)
            if len(more) > _FEW + len(members):
                return None
        return None

    def _problem_of(self, members, t):
        """Return the problem of target t in these columns, which are copied."""
        rows, of_target = self.rows, slice(t, t + 1)
        count = int(self.counts[members].sum())
        require_memory(max(1, count), 1, 24, what="a copy of columns", instead="raise the penalty")
        units = self.data_units
        part = Rows(
            chosen_columns(rows.X, members, count),
            rows.Y[:, of_target],
            rows.weight,
            units._replace(
                origin=units.origin[members],
                power=units.power[members],
                target_origin=units.target_origin[of_target],
                target_power=units.target_power[of_target],
            ),
        )
        columns = Columns.of(part, self.fit_intercept)
        return ColumnProblem.of(part, columns, self.fit_intercept)

    def degrees_of_freedom(self, ridge: np.ndarray, w: np.ndarray) -> float:
        """Return the trace of the map from targets to fitted values, with the signs of w fixed."""
        for members, problem in self._solved:
            if not np.delete(w, members).any():
                return problem.degrees_of_freedom(ridge[members], w[members])
        raise AssertionError("coefficients are those of a solution")
