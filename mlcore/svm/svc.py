"""Support vector classification: with a cost C for errors, or with a bound nu on their share."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_random_state, as_real
from mlcore.svm.classifier import KernelClassifier, LabelledSamples
from mlcore.svm.folds import feasible_start, stratified_folds
from mlcore.svm.machine import Settings
from mlcore.svm.multiclass import duels, from_layout, one_vs_rest
from mlcore.svm.probability import (
    OnlyWithProbability,
    agreeing,
    apply_link,
    couple,
    fit_link,
    two_class,
)
from mlcore.svm.smo import Problem, RowStore

_CALIBRATION_FOLDS = 5


class SupportVectorClassifier(KernelClassifier):
    """Fit and probabilities of `SVC` and `NuSVC`."""

    def _check_own(self) -> None:
        """Check the parameters that only this machine has."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of each sample's cost: 2 is a copy, 0 is absence.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for ``C=inf`` on classes that
            cannot be separated; for an infeasible ``nu``.
        MemoryError
            If what must be held does not fit.
        """
        settings = self._settings(self.gamma)
        self._check_choices()
        self._check_own()
        probability = as_bool(self.probability, "probability", owner=type(self).__name__)
        random_state = as_random_state(self.random_state, owner=type(self).__name__)
        progress = self._progress()
        checked = self._samples(X, settings)
        samples = self._labelled(checked, y, sample_weight, settings)
        if probability:
            self._require_two_of_each(samples)
        problems = self._problems(samples, duels(len(samples.classes), self.multi_class))
        settings = self._resolved(settings, samples.X, samples.weight)
        with progress:
            store = self._open_store(samples.X, settings, exact=self._hard())
            fitted = self._fit_duels(checked, samples, settings, store, problems, progress)
            if probability:
                fitted["link_slopes_"] = self._calibrate(
                    samples, settings, store, fitted, random_state, progress
                )
        self._set_fitted(X, **fitted)
        return self

    def _hard(self) -> bool:
        return False

    # ---- probabilities

    def _require_two_of_each(self, samples: LabelledSamples) -> None:
        counts = np.bincount(samples.codes)
        if counts.min() < 2:
            raise ValueError(
                f"probability=True holds samples out and needs at least 2 of each class, but class "
                f"{samples.classes[counts.argmin()]!r} has 1."
            )

    def _calibrate(
        self,
        samples: LabelledSamples,
        settings: Settings,
        store: RowStore,
        fitted: dict[str, Any],
        random_state: np.random.Generator,
        progress: Any,
    ) -> np.ndarray:
        """Return the slopes of each duel's link, (n_duels, 2), from decision values held out.

        The folds share the kernel rows of the fit, and start from its multipliers.
        """
        chosen = duels(len(samples.classes), self.multi_class)
        signs = np.stack([duel.signs(samples.codes) for duel in chosen])
        n_folds = min(_CALIBRATION_FOLDS, int(np.bincount(samples.codes).min()))
        fold = stratified_folds(samples.codes, n_folds, random_state)
        betas = np.zeros(signs.shape)
        vector_codes = np.repeat(np.arange(len(samples.classes)), fitted["n_support_"])
        place = np.argsort(samples.rows)[np.searchsorted(np.sort(samples.rows), fitted["support_"])]
        betas[:, place] = from_layout(chosen, fitted["dual_coef_"], vector_codes)
        decisions = np.zeros(signs.shape)
        for number in range(n_folds):
            held_out = (signs != 0) & (fold == number)
            problems = self._problems(samples, chosen, train=fold != number, held_out=held_out)
            for problem, beta in zip(problems, betas, strict=True):
                if problem.total is None:
                    here = beta if problem.index is None else beta[problem.index]
                    problem.start = feasible_start(here, problem.lower, problem.upper)
            solutions = self._solve(problems, store, settings, progress)
            values = self._held_out_decisions(problems, solutions, held_out)
            for row, wanted, found in zip(decisions, held_out, values, strict=True):
                row[wanted] = found
        return np.array(
            [
                fit_link(f[s != 0], s[s != 0], samples.weight[s != 0])
                for f, s in zip(decisions, signs, strict=True)
            ]
        )

    @OnlyWithProbability
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; `predict` always names the largest.

        Two classes: an increasing function of the decision value that is 1/2 where it is 0.
        More: one-vs-one pairs are coupled, one-vs-rest values normalised; where the result would
        contradict `predict`, it is replaced by the nearest that does not. Turning `probability`
        on therefore changes no prediction.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), in the precision of the fit
            Columns in the order of ``classes_``; rows sum to one.
        """
        X = self._checked_later(X)
        if "link_slopes_" not in vars(self):
            raise ValueError(
                "probability=True was set after the fit: fit again to have probabilities."
            )
        dtype = self.support_vectors_.dtype
        decisions = self._decisions(X)
        links = [apply_link(f, a) for f, a in zip(decisions.T, self.link_slopes_, strict=True)]
        if len(self.classes_) == 2:
            return two_class(links[0], decisions[:, 0], dtype)
        p = np.stack(links, axis=1)
        if one_vs_rest(self._duels()):
            p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        else:
            p = couple(p, len(self.classes_))
        return agreeing(p, self._winners(decisions), dtype).astype(dtype)

    @OnlyWithProbability
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class SVC(SupportVectorClassifier):
    r"""Support vector classification with a cost C for margin errors.

    Between two classes,

    .. math:: \min_{w, b} \tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i (w \cdot \phi(x_i) + b)),

    solved in its dual over one multiplier for each sample, ``C_i = C * sample_weight_i *
    class_weight``. More classes are split into binary problems that share their kernel rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin error, positive. ``inf`` is the hard margin, which allows none.
    kernel : str or callable, default="rbf"
        "linear", "polynomial" (or "poly"), "rbf", "laplacian", "sigmoid", "cosine", "chi2",
        "precomputed", or a function of two sets of samples that returns their kernel values.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Width of the kernel; "scale" is 1 / (n_features * variance of X), where samples count by
        their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    probability : bool, default=False
        Whether to fit `predict_proba`, which costs five more, warm-started fits.
    tol : float, default=1e-3
        Largest violation of the optimality conditions that is accepted.
    cache_size : float, default=200
        MB of kernel rows to keep.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    max_iter : int, default=-1
        Most SMO steps for each binary problem; -1 is no limit.
    decision_function_shape : "ovr" or "ovo", default="ovr"
        What `decision_function` returns for more than two classes.
    break_ties : bool, default=False
        Whether `predict` breaks equal votes by confidence rather than by the order of classes.
    multi_class : "ovo" or "ovr", default="ovo"
        Binary problems between all pairs of classes, or of each class against the rest.
    random_state : int, Generator or None, default=None
        Of the folds behind `predict_proba`.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_weight_ : (n_classes,) float64
    support_ : (n_SV,) int32
        Rows of the training data that are support vectors, class by class.
    support_vectors_ : (n_SV, n_features)
    n_support_ : (n_classes,) int32
    dual_coef_ : (n_classes - 1, n_SV) float64
        Signed multipliers. Two classes: positive for ``classes_[1]``. More: LIBSVM's layout; the
        pair (i, j) has those of class i in row j - 1 and those of class j in row i. With
        ``multi_class="ovr"`` (n_classes, n_SV), one row for each class against the rest.
    intercept_ : (n_problems,) float64
    coef_ : (n_problems, n_features) float64
        w, with the linear kernel only.
    dual_objective_, primal_objective_, duality_gap_, kkt_violation_ : float or (n_problems,)
        Evidence of the optimum, see `verify`.
    margin_ : float or (n_problems,) float64
        2 / |w|.
    margin_error_indices_ : (n_errors,) intp
        Rows of the training data with a multiplier at its bound C_i.
    link_slopes_ : (n_problems, 2) float64
        Slopes of the link below and above the boundary, with ``probability=True``.
    gamma_ : float
    n_iter_ : (n_problems,) int32
    converged_ : bool
    fit_status_ : int
        0 if converged, else 1.
    shape_fit_ : (int, int)
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Between n d + O(n) and n_SV n d time for kernel rows, times a small number; memory is the data
    and `cache_size`.

    References
    ----------
    C. Cortes, V. Vapnik, *Support-vector networks*, Machine Learning 20, 1995.
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working set selection using second order information for
    training support vector machines*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.svm import SVC
    >>> machine = SVC(kernel="linear", C=10.0).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[1.5], [2.5]])
    array([0, 1])
    >>> round(machine.margin_, 3)
    2.0
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        multi_class: str = "ovo",
        random_state: Any = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.random_state = random_state
        self.callback = callback

    def _check_own(self):
        as_real(self.C, "C", owner=type(self).__name__, above=0, allow_inf=True)

    def _hard(self):
        return np.isinf(float(self.C))

    def _cost(self, samples):
        with np.errstate(invalid="ignore"):
            return np.where(samples.cost > 0, float(self.C) * samples.cost, 0.0)


class NuSVC(SupportVectorClassifier):
    r"""Support vector classification with a bound nu on the share of margin errors.

    Between two classes,

    .. math:: \min_{w, b, \rho \ge 0} \tfrac12 |w|^2 - N \rho
        + \sum_i c_i \max(0, \rho - y_i (w \cdot \phi(x_i) + b)), \quad N = \nu \sum_i c_i,

    with ``c_i = sample_weight_i``: nu is an upper bound on the share of margin errors and a lower
    bound on the share of support vectors. The decision function is divided by rho, so that margins
    are at +-1 as in `SVC`, whose solution this is for C = 1 / rho.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], at most 2 min(n_+, n_-) / (n_+ + n_-), by weight, for every binary problem.
    class_weight : dict, "balanced" or None, default=None
        Factor of c_i for each class. N is then set by the class of the smaller total, so that
        which nu are feasible does not depend on it.
    kernel, degree, gamma, coef0, probability, tol, cache_size, verbose, max_iter, \
decision_function_shape, break_ties, multi_class, random_state, callback
        As in `SVC`.

    Attributes
    ----------
    dual_objective_, primal_objective_, duality_gap_, kkt_violation_ : float or (n_problems,)
        Evidence for the problem above, before the division by rho.
    margin_error_indices_ : (n_errors,) intp
        Rows with a multiplier at its bound c_i.
    others
        As in `SVC`.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> from mlcore.svm import NuSVC
    >>> machine = NuSVC(nu=0.5).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[1.5], [2.5]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        multi_class: str = "ovo",
        random_state: Any = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.random_state = random_state
        self.callback = callback

    def _check_own(self):
        as_real(self.nu, "nu", owner=type(self).__name__, above=0, at_most=1)

    def _problems(self, samples, chosen, *, train=None, held_out=None, cost=None):
        if train is None:
            self._require_feasible(samples, chosen)
        return super()._problems(samples, chosen, train=train, held_out=held_out, cost=cost)

    def _require_feasible(self, samples, chosen):
        largest = min(_largest_nu(duel.signs(samples.codes), samples.weight) for duel in chosen)
        if self.nu > largest * (1 + 1e-12):
            raise ValueError(
                f"{type(self).__name__}: nu={self.nu} is infeasible for these class sizes; the "
                f"largest feasible nu is {largest:.6g}."
            )

    def _cost(self, samples):
        return samples.cost

    def _problem(self, signs, weight, cost, index):
        # Folds may miss the shares of the classes by one sample.
        nu = min(float(self.nu), _largest_nu(signs, weight))
        positive, negative = signs > 0, signs < 0
        sizes = weight[positive].sum(), weight[negative].sum()
        costs = cost[positive].sum(), cost[negative].sum()
        half = 0.5 * nu * sum(sizes)
        if min(sizes) > 0:
            half *= min(costs) / min(sizes)
        half = min(half, *costs)
        return Problem(
            linear=np.zeros(len(signs)),
            lower=np.where(negative, -cost, 0.0),
            upper=np.where(positive, cost, 0.0),
            index=index,
            group=negative.astype(np.int8),
            total=np.array([half, -half]),
        )

    def _scale_and_bias(self, multipliers):
        rho = 0.5 * float(multipliers[0] - multipliers[1])
        if not rho > 0:
            raise ValueError(
                f"{type(self).__name__}: at nu={self.nu} the margin is zero, because the reduced "
                "convex hulls of two classes meet; use a larger nu or another kernel."
            )
        return 1 / rho, -0.5 * float(multipliers[0] + multipliers[1]) / rho

    def _multipliers(self, problem, coef, bias):
        size = float(np.abs(coef).sum())
        rho = (problem.total[0] - problem.total[1]) / size if size > 0 else 0.0
        return rho, np.array([rho - rho * bias, -rho - rho * bias])


def _largest_nu(signs: np.ndarray, weight: np.ndarray) -> float:
    sizes = weight[signs > 0].sum(), weight[signs < 0].sum()
    return float(2 * min(sizes) / max(sum(sizes), np.finfo(np.float64).tiny))
