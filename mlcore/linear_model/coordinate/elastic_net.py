"""Least squares with the penalty of the elastic net, and the lasso."""

from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_real
from mlcore.estimator.progress import Progress
from mlcore.linear_model.coordinate import multi_task
from mlcore.linear_model.coordinate.penalised import (
    PenalisedRegression,
    Settings,
    of_means,
    penalties_of,
    require_products,
    without_lasso,
)
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.coordinate.products import Products, ProductSums
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.scatter import require_in_units
from mlcore.row_sums import OnePass


class ElasticNet(OnePass, PenalisedRegression):
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
    active features O(a³) time. A second reading computes the gap. Memory is data + O(d²),
    and the model keeps the sums, fewer numbers than the data, for `path` and `partial_fit`.

    A model is a `RowSums`: its fit may be computed from blocks of rows, or by `partial_fit`, for
    any number of rows in O(n d²) time and O(d²) memory. There is no second reading: the gap is that
    of sums in float64, with an allowance for their rounding.

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

    _sums_: tuple[int, float, float, np.ndarray, np.ndarray] | None  # a ProductSums

    _result = "coef_"
    _Statistics = ProductSums
    _stored = {"_sums_": ("count", "float", "float", "float64 f+q", "float64 f+q f+q")}

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
        settings = self._settings()
        with Progress(self.verbose, self.callback, type(self).__name__, self) as steps:
            rows, sums, problem, power = self._problem(
                X, y, sample_weight, settings, settings.alpha, path=False
            )
            solution, attributes = self._solved(rows, sums, problem, settings, steps)
        if sums is not None:
            kept = ProductSums.of(sums, problem.n, problem.eps).times_two_to(power)
            if kept is not None:
                attributes["_sums_"] = tuple(kept)
        self._set_fitted(X, **attributes)
        self._warn_of_end(solution, settings)
        return self

    def path(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        alphas: Any = 100,
        eps: Any = None,
    ) -> PenaltyPath:
        """Return the models of many penalties; the `alpha` of this model does not count.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features), optional
            By default the samples of the fit, `partial_fit` or `fit_blocks`, whose sums are kept.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.
        alphas : int or array-like of shape (m,), default=100
            Penalties, above 0; or their number, in equal ratios from the least without coefficients
            down to `eps` times that.
        eps : float in (0, 1], optional
            By default 1e-3 with more samples than features, else 1e-2.

        Returns
        -------
        path : PenaltyPath
            One model for each penalty, in the order of `alphas`.

        Raises
        ------
        ValueError
            For parameters or data out of range, and without `X` where the fit has formed no sums.

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
        settings = self._settings()
        grid = self._checked_grid(alphas, eps, settings)
        if X is not None or y is not None or sample_weight is not None:
            largest = 1.0 if grid[0] is None else grid[0].max()
            rows, sums, problem, _ = self._problem(X, y, sample_weight, settings, largest)
            return self._path(rows, sums, problem, grid, settings)
        self._check_ready()
        if self._sums_ is None:
            raise ValueError(
                f"{type(self).__name__}: path needs X and y: the fit has kept no sums over its "
                "rows, as their table is larger than the rows, or their weights are extreme."
            )
        sums, problem = self._problem_of(self._sums_so_far(), settings)
        return self._path(None, sums.of_rows, problem, grid, settings)

    # ---- a fit by sums over rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the origin and the units of the sums from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        checked = self._check_X(X, reset=True)
        checked, Y, _, several = self._weighted_targets(checked, y, sample_weight)
        require_products(checked.shape[1])
        data_units = DataUnits.of(
            checked, Y, settings.fit_intercept, several, common=settings.multi_task
        ).with_powers(checked, settings.alpha * (1 - settings.l1_ratio) * len(Y))
        self._set_fitted(X, origin_=data_units.origin.astype(checked.dtype), _units_=data_units)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> ProductSums:
        """Return the sums over the rows, of products of features and targets side by side.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : ProductSums
            Sums over these rows, in float64.
        """
        self._check_fitted()
        owner = type(self).__name__
        checked = self._check_X(X, reset=False, like=self.origin_)
        checked, Y, weight, several = self._weighted_targets(checked, y, sample_weight)
        self._units_.require_targets(Y, several, owner)
        rows = Rows.of(checked.astype(np.float64, copy=False), Y, weight, self._units_)
        return ProductSums.of(require_in_units(rows.sums(owner), owner), len(Y))

    def merge(self, a: ProductSums, b: ProductSums) -> ProductSums:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : ProductSums
            Sums over different rows.

        Returns
        -------
        statistics : ProductSums
            Their sums.
        """
        return a.merged(b)

    def update(self, statistics: ProductSums) -> Self:
        """Fit the function to the statistics of all rows: the whole fit.

        Parameters
        ----------
        statistics : ProductSums
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        settings, owner = self._settings(), type(self).__name__
        self._check_fitted()
        width = len(self._units_.power) + len(self._units_.target_power)
        if not isinstance(statistics, ProductSums) or len(statistics.mean) != width:
            raise ValueError(
                f"{owner}: statistics must come from partial_statistics of a model that has begun "
                "with as many features and targets."
            )
        statistics, problem = self._problem_of(statistics, settings)
        with Progress(self.verbose, self.callback, owner, self) as steps:
            sums = statistics.of_rows
            solution, attributes = self._solved(None, sums, problem, settings, steps)
        self._update_state(attributes | {"_sums_": tuple(statistics)})
        self._warn_of_end(solution, settings)
        return self

    def _in_larger_units(self, sums, X, y, sample_weight):
        """Take larger units, as these rows need them, and return the sums in those."""
        checked = self._check_X(X, reset=False, like=self.origin_)
        checked, Y, _, _ = self._weighted_targets(checked, y, sample_weight)
        self._units_, more = self._units_.larger(checked, Y, common=self._settings().multi_task)
        return None if sums is None else sums.in_larger_units(more)

    # ---- the fit itself

    def _settings(self) -> Settings:
        owner = type(self).__name__
        alpha = as_real(self.alpha, "alpha", owner=owner, at_least=0)
        l1_ratio = as_real(self.l1_ratio, "l1_ratio", owner=owner, at_least=0, at_most=1)
        grouped = as_bool(self.multi_task, "multi_task", owner=owner)
        return self._settings_of(alpha, l1_ratio, grouped)

    def _problem_of(self, sums, settings):
        """Return sums over rows that are not there, and their problem, with these settings, of
        which those of `begin` or of the fit may have been others.
        """
        units = self._units_
        if not settings.fit_intercept:
            units, sums = sums.about_zero(units)
        if settings.multi_task:
            power = np.full_like(units.target_power, units.target_power.max())
            more = np.concatenate((0 * units.power, power - units.target_power))
            units, sums = units._replace(target_power=power), sums.in_larger_units(more)
        problem = Products.of_sums(
            sums.of_rows, sums.n_rows, sums.eps, self.origin_.dtype, units, settings.fit_intercept
        )
        return sums, problem

    def _solved(self, rows, sums, problem, settings, steps):
        """Return the solution and the fitted attributes, from rows and sums; one may be None."""
        alpha, readings = settings.alpha, 0
        penalties = penalties_of(problem, settings).times(alpha)

        def fitted(solution):
            return self._attributes(problem, penalties, solution, settings)

        def report(solution):
            nonlocal readings
            readings += 1
            factor = of_means(problem, len(solution.gap))
            objective, gap = (factor * v for v in (solution.objective, solution.gap))
            steps.step(readings, objective.sum(), gap.sum(), lambda: fitted(solution))

        limits = penalties, settings.tol, settings.max_iter, report
        if alpha * settings.l1_ratio == 0:
            solution = without_lasso(rows, sums, problem, alpha, settings, type(self).__name__)
            report(solution)
        elif settings.multi_task and len(problem.squares) > 1:
            solution = multi_task.solve(problem, *limits)
        else:
            solution = problem.solve(*limits)
        return solution, fitted(solution)


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
