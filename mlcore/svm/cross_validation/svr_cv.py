"""C, epsilon and gamma of support vector regression, chosen together by cross-validation."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks import as_weights
from mlcore.estimator import tables
from mlcore.estimator.folds import folds_of
from mlcore.estimator.scoring.scorers import VALUE_SCORES
from mlcore.estimator.scoring.search import STORED, Rule, as_plan, require_refit, test_sizes
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm.cross_validation.alpha_seeding import best_multiple
from mlcore.svm.cross_validation.grid import checked_gammas, numbers_of
from mlcore.svm.cross_validation.kernel_search import FoldProblems, fitted_attributes, like, search
from mlcore.svm.formulations import Regression
from mlcore.svm.svr import SVR, SupportVectorRegressor


class Targets(NamedTuple):
    """Samples with weight, their places in the X of the fit, their targets and weights."""

    X: Any
    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def given(self, test: np.ndarray) -> np.ndarray:
        """Return the targets as a function that scores is given them."""
        return self.y[test]


class SVRCV(SupportVectorRegressor):
    """`SVR` with C, epsilon and gamma chosen by cross-validation over a grid.

    For each gamma the kernel is computed once, over all samples, for all folds, C and epsilon; each
    C starts from the one before.

    Parameters
    ----------
    Cs : sequence of float, default=(0.1, 1.0, 10.0, 100.0)
        Costs to try, positive.
    epsilons : sequence of float, default=(0.1,)
        Half widths of the tube to try, at least 0.
    gammas : as in `SVCCV`
    kernel, degree, coef0 : as in `SVR`
    cv : int, splitter or iterable, default=5
        Number of folds of consecutive samples, an object whose ``split(X, y)`` yields pairs of
        training and test indices, or such pairs.
    scoring : str, callable, list, tuple, set or dict, default="r2"
        One score or several, as in `SVCCV`; names are those of scikit-learn's metrics of
        regression.
    refit, rule, error_score : as in `SVCCV`
        The simplest model has the smallest C, then the largest epsilon and the smallest gamma.
    tol, cache_size, verbose, max_iter, callback : as in `SVR`

    Attributes
    ----------
    C_, epsilon_, gamma_ : float
        The candidate that was chosen.
    best_score_, best_index_, best_params_, cv_results_, n_test_samples_ : as in `SVCCV`
        Of ``param_C``, ``param_epsilon`` and ``param_gamma``.
    others
        As in `SVR`, of the model refitted to all samples.

    See Also
    --------
    SVR : The model for given parameters.

    References
    ----------
    A. Smola, B. Schölkopf, *A tutorial on support vector regression*, Statistics and Computing 14,
    2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.svm import SVRCV
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> folds = [(np.arange(60) % 3 != k, np.arange(60) % 3 == k) for k in range(3)]
    >>> model = SVRCV(Cs=[0.01, 10.0], gammas=[0.5], cv=folds).fit(X, np.sin(X[:, 0]))
    >>> model.C_
    10.0
    """

    C_: float
    epsilon_: float
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: Any
    _stored = STORED | {"C_": "float", "epsilon_": "float"}
    _instead = {
        "param_grid": "use Cs=[...], epsilons=[...] and gammas=[...]",
        "estimator": "drop it: the machine is an SVR",
        "C": "use Cs=[...]",
        "epsilon": "use epsilons=[...]",
        "gamma": "use gammas=[...]",
    }

    def __init__(
        self,
        *,
        Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        epsilons: Sequence[float] = (0.1,),
        gammas: Sequence[float | GammaRule] | None = None,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = 5,
        scoring: Any = "r2",
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.Cs = Cs
        self.epsilons = epsilons
        self.gammas = gammas
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.rule = rule
        self.error_score = error_score
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose C, epsilon and gamma, then train on all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C and of the place in the scores: 2 is a copy, 0 is absence, also from the
            folds.
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
            If the data or the kernel rows do not fit in memory.
        """
        owner, settings, plan = type(self).__name__, self._settings(), as_plan(self, VALUE_SCORES)
        Cs, epsilons = numbers_of(self, "Cs", above=0), numbers_of(self, "epsilons", at_least=0)
        gammas, progress = checked_gammas(self, settings), self._progress()
        checked = self._training_samples(X)
        n = checked.shape[0]
        targets, weight = self._targets(y, n), as_weights(sample_weight, n)
        rows = np.flatnonzero(weight)
        used = kept_samples(checked, rows, settings.kernel.precomputed)
        samples = Targets(used, rows, targets[rows], weight[rows])
        folds = folds_of(self.cv, X, y, rows, n, owner, groups=groups)
        parts = FoldProblems(self, SVR, checked, samples, folds, sample_weight is not None)
        grid = [
            ({"C": C, "epsilon": epsilon}, Regression(C, epsilon))
            for C, epsilon in product(Cs, epsilons)
        ]
        with progress:
            complexity = [("C", 1), ("epsilon", -1), ("gamma", 1)]
            params, found = search(
                parts, settings, gammas, grid, plan, progress, complexity, _start_from_before
            )
            found |= {"C_": params["C"], "epsilon_": params["epsilon"]}
            found["n_test_samples_"] = test_sizes(folds, sample_weight)
            fitted = {"shape_fit_": tuple(map(int, checked.shape))}
            if plan.refit is not False:
                fitted = fitted_attributes(like(SVR, self, params).fit(X, y, sample_weight))
        self._set_fitted(X, **fitted | {"gamma_": params["gamma"]} | found)
        return self

    def _repr_html_(self) -> str:
        return tables.search_table(self)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "dual_coef_")

    def _formulation(self):
        # Only `verify` asks for its parameters: those of the grid are passed.
        return Regression(vars(self).get("C_", 1.0), vars(self).get("epsilon_", 0.1))


def _start_from_before(before, problems, solutions, params, following):
    """Start problems of a larger C, at the same epsilon, from a multiple of the solutions."""
    if before["epsilon"] != params["epsilon"] or before["C"] > params["C"]:
        return
    (old,), (solution,), (problem,) = problems, solutions, following
    beta, product = solution.beta, solution.gradient - old.linear
    slope = old.linear + old.epsilon * np.sign(beta)
    start = beta * best_multiple(beta, slope, product, params["C"] / before["C"])
    problem.start = np.clip(start, problem.lower, problem.upper)
