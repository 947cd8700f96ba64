"""Classifiers of binary support vector machines: training, decisions, margins, optimality."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_class_weights,
    as_random_state,
    require_random_state,
)
from mlcore.estimator.model import Classifier
from mlcore.estimator.progress import Progress
from mlcore.kernels.expansion import row_blocks, weighted
from mlcore.kernels.kernel_model import kept_samples
from mlcore.svm.machine import KernelMachine, Settings, product, shift
from mlcore.svm.margins import WithMargins
from mlcore.svm.multiclass.binary_problems import binary_problems, sample_decisions, solved_tasks
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    SolvedTasks,
    binary_tasks,
    confidences,
    from_layout,
    pair_decisions,
    scales_in_layout,
    task_weights,
    winners,
)
from mlcore.svm.multiclass.pairs import are_small, solve_pairs
from mlcore.svm.origin import less
from mlcore.svm.probability.probability import calibrated, calibrated_pairs, held_out_folds
from mlcore.svm.smo.bias import round_to_bounds
from mlcore.svm.smo.optimality import Optimality, measure, merged_optimality, optimality_attributes
from mlcore.svm.smo.problem import is_plain
from mlcore.svm.smo.smo import KernelCache, Problem, Solution


class SupportVectorClassifier(WithMargins, Classifier, KernelMachine):
    """Classifier made of binary machines that share their kernel rows."""

    class_weight_: np.ndarray
    margin_: Any  # a float, or an array where there are several problems
    n_iter_: np.ndarray
    _stored = {
        "n_support_": "int c",
        "class_weight_": "float64 c",
        "margin_": "float | float64 p",
        "n_iter_": "int p",
    }

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
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for ``C=inf`` on classes that
            cannot be separated; for an infeasible ``nu``.
        MemoryError
            If the data or the kernel rows do not fit in memory.
        """
        settings = self._settings(self.gamma)
        formulation = settings.formulation
        self._check_choices()
        probability = as_bool(self.probability, "probability", owner=type(self).__name__)
        require_random_state(self.random_state, owner=type(self).__name__)
        progress = self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        folds = None
        if probability:
            folds = held_out_folds(samples, settings.kernel, as_random_state(self.random_state))
        chosen = binary_tasks(len(samples.classes), self.multi_class)
        formulation.require_feasible(samples, chosen)
        problems = []
        if not self._small_pairs(samples, settings, probability):
            problems = binary_problems(formulation, samples, chosen)
        settings = self._resolved(settings, samples.X, samples.weight)
        packed = settings.kernel.packed
        if samples.X is not checked and isinstance(samples.X, np.ndarray) and not packed:
            # The reordered copy of X counts towards `cache_size`.
            left = settings.cache_size - samples.X.nbytes / 1e6
            settings = replace(settings, cache_size=max(left, 1e-3))
        with progress:
            bounds = [p.largest_bound for p in problems]
            bounds = bounds or [float(formulation.cost(samples.cost).max())]
            store = self._open_store(samples.X, settings, max(bounds))
            if packed:
                samples = replace(samples, X=None)  # the store has its own
            fitted = None
            if not problems:
                fitted = self._fit_pairs(checked, samples, settings, store, folds, progress)
            if fitted is None:
                problems = problems or binary_problems(formulation, samples, chosen)
                solutions = self._solve(problems, store, settings, progress)
                if folds is None:
                    store = None  # its memory serves the support vectors
                fitted = self._fit_tasks(checked, samples, settings, problems, solutions)
                if folds is not None:
                    trained = np.zeros((len(problems), len(samples.codes)))
                    for row, problem, solution in zip(trained, problems, solutions, strict=True):
                        here = slice(None) if problem.index is None else problem.index
                        row[here] = sample_decisions(formulation, problem, solution)

                    def solve(problems):
                        return self._solve(problems, store, settings, progress)

                    fitted |= calibrated(
                        formulation, samples, chosen, fitted, trained, folds, solve
                    )
        self._set_fitted(X, **fitted)
        return self

    # ---- validation

    def _check_choices(self) -> None:
        owner = type(self).__name__
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
        chosen = binary_tasks(len(samples.classes), self.multi_class)
        self._require_separated(settings, solutions, chosen, samples.classes)
        self._warn_unconverged(solutions, settings)
        solved, more = solved_tasks(settings.formulation, samples, chosen, problems, solutions)
        return self._attributes_of(solved, X, samples, settings) | more

    def _small_pairs(self, samples: LabelledSamples, settings: Settings, probability: bool) -> bool:
        """Return True if the binary problems are pairs of small classes with finite costs."""
        pairs = self.multi_class == "ovo" or len(samples.classes) == 2
        if settings.formulation.nu is not None:
            pairs = pairs and not probability and is_plain(float(samples.cost.max()))
        hard = settings.formulation.hard
        return pairs and self.max_iter < 0 and not hard and are_small(samples)

    def _fit_pairs(
        self,
        X: Any,
        samples: LabelledSamples,
        settings: Settings,
        store: KernelCache,
        folds: tuple[np.ndarray, int] | None,
        progress: Progress,
    ) -> dict[str, Any] | None:
        """Return the fitted attributes of a machine of small pairs; None if `solve_pairs` fails."""
        formulation = settings.formulation
        fold = None if folds is None else folds[0]
        cost = formulation.cost(samples.cost)
        limits = settings.tol, settings.few
        found = solve_pairs(samples, cost, formulation.nu, store, fold, *limits, progress)
        if found is None:
            return None
        solved, held_out, rho = found
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
        fitted = self._expansion(X, samples.rows[vectors], dual_coef, settings)
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
            **optimality_attributes([solved.optimality]),
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

    def _require_separated(self, settings, solutions, chosen, classes):
        for solution, task in zip(solutions, chosen, strict=True):
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
            c, found = len(self.classes_), (len(self.dual_coef_), len(self.intercept_))
            if found not in ([(1, 1)] if c == 2 else [(c, c), (c - 1, c * (c - 1) // 2)]):
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
            ``decision_function_shape="ovr"``: (n_samples, n_classes), for one-vs-one machines the
            votes with ties broken by the sums of decision values, for one-vs-rest the values.
            With "ovo": (n_samples, n_pairs), positive for the first class of each pair.
        """
        X = self._checked_later(X)
        n_classes, dtype = len(self.classes_), self._precision
        votes = n_classes > 2 and (self.multi_class, self.decision_function_shape) == ("ovo", "ovr")
        found = np.empty((X.shape[0], n_classes if votes else len(self.intercept_)), dtype=dtype)
        for rows, decisions in self._decision_blocks(X):
            found[rows] = confidences(decisions, n_classes) if votes else decisions
        return found[:, 0] if n_classes == 2 else found

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of `X`.

        One-vs-one machines let the pairs vote; equal votes go to the first class, or with
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
        chosen = self._tasks()
        formulation = self._formulation()
        problems = binary_problems(formulation, samples, chosen, train=weight > 0)
        betas = np.zeros((len(chosen), len(weight)))
        vector_codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        betas[:, self.support_] = from_layout(chosen, self.dual_coef_, vector_codes)
        sums, moved, *errors = self._exact_sums(X, betas[:, self.support_], weight)
        optimalities = []
        for column, problem in enumerate(problems):
            place = rows if problem.index is None else problem.index
            bias = float(self.intercept_[column] + moved[column])
            unscale, multipliers = formulation.fitted(self, column, bias)
            beta = round_to_bounds(unscale * betas[column, place], problem.lower, problem.upper)
            products = unscale * sums[place, column]
            optimalities.append(measure(problem, beta, products, multipliers, *errors))
        return merged_optimality(optimalities)
