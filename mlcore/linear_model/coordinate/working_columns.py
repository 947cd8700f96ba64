"""Least squares with absolute values in the penalty, in the columns that matter."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mlcore._ext.linear_model import working_columns as _ext
from mlcore.linear_model.coordinate.columns import Columns
from mlcore.linear_model.coordinate.penalties import Penalties, Solution, trace_of_fit
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import OPERATIONS_PER_CALL, effective_threads, single_threaded_blas

_ROOM = 128, 512  # members at first, at least and at most
_LONG = 256  # members whose rounds may take longer than Ctrl-C may wait
_MANY = 2000  # members, from which those that are 0 leave before more room is made
_SWEPT = 1000  # members, sparse, from which their columns are swept, without products
_FEW_ROWS, _SWEPT_OF_FEW = 2000, 3000  # where the face nears their number sweeps gain little
_TRACED = 2000  # features of which the rank is computed
_MEMBERS, _FACE, _WANTED, _LEFT, _IS_SWEPT = 1, 4, 7, 8, 10  # places in `state` of _ext
_LISTS = slice(11, 13)
_KEPT = [_MEMBERS, _IS_SWEPT, 11, 12]  # from target to target


class _Members:
    """Columns that rounds look at, their products, and the scratch of rounds.

    They are kept from penalty to penalty, and from target to target.
    """

    def __init__(self, columns: Columns) -> None:
        n, d = len(columns.root), len(columns.size)
        self.columns = columns
        self.place = np.full(d, -1, np.intp)
        self.state = np.zeros(13, np.int64)
        self._begin_lists()
        if len(columns.dense):  # their room costs less than to make more
            self._make_room(min(d, max(_ROOM[0], min(2 * n, _ROOM[1]))), n)
        else:
            self._make_room(min(d, _ROOM[0]), 1)

    def _make_room(self, width: int, n: int) -> None:
        require_memory(
            width, 2 * width + n, 8, what="products of the columns that matter",
            instead="use larger penalties",
        )  # fmt: skip
        self.of_members, self.members = np.zeros((10, width)), np.zeros((3, width), np.intp)
        self.G, self.factor, self.packed = (
            scratch_array((width, columns), np.dtype(np.float64)) for columns in (width, width, n)
        )

    def _begin_lists(self) -> None:
        """Make room for the entries of sparse members, which `_ext` lists by rows."""
        columns, self.state[_LISTS] = self.columns, 0
        n, entries = 1, 0
        if not len(columns.dense):
            n, most = len(columns.root), 2 * _SWEPT_OF_FEW  # members that have products
            entries = int(np.sort(np.diff(columns.indptr))[-most:].sum())
        room = 4 * (n + entries)
        self.lists = (
            np.zeros((2, n), np.int64),
            scratch_array((room,), np.dtype(np.int32)),
            scratch_array((room,), np.dtype(np.float64)),
        )

    def make_room(self) -> None:
        """Make room for as many members as are wanted; of very many only those not 0 stay."""
        count, wanted, d = self.state[_MEMBERS], self.state[_WANTED], len(self.place)
        few = len(self.columns.root) <= _FEW_ROWS
        most = _SWEPT_OF_FEW if few else _SWEPT
        if wanted > most and not len(self.columns.dense):
            self._sweep_from_now()
            return
        before = self.of_members, self.members, self.G, self.packed
        stay = np.flatnonzero(before[0][1, :count]) if count > _MANY else np.arange(count)
        kept = len(stay)
        self._make_room(int(min(d, max(wanted - count + kept, 2 * kept))), before[3].shape[1])
        self.of_members[:, :kept] = before[0][:, stay]
        self.members[0, :kept] = before[1][0, stay]
        if kept == count:
            self.G[:kept, :kept] = before[2][:count, :count]
            self.packed[:kept] = before[3][:count]
        else:
            self.G[:kept, :kept] = before[2][np.ix_(stay, stay)]
            self.packed[:kept] = before[3][stay]
            self._begin_lists()
            self.place[:] = -1
            self.place[self.members[0, :kept]] = np.arange(kept)
        self.state[_MEMBERS], self.state[_FACE] = kept, 0

    def _sweep_from_now(self) -> None:
        """Make room for all columns, of which no products are kept."""
        width, d = self.of_members.shape[1], len(self.place)
        before = self.of_members, self.members
        self.of_members, self.members = np.zeros((10, d)), np.zeros((3, d), np.intp)
        self.of_members[:, :width], self.members[:, :width] = before
        self.G = self.factor = self.packed = np.empty((1, 1))
        self.state[_IS_SWEPT] = 1

    def products(self, face: np.ndarray) -> np.ndarray:
        """Return the products of the columns of a face: those kept, if all of it are members."""
        at, columns = self.place[face], self.columns
        if not self.state[_IS_SWEPT] and (at >= 0).all():
            return self.G[np.ix_(at, at)]
        return columns.products(face, face)


class ColumnProblem(NamedTuple):
    """Least squares of k targets by `Columns`, with an absolute value of each coefficient.

    `Y` (k, n) are the targets less `offset` (k,), times the roots of weights, `squares` (k,)
    theirs; C (d, k) are their products with columns.
    """

    columns: Columns
    members: _Members
    Y: np.ndarray
    C: np.ndarray
    squares: np.ndarray
    offset: np.ndarray
    shift: np.ndarray  # (d, k) powers of two of coefficients in the units of the data; or (0, k)
    n: int
    dtype: np.dtype
    data_units: DataUnits

    @classmethod
    def of(
        cls, rows: Rows, columns: Columns, fit_intercept: bool, C: np.ndarray | None = None
    ) -> "ColumnProblem":
        """Return the problem of these rows; C may be known."""
        Y, k = rows.Y.T.astype(np.float64), rows.Y.shape[1]
        offset = np.zeros(k)
        if fit_intercept:
            offset = np.average(Y, axis=1, weights=rows.weight)
        Y = (Y - offset[:, None]) * columns.root
        if C is None:
            C = np.stack([columns.times(y) for y in Y], axis=1)
        data_units = rows.data_units
        shift = np.zeros((0, k), np.int64)
        if rows.X.dtype == np.float32:
            shift = data_units.target_power - data_units.power[:, None]
        squares = np.einsum("ij,ij->i", Y, Y)
        return cls(
            columns, _Members(columns), Y, C, squares, offset, shift, len(columns.root),
            rows.X.dtype, data_units,
        )  # fmt: skip

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return self.columns.total

    @property
    def size(self) -> np.ndarray:
        """Lengths of columns, (d,)."""
        return self.columns.size

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations of features, (d,)."""
        return self.columns.deviation

    @property
    def center(self) -> np.ndarray:
        """Means of features, (d,)."""
        return self.columns.center

    @property
    def eps(self) -> float:
        """Rounding of numbers in the sums: of float64, for data of any type."""
        return EPS

    eps_of_evidence = eps

    def solve(
        self, penalties: Penalties, tol: float, max_iter: int, report: Callable[[Solution], None]
    ) -> Solution:
        """Return the best coefficients, with a gap of at most `tol` of the objective of 0, or as
        small as `max_iter` rounds and rounding leave it.
        """
        coef, figures = self.path(penalties, np.ones(1), tol, max_iter)
        objective, gap, n_iter = figures[0].T
        solution = Solution(coef[0], self.center, self.offset, objective, gap, n_iter)
        report(solution)
        return solution

    def path(
        self, penalties: Penalties, alphas: np.ndarray, tol: float, max_iter: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (m, d, k) for descending alphas, and figures (m, k, 3): objective,
        gap and number of rounds, the gap by residuals of the rows.
        """
        (d, k), m = self.C.shape, len(alphas)
        require_memory(m, d * k, 8, what="coefficients of the path", instead="use fewer alphas")
        if k == 1:
            W, of_target = self._descend(penalties, 0, alphas, tol, max_iter)
            return W[:, :, None], of_target[:, None]
        coef, figures = np.empty((m, d, k)), np.empty((m, k, 3))
        for t in range(k):
            coef[:, :, t], figures[:, t] = self._descend(penalties, t, alphas, tol, max_iter)
        return coef, figures

    def _descend(self, penalties, t, alphas, tol, max_iter):
        columns, members, squares = self.columns, self.members, float(self.squares[t])
        d, n, m = len(self.size), self.n, len(alphas)
        W, figures = np.empty((m, d)), np.empty((m, 3))
        lasso = penalties.lasso[:, t]
        of_columns = np.zeros((14, d))
        of_columns[:3] = lasso, penalties.ridge, columns.reach
        of_columns[4], of_columns[5] = self.C[:, t], columns.size**2
        of_columns[10], of_columns[11] = columns.size, columns.sums
        of_rows = np.stack([self.Y[t]] * 3)
        figure = np.array([np.inf, np.inf, 0.0, squares, 0.0, 0.0, 5e-5 * tol * squares])
        noise = np.array([2 * math.sqrt(max(n, d)) * EPS, 0.0, 2 * EPS])
        state = members.state
        # Members of the target before stay, with coefficients of 0.
        count, kept = state[_MEMBERS], state[_KEPT]
        state[:] = 0
        state[_KEPT] = kept
        members.of_members[1] = 0
        members.of_members[0, :count] = self.C[members.members[0, :count], t]
        threads = effective_threads(columns.dense.size + len(columns.values))
        shift = np.ascontiguousarray(self.shift[:, t])

        def advance():
            state[_LEFT] = OPERATIONS_PER_CALL
            return _ext.advance(
                *columns[:6], alphas, squares, tol * squares / 2, max_iter, noise, shift,
                of_columns, members.place, columns.out, members.of_members, members.members,
                members.G, members.factor, members.packed, *members.lists, of_rows, state, figure,
                W, figures, threads,
            )  # fmt: skip

        with single_threaded_blas():
            while not (stoppable(advance) if members.of_members.shape[1] > _LONG else advance()):
                if state[_WANTED] > members.of_members.shape[1]:
                    members.make_room()
                state[_WANTED] = 0
        return W, figures

    def degrees_of_freedom(self, ridge: np.ndarray, w: np.ndarray) -> float:
        """Return the trace of the map from targets to fitted values, with the signs of w fixed."""
        face = np.flatnonzero(w)
        if len(face) > _TRACED:
            return math.nan
        return trace_of_fit(self.members.products(face), ridge[face])
