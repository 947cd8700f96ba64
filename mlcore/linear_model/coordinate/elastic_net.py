"""Least squares with the penalty of the elastic net, and the lasso."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_integer, as_real, scaled_weights
from mlcore.checks.penalties import as_penalties
from mlcore.checks.stored import stored
from mlcore.estimator import progress
from mlcore.estimator.mixins import Regressor
from mlcore.estimator.model import Model, warn
from mlcore.estimator.progress import Progress
from mlcore.linear_model.coordinate import multi_task
from mlcore.linear_model.coordinate.columns import Columns
from mlcore.linear_model.coordinate.penalties import Penalties, Solution
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.coordinate.products import Products
from mlcore.linear_model.coordinate.working_columns import ColumnProblem
from mlcore.linear_model.regression.fitted import (
    fit_in_span,
    in_units_of_the_data,
    predictions,
    solved,
)
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_ABOVE = 1 + 1e-12  # times the least penalty without coefficients, so that they are exactly 0
_DENSE, _SPARSE = 4000, 1000  # features, up to which products of all pay
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


class ElasticNet(Regressor, Model):
    r"""Least squares with a penalty that makes coefficients 0.

    .. math:: \min_{w, b} P, \qquad P = \frac{1}{2 S} \sum_i s_i (y_i - w^T x_i - b)^2
        + \alpha r |w|_1 + \tfrac12 \alpha (1 - r) |w|^2,

    s the sample weights, S their sum and r the `l1_ratio`. The intercept b is not penalised. The
    fit ends by its duality gap, whatever the units of the data. Several targets are fitted each on
    its own, or with `multi_task` share their features.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty, at least 0; at 0 the shortest coefficients of least squares.
    l1_ratio : float in [0, 1], default=0.5
        r: 1 is the lasso; 0 is ridge regression, ``LinearRegression(alpha=S * alpha)``.
    fit_intercept : bool, default=True
        False is b = 0.
    standardize : bool, default=False
        True: the penalty is that of features divided by their standard deviations; coefficients are
        of the features as they are.
    multi_task : bool, default=False
        True: the coefficients of a feature are 0 for all targets or for none, by the penalty
        ``alpha * r * sum_j |W_j| + alpha * (1 - r) / 2 * sum_j |W_j|²`` for the vectors W_j of a
        feature's coefficients; P is the sum over targets, one number, as are all figures.
    tol : float > 0, default=1e-6
        Share of P for ``w = 0`` that the duality gap may be at the end.
    max_iter : int, default=1000
        Largest number of rounds, each of sweeps over coordinates and Newton steps.
    verbose : bool or int, default=False
        Print progress.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)`` after every reading of many
        rows, and at the end of a fit to few; the change is the duality gap. For several targets the
        sums of both.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features), in the type of the training data
    intercept_ : float or (n_targets,) float64
    objective_ : float or (n_targets,) float64
        P.
    duality_gap_ : float or (n_targets,) float64
        P is at most this much above its minimum, rounding included: computed from the residuals of
        the coefficients as they are stored. Infinite at ``alpha=0``.
    dual_gap_ : float or (n_targets,) float64
        The same, by scikit-learn's name.
    sparse_coef_ : CSR array of shape (n_targets, n_features)
        The coefficients.
    n_iter_ : int or (n_targets,) int64
        Rounds.
    converged_ : bool
        True if every gap is within `tol`, or without a lasso term, where the solution is direct.
    active_ : (n_active,) int64
        Features with a coefficient that is not 0, for any target.
    degrees_of_freedom_ : float or (n_targets,) float64
        Trace of the map from targets to fitted values, without the intercept: for the lasso the
        rank of the active features. NaN for more than 2000 active ones of wide or sparse data; with
        `multi_task` of any data, and where fitted values have no derivative.
    origin_ : (n_features,)
        A point near the samples, in their type; zeros without an intercept.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    ConvergenceWarning
        If `max_iter` or rounding ends the fit before its gap is within `tol`.

    Notes
    -----
    More rows than features, of these up to 4000, or 1000 in sparse data: one reading sums the
    products of columns, O(n d²) time, or O(nnz d) for sparse data; a round costs O(d²) and for a
    active features O(a³) time. Memory is data + O(d²). A second reading computes the gap.

    Else: products of those f features alone that correlations show to matter, O(n f²) time, in one
    copy of the data by columns; correlations of all, O(n d) or O(nnz) time, give the gap, new
    features, and proofs that others have no coefficient (gap-safe screening). Memory is twice the
    data + O(f²). Of more than 1000 features of sparse data, or 3000 if it has at most 2000 rows, no
    products are kept: coordinate sweeps read their entries.

    With `multi_task` a round is sweeps over features and a Newton step in those that are not 0,
    O(a³ + a² k) time for k targets: one system of size a for all targets, and one that joins them.
    Of features that depend on each other the lasso then takes many rounds.

    The gap is ``(1 - t)² |r|²/2 + sum_j (alpha r |w_j| - t w_j g_j)`` over S, for the residuals
    times that t with which they are feasible in the dual. A weight of 2 is a copy of a sample, and
    the scale of all weights does not count.

    Where features depend on each other the lasso has several minimisers: do not use it to choose
    among correlated features; with ``l1_ratio < 1`` equal features share their coefficient.

    References
    ----------
    R. Tibshirani, *Regression shrinkage and selection via the lasso*, Journal of the Royal
    Statistical Society B 58, 1996.
    M. Yuan, Y. Lin, *Model selection and estimation in regression with grouped variables*, Journal
    of the Royal Statistical Society B 68, 2006.
    G. Obozinski, B. Taskar, M. I. Jordan, *Joint covariate selection and joint subspace selection
    for multiple classification problems*, Statistics and Computing 20, 2010.
    H. Zou, T. Hastie, *Regularization and variable selection via the elastic net*, Journal of the
    Royal Statistical Society B 67, 2005.
    J. Friedman, T. Hastie, R. Tibshirani, *Regularization paths for generalized linear models via
    coordinate descent*, Journal of Statistical Software 33, 2010.
    H. Zou, T. Hastie, R. Tibshirani, *On the "degrees of freedom" of the lasso*, Annals of
    Statistics 35, 2007.
    R. Tibshirani, J. Bien, J. Friedman, T. Hastie, N. Simon, J. Taylor, R. J. Tibshirani, *Strong
    rules for discarding predictors in lasso-type problems*, Journal of the Royal Statistical
    Society B 74, 2012.
    E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon, *Gap safe screening rules for sparsity enforcing
    penalties*, Journal of Machine Learning Research 18, 2017.

    Examples
    --------
    >>> from mlcore.linear_model import ElasticNet
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 2.0, 4.0, 6.0]
    >>> model = ElasticNet(alpha=0.5, l1_ratio=1.0).fit(X, y)
    >>> model.coef_.round(9), round(model.intercept_, 9), model.active_
    (array([1.6, 0. ]), 0.6, array([0]))
    """

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

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        standardize: bool = False,
        multi_task: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.multi_task = multi_task
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback

    @property
    def dual_gap_(self) -> float | np.ndarray:
        """The duality gap, by scikit-learn's name."""
        return self.duality_gap_

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a CSR array of shape (n_targets, n_features)."""
        return sp.csr_array(np.atleast_2d(self.coef_))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise P.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        MemoryError
            If the products of columns do not fit.
        """
        settings, owner = self._settings(), type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as steps:
            alpha = settings.alpha
            rows, problem = self._problem(X, y, sample_weight, settings, alpha)
            grouped = settings.multi_task and rows.Y.shape[1] > 1
            data_units = rows.data_units
            penalties = penalties_of(problem, data_units, settings).times(alpha)
            readings = 0

            def fitted(solution):
                return self._attributes(rows, problem, penalties, solution, settings)

            def report(solution):
                nonlocal readings
                readings += 1
                factor = _of_means(problem, data_units, len(solution.gap))
                objective, gap = (factor * v for v in (solution.objective, solution.gap))
                steps.step(readings, objective.sum(), gap.sum(), lambda: fitted(solution))

            if alpha * settings.l1_ratio == 0:
                solution = _without_lasso(rows, alpha, settings)
                report(solution)
            elif grouped:
                limits = settings.tol, settings.max_iter
                solution = multi_task.solve(problem, penalties, *limits, report)
            else:
                solution = problem.solve(penalties, settings.tol, settings.max_iter, report)
        attributes = fitted(solution)
        self._set_fitted(X, **attributes)
        self._warn_of_end(solution, settings)
        return self

    def path(
        self, X: Any, y: Any, sample_weight: Any = None, *, alphas: Any = 100, eps: Any = None
    ) -> PenaltyPath:
        """Return the models of many penalties; the `alpha` of this model does not count.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.
        alphas : int or array-like of shape (m,), default=100
            Penalties, above 0; or their number, in equal ratios from the least without coefficients
            down to `eps` times that.
        eps : float in (0, 1), optional
            By default 1e-3 with more samples than features, else 1e-2.

        Returns
        -------
        path : PenaltyPath
            One model for each penalty, in the order of `alphas`.

        Warns
        -----
        UserWarning
            If `alphas` is a number and all coefficients are 0 for every penalty.
        ConvergenceWarning
            If `max_iter` ends the fit for any penalty.

        Notes
        -----
        Each penalty starts from the coefficients of the next larger one, and keeps the products
        and the factor of the features with coefficients. Gaps are those of products of columns,
        with an allowance for what rounding does to them, or of residuals where products of all are
        not needed.
        """
        settings, owner = self._settings(), type(self).__name__
        grid = np.ndim(alphas) == 0
        if grid:
            number = as_integer(alphas, "alphas", owner=owner, at_least=1)
            if eps is not None:
                eps = as_real(eps, "eps", owner=owner, above=0, below=1)
            if settings.l1_ratio == 0:
                raise ValueError(
                    f"{owner}: alphas={number} is a number, but with l1_ratio=0 no penalty makes "
                    "all coefficients 0: give the penalties."
                )
        else:
            alphas = as_penalties(alphas, "alphas", owner)
            if not alphas.all():
                raise ValueError(f"{owner}: alphas must be above 0: LinearRegression has none.")
        rows, problem = self._problem(X, y, sample_weight, settings, 1.0 if grid else alphas.max())
        penalties = penalties_of(problem, rows.data_units, settings)
        grouped = settings.multi_task and rows.Y.shape[1] > 1
        if grid:
            alphas = grid_of(rows, problem, penalties, number, eps, owner, grouped)
        order = np.argsort(-alphas, kind="stable")
        back = np.argsort(order, kind="stable")
        if settings.l1_ratio == 0 or not alphas.any():
            found = [_without_lasso(rows, alpha, settings) for alpha in alphas]
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
            coef, figures = coef[back], figures[back]
        return self._as_path(rows, problem, alphas, coef, figures, settings)

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
        self._check_fitted()
        checked = self._check_X(X, reset=False, like=self.origin_)
        at = self._solution_
        return predictions(checked, self.coef_, self.intercept_, self._units_, at.center, at.values)

    def _settings(self) -> Settings:
        owner = type(self).__name__
        alpha = as_real(self.alpha, "alpha", owner=owner, at_least=0)
        l1_ratio = as_real(self.l1_ratio, "l1_ratio", owner=owner, at_least=0, at_most=1)
        grouped = as_bool(self.multi_task, "multi_task", owner=owner)
        return self._settings_of(alpha, l1_ratio, grouped)

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

    def _problem(self, X, y, sample_weight, settings, largest):
        """Return the rows of positive weight, and their problem: by products or by columns."""
        owner = type(self).__name__
        rows = self._rows(X, y, sample_weight, settings)
        of_ridge = rows.total * largest * (1 - settings.l1_ratio)
        if not suits_products(rows.X):
            return problem_of_columns(rows, settings.fit_intercept, of_ridge, owner)
        d = rows.X.shape[1]
        require_memory(d, d, 32, what="products of columns", instead="use fewer features")
        rows, sums = rows.sums_in_range(owner, settings.fit_intercept, of_ridge)
        return rows, Products.of(sums, rows, settings.fit_intercept, rows.X.shape[0])

    def _rows(self, X, y, sample_weight, settings):
        """Return the rows of positive weight."""
        # NaN shows in the sums, but of rows without weight.
        checked = self._check_X(X, reset=True, check_finite=sample_weight is not None)
        checked, Y, weight, several = self._weighted_targets(checked, y, sample_weight)
        weight, _ = scaled_weights(weight)
        data_units = DataUnits.of(
            checked, Y, settings.fit_intercept, several, zeros=suits_products(checked),
            common=settings.multi_task,
        )  # fmt: skip
        return Rows.of(checked, Y, weight, data_units)

    def _attributes(self, rows, problem, penalties, solution, settings):
        """Return the fitted attributes, in the units of the data."""
        data_units, dtype, owner = rows.data_units, rows.X.dtype, type(self).__name__
        coef, intercept, mean = in_units_of_the_data(solution, data_units, dtype, owner)
        if not settings.fit_intercept:
            intercept = np.zeros(len(intercept))
        count = len(solution.gap)
        factor = _of_means(problem, data_units, count)
        objective, gap = factor * solution.objective, factor * solution.gap
        if settings.fit_intercept:
            gap = gap + _of_each(_of_intercept(rows, problem, coef, mean) ** 2 / 2, count)
        exact = settings.alpha * settings.l1_ratio == 0
        allowed = settings.tol * factor * _of_each(problem.squares, count) / 2
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

    def _as_path(self, rows, problem, alphas, coef, figures, settings):
        """Return the path in the units of the data; warn of penalties that `max_iter` ended."""
        data_units, dtype, owner = rows.data_units, rows.X.dtype, type(self).__name__
        m, d, k = coef.shape
        of_all = Solution(
            coef.transpose(1, 0, 2).reshape(d, m * k), problem.center,
            np.tile(problem.offset, m), *np.zeros((3, 1)),
        )  # fmt: skip
        units = data_units._replace(
            target_origin=np.tile(data_units.target_origin, m),
            target_power=np.tile(data_units.target_power, m),
        )
        weights, intercept, mean = in_units_of_the_data(of_all, units, dtype, owner)
        rounding, count = 0.0, figures.shape[1]
        if settings.fit_intercept:
            eps = problem.eps_of_means
            rounding = _of_intercept(rows, problem, weights, mean, m, eps).reshape(m, k) ** 2 / 2
            rounding = _of_each(rounding, count)
        else:
            intercept = np.zeros(len(intercept))
        factor = _of_means(problem, data_units, count)
        objective, gap = factor * figures[:, :, 0], factor * figures[:, :, 1] + rounding
        n_iter = figures[:, :, 2].astype(np.int64)
        unfinished = (n_iter >= settings.max_iter) & (
            figures[:, :, 1] > settings.tol * _of_each(problem.squares, count) / 2
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


class Lasso(ElasticNet):
    r"""Least squares with absolute values of coefficients as penalty: an `ElasticNet` at 1.

    .. math:: \min_{w, b} \frac{1}{2 S} \sum_i s_i (y_i - w^T x_i - b)^2 + \alpha |w|_1

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty, at least 0.
    fit_intercept, standardize, multi_task, tol, max_iter, verbose, callback : others
        As in `ElasticNet`.

    Attributes
    ----------
    coef_, intercept_, objective_, duality_gap_, dual_gap_, sparse_coef_, n_iter_ : others
        As in `ElasticNet`.
    converged_, active_, degrees_of_freedom_, origin_, n_features_in_, feature_names_in_ : others
        As in `ElasticNet`.

    References
    ----------
    R. Tibshirani, *Regression shrinkage and selection via the lasso*, Journal of the Royal
    Statistical Society B 58, 1996.

    Examples
    --------
    >>> from mlcore.linear_model import Lasso
    >>> Lasso(alpha=0.5).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0.0, 2.0, 4.0]).coef_.round(9)
    array([1.25, 0.  ])
    """

    l1_ratio: float = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        multi_task: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.multi_task = multi_task
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback


def penalties_of(problem: Any, data_units: DataUnits, settings: Settings) -> Penalties:
    """Return the penalties of a problem for alpha = 1."""
    deviation = problem.deviation if settings.standardize else None
    return Penalties.of(data_units, problem.total, settings.l1_ratio, deviation)


def suits_products(X: Any) -> bool:
    """Return True if the products of all features are worth their time."""
    n, d = X.shape
    return n > d and d <= (_SPARSE if sp.issparse(X) else _DENSE)


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


def _without_lasso(rows, alpha, settings):
    """Return the solution of ridge regression or, at alpha = 0, of least squares."""
    power, alphas = rows.data_units.power, np.full(rows.Y.shape[1], rows.total * alpha)
    n, d = rows.X.shape
    if settings.l1_ratio > 0:
        alphas[:] = 0
    fit = fit_in_span(rows, alphas, settings.fit_intercept)
    if fit is None:
        sums = rows.sums("") if n > d else None
        with single_threaded_blas():
            fit = solved(rows, sums, power, alphas, settings.fit_intercept, rows.X.dtype)
    objective, gap = fit.objective / 2, fit.gap / 2
    if settings.multi_task:
        objective, gap = _of_each(objective, 1), _of_each(gap, 1)
    none = np.zeros(len(gap), np.int64)
    return Solution(fit.coef, fit.center, fit.offset, objective, gap, none)


def _of_means(problem, data_units, count):
    """Return factors (count,) of sums over rows that make them means in the units of the data."""
    return np.ldexp(1 / problem.total, 2 * data_units.target_power)[:count]


def _of_each(values, count):
    """Return values of targets (..., k), summed if one figure is that of all: (..., count)."""
    return values if values.shape[-1] == count else values.sum(axis=-1, keepdims=True)


def without_features(problem: Any) -> Solution:
    """Return the solution whose coefficients are all 0, where that is the best."""
    none, k = np.zeros_like(problem.C), len(problem.squares)
    return Solution(
        none, problem.center, problem.offset, problem.squares / 2, np.zeros(k), np.zeros(k, int)
    )


def grid_of(
    rows: Rows,
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
    n, d = rows.X.shape
    least = _LEAST[n > d] if eps is None else eps
    return largest * least ** (np.arange(number) / max(number - 1, 1))


def _of_intercept(rows, problem, coef, mean, copies=1, eps=EPS):
    """Return bounds of the error of intercepts, (k,), by rounding, and of the means of features and
    targets, summed with this eps.
    """
    data_units, total = rows.data_units, problem.total
    far = np.abs(data_units.origin + np.ldexp(problem.center, data_units.power))
    size = np.ldexp(np.sqrt(problem.squares / total), data_units.target_power)
    error = 4 * EPS * (np.abs(mean) + np.abs(coef) @ far)
    of_mean = 2 * eps * np.sqrt(max(problem.n, 4))
    if eps > EPS:
        spread = np.ldexp(problem.size / np.sqrt(total), data_units.power)
        error += of_mean * (np.abs(coef) @ spread)
    return error + np.tile(of_mean * size, copies)
