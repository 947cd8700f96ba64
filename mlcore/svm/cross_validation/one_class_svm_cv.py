"""nu and gamma of a one-class support vector machine, chosen together by cross-validation."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks import as_weights
from mlcore.checks.targets import as_labels
from mlcore.estimator import tables
from mlcore.estimator.folds import folds_of
from mlcore.estimator.scoring import labels
from mlcore.estimator.scoring.search import STORED, Rule, as_plan, require_refit, test_sizes
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm.cross_validation.grid import checked_gammas, numbers_of
from mlcore.svm.cross_validation.kernel_search import (
    OneClassFolds,
    fitted_attributes,
    like,
    search,
    start_from_smaller_nu,
)
from mlcore.svm.formulations import OneClass
from mlcore.svm.one_class import OneClassSVM

_SCORES = ("consistency", *labels.TABLE, *labels.THRESHOLD)


class Novelties(NamedTuple):
    """Samples with weight, their places in the X of the fit, codes of labels, targets, weights.

    Codes are 1 for inliers and 0 for outliers, or None without labels; targets `y` are all 0.
    """

    X: Any
    rows: np.ndarray
    codes: np.ndarray | None
    y: np.ndarray
    weight: np.ndarray

    def given(self, test: np.ndarray) -> np.ndarray | None:
        """Return the labels as a function that scores is given them."""
        return None if self.codes is None else 2 * self.codes[test] - 1


class OneClassSVMCV(OneClassSVM):
    """`OneClassSVM` with nu and gamma chosen by cross-validation over a grid.

    For each gamma the kernel is computed once, over all samples, for all folds and all nu. Models
    never see labels, which serve the scores alone.

    Parameters
    ----------
    nus : sequence of float, default=(0.01, 0.05, 0.1, 0.3)
        Shares of outliers to try, in (0, 1].
    gammas : as in `SVCCV`
    kernel, degree, coef0 : as in `OneClassSVM`
    cv : int, splitter or iterable, default=5
        Number of folds of consecutive samples, an object whose ``split(X, y)`` yields pairs of
        training and test indices, or such pairs.
    scoring : str, callable, list, tuple, set or dict, default="consistency"
        "consistency" needs no labels: minus the difference between nu and the share of held-out
        samples that are found outside [2]_. With labels in `y`, 1 for inliers and -1 for outliers,
        names are scikit-learn's metrics of labels or of decision values, such as
        "balanced_accuracy" and "roc_auc". Functions and several scores are as in `SVCCV`.
    refit, rule, error_score : as in `SVCCV`
        The simplest model has the smallest gamma, then the largest nu.
    tol, cache_size, verbose, max_iter, callback : as in `OneClassSVM`

    Attributes
    ----------
    nu_, gamma_ : float
        The pair that was chosen.
    best_score_, best_index_, best_params_, cv_results_, n_test_samples_ : as in `SVCCV`
        Of ``param_nu`` and ``param_gamma``.
    others
        As in `OneClassSVM`, of the model refitted to all samples.

    See Also
    --------
    OneClassSVM : The model for given nu and gamma.

    References
    ----------
    .. [1] B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, *Estimating the support
       of a high-dimensional distribution*, Neural Computation 13, 2001.
    .. [2] D. Tax, K.-R. Müller, *A consistency-based model selection for one-class classification*,
       ICPR 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.svm import OneClassSVMCV
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> machine = OneClassSVMCV(nus=[0.1], gammas=[0.1, 100.0]).fit(X)
    >>> machine.gamma_
    0.1
    """

    nu_: float
    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, float]
    best_score_: float
    n_test_samples_: Any
    _stored = STORED | {"nu_": "float"}
    _instead = {
        "param_grid": "use nus=[...] and gammas=[...]",
        "estimator": "drop it: the machine is a OneClassSVM",
        "nu": "use nus=[...]",
        "gamma": "use gammas=[...]",
    }

    def __init__(
        self,
        *,
        nus: Sequence[float] = (0.01, 0.05, 0.1, 0.3),
        gammas: Sequence[float | GammaRule] | None = None,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = 5,
        scoring: Any = "consistency",
        refit: bool | str | Callable[..., Any] = True,
        rule: Rule = "best",
        error_score: float | Literal["raise"] = "raise",
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
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
        self.verbose = verbose
        self.max_iter = max_iter
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose nu and gamma, then train on all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,), optional
            For scores that need labels: 1 for inliers, -1 for outliers. Models are fitted to all.
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
            For parameters or data out of range, before any work.
        MemoryError
            If the data or the kernel rows do not fit in memory.
        """
        owner, settings, plan = type(self).__name__, self._settings(), as_plan(self, _SCORES)
        nus = numbers_of(self, "nus", above=0, at_most=1)
        gammas, progress = checked_gammas(self, settings), self._progress()
        checked = self._training_samples(X)
        n = checked.shape[0]
        weight = as_weights(sample_weight, n)
        rows = np.flatnonzero(weight)
        codes = _codes(y, n, plan, owner)
        used = kept_samples(checked, rows, settings.kernel.precomputed)
        zeros = np.zeros(len(rows))
        codes = None if codes is None else codes[rows]
        samples = Novelties(used, rows, codes, zeros, weight[rows])
        folds = folds_of(self.cv, X, y, rows, n, owner, groups=groups)
        weighted = sample_weight is not None
        parts = OneClassFolds(self, OneClassSVM, checked, samples, folds, weighted)
        parts.consistency = plan.scoring.named("consistency")
        grid = [({"nu": nu}, OneClass(nu, owner)) for nu in nus]
        with progress:
            complexity = [("gamma", 1), ("nu", -1)]
            params, found = search(
                parts, settings, gammas, grid, plan, progress, complexity, start_from_smaller_nu
            )
            found |= {"nu_": params["nu"], "n_test_samples_": test_sizes(folds, sample_weight)}
            fitted = {"shape_fit_": tuple(map(int, checked.shape))}
            if plan.refit is not False:
                best = like(OneClassSVM, self, params)
                fitted = fitted_attributes(best.fit(X, None, sample_weight))
        self._set_fitted(X, **fitted | {"gamma_": params["gamma"]} | found)
        return self

    def _repr_html_(self) -> str:
        return tables.search_table(self)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "dual_coef_")

    def _formulation(self):
        # Only `verify` asks for its nu: those of the grid are passed.
        return OneClass(vars(self).get("nu_", 0.5), type(self).__name__)


def _codes(y, n_samples, plan, owner):
    """Return 1 for inliers and 0 for outliers; None if no score needs labels."""
    named = [one for one in plan.scoring.scorers.values() if one != "consistency"]
    if not named or (y is None and all(callable(one) for one in named)):
        return None
    if y is None:
        first = next(one for one in named if isinstance(one, str))
        raise ValueError(
            f"{owner}: scoring={first!r} needs labels in y, 1 for inliers and -1 for outliers; "
            "without them use 'consistency'."
        )
    classes, codes = as_labels(y, n_samples, owner=owner)
    if not {*classes.tolist()} <= {-1, 1}:
        raise ValueError(
            f"{owner}: y has the labels {classes.tolist()[:5]}, but must be 1 for inliers and -1 "
            "for outliers."
        )
    return (classes[codes] == 1).astype(np.intp)
