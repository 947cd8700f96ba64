"""Problems, attributes and paths of elastic nets with given and with chosen penalties."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_integer, as_real, scaled_weights
from mlcore.checks.penalties import as_penalties
from mlcore.checks.stored import stored
from mlcore.estimator import progress
from mlcore.estimator.mixins import Regressor
from mlcore.estimator.model import Model, warn
from mlcore.linear_model.coordinate import multi_task
from mlcore.linear_model.coordinate.columns import Columns
from mlcore.linear_model.coordinate.penalties import Penalties, Solution
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.coordinate.products import Products
from mlcore.linear_model.coordinate.row_problem import RowProblem
from mlcore.linear_model.coordinate.working_columns import ColumnProblem
from mlcore.linear_model.regression.fitted import (
    fit_in_span,
    in_units_of_the_data,
    predictions,
    solved,
    warn_of_sums,
)
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.scatter import Scatter
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_ABOVE = 1 + 1e-12  # times the least penalty without coefficients, so that they are exactly 0
_DENSE, _SPARSE = 4000, 1000  # features, up to which products of all pay
_MANY = 1_000_000  # entries, from which a few readings cost less than a copy of columns
_LEAST = {True: 1e-3, False: 1e-2}  # share of the largest penalty of a path, if n > d and else


class Settings(NamedTuple):
    """Checked parameters of an `ElasticNet`."""

    alpha: float
    l1_ratio: float
    fit_intercept: bool
    standardize: bool
    tol: float
    max_iter: int
    multi_task: bool = False


@stored(version=1)
class AtCenter(NamedTuple):
    """The point (d,) in `DataUnits` about which a fit counted, and the values there, (k,)."""

    center: np.ndarray
    values: np.ndarray
    _stored = {"center": "float64 f", "values": "float64 q"}


class PenalisedRegression(Regressor, Model):
    """Base of models whose attributes are those of an elastic net, and that have its path."""

    set_callbacks = progress.set_callbacks
    coef_: np.ndarray
    intercept_: float | np.ndarray
    objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    n_iter_: int | np.ndarray
    converged_: bool
    active_: np.ndarray
    degrees_of_freedom_: float | np.ndarray
    origin_: np.ndarray
    _units_: DataUnits
    _solution_: AtCenter

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True, "target_tags.multi_output": True}
    _stored = {
        "coef_": "float f | float q f",
        "intercept_": "float | float64 q",
        "objective_": "float | float64 q",
        "duality_gap_": "float | float64 q",
        "n_iter_": "count | int64 q",
        "converged_": "bool",
        "active_": "int64 a? <f",
        "degrees_of_freedom_": "float | float64 q",
        "origin_": "float f",
        "_units_": DataUnits,
        "_solution_": AtCenter,
    }
    _instead = {
        "precompute": "drop it: products of columns are computed where they pay",
        "copy_X": "drop it: X is never changed",
        "warm_start": "drop it: a fit is as fast without; path has the models of many penalties",
        "positive": "drop it: coefficients have any sign; scipy.optimize.nnls has those at least 0",
        "selection": "drop it: coordinates take turns in their order",
        "random_state": "drop it: nothing is drawn at random",
        "normalize": "drop it: divide the features by their deviations before",
    }

    @property
    def dual_gap_(self) -> float | np.ndarray:
        """The duality gap, by scikit-learn's name."""
        return self.duality_gap_

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR array of shape (n_targets, n_features)."""
        return sp.csr_array(np.atleast_2d(self.coef_))

    def predict(self, X: Any) -> np.ndarray:
        """Return ``w'x + b`` for each row: (n_samples,), or (n_samples, n_targets).

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        y : (n_samples,) or (n_samples, n_targets)
            In the precision of the fit.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.origin_)
        at = self._solution_
        return predictions(checked, self.coef_, self.intercept_, self._units_, at.center, at.values)

    def _check_ready(self) -> None:
        """Raise NotFittedError before the first fit; models of sums, also before `update`."""
        self._check_fitted()

    def _checked_grid(self, alphas, eps, settings):
        """Return the penalties, or None, their number, and `eps`."""
        owner = type(self).__name__
        if np.ndim(alphas) > 0:
            alphas = as_penalties(alphas, "alphas", owner)
            if not alphas.all():
                raise ValueError(f"{owner}: alphas must be above 0: LinearRegression has none.")
            return alphas, len(alphas), None
        number = as_integer(alphas, "alphas", owner=owner, at_least=1)
        if eps is not None:
            eps = as_real(eps, "eps", owner=owner, above=0, at_most=1)
        if settings.l1_ratio == 0:
            raise ValueError(
                f"{owner}: alphas={number} is a number, but with l1_ratio=0 no penalty makes "
                "all coefficients 0: give the penalties."
            )
        return None, number, eps

    def _path(self, rows, sums, problem, grid, settings):
        """Return the path of a checked grid, from rows and sums, of which one may be None."""
        (alphas, number, eps), owner = grid, type(self).__name__
        penalties = penalties_of(problem, settings)
        grouped = settings.multi_task and len(problem.squares) > 1
        if alphas is None:
            alphas = grid_of(problem, penalties, number, eps, owner, grouped)
        order = np.argsort(-alphas, kind="stable")
        back = np.argsort(order, kind="stable")
        if settings.l1_ratio == 0 or not alphas.any():
            found = [without_lasso(rows, sums, problem, alpha, settings, owner) for alpha in alphas]
            if not alphas.any():
                found = [
                    one._replace(coef=0 * one.coef, gap=np.zeros_like(one.gap)) for one in found
                ]
            coef = np.stack([one.coef for one in found])
            values = [(one.objective, one.gap, one.n_iter) for one in found]
            figures = np.array(values).swapaxes(1, 2)
        else:
            limits = alphas[order], settings.tol, settings.max_iter
            if grouped:
                coef, figures = multi_task.path(problem, penalties, *limits)
            else:
                coef, figures = problem.path(penalties, *limits)
            if (np.diff(order) < 0).any():  # else a copy of all coefficients
                coef, figures = coef[back], figures[back]
        return self._as_path(problem, alphas, coef, figures, settings)

    def _settings_of(self, alpha, l1_ratio, multi_task=False):
        """Return the settings with these penalties, checked before."""
        owner = type(self).__name__
        standardize = as_bool(self.standardize, "standardize", owner=owner)
        if standardize and l1_ratio == 0:
            raise ValueError(
                f"{owner}: standardize=True needs l1_ratio > 0: for ridge regression divide the "
                "features by their deviations, and use LinearRegression."
            )
        return Settings(
            alpha,
            l1_ratio,
            as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            standardize,
            as_real(self.tol, "tol", owner=owner, above=0),
            as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
            multi_task,
        )

    def _warn_of_end(self, solution, settings):
        """Warn of a fit whose gap is larger than asked for."""
        if self.converged_:
            return
        why, advice = "where rounding lets it go no further", "center the features, or raise tol"
        if (solution.n_iter >= settings.max_iter).any():
            why, advice = f"after max_iter={settings.max_iter} rounds", "raise max_iter, or tol"
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__} ended {why}, with a duality gap of "
            f"{np.max(self.duality_gap_):.3g}, above tol={settings.tol:g} of the objective of "
            f"coefficients of 0: {advice}.",
        )

    def _problem(self, X, y, sample_weight, settings, largest, path=True):
        """Return the rows of positive weight, their sums or None, and their problem: by products,
        by columns or, for one penalty, by sparse rows; weights are in units of two to the last.
        """
        owner = type(self).__name__
        rows, power = self._rows(X, y, sample_weight, settings)
        of_ridge = rows.total * largest * (1 - settings.l1_ratio)
        if not suits_products(rows.X):
            if not path and _suits_rows(rows, settings):
                problem = RowProblem(rows, settings.fit_intercept)
                if problem.is_sound():
                    return rows, None, problem, power
            rows, problem = problem_of_columns(rows, settings.fit_intercept, of_ridge, owner)
            return rows, None, problem, power
        require_products(rows.X.shape[1])
        rows, sums = rows.sums_in_range(owner, settings.fit_intercept, of_ridge)
        problem = Products.of(sums, rows, settings.fit_intercept, rows.X.shape[0])
        return rows, sums, problem, power

    def _rows(self, X, y, sample_weight, settings):
        """Return the rows of positive weight, and the power of two that their weights count in."""
        # NaN shows in the sums, but of rows without weight.
        checked = self._check_X(X, reset=True, check_finite=sample_weight is not None)
        checked, Y, weight, several = self._weighted_targets(checked, y, sample_weight)
        weight, power = scaled_weights(weight)
        data_units = DataUnits.of(
            checked, Y, settings.fit_intercept, several, zeros=suits_products(checked),
            common=settings.multi_task,
        )  # fmt: skip
        return Rows.of(checked, Y, weight, data_units), power

    def _attributes(self, problem, penalties, solution, settings):
        """Return the fitted attributes, in the units of the data."""
        data_units, dtype, owner = problem.data_units, problem.dtype, type(self).__name__
        coef, intercept, mean = in_units_of_the_data(solution, data_units, dtype, owner)
        if not settings.fit_intercept:
            intercept = np.zeros(len(intercept))
        count = len(solution.gap)
        factor = of_means(problem, count)
        objective, gap = factor * solution.objective, factor * solution.gap
        if settings.fit_intercept:
            error = _of_intercept(problem, coef, mean, 1, problem.eps_of_evidence)
            gap = gap + of_each(error**2 / 2, count)
        exact = settings.alpha * settings.l1_ratio == 0
        allowed = settings.tol * factor * of_each(problem.squares, count) / 2
        # Of targets that do not vary, the mean's own rounding is above any share of nothing.
        within = np.where(allowed > 0, gap, factor * solution.gap) <= allowed
        if count == len(coef):
            freedom = [problem.degrees_of_freedom(penalties.ridge, w) for w in solution.coef.T]
        else:
            freedom = [multi_task.degrees_of_freedom(problem, penalties, solution.coef)]
        several, n_iter = data_units.several, solution.n_iter.astype(np.int64)
        figures = {
            "objective_": objective,
            "duality_gap_": gap,
            "degrees_of_freedom_": np.array(freedom),
        }
        if settings.multi_task or not several:
            figures = {name: float(v[0]) for name, v in figures.items()}
            n_iter = int(n_iter[0])
        return figures | {
            "intercept_": intercept if several else float(intercept[0]),
            "coef_": coef if several else coef[0],
            "n_iter_": n_iter,
            "converged_": bool(exact or within.all()),
            "active_": np.flatnonzero(coef.any(axis=0)).astype(np.int64),
            "origin_": data_units.origin.astype(dtype),
            "_units_": data_units,
            "_solution_": AtCenter(problem.center, mean),
        }

    def _of_path(self, problem, coef):
        """Return what `in_units_of_the_data` does of the coefficients (m, d, k) of a path."""
        data_units, (m, d, k) = problem.data_units, coef.shape
        of_all = Solution(
            coef.transpose(1, 0, 2).reshape(d, m * k), problem.center,
            np.tile(problem.offset, m), *np.zeros((3, 1)),
        )  # fmt: skip
        units = data_units._replace(
            target_origin=np.tile(data_units.target_origin, m),
            target_power=np.tile(data_units.target_power, m),
        )
        return in_units_of_the_data(of_all, units, problem.dtype, type(self).__name__)

    def _as_path(self, problem, alphas, coef, figures, settings):
        """Return the path in the units of the data; warn of penalties that `max_iter` ended."""
        data_units, owner, (m, d, k) = problem.data_units, type(self).__name__, coef.shape
        weights, intercept, mean = self._of_path(problem, coef)
        rounding, count = 0.0, figures.shape[1]
        if settings.fit_intercept:
            rounding = _of_intercept(problem, weights, mean, m, problem.eps) ** 2 / 2
            rounding = of_each(rounding.reshape(m, k), count)
        else:
            intercept = np.zeros(len(intercept))
        factor = of_means(problem, count)
        objective, gap = factor * figures[:, :, 0], factor * figures[:, :, 1] + rounding
        n_iter = figures[:, :, 2].astype(np.int64)
        unfinished = (n_iter >= settings.max_iter) & (
            figures[:, :, 1] > settings.tol * of_each(problem.squares, count) / 2
        )
        if unfinished.any():
            warn(
                "ConvergenceWarning",
                f"{owner}: max_iter={settings.max_iter} rounds ended the fit for "
                f"{unfinished.sum()} penalties, with duality gaps up to "
                f"{gap[unfinished].max():.3g}: raise max_iter, or tol={settings.tol:g}.",
            )
        weights = weights.reshape(m, k, d)
        nonzero = np.count_nonzero(weights, axis=2)
        if settings.multi_task:
            nonzero = np.count_nonzero(weights.any(axis=1), axis=1, keepdims=True)
        of_targets = [weights, intercept.reshape(m, k)]
        evidence = [objective, gap, nonzero.astype(np.int64), n_iter]
        if not data_units.several:
            of_targets = [part[:, 0] for part in of_targets]
        if settings.multi_task or not data_units.several:
            evidence = [part[:, 0] for part in evidence]
        return PenaltyPath(alphas, *of_targets, *evidence)


def penalties_of(problem: Any, settings: Settings) -> Penalties:
    """Return the penalties of a problem for alpha = 1.

    Features that are constant but for rounding are no more divided by it than constants.
    """
    data_units, deviation = problem.data_units, None
    if settings.standardize:
        deviation = problem.deviation
        far = np.abs(problem.center + np.ldexp(data_units.origin, -data_units.power))
        deviation = np.where(deviation <= problem.n * EPS * far, 0.0, deviation)
    return Penalties.of(data_units, problem.total, settings.l1_ratio, deviation)


def require_products(d: int) -> None:
    """Raise MemoryError if the products of d columns do not fit."""
    require_memory(d, d, 32, what="products of columns", instead="use fewer features")


def suits_products(X: Any) -> bool:
    """Return True if the products of all features are worth their time."""
    n, d = X.shape
    return n > d and d <= (_SPARSE if sp.issparse(X) else _DENSE)


def _suits_rows(rows, settings):
    """Return True if a few readings of sparse rows take less time than a copy of their columns."""
    X = rows.X
    if not sp.issparse(X) or X.nnz < _MANY or rows.data_units.power.any():
        return False
    several = settings.multi_task and rows.Y.shape[1] > 1
    return not several and settings.alpha * settings.l1_ratio > 0


def problem_of_columns(
    rows: Rows, fit_intercept: bool, alpha: float, owner: str
) -> tuple[Rows, ColumnProblem]:
    """Return rows and their problem, in units of powers of two where squares need them."""
    columns = Columns.of(rows, fit_intercept)
    outside = columns.out_of_range(rows, owner)
    if outside.any():
        rows = rows._replace(data_units=rows.data_units.with_powers(rows.X, alpha, outside))
        columns = Columns.of(rows, fit_intercept)
    return rows, ColumnProblem.of(rows, columns, fit_intercept)


def without_lasso(
    rows: Rows | None,
    sums: Scatter | None,
    problem: Any,
    alpha: float,
    settings: Settings,
    owner: str,
) -> Solution:
    """Return the solution of ridge regression or, at alpha = 0, of least squares, from rows or sums
    or both.
    """
    intercept, power = settings.fit_intercept, problem.data_units.power
    ridge = problem.total * alpha if settings.l1_ratio == 0 else 0.0
    alphas = np.full(len(problem.squares), ridge)
    fit = None if rows is None else fit_in_span(rows, alphas, intercept)
    if fit is None:
        if sums is None and rows.X.shape[0] > rows.X.shape[1]:
            sums = rows.sums("")
        with single_threaded_blas():
            dtype = np.dtype(np.float64) if problem.eps <= EPS else problem.dtype
            fit = solved(rows, sums, power, alphas, intercept, dtype)
            warn_of_sums(fit, owner)
    objective, gap = fit.objective / 2, fit.gap / 2
    if settings.multi_task:
        objective, gap = of_each(objective, 1), of_each(gap, 1)
    none = np.zeros(len(gap), np.int64)
    return Solution(fit.coef, fit.center, fit.offset, objective, gap, none)


def of_means(problem: Any, count: int) -> np.ndarray:
    """Return factors (count,) of sums over rows that make them means in the units of the data."""
    return np.ldexp(1 / problem.total, 2 * problem.data_units.target_power)[:count]


def of_each(values: np.ndarray, count: int) -> np.ndarray:
    """Return values of targets (..., k), summed if one figure is that of all: (..., count)."""
    return values if values.shape[-1] == count else values.sum(axis=-1, keepdims=True)


def without_features(problem: Any) -> Solution:
    """Return the solution whose coefficients are all 0, where that is the best."""
    none, k = np.zeros_like(problem.C), len(problem.squares)
    return Solution(
        none, problem.center, problem.offset, problem.squares / 2, np.zeros(k), np.zeros(k, int)
    )


def grid_of(
    problem: Any,
    penalties: Penalties,
    number: int,
    eps: float | None,
    owner: str,
    grouped: bool = False,
) -> np.ndarray:
    """Return penalties in equal ratios, the first the least without coefficients."""
    steep, lasso = np.abs(problem.C), penalties.lasso
    if grouped:
        steep, lasso = np.linalg.norm(problem.C, axis=1), lasso[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(steep != 0, steep / lasso, 0.0)
    largest = float(ratios.max(initial=0.0)) * _ABOVE
    if largest == 0:
        warn("UserWarning", f"{owner}: all alphas are 0, as all coefficients are for any of them.")
        return np.zeros(1)
    least = _LEAST[problem.n > len(problem.C)] if eps is None else eps
    return largest * least ** (np.arange(number) / max(number - 1, 1))


def _of_intercept(problem, coef, mean, copies, eps):
    """Return bounds of the error of intercepts, (k,), by rounding, and of the means of features and
    targets, summed with this eps.
    """
    data_units, total = problem.data_units, problem.total
    far = np.abs(data_units.origin + np.ldexp(problem.center, data_units.power))
    size = np.ldexp(np.sqrt(problem.squares / total), data_units.target_power)
    reach = np.array([np.abs(w) @ far for w in coef])  # many penalties: no copy of all
    error = 4 * EPS * (np.abs(mean) + reach)
    of_mean = 2 * eps * np.sqrt(max(problem.n, 4))
    if eps > EPS:
        spread = np.ldexp(problem.size / np.sqrt(total), data_units.power)
        error += of_mean * (np.abs(coef) @ spread)
    return error + np.tile(of_mean * size, copies)
