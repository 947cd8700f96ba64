"""Elastic net and lasso with penalties chosen by cross-validation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks import as_integer, as_real, as_weights
from mlcore.checks.penalties import as_penalties
from mlcore.checks.targets import as_targets
from mlcore.estimator import tables
from mlcore.estimator.folds import Fold, folds_of
from mlcore.estimator.progress import Progress
from mlcore.estimator.scoring.scorers import VALUE_SCORES, HeldOut
from mlcore.estimator.scoring.search import (
    STORED,
    Rule,
    as_plan,
    column,
    require_refit,
    test_sizes,
)
from mlcore.linear_model.coordinate.elastic_net import ElasticNet
from mlcore.linear_model.coordinate.penalised import (
    AtCenter,
    PenalisedRegression,
    grid_of,
    penalties_of,
    problem_of_columns,
    suits_products,
    without_features,
)
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.coordinate.products import Products
from mlcore.linear_model.regression.fitted import predictions
from mlcore.linear_model.regression.rows import Rows
from mlcore.numerics.scatter import Scatter, merged_scatter
from mlcore.runtime.memory import require_memory

_DIGITS = 1e-6  # share of the targets' squares, from which sums show squares of residuals


class Test(NamedTuple):
    """Samples (n, d) with weight, targets as the user gave them, and the mask of those to score."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    mask: np.ndarray

    def samples(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the samples to score, their targets and weights."""
        chosen = np.flatnonzero(self.mask)
        weight = np.ones(len(chosen)) if self.weight is None else self.weight[chosen]
        return self.X[chosen], self.y[chosen], weight


class FoldProblem(NamedTuple):
    """The problem of the training samples of a fold, and the samples to predict.

    `sums` are those of the latter, if they are known.
    """

    problem: Any
    test: Rows
    sums: Scatter | None

    def mean_squares(self, coef: np.ndarray) -> np.ndarray:
        """Return the mean squared errors (m,) of coefficients (m, d), in `DataUnits`."""
        center, offset = self.problem.center, self.problem.offset
        if self.sums is not None and self.test.X.dtype == np.float64:
            total, mean, S = self.sums
            error = mean[-1] - offset - coef @ (mean[:-1] - center)
            squares = S[-1, -1] + np.einsum("ij,ij->i", coef, coef @ S[:-1, :-1] - 2 * S[:-1, -1])
            known = S[-1, -1] + total * error**2
            if (squares + total * error**2 > _DIGITS * known).all():
                return squares / total + error**2
        m = len(coef)
        test = self.test._replace(Y=np.repeat(self.test.Y, m, axis=1))
        squares, _, _ = test.residuals(np.ascontiguousarray(coef.T), center, np.repeat(offset, m))
        return squares / self.test.total


class ElasticNetCV(PenalisedRegression):
    r"""An `ElasticNet` whose penalty has the best score on samples that are held out.

    Parameters
    ----------
    l1_ratio : float in (0, 1], or a sequence of these, default=0.5
        Each is tried.
    alphas : int or array-like of shape (m,), default=100
        Penalties, above 0; or their number, as in `ElasticNet.path`, for all samples.
    eps : float in (0, 1], optional
        The least of so many penalties over the largest; by default 1e-3 with more samples than
        features, else 1e-2.
    cv : int, splitter or iterable of pairs of training and test indices, default=5
        A number of folds of consecutive samples, or an object as scikit-learn's.
    scoring : str, callable, list, tuple, set or dict, default="neg_mean_squared_error"
        What to maximise on test samples, weighted by `sample_weight`: one of scikit-learn's names
        of metrics of regression, which have its values; or a function ``scorer(model, X, y)`` of an
        `ElasticNet`, to which ``sample_weight=`` is passed if it is given to `fit`. Several are a
        list of names, a dict of names and scorers, or a function that returns a dict.
    refit : bool, str or callable, default=True
        False to leave out the fit to all samples, without which there are no predictions. Of
        several scores the name of the one that chooses; or a function of `cv_results_` that
        returns the index of the choice.
    rule : "best" or "one_standard_error", default="best"
        The pair of the highest mean score, the first of equal ones; or for its l1_ratio the largest
        penalty whose mean is at most a standard error of that score below it.
    error_score : "raise" or float, default="raise"
        The score, such as NaN, where a scorer fails; it warns then.
    fit_intercept, standardize, tol, max_iter, verbose : others
        As in `ElasticNet`.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)`` after every fold and l1_ratio,
        with the least of its mean squared errors and the largest of its duality gaps.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The pair with the best mean score; of several the first, larger penalties before.
    best_params_, best_score_, best_index_, n_test_samples_ : others
        As in `SVCCV`.
    cv_results_ : dict
        The keys of scikit-learn's GridSearchCV, with a value for each pair, `alpha` varying
        fastest; times are shares of the time of the work that candidates have in common.
    alphas_ : (m,) or (n_l1_ratios, m) float64
        The penalties, descending: (m,) for one `l1_ratio`, or if they were given.
    mse_path_ : (m, n_folds) or (n_l1_ratios, m, n_folds) float64
        Mean squared errors of the samples that a fold holds out.
    duality_gaps_ : (m, n_folds) or (n_l1_ratios, m, n_folds) float64
        Those of the fits to the others.
    coef_, intercept_, objective_, duality_gap_, dual_gap_, sparse_coef_, n_iter_ : others
        As in `ElasticNet`, of the fit to all samples.
    converged_, active_, degrees_of_freedom_, origin_, n_features_in_, feature_names_in_ : others
        As in `ElasticNet`.

    See Also
    --------
    ElasticNet : The model for given penalties; `ElasticNet.path` has all of them.

    Notes
    -----
    All folds count the same, whatever their weights. With more samples than features sums of
    products are taken once, for each fold: those of the training samples are sums over the other
    folds. All targets of a penalty share them: O(n d²) time for any number of folds, then that of a
    path of `ElasticNet` for each. Else each fold has its own columns.

    References
    ----------
    M. Stone, *Cross-validatory choice and assessment of statistical predictions*, Journal of the
    Royal Statistical Society B 36, 1974.
    J. Friedman, T. Hastie, R. Tibshirani, *Regularization paths for generalized linear models via
    coordinate descent*, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.linear_model import ElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0]).fit(X, 2 * X[:, 0] + 0.5 * X[:, 5])
    >>> model.l1_ratio_, model.coef_.round(1)
    (1.0, array([2. , 0. , 0. , 0. , 0. , 0.5, 0. , 0. ]))
    """

    alpha_: float
    l1_ratio_: float
    alphas_: np.ndarray
    mse_path_: np.ndarray
    duality_gaps_: np.ndarray
    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True}
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: np.ndarray | None
    _stored = STORED | {
        "coef_": "float f",
        "alpha_": "float",
        "l1_ratio_": "float",
        "alphas_": "float64 g | float64 l g",
        "mse_path_": "float64 g p | float64 l g p",
        "duality_gaps_": "float64 g p | float64 l g p",
    }
    _instead = PenalisedRegression._instead | {
        "n_alphas": "use alphas=, a number",
        "n_jobs": "drop it: folds share sums; threads are those of OMP_NUM_THREADS",
    }

    def __init__(
        self,
        *,
        l1_ratio: float | Sequence[float] = 0.5,
        alphas: Any = 100,
        eps: float | None = None,
        cv: Any = 5,
        scoring: Any = "neg_mean_squared_error",
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.rule = rule
        self.error_score = error_score
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the penalty, then minimise P over all samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, but for the number of rows in a fold; 0 is absence, also from the folds.
        groups : array-like of shape (n_samples,), optional
            Passed to ``cv.split``.

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
        owner, ratios = type(self).__name__, self._ratios()
        grid, plan = self._checked_alphas(), as_plan(self, VALUE_SCORES)
        largest = 1.0 if isinstance(grid, int) else float(grid.max())
        settings = self._settings_of(largest, min(ratios))
        rows, _ = self._rows(X, y, sample_weight, settings)
        n = len(np.asarray(y))
        present, weight = np.arange(n), None
        if sample_weight is not None:
            weight = as_weights(sample_weight, n)
            present = np.flatnonzero(weight)
            weight = weight[present]
        folds = folds_of(self.cv, X, y, present, n, owner, groups=groups)
        targets = as_targets(y, n, owner=owner)[present]
        with Progress(self.verbose, self.callback, owner, self) as steps:
            rows, whole, parts = _problems(rows, folds, settings, owner)
            alphas = []
            for ratio in ratios:
                values = grid
                if isinstance(grid, int):
                    penalties = penalties_of(whole, settings._replace(l1_ratio=ratio))
                    values = grid_of(whole, penalties, grid, self.eps, owner)
                alphas.append(values)
            # All penalties of each l1_ratio and fold.
            params = [
                {"l1_ratio": float(ratio), "alpha": float(alpha)}
                for ratio, values in zip(ratios, alphas, strict=True)
                for alpha in values
            ]
            table, m = plan.table(len(params), len(folds)), len(alphas[0])
            mse, gaps = np.empty((2, len(ratios), m, len(folds)))
            for r, ratio in enumerate(ratios):
                at, places = settings._replace(l1_ratio=ratio), np.arange(r * m, (r + 1) * m)
                for f, (fold, part) in enumerate(zip(folds, parts, strict=True)):
                    with table.timed(places, f):
                        coef, mse[r, :, f], gaps[r, :, f] = self._of_fold(part, alphas[r], at)
                    test = Test(rows.X, targets, weight, fold.test)
                    self._score_fold(table, f, places, test, part, coef, mse[r, :, f], params)
                    steps.step(r * len(folds) + f + 1, mse[r, :, f].min(), gaps[r, :, f].max())
            # The best pair, fitted to all samples.
            shares = column(params, "l1_ratio")
            index, found = plan.select(
                table, self._named(params), [-column(params, "alpha")],
                lambda best: shares == shares[best],
            )  # fmt: skip
            alpha, ratio = params[index]["alpha"], params[index]["l1_ratio"]
            at = settings._replace(alpha=alpha, l1_ratio=ratio)
            fitted, solution = {}, None
            if plan.refit is not False:
                penalties = penalties_of(whole, at).times(alpha)
                if alpha > 0:
                    solution = whole.solve(penalties, at.tol, at.max_iter, lambda found: None)
                else:
                    solution = without_features(whole)
                fitted = self._attributes(whole, penalties, solution, at)
        several = np.ndim(self.l1_ratio) > 0
        self._set_fitted(
            X,
            **fitted,
            **found,
            alpha_=alpha,
            l1_ratio_=ratio,
            alphas_=np.stack(alphas) if several and isinstance(grid, int) else alphas[0],
            mse_path_=mse if several else mse[0],
            duality_gaps_=gaps if several else gaps[0],
            n_test_samples_=test_sizes(folds, sample_weight),
        )
        if solution is not None:
            self._warn_of_end(solution, at)
        return self

    def _named(self, params):
        """Return the parameters that this model has of each candidate."""
        names = self.get_params(deep=False)
        if "l1_ratio" in names:
            return params
        return [{"alpha": one["alpha"]} for one in params]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "coef_")

    def path(
        self, X: Any, y: Any, sample_weight: Any = None, *, alphas: Any = 100, eps: Any = None
    ) -> PenaltyPath:
        """Return the models of many penalties, none of them chosen: as `ElasticNet.path`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.
        alphas : int or array-like of shape (m,), default=100
            Penalties, above 0, or their number.
        eps : float in (0, 1], optional
            The least of so many penalties over the largest.

        Returns
        -------
        path : PenaltyPath
            One model for each penalty, in the order of `alphas`.

        Raises
        ------
        ValueError
            For parameters or data out of range, and for several values of `l1_ratio`.
        """
        settings = self._settings()
        grid = self._checked_grid(alphas, eps, settings)
        largest = 1.0 if grid[0] is None else grid[0].max()
        rows, sums, problem, _ = self._problem(X, y, sample_weight, settings, largest)
        return self._path(rows, sums, problem, grid, settings)

    def _weighted_targets(self, X, y, sample_weight):
        """Return samples, one target (n, 1) and weights of positive weight."""
        y = as_targets(y, X.shape[0], owner=type(self).__name__)
        return super()._weighted_targets(X, y, sample_weight)

    def _of_fold(self, part, alphas, settings):
        """Return mean squared errors and duality gaps (m,) of a fold."""
        penalties = penalties_of(part.problem, settings)
        m, d = len(alphas), len(part.problem.C)
        if alphas.any():
            coef, figures = part.problem.path(penalties, alphas, settings.tol, settings.max_iter)
        else:  # as of all samples
            coef, figures = np.zeros((m, d, 1)), np.zeros((m, 1, 3))
        path = self._as_path(part.problem, alphas, coef, figures, settings)
        squares = part.mean_squares(np.ascontiguousarray(coef[:, :, 0]))
        mse = np.ldexp(squares, 2 * part.problem.data_units.target_power[0])
        return coef, mse, path.duality_gap

    def _score_fold(self, table, f, places, test, part, coef, mse, params):
        """Score the samples that fold f holds out by the models (m, d, 1) of a path."""
        squares = table.scoring.named("neg_mean_squared_error")
        if len(squares) == len(table.scoring.scorers):
            table.put(places, f, dict.fromkeys(squares, -mse))
            return
        X, y, weight = test.samples()
        units = part.problem.data_units
        weights, intercept, mean = self._of_path(part.problem, coef)
        if not self.fit_intercept:
            intercept = np.zeros(len(intercept))
        at = intercept, units._replace(several=True), part.problem.center, mean
        predicted = predictions(X, weights, *at)

        def model(place):
            chosen = params[places[place]]
            model = ElasticNet(
                **chosen, fit_intercept=self.fit_intercept, standardize=self.standardize,
                tol=self.tol, max_iter=self.max_iter,
            )  # fmt: skip
            model._set_fitted(
                X,
                coef_=weights[place],
                intercept_=float(intercept[place]),
                origin_=units.origin.astype(X.dtype),
                _units_=units,
                _solution_=AtCenter(part.problem.center, mean[place : place + 1]),
            )
            return model, X, y, {} if test.weight is None else {"sample_weight": weight}

        for place, candidate in enumerate(places):
            answers = {"predict": lambda place=place: predicted[:, place]}
            held_out = HeldOut(y, weight, answers, partial(model, place))
            table.add(candidate, f, held_out, **dict.fromkeys(squares, -mse[place]))

    def _settings(self):
        """Return the settings of `path`, whose penalties replace that of the settings."""
        ratios = self._ratios()
        if len(ratios) > 1:
            raise ValueError(
                f"{type(self).__name__}: path takes one l1_ratio, not {len(ratios)}; use ElasticNet"
                " for each."
            )
        return self._settings_of(1.0, ratios[0])

    def _ratios(self):
        owner = type(self).__name__
        ratios = [self.l1_ratio] if np.ndim(self.l1_ratio) == 0 else list(self.l1_ratio)
        if not ratios:
            raise ValueError(f"{owner}: l1_ratio must have at least one number.")
        return [as_real(r, "l1_ratio", owner=owner, above=0, at_most=1) for r in ratios]

    def _checked_alphas(self):
        """Return a number of penalties, or the penalties, descending."""
        owner = type(self).__name__
        if self.eps is not None:
            as_real(self.eps, "eps", owner=owner, above=0, at_most=1)
        if np.ndim(self.alphas) == 0:
            return as_integer(self.alphas, "alphas", owner=owner, at_least=1)
        alphas = as_penalties(self.alphas, "alphas", owner)
        if not alphas.all():
            raise ValueError(f"{owner}: alphas must be above 0: LinearRegression has none.")
        return -np.sort(-alphas)

    def _repr_html_(self) -> str:
        columns: dict[str, Any] = {}
        best = None
        if hasattr(self, "mse_path_"):
            ratios = np.atleast_1d(self.l1_ratio)
            mse = self.mse_path_.reshape(len(ratios), self.alphas_.shape[-1], -1)
            alphas = np.broadcast_to(self.alphas_, mse.shape[:2])
            columns = {
                "l1_ratio": np.repeat(ratios, alphas.shape[1]),
                "alpha": alphas.ravel(),
                "mean_squared_error": mse.mean(axis=2).ravel(),
                "std": mse.std(axis=2).ravel(),
            }
            chosen = (columns["alpha"] == self.alpha_) & (columns["l1_ratio"] == self.l1_ratio_)
            best = int(np.flatnonzero(chosen)[0])
        return tables.table(columns, title=repr(self), best=best)


class LassoCV(ElasticNetCV):
    r"""A `Lasso` whose penalty has the best score on samples that are held out.

    Parameters
    ----------
    alphas, eps, cv, scoring, refit, rule, error_score, fit_intercept, standardize : others
        As in `ElasticNetCV`.
    tol, max_iter, verbose, callback : others
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_ : float
        The penalty with the best mean score; of several the largest.
    best_params_, best_score_, best_index_, cv_results_, n_test_samples_ : others
        As in `ElasticNetCV`.
    alphas_ : (m,) float64
        The penalties, descending.
    mse_path_ : (m, n_folds) float64
        Mean squared errors of the samples that a fold holds out.
    duality_gaps_ : (m, n_folds) float64
        Those of the fits to the others.
    l1_ratio_, coef_, intercept_, objective_, duality_gap_, dual_gap_, sparse_coef_ : others
        As in `ElasticNetCV`.
    n_iter_, converged_, active_, degrees_of_freedom_, origin_, n_features_in_ : others
        As in `ElasticNetCV`.
    feature_names_in_ : (n_features,) object

    See Also
    --------
    Lasso : The model for a given penalty.

    References
    ----------
    R. Tibshirani, *Regression shrinkage and selection via the lasso*, Journal of the Royal
    Statistical Society B 58, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.linear_model import LassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> model = LassoCV(alphas=[0.3, 0.1, 0.03]).fit(X, 2 * X[:, 0] + 0.5 * X[:, 5])
    >>> model.alpha_, model.active_
    (0.03, array([0, 5]))
    """

    l1_ratio: float = 1.0

    def __init__(
        self,
        *,
        alphas: Any = 100,
        eps: float | None = None,
        cv: Any = 5,
        scoring: Any = "neg_mean_squared_error",
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.rule = rule
        self.error_score = error_score
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback


def _problems(
    rows: Rows, folds: list[Fold], settings: Any, owner: str
) -> tuple[Rows, Any, list[FoldProblem]]:
    """Return the rows, their problem, and that of each fold; units suit the penalties' largest."""
    intercept = settings.fit_intercept
    of_ridge = rows.total * settings.alpha * (1 - settings.l1_ratio)
    if not suits_products(rows.X):
        rows, whole = problem_of_columns(rows, intercept, of_ridge, owner)
        parts = []
        for fold in folds:
            train = _part(rows, fold.train)
            train, problem = problem_of_columns(train, intercept, of_ridge, owner)
            test = _part(rows, fold.test)._replace(data_units=train.data_units)
            parts.append(FoldProblem(problem, test, None))
        return rows, whole, parts
    d = rows.X.shape[1]
    require_memory(
        (2 * len(folds) + 4) * d, d, 8, what="products of columns for each fold",
        instead="use fewer features",
    )  # fmt: skip
    sums, of_train, of_test = _sums_of_folds(rows, folds, owner)
    outside = rows.out_of_range(sums, intercept)
    if outside.any():
        units = rows.data_units.with_powers(rows.X, of_ridge, outside)
        rows = rows._replace(data_units=units)
        sums, of_train, of_test = _sums_of_folds(rows, folds, owner)
    parts = []
    for fold, train, test in zip(folds, of_train, of_test, strict=True):
        n = int(np.count_nonzero(fold.train))
        problem = Products.of(train, rows, intercept, n)
        parts.append(FoldProblem(problem, _part(rows, fold.test), test))
    return rows, Products.of(sums, rows, intercept, rows.X.shape[0]), parts


def _sums_of_folds(rows, folds, owner):
    """Return the sums over all rows, and those of training and of test samples of each fold.

    Rows of folds that each hold out other rows, and train on all else, are read once.
    """
    tests = np.sum([fold.test for fold in folds], axis=0)
    if tests.max() > 1 or any((fold.train == fold.test).any() for fold in folds):
        trained = [_part(rows, fold.train).sums(owner) for fold in folds]
        return rows.sums(owner), trained, [None] * len(folds)
    of_test = [_part(rows, fold.test).sums(owner) for fold in folds]
    rest = [] if tests.all() else [_part(rows, tests == 0).sums(owner)]
    # Sums over those before, and those after, so that nothing is subtracted.
    before, after = [*rest], []
    for one in of_test:
        before.append(merged_scatter(before[-1], one) if before else one)
    before = [None, *before] if not rest else before
    for one in of_test[::-1]:
        after.append(merged_scatter(one, after[-1]) if after else one)
    after = [*after[::-1][1:], None]
    trained = [_merged(a, b) for a, b in zip(before, after, strict=False)]
    return before[-1], trained, of_test


def _merged(a, b):
    if a is None or b is None:
        return b if a is None else a
    return merged_scatter(a, b)


def _part(rows, mask):
    """Return the rows of a mask; those side by side are not copied."""
    chosen = np.flatnonzero(mask)
    first, last = int(chosen[0]), int(chosen[-1]) + 1
    part = slice(first, last) if last - first == len(chosen) else chosen
    weight = None if rows.weight is None else rows.weight[part]
    return rows._replace(X=rows.X[part], Y=rows.Y[part], weight=weight)
