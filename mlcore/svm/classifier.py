"""What the support vector classifiers share: training on duels, decisions, margins, evidence."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcore.checks import as_bool, as_choice, as_class_weights, as_labels, as_weights
from mlcore.kernels.expansion import row_blocks, weighted
from mlcore.model import Classifier
from mlcore.svm.bias import round_to_bounds
from mlcore.svm.evidence import (
    Evidence,
    evidence_attributes,
    measure,
    merged_evidence,
    multiplier_values,
    norm,
)
from mlcore.svm.machine import KernelMachine, Settings, kept_samples, product
from mlcore.svm.margins import WithMargins
from mlcore.svm.multiclass import (
    Duel,
    LabelledSamples,
    SolvedDuels,
    confidences,
    duel_weights,
    duels,
    from_layout,
    pair_decisions,
    to_layout,
    winners,
)
from mlcore.svm.smo import Problem, Solution

_UNOPPOSED = 1e100  # decision value where a fold leaves a duel only one class


class KernelClassifier(WithMargins, Classifier, KernelMachine):
    """A classifier made of duels.

    Here a duel is the machine with costs C_i. A subclass with another dual says how it is built
    (`_problem`), turned into a decision function (`_scale_and_bias`) and back (`_multipliers`).
    """

    _sorts_two = False  # whether to sort samples of two classes too, those of the second first

    classes_: np.ndarray
    class_weight_: np.ndarray
    margin_: Any  # a float, or an array where there are several problems
    n_iter_: np.ndarray

    def _cost(self, samples: LabelledSamples) -> np.ndarray:
        """Return the cost of each sample, the bound of its multiplier."""
        return samples.cost

    def _problem(
        self, signs: np.ndarray, weight: np.ndarray, cost: np.ndarray, index: np.ndarray | None
    ) -> Problem:
        """Return the dual of one duel; samples of cost 0 are only to be predicted."""
        return Problem(
            linear=-signs,
            lower=np.where(signs < 0, -cost, 0.0),
            upper=np.where(signs > 0, cost, 0.0),
            index=index,
        )

    def _scale_and_bias(self, problem: Problem, solution: Solution) -> tuple[float, np.ndarray]:
        """Return s and the multipliers; f(x) = s (sum_i beta_i k(x_i, x) - their mean)."""
        return 1.0, multiplier_values(solution)

    def _scale_attributes(self, multipliers: list[np.ndarray]) -> dict[str, Any]:
        """Return fitted attributes of a dual whose solutions are scaled."""
        return {}

    def _multipliers(self, column: int) -> tuple[float, np.ndarray]:
        """Return (1 / s, multipliers) of a fitted duel."""
        return 1.0, -self.intercept_[[column]]

    def _hard(self) -> bool:
        """Whether no margin error is allowed."""
        return False

    # ---- before the work

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
        owner = type(self).__name__
        classes, codes = as_labels(y, X.shape[0], owner=owner, min_classes=2)
        weight = as_weights(sample_weight, X.shape[0])
        rows = np.flatnonzero(weight)
        if len(rows) < len(weight):
            present, codes = np.unique(codes[rows], return_inverse=True)
            classes = classes[present]
        if len(classes) < 2:
            raise ValueError(
                f"sample_weight leaves only one class, {classes.tolist()[0]!r}, but {owner} needs "
                "at least 2 classes with positive weights."
            )
        factors = as_class_weights(self.class_weight, classes, codes, weight[rows])
        if not factors.all():
            absent = classes.tolist()[int(factors.argmin())]
            raise ValueError(
                f"class_weight of class {absent!r} is 0, but must be positive: leave the class out "
                "of y instead."
            )
        several = len(classes) > 2
        # A precomputed K is too large for a copy.
        if (several or self._sorts_two) and not settings.kernel.precomputed:
            order = np.argsort(codes if several else -codes, kind="stable")
            rows, codes = rows[order], codes[order]
        return LabelledSamples(
            kept_samples(X, rows, settings), rows, classes, codes, weight[rows], factors
        )

    def _problems(
        self,
        samples: LabelledSamples,
        chosen: list[Duel],
        *,
        train: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
        cost: np.ndarray | None = None,
    ) -> list[Problem]:
        """Return the dual of each duel, on all samples or on those of the mask `train`.

        Samples of `held_out` (one mask for each duel) become variables whose box is a point: they
        cost no iteration, and the solver's gradient holds their decision values.
        """
        cost = self._cost(samples) if cost is None else cost
        problems = []
        for number, duel in enumerate(chosen):
            signs = duel.signs(samples.codes)
            taking = signs != 0 if train is None else (signs != 0) & train
            present = taking if held_out is None else taking | held_out[number]
            index = None if present.all() else np.flatnonzero(present)
            signs, weight, costs = (
                np.where(taking, values, 0.0)[present] for values in (signs, samples.weight, cost)
            )
            problems.append(self._problem(signs, weight, costs, index))
        return problems

    # ---- the work

    def _fit_duels(
        self,
        X: Any,
        samples: LabelledSamples,
        settings: Settings,
        problems: list[Problem],
        solutions: list[Solution],
    ) -> dict[str, Any]:
        """Return all fitted attributes but those of X from the solved duels."""
        n_classes = len(samples.classes)
        chosen = duels(n_classes, self.multi_class)
        self._require_separated(solutions, chosen, samples.classes)
        self._warn_unconverged(solutions, settings)

        betas = np.zeros((len(chosen), len(samples.rows)))
        errors = np.zeros(len(samples.rows), dtype=bool)
        norms, biases, found, evidences = [], [], [], []
        for beta, problem, solution in zip(betas, problems, solutions, strict=True):
            scale, multipliers = self._scale_and_bias(problem, solution)
            products = solution.gradient - problem.linear
            evidences.append(measure(problem, solution.beta, products, multipliers))
            norms.append(scale * norm(solution.beta, products))
            found.append(multipliers)
            biases.append(-scale * multipliers.mean())
            place = slice(None) if problem.index is None else problem.index
            beta[place] = scale * solution.beta
            reached = np.where(solution.beta > 0, problem.upper, problem.lower) == solution.beta
            errors[place] |= reached & (solution.beta != 0)

        solved = SolvedDuels(
            dual_coef=to_layout(chosen, betas, samples.codes, n_classes),
            intercept=np.array(biases),
            norms=np.array(norms),
            evidence=merged_evidence(evidences),
            errors=errors,
            n_iter=np.array([s.n_iter for s in solutions]),
            converged=all(s.converged for s in solutions),
        )
        fitted = self._attributes_of(solved, X, samples, settings)
        return fitted | self._scale_attributes(found)

    def _attributes_of(
        self, solved: SolvedDuels, X: Any, samples: LabelledSamples, settings: Settings
    ) -> dict[str, Any]:
        """Return the fitted attributes of solved duels, and of the rows of X they rest on."""
        vectors = np.flatnonzero(solved.dual_coef.any(axis=0))
        vectors = vectors[np.argsort(samples.codes[vectors], kind="stable")]
        n_support = np.bincount(samples.codes[vectors], minlength=len(samples.classes))
        dual_coef = np.ascontiguousarray(solved.dual_coef[:, vectors])
        fitted = self._expansion(X, samples.rows[vectors], dual_coef, settings)
        if settings.kernel.linear:
            sizes = None if len(dual_coef) == len(solved.intercept) else n_support
            fitted["coef_"] = duel_weights(dual_coef, fitted["support_vectors_"], sizes)
        with np.errstate(divide="ignore"):
            margins = 2 / solved.norms
        return {
            **fitted,
            **evidence_attributes([solved.evidence]),
            "classes_": samples.classes,
            "class_weight_": samples.class_weight,
            "n_support_": n_support.astype(np.int32),
            "intercept_": solved.intercept,
            "margin_": float(margins[0]) if len(margins) == 1 else margins,
            "margin_error_indices_": np.sort(samples.rows[solved.errors]),
            "n_iter_": np.maximum(solved.n_iter, 1).astype(np.int32),
            "converged_": solved.converged,
            "fit_status_": int(not solved.converged),
        }

    def _require_separated(self, solutions, chosen, classes):
        for solution, duel in zip(solutions, chosen, strict=True):
            stuck = self._hard() and self.max_iter < 0 and not solution.converged
            if solution.diverged or stuck:
                other = (
                    "the rest"
                    if duel.negative is None
                    else f"class {classes.tolist()[duel.negative]!r}"
                )
                raise ValueError(
                    f"C=inf asks {type(self).__name__} for a hard margin, but class "
                    f"{classes.tolist()[duel.positive]!r} cannot be separated from {other} in the "
                    "feature space of this kernel: use a finite C."
                )

    def _held_out_decisions(
        self, problems: list[Problem], solutions: list[Solution], held_out: np.ndarray
    ) -> list[np.ndarray]:
        """Return for each duel the decision values of its held-out samples, from the gradients."""
        found = []
        for problem, solution, wanted in zip(problems, solutions, held_out, strict=True):
            here = slice(None) if problem.index is None else problem.index
            found.append(self._sample_decisions(problem, solution)[wanted[here]])
        return found

    def _sample_decisions(self, problem: Problem, solution: Solution) -> np.ndarray:
        """Return the decision values of a duel's samples, those held out too."""
        if side := only_side(problem):
            return np.full(len(problem.lower), side * _UNOPPOSED)
        scale, multipliers = self._scale_and_bias(problem, solution)
        return scale * (solution.gradient - problem.linear - multipliers.mean())

    # ---- after the work

    def _decision_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some rows of checked X, and their decision values (n, n_duels) float64."""
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
        """Return the decision value of every duel for checked X: (n_samples, n_duels) float64."""
        decisions = np.empty((X.shape[0], len(self.intercept_)))
        for rows, block in self._decision_blocks(X):
            decisions[rows] = block
        return decisions

    def _duels(self) -> list[Duel]:
        return duels(len(self.classes_), self.multi_class)

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
        """
        X = self._checked_later(X)
        codes = np.empty(X.shape[0], dtype=np.intp)
        for rows, decisions in self._decision_blocks(X):
            codes[rows] = self._winners(decisions)
        return self.classes_[codes]

    def _winners(self, decisions: np.ndarray) -> np.ndarray:
        return winners(decisions, len(self.classes_), self.multi_class, self.break_ties)

    def _codes(self, y, n_samples):
        labels, codes = as_labels(y, n_samples, owner=type(self).__name__)
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        foreign = [label for label in labels.tolist() if label not in known]
        if foreign:
            raise ValueError(
                f"y has the label {foreign[0]!r}, but the classes of the fit are "
                f"{self.classes_.tolist()}."
            )
        return np.array([known[label] for label in labels.tolist()], dtype=np.intp)[codes]

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Evidence:
        """Recompute the evidence from the kernel itself, in float64, for the data of the fit.

        Parameters
        ----------
        X, y, sample_weight :
            What `fit` was given.

        Returns
        -------
        evidence : Evidence
            ``dual_objective``, ``primal_objective``, ``duality_gap`` and ``kkt_violation``: floats
            for two classes, else one value for each binary problem.

        Notes
        -----
        O(n_samples n_SV n_features) time and no Gram matrix. The attributes of the same names
        come from the solver's gradient, whose kernel rows may be float32.
        """
        X, weight = self._verification_samples(X, sample_weight)
        codes = self._codes(y, len(weight))
        rows = np.flatnonzero(weight)
        samples = LabelledSamples(
            X, np.arange(len(weight)), self.classes_, codes, weight, self.class_weight_
        )
        chosen = self._duels()
        problems = self._problems(samples, chosen, train=weight > 0)
        betas = np.zeros((len(chosen), len(weight)))
        vector_codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        betas[:, self.support_] = from_layout(chosen, self.dual_coef_, vector_codes)
        sums = self._exact_sums(X, betas[:, self.support_])
        evidences = []
        for column, problem in enumerate(problems):
            place = rows if problem.index is None else problem.index
            unscale, multipliers = self._multipliers(column)
            beta = round_to_bounds(unscale * betas[column, place], problem.lower, problem.upper)
            evidences.append(measure(problem, beta, unscale * sums[place, column], multipliers))
        return merged_evidence(evidences)


def only_side(problem: Problem) -> int:
    """Return the sign of the samples that may have a multiplier; 0 where both sides may."""
    movable = problem.upper > problem.lower
    return int((movable & (problem.upper > 0)).any()) - int((problem.lower < 0).any())
