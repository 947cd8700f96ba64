"""Support vector classification: with a cost C for errors, or with a bound nu on their share."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_class_weights,
    as_random_state,
    as_real,
    require_random_state,
)
from mlcore.estimator.mixins import only_with
from mlcore.estimator.model import Classifier
from mlcore.estimator.progress import Progress
from mlcore.kernels.expansion import row_blocks, weighted
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm import formulations
from mlcore.svm.machine import KernelMachine, Settings, product, shift
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    SolvedTasks,
    binary_problems,
    binary_tasks,
    from_layout,
    pair_decisions,
    scales_in_layout,
    side_weights,
    solved_tasks,
    task_weights,
    votes,
    winners,
)
from mlcore.svm.multiclass.pairs import are_small, solve_pairs
from mlcore.svm.probability import probability
from mlcore.svm.probability.probability import calibrated, calibrated_pairs, held_out_folds
from mlcore.svm.smo.bias import round_to_bounds
from mlcore.svm.smo.kernel_cache import KernelCache, less
from mlcore.svm.smo.optimality import Optimality, measure, merged_optimality
from mlcore.svm.smo.problem import Problem, Solution, is_plain


class SupportVectorClassifier(Classifier, KernelMachine):
    """Classifier made of binary problems that share their kernel rows."""

    class_weight_: np.ndarray
    margin_: float | np.ndarray  # an array where there are several problems
    n_iter_: np.ndarray
    _stored = {
        "n_support_": "int c",
        "class_weight_": "float64 c",
        "margin_": "float | float64 p",
        "n_iter_": "int p",
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

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
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for ``C=inf`` on classes that
            cannot be separated; for an infeasible ``nu``.
        MemoryError
            If the data or the kernel rows do not fit in memory.
        """
        settings = self._settings()
        formulation, owner = settings.formulation, type(self).__name__
        calibrates = as_bool(self.probability, "probability", owner=owner)
        require_random_state(self.random_state, owner=owner)
        progress = self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        folds = None
        if calibrates:
            folds = held_out_folds(samples, settings.kernel, as_random_state(self.random_state))
        tasks = binary_tasks(len(samples.classes), self.multi_class)
        if formulation.nu is not None:
            formulation.require_feasible(*side_weights(samples, tasks))
        problems = []
        if not self._small_pairs(samples, settings, calibrates):
            problems = binary_problems(formulation, samples, tasks)
        # The kernel: its width, and the rows of K in the precision that the multipliers need.
        settings = self._resolved(settings, samples.X, samples.weight)
        packed = settings.kernel.packed
        if samples.X is not checked and isinstance(samples.X, np.ndarray) and not packed:
            # The reordered copy of X counts towards `cache_size`.
            left = settings.cache_size - samples.X.nbytes / 1e6
            settings = replace(settings, cache_size=max(left, 1e-3))
        with progress:
            bounds = [p.largest_bound for p in problems]
            bounds = bounds or [float(formulation.cost(samples.cost).max())]
            cache = self._open_cache(samples.X, settings, max(bounds))
            if packed:
                samples = replace(samples, X=None)  # the cache has its own
            # Small pairs together, or else one problem after the other.
            fitted = None
            if not problems:
                fitted = self._fit_pairs(checked, samples, settings, cache, folds, progress)
            if fitted is None:
                problems = problems or binary_problems(formulation, samples, tasks)
                solutions = self._solve(problems, cache, settings, progress)
                if folds is None:
                    cache = None  # its memory serves the support vectors
                fitted = self._fit_tasks(checked, samples, settings, problems, solutions)
                if folds is not None:

                    def solve(problems):
                        return self._solve(problems, cache, settings, progress)

                    fitted |= calibrated(
                        formulation, samples, tasks, fitted, problems, solutions, folds, solve
                    )
        self._set_fitted(X, **fitted)
        return self

    # ---- validation

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        as_choice(self.multi_class, "multi_class", ("ovo", "ovr"), owner=owner)
        shape = as_choice(
            self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"), owner=owner
        )
        ties = as_bool(self.break_ties, "break_ties", owner=owner)
        if shape == "ovo" and self.multi_class == "ovr":
            raise ValueError(
                f"{owner}: decision_function_shape='ovo' needs multi_class='ovo', found 'ovr'."
            )
        if shape == "ovo" and ties:
            raise ValueError(
                f"{owner}: break_ties must be False when decision_function_shape is 'ovo'."
            )
        return settings

    def _labelled(self, X: Any, y: Any, sample_weight: Any, settings: Settings) -> LabelledSamples:
        """Return the samples with weight, their labels and their costs, all checked."""
        classes, codes, weight, rows = self._weighted_labels(y, sample_weight, X.shape[0])
        factors = as_class_weights(self.class_weight, classes, codes, weight[rows])
        if not factors.all():
            absent = classes.tolist()[int(factors.argmin())]
            raise ValueError(
                f"class_weight of class {absent!r} is 0, but must be positive: leave the class out "
                "of y instead."
            )
        several = len(classes) > 2
        # A dual with a group for each class works on K itself if samples are sorted by class; a
        # precomputed K is too large for a copy.
        sorts = several or settings.formulation.nu is not None
        if sorts and not settings.kernel.precomputed:
            order = np.argsort(codes if several else -codes, kind="stable")
            rows, codes = rows[order], codes[order]
        return LabelledSamples(
            kept_samples(X, rows, settings.kernel.precomputed),
            rows,
            classes,
            codes,
            weight[rows],
            factors,
        )

    # ---- training

    def _fit_tasks(
        self,
        X: Any,
        samples: LabelledSamples,
        settings: Settings,
        problems: list[Problem],
        solutions: list[Solution],
    ) -> dict[str, Any]:
        """Return the fitted attributes, but for those of X, from the solved binary problems."""
        tasks = binary_tasks(len(samples.classes), self.multi_class)
        self._require_separated(settings, solutions, tasks, samples.classes)
        self._warn_unconverged(solutions, settings)
        solved, of_formulation = solved_tasks(
            settings.formulation, samples, tasks, problems, solutions
        )
        return self._attributes_of(solved, X, samples, settings) | of_formulation

    def _small_pairs(self, samples: LabelledSamples, settings: Settings, calibrates: bool) -> bool:
        """Return True if the binary problems are pairs of small classes with finite costs."""
        pairs = self.multi_class == "ovo" or len(samples.classes) == 2
        if settings.formulation.nu is not None:
            pairs = pairs and not calibrates and is_plain(float(samples.cost.max()))
        hard = settings.formulation.hard
        return pairs and self.max_iter < 0 and not hard and are_small(samples, settings.routes.pair)

    def _fit_pairs(
        self,
        X: Any,
        samples: LabelledSamples,
        settings: Settings,
        cache: KernelCache,
        folds: tuple[np.ndarray, int] | None,
        progress: Progress,
    ) -> dict[str, Any] | None:
        """Return the fitted attributes of a model of small pairs; None if `solve_pairs` fails."""
        formulation = settings.formulation
        fold = None if folds is None else folds[0]
        cost = formulation.cost(samples.cost)
        limits = settings.tol, settings.few, settings.routes.steps
        pairs = solve_pairs(samples, cost, formulation.nu, cache, fold, *limits, progress)
        if pairs is None:
            return None
        solved, held_out, rho = pairs
        if formulation.nu is not None:
            violations = np.atleast_1d(solved.optimality.kkt_violation)
            scale = np.array(
                [formulation.scale(r, v) for r, v in zip(rho, violations, strict=True)]
            )
            solved = solved._replace(
                dual_coef=solved.dual_coef * scales_in_layout(scale, samples.codes),
                intercept=scale * solved.intercept,
                norms=scale * solved.norms,
            )
        fitted = self._attributes_of(solved, X, samples, settings)
        fitted |= formulation.attributes(np.column_stack([rho, -rho]), solved.norms)
        if fold is not None:
            fitted |= calibrated_pairs(samples, held_out, fold)
        return fitted

    def _attributes_of(
        self, solved: SolvedTasks, X: Any, samples: LabelledSamples, settings: Settings
    ) -> dict[str, Any]:
        """Return the fitted attributes of solved tasks and of their support vectors."""
        vectors = np.flatnonzero(solved.dual_coef.any(axis=0))
        vectors = vectors[np.argsort(samples.codes[vectors], kind="stable")]
        n_support = np.bincount(samples.codes[vectors], minlength=len(samples.classes))
        dual_coef = np.ascontiguousarray(solved.dual_coef[:, vectors])
        fitted = self._expansion(X, samples.rows[vectors], dual_coef, settings, solved.optimality)
        intercept = solved.intercept
        if settings.kernel.linear:
            sizes = None if len(dual_coef) == len(solved.intercept) else n_support
            centred = less(fitted["support_vectors_"], settings.origin)
            fitted["coef_"] = task_weights(dual_coef, centred, sizes)
            if settings.origin is not None:
                intercept = intercept - shift(fitted["coef_"], settings.origin)
        with np.errstate(divide="ignore"):
            margins = 2 / solved.norms
        return {
            **fitted,
            "classes_": samples.classes,
            "class_weight_": samples.class_weight,
            "n_support_": n_support.astype(np.int32),
            "intercept_": intercept,
            "margin_": float(margins[0]) if len(margins) == 1 else margins,
            "margin_error_indices_": np.sort(samples.rows[solved.errors]),
            "n_iter_": np.maximum(solved.n_iter, 1).astype(np.int32),
            "converged_": solved.converged,
            "fit_status_": int(not solved.converged),
        }

    def _require_separated(self, settings, solutions, tasks, classes):
        for solution, task in zip(solutions, tasks, strict=True):
            stuck = settings.formulation.hard and self.max_iter < 0 and not solution.converged
            if solution.diverged or stuck:
                other = (
                    "the rest"
                    if task.negative is None
                    else f"class {classes.tolist()[task.negative]!r}"
                )
                raise ValueError(
                    f"C=inf asks {type(self).__name__} for a hard margin, but class "
                    f"{classes.tolist()[task.positive]!r} cannot be separated from {other} in the "
                    "feature space of this kernel: use a finite C."
                )

    # ---- prediction and verification

    def _check_loaded(self) -> None:
        """Refuse coefficients of another number of binary problems than the classes have."""
        super()._check_loaded()
        if "dual_coef_" in vars(self):
            c, sizes = len(self.classes_), (len(self.dual_coef_), len(self.intercept_))
            if sizes not in ([(1, 1)] if c == 2 else [(c, c), (c - 1, c * (c - 1) // 2)]):
                raise ValueError("dual_coef_ and intercept_ are not those of the classes.")

    def _checked_later(self, X: Any) -> Any:
        """Return later samples; the choice between pairs and one against the rest is the fit's."""
        checked = super()._checked_later(X)
        c = len(self.classes_)
        expected = (c, c) if self.multi_class == "ovr" else (c - 1, c * (c - 1) // 2)
        if c > 2 and (len(self.dual_coef_), len(self.intercept_)) != expected:
            raise ValueError(
                f"{type(self).__name__}: multi_class={self.multi_class!r} is not that of the fit, "
                f"which has {len(self.intercept_)} binary problems: fit again."
            )
        return checked

    def _decision_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows of checked X, and their decision values (n, n_tasks) float64."""
        if "coef_" in vars(self):
            for rows in row_blocks(X, len(self.intercept_)):
                yield rows, product(X[rows], self.coef_.T) + self.intercept_
        elif len(self.classes_) == 2 or self.multi_class == "ovr":
            for rows, values in self._value_blocks(X):
                yield rows, weighted(values, self.dual_coef_.T) + self.intercept_
        else:
            fitted = self.dual_coef_, self.n_support_, self.intercept_
            for rows, values in self._value_blocks(X):
                yield rows, pair_decisions(values, *fitted)

    def _decisions(self, X: Any) -> np.ndarray:
        """Return the decision value of every task for checked X: (n_samples, n_tasks) float64."""
        decisions = np.empty((X.shape[0], len(self.intercept_)))
        for rows, block in self._decision_blocks(X):
            decisions[rows] = block
        return decisions

    def _tasks(self) -> list[BinaryTask]:
        return binary_tasks(len(self.classes_), self.multi_class)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the values against the training samples.

        Returns
        -------
        values : ndarray in the precision of the fit
            Two classes: (n_samples,), positive for ``classes_[1]``. More, with
            ``decision_function_shape="ovr"``: (n_samples, n_classes), for one-vs-one the
            votes with ties broken by the sums of decision values, for one-vs-rest the values.
            With "ovo": (n_samples, n_pairs), positive for the first class of each pair.
        """
        X = self._checked_later(X)
        n_classes, dtype = len(self.classes_), self._precision
        voted = n_classes > 2 and (self.multi_class, self.decision_function_shape) == ("ovo", "ovr")
        values = np.empty((X.shape[0], n_classes if voted else len(self.intercept_)), dtype=dtype)
        for rows, decisions in self._decision_blocks(X):
            values[rows] = votes(decisions, n_classes, confidence=True) if voted else decisions
        return values[:, 0] if n_classes == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of `X`.

        In one-vs-one the pairs vote; equal votes go to the first class, or with
        ``break_ties=True`` to the one with the largest `decision_function`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        X = self._checked_later(X)
        codes = np.empty(X.shape[0], dtype=np.intp)
        for rows, decisions in self._decision_blocks(X):
            codes[rows] = self._winners(decisions)
        return self.classes_[codes]

    def _winners(self, decisions: np.ndarray) -> np.ndarray:
        return winners(decisions, len(self.classes_), self.multi_class, self.break_ties)

    def functional_margins(self, X: Any, y: Any) -> np.ndarray:
        """Return y f(x): negative if misclassified, below 1 if inside the margin.

        With several classes, the least over the binary problems that the sample's class is in.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Members of ``classes_``.

        Returns
        -------
        margins : (n_samples,) float64
            In units of the margin.

        Raises
        ------
        ValueError
            If `y` has a label that the fit did not see.
        """
        return self._least_margins(X, y, 1.0)

    def geometric_margins(self, X: Any, y: Any) -> np.ndarray:
        """Return y f(x) / |w|, the signed distances from the boundary in feature space.

        As `functional_margins`, each binary problem divided by its |w|.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        margins : (n_samples,) float64
            Negative if misclassified.
        """
        self._check_fitted()
        return self._least_margins(X, y, 0.5 * np.atleast_1d(self.margin_))

    def _least_margins(self, X, y, scale):
        X = self._checked_later(X)
        codes = self._known_codes(y, X.shape[0])
        signs = np.stack([task.signs(codes) for task in self._tasks()], axis=1)
        margins = np.where(signs != 0, signs * self._decisions(X) * scale, np.inf)
        return margins.min(axis=1)

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Optimality:
        """Recompute the optimality of the fit from the kernel itself, in float64.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        optimality : Optimality
            ``dual_objective``, ``primal_objective``, ``duality_gap`` and ``kkt_violation``: floats
            for two classes, else one value for each binary problem.

        Notes
        -----
        O(n_samples n_SV n_features) time and no Gram matrix. The attributes of the same names
        come from the solver's gradient, whose kernel rows may be float32.
        """
        X, weight = self._verification_samples(X, sample_weight)
        codes = self._known_codes(y, len(weight))
        rows = np.flatnonzero(weight)
        samples = LabelledSamples(
            X, np.arange(len(weight)), self.classes_, codes, weight, self.class_weight_
        )
        tasks = self._tasks()
        formulation = self._formulation()
        problems = binary_problems(formulation, samples, tasks, train=weight > 0)
        betas = np.zeros((len(tasks), len(weight)))
        vector_codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        betas[:, self.support_] = from_layout(tasks, self.dual_coef_, vector_codes)
        sums, moved, *errors = self._exact_sums(X, betas[:, self.support_], weight)
        optimalities = []
        for column, problem in enumerate(problems):
            place = rows if problem.index is ... else problem.index
            bias = float(self.intercept_[column] + moved[column])
            unscale, multipliers = formulation.fitted(self, column, bias)
            beta = round_to_bounds(unscale * betas[column, place], problem.lower, problem.upper)
            products = unscale * sums[place, column]
            optimalities.append(measure(problem, beta, products, multipliers, *errors))
        return merged_optimality(optimalities)


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
    kernel : str, callable or Kernel, default="rbf"
        "linear", "polynomial" (or "poly"), "rbf", "laplacian", "sigmoid", "cosine", "chi2",
        "precomputed", a function of two sets of samples that returns their kernel values, or a
        `mlcore.kernels.Kernel`.
        Samples of a function may be strings or other objects, in a list or an array of one
        dimension.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Width of the kernel; "scale" is 1 / (n_features * variance of X), where samples count by
        their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    probability : bool, default=False
        True to fit `predict_proba`, by five more, warm-started fits.
    tol : float, default=1e-3
        Largest violation of the optimality conditions that is accepted.
    cache_size : float, default=200
        MB of kernel rows to keep.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class; "balanced" makes their sums of sample weights equal. It moves
        the boundary of `predict`, but not `predict_proba`: the two may name different classes.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    max_iter : int, default=-1
        Most SMO steps for each binary problem; -1 is 10 million, or 1000 for each sample where that
        is more.
    decision_function_shape : "ovr" or "ovo", default="ovr"
        Columns of `decision_function` for more than two classes: one per class or one per pair.
    break_ties : bool, default=False
        True to break equal votes of `predict` by confidence rather than by the order of classes.
    multi_class : "ovo" or "ovr", default="ovo"
        Binary problems between all pairs of classes, or of each class against the rest.
    random_state : int, Generator or None, default=None
        Draws the folds that `predict_proba` is fitted on.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_weight_ : (n_classes,) float64
    support_ : (n_SV,) int32
        Rows of the training data that are support vectors, class by class.
    support_vectors_ : (n_SV, n_features)
        Read-only from the first prediction on; to change them, set another array.
    n_support_ : (n_classes,) int32
    dual_coef_ : (n_classes - 1, n_SV) float64
        Signed multipliers. Two classes: positive for ``classes_[1]``. More: LIBSVM's layout; the
        pair (i, j) has those of class i in row j - 1 and those of class j in row i. With
        ``multi_class="ovr"`` (n_classes, n_SV), one row for each class against the rest.
    intercept_ : (n_problems,) float64
    coef_ : (n_problems, n_features) float64
        w, with the linear kernel only.
    dual_objective_, primal_objective_, objective_, duality_gap_, kkt_violation_
        Optimality of the fit, see `verify`; objective_ is the primal one. Floats, or (n_problems,)
        float64.
    margin_ : float or (n_problems,) float64
        2 / |w|.
    margin_error_indices_ : (n_errors,) intp
        Rows of the training data with a multiplier at its bound C_i.
    link_offsets_, link_slopes_, link_knots_ : (n_problems,), (n_problems, 4), (n_problems, 3)
        With ``probability=True``, the link from decision values to the logit of a probability:
        its value at the middle knot, its slopes between the knots, and the knots, float64.
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

    link_offsets_: np.ndarray
    link_slopes_: np.ndarray
    link_knots_: np.ndarray
    _stored = probability.STORED

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        multi_class: Literal["ovo", "ovr"] = "ovo",
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

    predict_proba = only_with("probability", True)(probability.predict_proba)
    predict_log_proba = only_with("probability", True)(probability.predict_log_proba)

    def _formulation(self):
        owner = type(self).__name__
        return formulations.Classification(
            as_real(self.C, "C", owner=owner, above=0, allow_inf=True)
        )


class NuSVC(SupportVectorClassifier):
    r"""Support vector classification with a bound nu on the share of margin errors.

    Between two classes,

    .. math:: \min_{w, b, \rho \ge 0} \tfrac12 |w|^2 - N \rho
        + \sum_i c_i \max(0, \rho - y_i (w \cdot \phi(x_i) + b)), \quad N = \nu \sum_i c_i,

    with ``c_i = sample_weight_i * class_weight``: nu is an upper bound on the share of margin
    errors and a lower bound on the share of support vectors. The decision function is divided by
    rho, so that margins are at +-1 as in `SVC`, whose solution this is for C = 1 / rho.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], at most 2 min(n_+, n_-) / (n_+ + n_-), by weight, for every binary problem.
    kernel, degree, gamma, coef0, probability : as in `SVC`
    tol : float, default=1e-3
        Largest KKT violation, as a part of rho where that is below 1.
    cache_size : as in `SVC`
    class_weight : dict, "balanced" or None, default=None
        Factor of c_i for each class, as in `SVC`. Where it makes nu infeasible, the largest
        feasible value takes the place of nu: all samples of the lighter class are margin errors,
        and the boundary moves towards the outermost of them as its weight goes to zero.
    verbose, max_iter, decision_function_shape, break_ties, multi_class : as in `SVC`
    random_state, callback : as in `SVC`

    Attributes
    ----------
    dual_objective_, primal_objective_, objective_, duality_gap_, kkt_violation_
        Floats, or (n_problems,) float64. Those of the problem above, before the division by rho.
        Objectives grow with the square of the weights: beyond the range of floats they are
        infinite, and the model is the same.
    margin_error_indices_ : (n_errors,) intp
        Rows with a multiplier at its bound c_i.
    rho_ : (n_problems,) float64
        0, with a warning, where the reduced convex hulls of the classes meet.
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

    link_offsets_: np.ndarray
    link_slopes_: np.ndarray
    link_knots_: np.ndarray
    rho_: np.ndarray
    _stored = probability.STORED | {"rho_": "float64 p"}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        multi_class: Literal["ovo", "ovr"] = "ovo",
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

    predict_proba = only_with("probability", True)(probability.predict_proba)
    predict_log_proba = only_with("probability", True)(probability.predict_log_proba)

    def _formulation(self):
        owner = type(self).__name__
        nu = as_real(self.nu, "nu", owner=owner, above=0, at_most=1)
        return formulations.NuClassification(nu, owner)
