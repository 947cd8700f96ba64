"""Fits, paths and evidence of linear machines, of classes and of numbers."""

import math
from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_integer, as_real, require_random_state
from mlcore.checks.penalties import as_penalties
from mlcore.estimator import progress
from mlcore.estimator.model import Model, warn
from mlcore.estimator.progress import Progress
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.linear.cost_path import CostPath
from mlcore.svm.linear.evidence import LinearEvidence, evidence, hard_margin_evidence
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem
from mlcore.svm.linear.solution import Limits, minimum
from mlcore.svm.smo.optimality import Optimality, merged_optimality
from mlcore.svm.svc import SVC

_FEW = 256  # samples whose problem is solved to rounding: it costs a few milliseconds
_EXACT = 1e-17
_ROUNDED = 1e-14  # of the width of a tube that is to hold all targets
_PLAIN = 40  # exponents of targets that need no unit
_LARGEST = 1e24  # of the cost of a square times |x|², beyond which rounding hides the penalty
_PROBE = 64  # rows that show nearly all columns that are not constant
_CONSTANT = 4 * 2.0**-52  # times the mean: deviation of a constant column, for each row


class LinearSettings(NamedTuple):
    """Checked parameters of a linear machine."""

    C: float
    eps: float
    squared: bool
    fit_intercept: bool
    tol: float
    max_iter: int


class LinearSamples(NamedTuple):
    """Samples of positive weight, and the targets of all problems.

    `kept` are their indices among `n` samples, and `weight` their weights. Targets are ±1 if they
    are `of_classes`.
    """

    checked: Any
    kept: np.ndarray
    n: int
    weight: np.ndarray
    targets: list[np.ndarray]
    of_classes: bool
    classes: np.ndarray | None


class Units(NamedTuple):
    """Units of rows and targets, powers of two, and an origin of targets."""

    power: int
    target_power: int
    target_origin: float

    @classmethod
    def of(cls, rows: LinearRows, problem: LossProblem, fit_intercept: bool) -> "Units":
        """Return the units in which neither squares overflow nor digits are lost."""
        if problem.of_classes:
            return cls(rows.power, 0, 0.0)
        origin = 0.0
        if fit_intercept:
            low, high = float(problem.y.min()), float(problem.y.max())
            origin = 0.5 * low + 0.5 * high
        power = int(np.frexp(float(np.abs(problem.y - origin).max(initial=0)))[1])
        return cls(rows.power, power if abs(power) > _PLAIN else 0, origin)

    @np.errstate(all="ignore")
    def inside(self, problem: LossProblem, largest: float) -> LossProblem:
        """Return the problem in these units, squared losses with costs of `largest` at most."""
        power = 2 * self.power - (0 if problem.squared else self.target_power)
        cost = np.clip(np.ldexp(problem.cost, power), 1e-300, 1e300)
        if problem.squared:
            cost = np.minimum(cost, largest)
        return problem._replace(
            y=np.ldexp(problem.y - self.target_origin, -self.target_power),
            cost=cost,
            eps=min(float(np.ldexp(problem.eps, -self.target_power)), 1e300),
        )

    @np.errstate(all="ignore")
    def outside(self, point: DualPoint) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and dual variables in the units of the data."""
        power = self.target_power - self.power
        return np.ldexp(point.theta, power), np.ldexp(point.beta, power - self.power)

    @np.errstate(all="ignore")
    def values(self, point: DualPoint) -> tuple[float, float]:
        """Return objective and gap in the units of the data."""
        power = 2 * (self.target_power - self.power)
        return float(np.ldexp(point.value, power)), float(np.ldexp(point.gap, power))


class FittedLine(NamedTuple):
    """One linear function with its evidence, and the point that a warm start needs."""

    coef: np.ndarray
    evidence: LinearEvidence
    point: DualPoint
    n_iter: int
    trace: np.ndarray
    converged: bool


class LinearMachine(Model):
    """A linear function with a plain or squared loss and half the square of w as penalty."""

    coef_: np.ndarray
    intercept_: np.ndarray
    dual_coef_: np.ndarray
    objective_: float | np.ndarray  # arrays of one value for each class if there are several
    dual_objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    kkt_violation_: float | np.ndarray
    objective_trace_: np.ndarray
    n_support_: int | np.ndarray
    n_iter_: int
    converged_: bool

    set_callbacks = progress.set_callbacks
    _tags = {"input_tags.sparse": True}
    _no_blocks = (
        "its steps visit rows many times: use LogisticRegression or LinearRegression for blocks"
    )
    _instead = {
        "penalty": "drop it: it is l2; LogisticRegression(l1_ratio=1.0) makes coefficients 0",
        "multi_class": "drop it: several classes are one problem each against the rest",
    }

    # ---- validation

    def _linear_settings(self, eps: float, squared: bool, hard: bool) -> LinearSettings:
        """Return the checked parameters; `hard` allows an infinite C."""
        owner = type(self).__name__
        Progress(self.verbose, self.callback, owner)
        require_random_state(self.random_state, owner=owner)
        if isinstance(self.dual, str):
            as_choice(self.dual, "dual", ("auto",), owner=owner)
        else:
            as_bool(self.dual, "dual", owner=owner)
        as_real(self.intercept_scaling, "intercept_scaling", owner=owner, above=0)
        return LinearSettings(
            as_real(self.C, "C", owner=owner, above=0, allow_inf=hard),
            eps,
            squared,
            as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            as_real(self.tol, "tol", owner=owner, above=0),
            as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
        )

    def _settings(self) -> LinearSettings:
        raise NotImplementedError

    def _samples(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> LinearSamples:
        raise NotImplementedError

    # ---- fits

    def _fit_lines(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit all problems and set the fitted attributes."""
        settings, owner = self._settings(), type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as steps:
            samples = self._samples(X, y, sample_weight, reset=True)
            solver = _Solver(samples, settings, owner)
            lines: list[FittedLine] = []
            for number in range(len(samples.targets)):
                before = sum(line.n_iter for line in lines)

                def report(n_iter, line, value, gap, before=before, done=tuple(lines)):
                    steps.step(
                        before + n_iter, value, gap,
                        lambda: self._attributes(samples, [*done, line()]),
                    )  # fmt: skip

                lines.append(solver.fit(number, settings.C, report if steps.active else None))
        attributes = self._attributes(samples, lines)
        self._set_fitted(X, **attributes)
        self._warn_of_end(lines, settings)
        return self

    def _attributes(self, samples: LinearSamples, lines: list[FittedLine]) -> dict[str, Any]:
        """Return the fitted attributes of some functions; those not yet fitted are 0."""
        k, d = len(samples.targets), samples.checked.shape[1]
        coef = np.zeros((k, d), samples.checked.dtype)
        intercept, dual = np.zeros(k), np.zeros((k, samples.n))
        figures = np.zeros((4, k))
        longest = max(len(line.trace) for line in lines)
        traces = np.zeros((longest, k))
        for at, line in enumerate(lines):
            found = line.evidence
            coef[at], intercept[at] = line.coef, found.intercept
            dual[at, samples.kept] = found.beta
            figures[:, at] = (
                found.objective, found.objective - found.duality_gap, found.duality_gap,
                found.kkt_violation,
            )  # fmt: skip
            traces[:, at] = np.append(
                line.trace, np.full(longest - len(line.trace), line.trace[-1])
            )
        names = "objective_", "dual_objective_", "duality_gap_", "kkt_violation_"
        counts = np.count_nonzero(dual, axis=1)
        one = k == 1
        return {
            name: float(v[0]) if one else v.copy() for name, v in zip(names, figures, strict=True)
        } | {
            "coef_": coef,
            "intercept_": intercept,
            "dual_coef_": dual,
            "objective_trace_": traces[:, 0].copy() if one else traces,
            "n_support_": int(counts[0]) if one else counts.astype(np.int64),
            "n_iter_": max(line.n_iter for line in lines),
            "converged_": all(line.converged for line in lines),
        }

    def _warn_of_end(self, lines: list[FittedLine], settings: LinearSettings) -> None:
        """Warn of functions whose gap is larger than asked for."""
        left = [line for line in lines if not line.converged]
        if not left:
            return
        worst = max(
            left,
            key=lambda line: line.evidence.duality_gap - settings.tol * line.evidence.objective,
        )
        gap, objective = worst.evidence.duality_gap, worst.evidence.objective
        why = "where rounding lets it go no further: scale or centre the features, or lower C"
        if worst.n_iter >= settings.max_iter:
            why = f"after max_iter={settings.max_iter} iterations: raise max_iter, or tol"
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__} ended with a duality gap of {gap:.3g}, above "
            f"tol={settings.tol:g} of the objective, {objective:.3g}, {why}.",
        )

    # ---- paths and evidence

    def path(self, X: Any, y: Any, sample_weight: Any = None, *, Cs: Any) -> CostPath:
        """Return the machines of many costs; the `C` of this model does not count.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.
        Cs : array-like of shape (m,)
            Costs, above 0.

        Returns
        -------
        path : CostPath
            One machine for each cost, in the order of `Cs`.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` ends the fit for any cost.

        Notes
        -----
        Each cost starts from the coefficients of the next smaller one, and from its dual variables
        times the ratio of costs, which keeps their bounds and their sum.
        """
        settings, owner = self._settings(), type(self).__name__
        Cs = as_penalties(Cs, "Cs", owner)
        if not Cs.all():
            raise ValueError(f"{owner}: Cs must be above 0, found {Cs.tolist()[:10]}.")
        samples = self._samples(X, y, sample_weight, reset=True)
        solver = _Solver(samples, settings, owner)
        order, k = np.argsort(Cs, kind="stable"), len(samples.targets)
        found: list[list[FittedLine]] = [[] for _ in Cs]
        for number in range(k):
            before, last = None, 0.0
            for at in order:
                start = None
                if before is not None:
                    with np.errstate(over="ignore"):
                        start = before._replace(beta=before.beta * (Cs[at] / last))
                line = solver.fit(number, float(Cs[at]), None, start)
                found[at].append(line)
                before, last = line.point, Cs[at]
        self._warn_of_end([line for lines in found for line in lines], settings)
        parts = [
            np.array([[line.coef for line in lines] for lines in found]),
            *(
                np.array([[of(line) for line in lines] for lines in found])
                for of in (
                    lambda line: line.evidence.intercept,
                    lambda line: line.evidence.objective,
                    lambda line: line.evidence.duality_gap,
                    lambda line: np.count_nonzero(line.evidence.beta),
                    lambda line: line.n_iter,
                )
            ),
        ]
        return CostPath(Cs, *(part[:, 0] if k == 1 else part for part in parts))

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Optimality:
        """Recompute the optimality of the fit from its coefficients, in float64.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The samples of the fit.

        Returns
        -------
        optimality : Optimality
            ``dual_objective``, ``primal_objective``, ``duality_gap`` and ``kkt_violation``: floats,
            or with more than two classes one value for each of them.

        Raises
        ------
        ValueError
            For another number of samples than those of the fit.
        """
        settings, owner = self._settings(), type(self).__name__
        samples = self._samples(X, y, sample_weight, reset=False)
        self._require_rows_of_fit(samples.n, "verify")
        solver = _Solver(samples, settings, owner)
        coef, dual = np.atleast_2d(self.coef_), np.atleast_2d(self.dual_coef_)
        found = []
        for number in range(len(samples.targets)):
            at = solver.evidence(
                number, settings.C, coef[number], float(self.intercept_[number]),
                dual[number, samples.kept],
            )  # fmt: skip
            found.append(
                Optimality(
                    at.objective, at.duality_gap, at.objective - at.duality_gap, at.kkt_violation
                )
            )
        return merged_optimality(found)

    def support(self, X: Any, y: Any) -> np.ndarray:
        """Return the indices of the support vectors among the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The samples of the fit.

        Returns
        -------
        support : (n_support,) int64
            Samples with a dual variable that is not 0; with several classes, in any problem.
        """
        samples = self._samples(X, y, None, reset=False)
        self._require_rows_of_fit(samples.n, "support")
        return np.flatnonzero(np.atleast_2d(self.dual_coef_).any(axis=0)).astype(np.int64)

    def _require_rows_of_fit(self, n, method):
        n_fit = np.atleast_2d(self.dual_coef_).shape[1]
        if n != n_fit:
            raise ValueError(
                f"X has {n} samples, but {method} needs the {n_fit} that "
                f"{type(self).__name__} was fitted to."
            )


Report = Callable[[int, Callable[[], FittedLine], float, float], None]


class _Solver:
    """Fits of the problems of some samples, which share the rows."""

    def __init__(self, samples: LinearSamples, settings: LinearSettings, owner: str) -> None:
        self.samples, self.settings, self._owner = samples, settings, owner
        self.rows = LinearRows.of(samples.checked, settings.fit_intercept)
        with single_threaded_blas():
            mean = float(self.rows.squares[0].mean())
        self._largest = 0.5 * _LARGEST / mean if mean > 0 else 1e300

    @cached_property
    def _constant(self):
        return constant_columns(
            self.samples.checked, self.rows.counts if self.rows.sparse else None
        )

    def problem(self, number: int, C: float) -> LossProblem:
        """Return a problem in the units of the data."""
        with np.errstate(over="ignore", under="ignore"):
            cost = C * self.samples.weight
        y, settings = self.samples.targets[number], self.settings
        return LossProblem(y, cost, settings.eps, settings.squared, self.samples.of_classes)

    def fit(
        self, number: int, C: float, report: Report | None, start: DualPoint | None = None
    ) -> FittedLine:
        """Return the best function for a cost, from `start` on, a point in the units of rows."""
        if C == math.inf:
            return self._hard_margin(number)
        problem, settings = self.problem(number, C), self.settings
        level = self._level(problem)
        if level is not None:
            return self._constant_line(level)
        units = Units.of(self.rows, problem, settings.fit_intercept)
        values: list[float] = []

        def take(n_iter, point):
            value, gap = units.values(point)
            values.append(value)
            if report is not None:
                report(
                    n_iter, lambda: self._line(problem, units, point, n_iter, values), value, gap
                )

        inside = units.inside(problem, self._largest)
        few = self.rows.n <= _FEW
        limits = Limits(min(settings.tol, _EXACT) if few else settings.tol, settings.max_iter)
        with np.errstate(all="ignore"), single_threaded_blas():
            found = minimum(self.rows, inside, settings.fit_intercept, limits, take, start)
        return self._line(problem, units, found.point, found.n_iter, values)

    def _line(self, problem, units, point, n_iter, values):
        """Return the function of a point, its coefficients in the type of the data."""
        fit_intercept = self.settings.fit_intercept
        coef, beta = units.outside(point)
        with np.errstate(over="ignore", under="ignore"):
            coef = coef.astype(self.samples.checked.dtype)
        if fit_intercept:
            coef[self._constant] = 0
        at = evidence(self.rows, problem, coef, None if fit_intercept else 0.0, beta, fit_intercept)
        trace = np.maximum(np.minimum.accumulate(values), at.objective)
        converged = at.duality_gap <= self.settings.tol * at.objective
        return FittedLine(coef, at, point, n_iter, np.append(trace, at.objective), converged)

    def _level(self, problem):
        """Return the value of a constant function that no target costs, None without one."""
        if problem.of_classes:
            return None
        low, high = float(problem.y.min()), float(problem.y.max())
        if not self.settings.fit_intercept:
            return 0.0 if max(-low, high) <= problem.eps else None
        if low == high:
            return low
        return 0.5 * (low + high) if (high - low) * (1 + _ROUNDED) <= 2 * problem.eps else None

    def _constant_line(self, level):
        """Return a constant function without losses."""
        zero = DualPoint(np.zeros(self.rows.d), 0.0, np.zeros(self.rows.n), 0.0, 0.0)
        coef = np.zeros(self.rows.d, self.samples.checked.dtype)
        at = LinearEvidence(level, 0.0, 0.0, 0.0, zero.beta)
        return FittedLine(coef, at, zero, 0, np.zeros(1), True)

    def evidence(
        self, number: int, C: float, coef: np.ndarray, intercept: float, beta: np.ndarray
    ) -> LinearEvidence:
        """Return the evidence of a function and of dual variables of the samples."""
        if C == math.inf:
            y = self.samples.targets[number]
            return hard_margin_evidence(self.rows, y, coef, intercept, beta)
        problem, fit_intercept = self.problem(number, C), self.settings.fit_intercept
        return evidence(self.rows, problem, coef, intercept, beta, fit_intercept)

    def _hard_margin(self, number):
        """Return the function of the widest margin, as `SVC` finds it."""
        y, settings = self.samples.targets[number], self.settings
        if not settings.fit_intercept:
            raise ValueError(
                f"{self._owner}: C=inf needs fit_intercept=True: use a large C instead."
            )
        try:
            machine = SVC(kernel="linear", C=math.inf, tol=1e-6).fit(self.samples.checked, y)
        except ValueError as error:
            if "cannot be separated" not in str(error):
                raise
            raise ValueError(
                f"C=inf asks {self._owner} for a hard margin, but the classes cannot be separated "
                "by a linear function: use a finite C."
            ) from None
        beta = np.zeros(len(y))
        beta[machine.support_] = machine.dual_coef_[0]
        coef = machine.coef_[0].astype(self.samples.checked.dtype)
        intercept = float(machine.intercept_[0])
        at = hard_margin_evidence(self.rows, y, coef, intercept, beta)
        n_iter = -(-int(machine.n_iter_[0]) // len(y))
        zero = DualPoint(np.zeros(self.rows.d), 0.0, np.zeros(self.rows.n), math.inf, math.inf)
        converged = at.duality_gap <= settings.tol * at.objective
        return FittedLine(coef, at, zero, n_iter, np.array([at.objective]), converged)


def constant_columns(X: Any, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the columns (m,) that are constant but for rounding, if counts are known those not 0.

    `counts` (d,) are numbers of values in the columns that a sparse copy stores, if they are known.
    """
    n, d = X.shape
    if sp.issparse(X):
        if counts is None:
            counts = np.bincount(X.indices, minlength=d)
        columns = np.flatnonzero(counts == n)
        values = X[:, columns].toarray() if len(columns) else np.empty((1, 0))
        low, high = (ends.astype(np.float64) for ends in (values.min(axis=0), values.max(axis=0)))
        return columns[_is_constant(low, high, n)]
    # Rows far apart show nearly all that vary.
    columns = np.arange(d)
    if counts is not None and n * _CONSTANT < 1:  # zeros beside other values are no rounding
        columns = np.flatnonzero(counts == n)
    low, high = X[[0, 0]][:, columns].astype(np.float64)
    probe = slice(None), X[:: max(1, n // _PROBE)]
    for _, block in chain([probe], row_blocks(X)):
        part = block[:, columns]
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        stay = _is_constant(low, high, n)
        columns, low, high = columns[stay], low[stay], high[stay]
        if not len(columns):
            break
    return columns


def _is_constant(low, high, n):
    return high - low <= n * _CONSTANT * np.maximum(np.abs(low), np.abs(high))
