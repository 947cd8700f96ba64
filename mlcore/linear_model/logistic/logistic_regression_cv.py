"""C and the penalty's share of absolute values of a logistic regression, by cross-validation."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit

from mlcore.checks import as_class_weights, as_integer, as_real
from mlcore.checks.arrays import column_names, real_array
from mlcore.checks.parameters import as_bool
from mlcore.estimator import tables
from mlcore.estimator.folds import Fold, folds_of
from mlcore.estimator.model import warn
from mlcore.estimator.progress import Progress
from mlcore.estimator.scoring.scorers import LABEL_SCORES, HeldOut
from mlcore.estimator.scoring.search import (
    STORED,
    Plan,
    Rule,
    as_plan,
    column,
    require_refit,
    test_sizes,
)
from mlcore.linear_model.logistic.logistic_classifier import LogisticClassifier, TrainingRows
from mlcore.linear_model.logistic.logistic_pass import LogisticRows, parameters_of
from mlcore.linear_model.logistic.logistic_path import (
    Paths,
    as_costs,
    deviations_of,
    divided,
    fit_paths,
    grid_of_costs,
    least_cost,
    warn_of_ends,
)
from mlcore.linear_model.logistic.logistic_regression import LogisticRegression
from mlcore.linear_model.logistic.separation import require_overlap
from mlcore.linear_model.logistic.solution import (
    Settings,
    evidence_attributes,
    scaled_objective,
    solve,
)
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.runtime.memory import require_memory

_OF_PATHS = ("neg_log_loss", "accuracy", "balanced_accuracy", "brier", "neg_brier_score")
_LEAST = math.log(1e-300)  # of log probabilities that are scored
_VALUES = 1 << 22  # scores of a block of rows


class Search(NamedTuple):
    """Checked parameters of a `LogisticRegressionCV`; `costs` may be their number."""

    costs: int | np.ndarray
    l1_ratios: list[float]
    plan: Plan
    standardize: bool


class Samples(NamedTuple):
    """Samples of positive weight, with their classes, weights, places and those of the classes."""

    X: Any
    codes: np.ndarray
    classes: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    class_weight: np.ndarray


class LogisticRegressionCV(LogisticClassifier):
    r"""`LogisticRegression` with C and the share of absolute values chosen by cross-validation.

    Each fold and each share has a path of all costs, from the least up, of which each fit starts
    from the one before; the best pair is fitted again to all samples. Scores are those of separate
    fits, within the duality gaps, which are kept for every fit.

    Parameters
    ----------
    Cs : int or sequence of float, default=10
        Costs to try, above 0; or their number, in equal ratios: from 1e-4 to 1e4, or with shares
        above 0 from the largest without coefficients, for the least such share and all samples, to
        1000 times that.
    l1_ratio : float in [0, 1] or sequence of float, default=0.0
        Shares of absolute values in the penalty to try, r in `LogisticRegression`.
    cv : int, splitter or iterable, default=5
        Number of stratified folds (unshuffled), an object whose ``split(X, y)`` yields pairs of
        training and test indices, or such pairs.
    scoring : str, callable, list, tuple, set or dict, default="neg_log_loss"
        What to maximise on test samples, weighted by `sample_weight`: "neg_log_loss", "accuracy",
        "balanced_accuracy", the mean over classes, or "brier" or "neg_brier_score", minus the Brier
        score: the squares of what probabilities are off by, of one class of two or summed over
        more; or another of scikit-learn's names of metrics of labels, decision values or
        probabilities, such as "f1_macro" and "roc_auc", which have its values. Or
        ``scoring(model, X, y)`` of a `LogisticRegression`; ``sample_weight=`` is passed if it is
        given to `fit`. Several are a list of names, a dict of names and scorers, or a function that
        returns a dict.
    rule : "best" or "one_standard_error", default="best"
        The pair of the highest mean score, the first of equal ones; or for its share the smallest
        C whose mean is at most a standard error of that score below it.
    fit_intercept : bool, default=True
        False for b = 0.
    standardize : bool, default=False
        Penalise the coefficients of columns divided by their weighted deviations, those of each
        fold, 1 for constant columns. `coef_` is in the units of the data.
    tol : float > 0, default=1e-4
        As in `LogisticRegression`; fits of paths end at a duality gap of ``tol / 100`` of P.
    max_iter : int, default=200
        Largest number of iterations of each fit.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class in training; "balanced" is worked out in each fold.
    refit : bool, str or callable, default=True
        False to leave out the fit to all samples, without which there are no predictions. Of
        several scores the name of the one that chooses; or a function of `cv_results_` that
        returns the index of the choice.
    error_score : "raise" or float, default="raise"
        The score, such as NaN, where a scorer fails; it warns then.
    l1_ratios : sequence of float or None, default=None
        scikit-learn's name of `l1_ratio`.
    verbose : bool or int, default=False
        Print progress.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)`` after each share, with the sum
        of P over its fits and their largest relative gap, and in each iteration of the last fit.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The pair that was chosen.
    Cs_ : (n_Cs,) float64
        The costs that were tried.
    l1_ratios_ : (n_l1_ratios,) float64
        The shares that were tried.
    coefs_paths_ : (n_folds, n_l1_ratios, n_Cs, 1 or n_classes, n_features + 1)
        Coefficients and last the intercept of each fit. A class that a fold lacks has -inf.
    duality_gaps_ : (n_folds, n_l1_ratios, n_Cs) float64
        Each P is at most this much above its minimum, rounding included.
    scores_ : (n_folds, n_l1_ratios, n_Cs) float64
        Those that choose.
    cv_results_ : dict
        The keys of scikit-learn's GridSearchCV, with a value for each pair, C varying fastest:
        ``param_l1_ratio``, ``param_C``, ``params``, ``split0_test_score``, ...,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, with the name of each of
        several scores in the place of ``score``; ``mean_fit_time`` and the like are shares of the
        time of the work that candidates have in common.
    n_test_samples_ : (n_folds,) int64 or None
        Samples that each fold holds out; None with `sample_weight`.
    best_params_ : dict
        The pair that was chosen, by name.
    best_index_ : int
        Place of the chosen pair in `cv_results_`.
    best_score_ : float
        Its mean score.
    classes_ : (n_classes,) sorted labels
    coef_, intercept_, n_iter_, n_passes_, converged_, objective_, objective_trace_ : others
        As in `LogisticRegression`, of the fit to all samples.
    gradient_norm_, newton_decrement_, duality_gap_, n_features_in_, feature_names_in_ : others
        As in `LogisticRegression`.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ends fits.
    UserWarning
        For a fold whose training samples lack a class: its model cannot name it, and the logarithm
        of its probability is scored as that of 1e-300.

    See Also
    --------
    LogisticRegression : The model for a given C; its `path` has the models of many.

    Notes
    -----
    Folds are weights of the same rows, of which there is one copy. Two classes of dense data with
    at most 256 features take O(n d²) per fold and cost for the few Hessians that are made anew, and
    O(n d) for each of one to three readings. Of more features or sparse data, of which there is one
    copy by columns, lassos take those in use. Other fits take the steps of `LogisticRegression`.

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani, *Regularization paths for generalized linear models via
    coordinate descent*, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import LogisticRegressionCV
    >>> X, y = load_iris()
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0]).fit(X, y)
    >>> model.C_
    100.0
    >>> bool((model.duality_gaps_ < 1e-6 * len(y)).all())
    True
    """

    C_: float
    l1_ratio_: float
    Cs_: np.ndarray
    l1_ratios_: np.ndarray
    coefs_paths_: np.ndarray
    duality_gaps_: np.ndarray
    scores_: np.ndarray
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: np.ndarray | None
    _stored = STORED | {
        "C_": "float",
        "l1_ratio_": "float",
        "Cs_": "float64 m",
        "l1_ratios_": "float64 r",
        "coefs_paths_": "float v r m c' f+1",
        "duality_gaps_": "float64 v r m",
        "scores_": "float64 v r m",
    }

    _instead = {
        "solver": "drop it: all solvers have the same result, and one path serves all costs",
        "penalty": "use l1_ratio=0 for l2, 1 for l1, a share for elasticnet, C=numpy.inf for None",
        "dual": "drop it: every fit shows its duality gap, in duality_gaps_",
        "intercept_scaling": "drop it: intercepts are not penalised",
        "multi_class": "drop it: several classes are one softmax",
        "random_state": "drop it: nothing is drawn at random; give shuffled folds as cv",
        "use_legacy_attributes": "drop it: C_ and l1_ratio_ are numbers, coefs_paths_ an array",
    }

    def __init__(
        self,
        *,
        Cs: int | Sequence[float] | np.ndarray = 10,
        l1_ratio: float | Sequence[float] | np.ndarray = 0.0,
        cv: Any = 5,
        scoring: Any = "neg_log_loss",
        rule: Rule = "best",
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-4,
        max_iter: int = 200,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        refit: bool | str | Callable[..., Any] = True,
        error_score: float | Literal["raise"] = "raise",
        l1_ratios: Sequence[float] | np.ndarray | None = None,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.refit = refit
        self.error_score = error_score
        self.l1_ratios = l1_ratios
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose C and the share of absolute values, then fit all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, at least two different ones, also in the training samples of each fold.
        sample_weight : array-like of shape (n_samples,), optional
            Weights in training and in the scores: 2 is a copy, 0 is absence, also from the folds.
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
        SeparatedClasses
            As in `LogisticRegression`, if one of `Cs` is infinite.
        MemoryError
            If the coefficients of all fits do not fit.
        """
        search, settings, owner = self._search(), self._settings(), type(self).__name__
        plan = search.plan
        samples, n = self._samples(X, y, sample_weight)
        labels = samples.classes, samples.codes
        methods = "predict", "decision_function", "predict_proba"
        positive = plan.scoring.require(samples.classes, methods)
        folds = folds_of(self.cv, X, y, samples.rows, n, owner, labels, groups)
        weights = np.stack([self._training_weight(samples, fold.train) for fold in folds])
        _require_classes(samples, folds, weights, owner)
        data = self._rows_of(samples, self._training_weight(samples, samples.weight > 0), settings)
        costs = _costs(search, data)
        shape = len(folds), len(search.l1_ratios), len(costs)
        require_memory(
            math.prod(shape), data.n_scores * (data.d + 1), samples.X.dtype.itemsize,
            what="coefs_paths_", instead="use fewer Cs",
        )  # fmt: skip
        deviations = deviations_of(samples.X, weights) if search.standardize else None

        # The paths of all folds, and the scores of samples held out.
        coefs = np.empty((*shape, data.n_scores, data.d + 1), samples.X.dtype)
        gaps = np.empty(shape)
        params = [
            {"l1_ratio": float(ratio), "C": float(C)} for ratio in search.l1_ratios for C in costs
        ]
        table = plan.table(len(params), len(folds))
        with Progress(settings.verbose, self.callback, owner, self) as steps:
            for r, l1_ratio in enumerate(search.l1_ratios):
                at, places = settings._replace(l1_ratio=l1_ratio), np.arange(len(costs))
                places += r * len(costs)
                with table.timed(places):
                    paths = fit_paths(data, weights, costs, at, owner, column_names(X), deviations)
                warn_of_ends(paths, at, owner)
                coefs[:, r], gaps[:, r] = paths.stored(coefs.dtype), paths.gap
                options = {"weighted": sample_weight is not None, "positive": positive}
                for f, fold in enumerate(folds):
                    self._score_fold(table, places, f, samples, fold, paths, params, **options)
                # Features far too large make gaps that are of no use.
                with np.errstate(over="ignore"):
                    change = (paths.gap / paths.objective).max()
                steps.step(r + 1, float(paths.objective.sum()), float(change))
            ratios = column(params, "l1_ratio")
            index, chosen = plan.select(
                table, params, [column(params, "C")], lambda best: ratios == ratios[best]
            )
            found = chosen | {
                "classes_": samples.classes,
                "C_": params[index]["C"],
                "l1_ratio_": params[index]["l1_ratio"],
                "Cs_": costs,
                "l1_ratios_": np.array(search.l1_ratios),
                "coefs_paths_": coefs,
                "duality_gaps_": gaps,
                "scores_": plan.scores(table).T.reshape(shape).copy(),
                "n_test_samples_": test_sizes(folds, sample_weight),
            }
            if plan.refit is False:
                self._set_fitted(X, **found)
                return self
            at = settings._replace(C=found["C_"], l1_ratio=found["l1_ratio_"])
            best = divmod(index, len(costs))
            start = coefs[:, best[0], best[1]].astype(np.float64).mean(axis=0)
            fit = self._fit_all(data, at, start, steps, column_names(X), search, found)
        attributes, solution, factor = fit
        self._set_fitted(X, **found | attributes)
        if not solution.converged:
            self._warn_of_end(solution, at, factor, "auto")
        return self

    def _repr_html_(self) -> str:
        return tables.search_table(self)

    # ---- validation

    def _search(self):
        owner = type(self).__name__
        name, ratios = "l1_ratio", self.l1_ratio
        if self.l1_ratios is not None:
            if np.ndim(ratios) > 0 or ratios != 0:
                raise ValueError(
                    f"{owner}: l1_ratio={ratios!r} and l1_ratios={self.l1_ratios!r} are two names "
                    "of one parameter: give one of them."
                )
            name, ratios = "l1_ratios", self.l1_ratios
        ratios = [ratios] if np.ndim(ratios) == 0 else list(real_array(ratios, name))
        if not ratios or np.ndim(ratios) != 1:
            raise ValueError(f"{owner}: {name} must be a number or a sequence of at least one.")
        return Search(
            as_costs(self.Cs, owner),
            [as_real(one, name, owner=owner, at_least=0, at_most=1) for one in ratios],
            as_plan(self, (*LABEL_SCORES, "brier")),
            as_bool(self.standardize, "standardize", owner=owner),
        )

    def _settings(self):
        owner = type(self).__name__
        Progress(self.verbose, self.callback, owner)
        C = getattr(self, "C_", 1.0)
        return Settings(
            C=C,
            l1_ratio=getattr(self, "l1_ratio_", 0.0) if C < math.inf else 0.0,
            fit_intercept=as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            solver="auto",
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            max_iter=as_integer(self.max_iter, "max_iter", owner=owner, at_least=0),
            verbose=self.verbose,
        )

    def _samples(self, X, y, sample_weight):
        """Return the samples of positive weight, and the number of all."""
        checked = self._check_X(X, reset=True)
        n = checked.shape[0]
        classes, codes, weight, rows = self._weighted_labels(y, sample_weight, n)
        if len(rows) < n:
            checked, weight = checked[rows], weight[rows]
        factors = as_class_weights(self.class_weight, classes, codes, weight)
        if not factors.all():
            kept = np.flatnonzero(factors[codes])
            codes, classes, _, checked, _ = self._present(
                codes, classes, factors[codes], checked, None
            )
            weight, rows, factors = weight[kept], rows[kept], factors[factors > 0]
        return Samples(checked, codes, classes, weight, rows, factors), n

    def _training_weight(self, samples, train):
        """Return the weights of samples in the training of a fold, 0 for others."""
        factors = samples.class_weight
        if isinstance(self.class_weight, str):
            factors = as_class_weights(
                self.class_weight, samples.classes, samples.codes[train], samples.weight[train]
            )
        return np.where(train, samples.weight * factors[samples.codes], 0.0)

    def _rows_of(self, samples, weight, settings):
        n_scores = 1 if len(samples.classes) == 2 else len(samples.classes)
        return LogisticRows(
            samples.X, samples.codes, weight, None, n_scores, settings.fit_intercept
        )

    def _check_fitted(self):
        super()._check_fitted()
        require_refit(self, "coef_")

    def _penalised(self, data):
        if not self.standardize:
            return data, 1.0
        deviation = deviations_of(data.X, data.weight[None])[0]
        return divided(data, deviation), deviation

    # ---- scores and the last fit

    def _score_fold(
        self, table, places, number, samples, fold, paths: Paths, params, *, weighted, positive
    ):
        """Score the samples that a fold holds out by the models (n_Cs,) of a path."""
        test = np.flatnonzero(fold.test)
        X, codes, weight = samples.X[test], samples.codes[test], samples.weight[test]
        coef, intercept = paths.coef[number], paths.intercept[number]
        k = len(samples.classes)
        known = {
            name: held_out_scores(X, codes, weight, coef, intercept, scorer, k)
            for name, scorer in table.scoring.scorers.items()
            if isinstance(scorer, str) and scorer in _OF_PATHS
        }
        if len(known) == len(table.scoring.scorers):
            table.put(places, number, known)
            return

        def model_of(place):
            model = LogisticRegression(
                **params[places[place]], fit_intercept=self.fit_intercept, tol=self.tol,
                max_iter=self.max_iter, class_weight=self.class_weight,
            )  # fmt: skip
            model._set_fitted(
                X,
                classes_=samples.classes,
                coef_=coef[place].astype(X.dtype),
                intercept_=intercept[place].astype(X.dtype),
                _solution_=TrainingRows(None, False),
            )
            options = {"sample_weight": weight} if weighted else {}
            return model, X, samples.classes[codes], options

        for place, candidate in enumerate(places):
            answers = _answers(X, coef[place], intercept[place])
            held_out = HeldOut(codes, weight, answers, partial(model_of, place), k, positive)
            table.add(
                candidate, number, held_out, **{name: one[place] for name, one in known.items()}
            )

    def _fit_all(self, data, settings, start, steps, names, search, found):
        """Return the attributes of a fit to all samples, its solution, and the factor of P."""
        dtype, unit = data.X.dtype, 1.0
        if search.standardize:
            unit = deviations_of(data.X, data.weight[None])[0]
            data = divided(data, unit)
        objective, factor = scaled_objective(data, settings)
        coef = start[:, :-1] * unit
        theta = None
        if np.isfinite(start).all():
            theta = np.c_[coef / data.scale, start[:, -1] + coef @ data.shift]

        def fitted(theta):
            parameters = parameters_of(theta, data.columns, np.float64)
            parameters["coef_"] = parameters["coef_"] / unit
            return {
                **{name: value.astype(dtype) for name, value in parameters.items()},
                "classes_": found["classes_"],
                "n_features_in_": data.d,
                "_solution_": TrainingRows(data.total, False),
            }

        solution = solve(objective, factor, theta, settings, steps, fitted)
        if settings.C == math.inf and settings.max_iter > 0:
            require_overlap(objective, solution.theta, names, type(self).__name__)
        attributes = fitted(solution.theta) | evidence_attributes(solution, objective, factor)
        del attributes["n_features_in_"]
        return attributes, solution, factor


def _answers(X, coef, intercept):
    """Return what a model answers on X, as functions: codes, decision values, probabilities."""

    def decisions():
        Z = X @ coef.T + intercept
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def codes():
        Z = decisions()
        return Z.argmax(axis=1) if Z.ndim == 2 else (Z > 0).astype(np.intp)

    def probabilities():
        Z = decisions()
        return np.exp(log_softmax(Z)) if Z.ndim == 2 else np.stack([expit(-Z), expit(Z)], axis=1)

    return {
        "predict": codes,
        "decision_function": decisions,
        "predict_proba": probabilities,
    }


def held_out_scores(
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    scoring: str,
    n_classes: int,
) -> np.ndarray:
    """Return the weighted scores (m,) of m models, coef (m, c, d) and intercept (m, c)."""
    m, c, d = coef.shape
    columns, offset = coef.reshape(m * c, d).T, intercept.ravel()
    sums, totals = np.zeros((n_classes, m)), np.zeros(n_classes)
    size = max(1, _VALUES // (m * c))
    for first in range(0, len(codes), size):
        part = slice(first, first + size)
        Z = (X[part] @ columns + offset).reshape(-1, m, c)
        values = _values(Z, codes[part], scoring)
        of_class = (codes[part] == np.arange(n_classes)[:, None]) * weight[part]
        sums += of_class @ values
        totals += of_class.sum(axis=1)
    if scoring == "balanced_accuracy":
        present = totals > 0
        return (sums[present] / totals[present, None]).mean(axis=0)
    return sums.sum(axis=0) / totals.sum()


def _values(Z, codes, scoring):
    """Return the score of each row (n, m) from scores Z (n, m, c) of its classes."""
    n, m, c = Z.shape
    own = codes[:, None]
    if c == 1:
        z = Z[:, :, 0]
        if scoring == "neg_log_loss":
            return np.maximum(log_expit(np.where(own == 1, z, -z)), _LEAST)
        if scoring in ("brier", "neg_brier_score"):
            return -np.square(expit(np.where(own == 1, -z, z)))
        return ((z > 0) == (own == 1)).astype(float)
    if scoring not in ("neg_log_loss", "brier", "neg_brier_score"):
        return (Z.argmax(axis=2) == own).astype(float)
    logarithms = log_softmax(Z.reshape(n * m, c)).reshape(n, m, c)
    if scoring == "neg_log_loss":
        return np.maximum(np.take_along_axis(logarithms, own[:, :, None], axis=2)[:, :, 0], _LEAST)
    return -np.square(np.exp(logarithms) - (own == np.arange(c))[:, None]).sum(axis=2)


def _require_classes(samples, folds: list[Fold], weights, owner):
    """Refuse a fold that trains on one class; warn of those that lack one."""
    for number, weight in enumerate(weights):
        present = np.bincount(samples.codes, weights=weight, minlength=len(samples.classes)) > 0
        if present.all():
            continue
        absent = samples.classes[~present].tolist()
        if present.sum() < 2:
            raise ValueError(
                f"{owner}: the training samples of fold {number} are of one class, "
                f"{samples.classes[present].tolist()[0]!r}, but need at least 2."
            )
        warn(
            "UserWarning",
            f"{owner}: the training samples of fold {number} lack the class {absent[0]!r}: its "
            "model cannot name it.",
        )


def _costs(search, data):
    """Return the costs to try, (m,)."""
    if not isinstance(search.costs, int):
        return search.costs
    least = min((ratio for ratio in search.l1_ratios if ratio > 0), default=0.0)
    deviation = deviations_of(data.X, data.weight[None])[0] if search.standardize else None
    return grid_of_costs(search.costs, least_cost(data, least, deviation))
