"""Kernel ridge regression whose penalty and kernel width leave-one-out errors choose."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks import as_bool, as_choice
from mlcore.checks.stored import declared
from mlcore.estimator import tables
from mlcore.estimator.folds import folds_of, require_cv
from mlcore.estimator.scoring.scorers import VALUE_SCORES, as_error_score
from mlcore.estimator.scoring.search import (
    RULES,
    STORED,
    Rule,
    as_plan,
    require_refit,
    test_sizes,
)
from mlcore.kernel_ridge.alpha_path.alpha_path import CRITERIA, Criterion
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.alpha_path.factor_path import path_for, require_path
from mlcore.kernel_ridge.fold_search import FoldSearch
from mlcore.kernel_ridge.kernel_ridge import KernelRidge
from mlcore.kernel_ridge.ridge_model import STORED_DATA, RidgeModel, data_attributes, require_two
from mlcore.kernels.kernel import Kernel, of_numbers
from mlcore.kernels.vector_kernels import GammaRule, KernelName, resolve_gamma


class _Settings(NamedTuple):
    """Checked parameters; without alphas all are searched, without gammas a few by the data."""

    kernel: Kernel
    criterion: str
    fit_intercept: bool
    alphas: np.ndarray | None
    gammas: list[float | str]


class KernelRidgeCV(RidgeModel):
    """`KernelRidge` with alpha and gamma chosen by exact leave-one-out errors, without refits.

    Copies of a sample are left out together, so that none is predicted by another of itself. For
    each gamma the Gram matrix is computed and decomposed once, for all alphas and targets: by
    its eigenvectors, or by a Cholesky factor for each alpha where these are few. Targets share
    gamma; each has the alpha that is best for it.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=None
        Penalties to try, all above 0. None searches all: the best of 50 over 13 decades, then
        golden section.
    gammas : sequence of float, "scale" or "auto", default=None
        Widths to try; None is 0.1, 1 and 10 times "scale". Kernels without a width try none.
    criterion : {"loo", "gcv", "likelihood"}, default="loo"
        The weighted mean of the squared leave-one-out errors, generalised cross-validation, or the
        likelihood of a Gaussian process; the least is best.
    scoring : str, callable, list, tuple, set or dict, optional
        What to maximise on samples that `cv` holds out, in the place of `criterion`: one of
        scikit-learn's names of metrics of regression, which have its values; or a function
        ``scorer(model, X, y)`` of a `KernelRidge`, fitted for each candidate and fold, to which
        ``sample_weight=`` is passed if it is given to `fit`. Several are a list of names, a dict of
        names and scorers, or a function that returns a dict. It needs `alphas`; all targets have
        one alpha.
    cv : int, splitter or iterable, optional
        Number of folds of consecutive samples, 5 by default, an object whose ``split(X, y)`` yields
        pairs of training and test indices, or such pairs. Of use with `scoring` alone, as the next.
    refit : bool, str or callable, default=True
        False to leave out the fit to all samples, without which there are no predictions. Of
        several scores the name of the one that chooses; or a function of `cv_results_` that
        returns the index of the choice.
    rule : "best" or "one_standard_error", default="best"
        The candidate of the highest mean score, the first of equal ones; or the simplest of those
        whose mean is at most a standard error of that score below it: the largest alpha, then the
        smallest gamma.
    error_score : "raise" or float, default="raise"
        The score, such as NaN, where a scorer fails; it warns then.
    kernel : str, callable or Kernel, default="linear"
        As in `KernelRidge`, and so `degree`, `coef0` and `fit_intercept`.
    degree : int, default=3
    coef0 : float, default=1
    fit_intercept : bool, default=False

    Attributes
    ----------
    alpha_ : float or (n_targets,) float64
        The best for each target; of several the first.
    gamma_ : float
        The width of the least sum over targets; of several the first.
    criterion_values_ : (n_gammas, n_alphas) or (n_gammas, n_alphas, n_targets) float64
        The criterion of each pair. With ``alphas=None`` n_alphas is 1: the best.
    gammas_ : (n_gammas,) float64
    best_criterion_ : float or (n_targets,) float64
        The criterion at the choice.
    best_params_, best_score_, best_index_, cv_results_, n_test_samples_ : others
        With `scoring`, in the place of the criteria: the choice by name, its mean score, its place
        in `cv_results_`, that dict with the keys of scikit-learn's GridSearchCV, gamma varying
        fastest, and the number of test samples of each fold, None with `sample_weight`.
    others
        As in `KernelRidge`, of the fit to all samples at the choice.

    See Also
    --------
    KernelRidge : The model for given alpha and gamma.

    Notes
    -----
    With n samples of d features: O(n² d + n³) time for each gamma and O(n²) for each alpha, and 40
    n² bytes; 24 n² for up to six alphas (nine from 3000 samples on), which take O(n³) time each.

    References
    ----------
    .. [1] G. Golub, M. Heath, G. Wahba, *Generalized cross-validation as a method for choosing a
       good ridge parameter*, Technometrics 21, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernel_ridge import KernelRidgeCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidgeCV([1e-6, 1e-3, 1.0], [0.1, 1.0, 100.0], kernel="rbf")
    >>> model = model.fit(X, np.sin(X[:, 0]))
    >>> model.alpha_, model.gamma_
    (1e-06, 0.1)
    """

    y_fit_: np.ndarray
    sample_weight_: np.ndarray
    gammas_: np.ndarray
    criterion_values_: np.ndarray
    best_criterion_: float | np.ndarray
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: np.ndarray | None
    _stored = {
        **STORED_DATA,
        **STORED,
        "gammas_": "float64 g",
        "criterion_values_": "float64 g a | float64 g a q",
        "best_criterion_": "float | float64 q",
    }

    _instead = {
        "alpha": "use alphas=[...]",
        "gamma": "use gammas=[...]",
        "gcv_mode": "drop it: eigenvectors or factors are taken, as is quicker",
        "store_cv_results": "drop it: criterion_values_ holds them always",
        "alpha_per_target": "drop it: each target always has its own alpha",
        "param_grid": "use alphas=[...] and gammas=[...]",
    }

    def __init__(
        self,
        alphas: Any = None,
        gammas: Sequence[float | GammaRule] | None = None,
        criterion: Criterion = "loo",
        *,
        scoring: Any = None,
        cv: Any = None,
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        kernel: KernelName | Callable[..., Any] | Kernel = "linear",
        degree: int = 3,
        coef0: float = 1,
        fit_intercept: bool = False,
    ) -> None:
        self.alphas = alphas
        self.gammas = gammas
        self.criterion = criterion
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.rule = rule
        self.error_score = error_score
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose alpha and gamma, and fit the function to all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence; copies are left out together.
        groups : array-like of shape (n_samples,), optional
            Passed to ``cv.split``.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; and where K has a negative
            eigenvalue.
        MemoryError
            If the Gram matrix and its eigenvectors do not fit.
        """
        owner = type(self).__name__
        plan = self._plan(groups)
        kernel, criterion, fit_intercept, alphas, widths = self._settings()
        data = self._checked_data(X, y, sample_weight)
        if plan is not None:
            return self._fit_by_scores(X, y, data, sample_weight, groups, plan)
        data, origin = self._about_mean(data, kernel, fit_intercept)
        distinct = data.distinct(self._precomputed)
        n, n_targets = distinct.columns.shape
        require_two(n, owner)
        require_path(n, math.inf if alphas is None else len(np.unique(alphas)))
        # The criterion of each gamma and alpha, and the best alpha of each target.
        gammas = self._numbers_of(widths, kernel, data)
        values = np.empty((len(gammas), 1 if alphas is None else len(alphas), n_targets))
        chosen = np.empty((len(gammas), n_targets))
        for g, gamma in enumerate(gammas):
            system = None  # that of one gamma at a time
            system = distinct.system(
                kernel.with_gamma(gamma), criterion, fit_intercept, True, owner
            )
            values[g], chosen[g] = _best(system, criterion, alphas)
        best = int(values.min(axis=1).sum(axis=1).argmin())
        # The fit to all samples at the choice.
        alpha, gamma = chosen[best], gammas[best]
        if best < len(gammas) - 1 or distinct is not data:
            system = None
            system = data.system(kernel.with_gamma(gamma), criterion, fit_intercept, True, owner)
        units = system.units
        penalties = np.ldexp(alpha, -units.penalty_power)
        solution = system.solved(penalties, system.by_cholesky)
        attributes = self._attributes(data, system, solution, penalties)
        if criterion != "likelihood":
            values = np.ldexp(values, 2 * units.target_power)
        system = solution = None  # freed before the samples are copied
        several = data.y.ndim == 2
        least = values[best].min(axis=0)
        attributes |= {
            "alpha_": alpha if several else float(alpha[0]),
            "criterion_values_": values if several else values[..., 0],
            "best_criterion_": least if several else float(least[0]),
        }
        self._set_fitted(
            X, **attributes, **data_attributes(data), gamma_=gamma, gammas_=np.array(gammas),
            origin_=origin,
        )  # fmt: skip
        return self

    def _plan(self, groups):
        """Return the checked plan of a search by scores, None for one by the criterion."""
        owner = type(self).__name__
        if self.scoring is not None:
            if self.alphas is None:
                raise ValueError(f"{owner}: scoring needs alphas=[...], the penalties to compare.")
            return as_plan(self, VALUE_SCORES)
        if self.cv is not None:  # scikit-learn's checks of an estimator set it
            require_cv(self.cv, owner)
        as_choice(self.rule, "rule", RULES, owner=owner)
        as_error_score(self.error_score, owner)
        given = {
            "groups": groups is not None,
            "refit": self.refit is not True,
            "rule": self.rule != "best",
            "error_score": self.error_score != "raise",
        }
        for name, one in given.items():
            if one:
                raise ValueError(f"{owner}: {name} needs scoring: the criterion has no folds.")
        return None

    def _fit_by_scores(self, X, y, data, sample_weight, groups, plan):
        """Choose alpha and gamma by scores of folds, and fit all samples with them."""
        kernel, _, fit_intercept, alphas, widths = self._settings()
        owner, n = type(self).__name__, data.samples.shape[0]
        cv = 5 if self.cv is None else self.cv
        folds = folds_of(cv, X, y, data.kept, n, owner, groups=groups)
        require_path(len(data.kept), math.inf)
        raw = data.used
        data, _ = self._about_mean(data, kernel, fit_intercept)
        gammas = self._numbers_of(widths, kernel, data)
        weighted = sample_weight is not None
        search = FoldSearch(self, data, raw, kernel, fit_intercept, folds, weighted)
        params, found = search.run(alphas, gammas, plan)
        found["n_test_samples_"] = test_sizes(folds, sample_weight)
        fitted = {"alpha_": params["alpha"], "gamma_": params["gamma"]}
        if plan.refit is not False:
            names = ("kernel", "degree", "coef0", "fit_intercept")
            best = KernelRidge(**params, **{name: getattr(self, name) for name in names})
            best.fit(X, y, sample_weight)
            fitted = {
                name: value for name, value in vars(best).items() if name in declared(type(self))
            }
        self._set_fitted(X, **fitted | {"gammas_": np.array(gammas)} | found)
        return self

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "dual_coef_")

    def _repr_html_(self) -> str:
        if hasattr(self, "cv_results_"):
            return tables.search_table(self)
        if not hasattr(self, "criterion_values_"):
            return tables.table({}, title=repr(self))
        values = self.criterion_values_
        values = values if values.ndim == 2 else values.mean(axis=2)  # over the targets
        n_gammas, n_alphas = values.shape
        alphas = ["best"] if self.alphas is None else np.asarray(self.alphas, dtype=np.float64)
        columns = {
            "gamma": np.repeat(self.gammas_, n_alphas),
            "alpha": np.tile(alphas, n_gammas),
            self.criterion: values.ravel(),
        }
        return tables.table(columns, title=repr(self), best=int(values.argmin()))

    def _settings(self):
        owner = type(self).__name__
        return _Settings(
            self._checked_kernel(),
            as_choice(self.criterion, "criterion", CRITERIA, owner=owner),
            as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            None if self.alphas is None else self._positive(self.alphas),
            self._checked_gammas(),
        )

    def _checked_gammas(self):
        """Return the widths as given, checked; none for the default."""
        if self.gammas is None:
            return []
        owner = type(self).__name__
        if isinstance(self.gammas, str) or np.ndim(self.gammas) != 1 or len(self.gammas) == 0:
            raise ValueError(
                f"{owner}: gammas={self.gammas!r} must be a sequence of widths, of at least one."
            )
        return [self._checked_gamma(gamma, "gammas") for gamma in self.gammas]

    def _numbers_of(self, widths, kernel, data):
        if not kernel.uses_gamma or not of_numbers(data.used):
            return [self._number_of("auto", data)]
        if not widths:
            scale = resolve_gamma("scale", data.used, data.weight[data.kept])
            return [0.1 * scale, scale, 10 * scale]
        return [self._number_of(gamma, data) for gamma in widths]


def _best(system, criterion, alphas):
    """Return the criterion of each alpha (m, k), and the best alpha of each target (k,)."""
    power, every = system.units.penalty_power, np.arange(system.right.shape[1])
    if alphas is None:
        path = EigenPath(system)
        best = path.best_alphas(criterion)
        values = [path.criterion(criterion, best[j], every[j : j + 1])[0] for j in every]
        return np.array([values]), np.ldexp(best, power)
    path = path_for(system, len(np.unique(alphas)))
    scaled = np.ldexp(alphas, -power).tolist()
    values = np.array([path.criterion(criterion, alpha, every) for alpha in scaled])
    return values, alphas[values.argmin(axis=0)]
