"""nu and gamma of a support vector classifier, chosen together by cross-validation."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from mlcore.checks import as_real
from mlcore.estimator import tables
from mlcore.estimator.folds import folds_of
from mlcore.estimator.scoring.scorers import LABEL_SCORES
from mlcore.estimator.scoring.search import STORED, Rule, as_plan, require_refit, test_sizes
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm.cross_validation.grid import checked_gammas, numbers_of
from mlcore.svm.cross_validation.kernel_search import (
    LabelledFolds,
    fitted_attributes,
    like,
    search,
    start_from_smaller_nu,
)
from mlcore.svm.formulations import NuClassification
from mlcore.svm.multiclass.multiclass import binary_tasks
from mlcore.svm.svc import NuSVC, SupportVectorClassifier


class NuSVCCV(SupportVectorClassifier):
    """`NuSVC` with nu and gamma chosen by cross-validation over a grid.

    For each gamma the kernel is computed once, over all samples, for all folds and all nu.

    Parameters
    ----------
    nus : sequence of float, default=(0.1, 0.3, 0.5)
        Bounds on the share of margin errors to try, in (0, 1]. One that a fold has no solution for
        has the scores `error_score`.
    gammas : as in `SVCCV`
    kernel, degree, coef0 : as in `NuSVC`
    cv, scoring, refit, rule, error_score : as in `SVCCV`
        The simplest model has the largest nu.
    tol, cache_size, class_weight, verbose, max_iter, decision_function_shape : as in `NuSVC`
    break_ties, multi_class, callback : as in `NuSVC`

    Attributes
    ----------
    nu_, gamma_ : float
        The pair that was chosen.
    best_score_, best_index_, best_params_, cv_results_, n_test_samples_ : as in `SVCCV`
        Of ``param_nu`` and ``param_gamma``.
    others
        As in `NuSVC`, of the model refitted to all samples.

    See Also
    --------
    NuSVC : The model for given nu and gamma.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.svm import NuSVCCV
    >>> X, y = load_iris()
    >>> machine = NuSVCCV(nus=[0.1, 0.9], gammas=["scale"], scoring="f1_macro").fit(X, y)
    >>> machine.nu_
    0.1
    """

    nu_: float
    rho_: Any
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: Any
    _stored = STORED | {"nu_": "float", "rho_": "float64 p"}
    _instead = {
        "param_grid": "use nus=[...] and gammas=[...]",
        "estimator": "drop it: the machine is a NuSVC",
        "nu": "use nus=[...]",
        "gamma": "use gammas=[...]",
        "probability": "fit NuSVC(nu=search.nu_, gamma=search.gamma_, probability=True)",
        "random_state": "drop it: nothing is drawn at random; give shuffled folds as cv",
    }

    def __init__(
        self,
        *,
        nus: Sequence[float] = (0.1, 0.3, 0.5),
        gammas: Sequence[float | GammaRule] | None = None,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = 5,
        scoring: Any = "accuracy",
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.nus = nus
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
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose nu and gamma, then train on all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence, also from the folds.
        groups : array-like of shape (n_samples,), optional
            Passed to ``cv.split``.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for an infeasible nu, if
            ``error_score="raise"``.
        MemoryError
            If the data or the kernel rows do not fit in memory.
        """
        owner, settings, plan = type(self).__name__, self._settings(), as_plan(self, LABEL_SCORES)
        nus = numbers_of(self, "nus", above=0, at_most=1)
        gammas, progress = checked_gammas(self, settings), self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        positive = plan.scoring.require(samples.classes, ("predict", "decision_function"))
        labels = samples.classes, samples.codes
        folds = folds_of(self.cv, X, y, samples.rows, checked.shape[0], owner, labels, groups)
        tasks = binary_tasks(len(samples.classes), self.multi_class)
        weighted = sample_weight is not None
        parts = LabelledFolds(self, NuSVC, checked, samples, folds, weighted, tasks, positive)
        grid = [({"nu": nu}, NuClassification(nu, owner)) for nu in nus]
        with progress:
            complexity = [("nu", -1), ("gamma", 1)]
            params, found = search(
                parts, settings, gammas, grid, plan, progress, complexity, start_from_smaller_nu
            )
            found |= {"nu_": params["nu"], "n_test_samples_": test_sizes(folds, sample_weight)}
            fitted = {"classes_": samples.classes, "shape_fit_": tuple(map(int, checked.shape))}
            if plan.refit is not False:
                best = like(NuSVC, self, params)
                fitted = fitted_attributes(best.fit(X, y, sample_weight))
        self._set_fitted(X, **fitted | {"gamma_": params["gamma"]} | found)
        return self

    def _repr_html_(self) -> str:
        return tables.search_table(self)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "dual_coef_")

    def _formulation(self):
        nu = as_real(vars(self).get("nu_", 0.5), "nu_", owner=type(self).__name__)
        return NuClassification(nu, type(self).__name__)
