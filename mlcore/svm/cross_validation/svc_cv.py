"""C and gamma of a support vector classifier, chosen together by cross-validation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal, Self

import numpy as np

from mlcore.checks import as_choice, as_class_weights, as_real
from mlcore.estimator import tables
from mlcore.estimator.folds import Fold, folds_of
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.cross_validation.alpha_seeding import SeededTask, best_multiple, spans_of
from mlcore.svm.formulations import Classification
from mlcore.svm.machine import FEW, Settings, mark_rounded
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    binary_problems,
    binary_tasks,
    held_out_decisions,
    winners,
)
from mlcore.svm.smo.feasible_start import feasible_start
from mlcore.svm.smo.kernel_cache import far_origin
from mlcore.svm.smo.problem import Problem, Solution
from mlcore.svm.svc import SupportVectorClassifier


class SVCCV(SupportVectorClassifier):
    """`SVC` with C and gamma chosen by cross-validation over a grid.

    The choice is that of an exhaustive search over `SVC`, at a fraction of its work. Scores are
    equal, but for samples whose decision value is 0 within `tol`: both problems are solved to
    `tol`, from different starts, and a smaller `tol` leaves fewer such samples. For each gamma the
    kernel is computed once, over all samples, for all folds and all C; each C on all samples starts
    from the one before, and each fold from the solution on all samples, of which it leaves out a
    part. Where the kernel matrix does not fit in `cache_size`, its rows are shared and each C
    starts from the one before. Held-out samples take part as variables that cannot move, so that
    the solver's own gradient holds their decision values.

    Parameters
    ----------
    Cs : sequence of float, default=(0.1, 1.0, 10.0, 100.0)
        Costs to try, positive and finite.
    gammas : sequence of float, "scale" or "auto", default=None
        Widths to try; None is 0.1, 1 and 10 times "scale". They are resolved on all samples.
        Kernels without a width try none.
    kernel, degree, coef0 : as in `SVC`
    cv : int, splitter or iterable, default=5
        Number of stratified folds (unshuffled), an object whose ``split(X, y)`` yields pairs of
        training and test indices, or such pairs.
    scoring : "accuracy" or "balanced_accuracy", default="accuracy"
        Accuracy on test samples, or its mean over the classes, both weighted by `sample_weight`.
    tol : as in `SVC`
    cache_size : float, default=200
        MB of kernel rows to keep. The search is quickest if all n_samples² fit.
    class_weight : dict, "balanced" or None, default=None
        "balanced" is worked out anew in each fold, from the sample weights there.
    verbose, max_iter, decision_function_shape, break_ties, multi_class, callback : as in `SVC`

    Attributes
    ----------
    C_, gamma_ : float
        The pair with the highest mean score; of several the first in grid order, C before gamma.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        ``param_C``, ``param_gamma``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score`` and ``rank_test_score``, a value for each pair, gamma varying fastest.
    others
        As in `SVC`, of the model refitted to all samples.

    See Also
    --------
    SVC : The model for given C and gamma.

    References
    ----------
    D. DeCoste, K. Wagstaff, *Alpha seeding for support vector machines*, KDD 2000.

    Examples
    --------
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.svm import SVCCV
    >>> X, y = load_digits()
    >>> machine = SVCCV(Cs=[0.01, 1.0], gammas=["scale"], cv=3).fit(X[:300], y[:300])
    >>> machine.C_
    1.0
    """

    C_: float
    best_score_: float
    best_index_: int
    cv_results_: dict[str, np.ndarray]
    _stored = {
        "C_": "float",
        "best_score_": "float",
        "best_index_": "count",
        "cv_results_": {"...": "float64 g | int g"},
    }

    _instead = {
        "param_grid": "use Cs=[...] and gammas=[...]",
        "estimator": "drop it: the machine is an SVC, and the best is fitted again to all samples",
        "refit": "drop it: the machine is an SVC, and the best is fitted again to all samples",
        "probability": "fit SVC(C=search.C_, gamma=search.gamma_, probability=True)",
        "random_state": "drop it: nothing is drawn at random; give shuffled folds as cv",
    }

    def __init__(
        self,
        *,
        Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        gammas: Sequence[float | GammaRule] | None = None,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = 5,
        scoring: Literal["accuracy", "balanced_accuracy"] = "accuracy",
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
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C and gamma, then train on all samples with them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of each sample's cost and of its place in the scores: 2 is a copy, 0 is
            absence, also from the folds.

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
        # Check parameters and data.
        owner = type(self).__name__
        settings = self._settings()
        scoring = as_choice(self.scoring, "scoring", ("accuracy", "balanced_accuracy"), owner=owner)
        Cs = [as_real(C, "Cs", owner=owner, above=0) for C in _sequence(self.Cs, "Cs", owner)]
        gammas = self._checked_gammas(settings)
        progress = self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        labels = samples.classes, samples.codes
        folds = folds_of(self.cv, X, y, samples.rows, checked.shape[0], owner, labels)
        chosen = binary_tasks(len(samples.classes), self.multi_class)
        widths = self._resolved_gammas(gammas, settings, samples)
        settings = replace(settings, origin=far_origin(samples.X, settings.kernel))

        # Score every C and width; the first of equal pairs is the best.
        scores = np.empty((len(Cs), len(widths), len(folds)))
        best: tuple[float, int] | None = None
        fits_of_width = None
        with progress:
            few = max(np.count_nonzero(fold.train) for fold in folds) <= FEW
            for g, width in enumerate(widths):
                at = settings.of_width(width, few)
                fits_of_width = self._search_width(
                    samples, folds, chosen, Cs, at, scoring, scores[:, g], progress, fits_of_width
                )
                for c in range(len(Cs)):
                    rank = (-float(np.average(scores[c, g])), c * len(widths) + g)
                    if best is None or rank < best:
                        best, fit = rank, fits_of_width[c]
            # Fit to all samples with the best pair, which the search may have done.
            c, g = divmod(best[1], len(widths))
            at = settings.of_width(widths[g], few=len(samples.rows) <= FEW)
            problems, solutions = fit
            if solutions is None:
                cache = self._open_cache(samples.X, at, Cs[c] * float(samples.cost.max()))
                solutions = self._solve(problems, cache, at, progress)
            fitted = self._fit_tasks(checked, samples, at, problems, solutions)
        results = _results(Cs, widths, scores.reshape(-1, len(folds)))
        self._set_fitted(
            X,
            **fitted,
            C_=Cs[c],
            best_score_=float(results["mean_test_score"][best[1]]),
            best_index_=best[1],
            cv_results_=results,
        )
        return self

    def _repr_html_(self) -> str:
        shown = ("param_C", "param_gamma", "mean_test_score", "std_test_score")
        results = getattr(self, "cv_results_", None)
        columns = {name: results[name] for name in shown} if results else {}
        return tables.table(columns, title=repr(self), best=getattr(self, "best_index_", None))

    # ---- validation

    def _checked_gammas(self, settings: Settings) -> list[float | str]:
        if not settings.kernel.uses_gamma:
            return ["auto"]
        if self.gammas is None:
            return []
        gammas = _sequence(self.gammas, "gammas", type(self).__name__)
        return [self._checked_gamma(gamma, "gammas") for gamma in gammas]

    def _resolved_gammas(self, gammas, settings, samples) -> list[float]:
        def resolved(gamma):
            return self._resolved(replace(settings, gamma=gamma), samples.X, samples.weight).gamma

        if not gammas:
            scale = resolved("scale")
            return [0.1 * scale, scale, 10 * scale]
        return [resolved(gamma) for gamma in gammas]

    # ---- training

    def _search_width(
        self,
        samples: LabelledSamples,
        folds: list[Fold],
        chosen: list[BinaryTask],
        Cs: list[float],
        settings: Settings,
        scoring: str,
        scores: np.ndarray,
        progress: Any,
        before: list[tuple[list[Problem], list[Solution] | None]] | None,
    ) -> list[tuple[list[Problem], list[Solution] | None]]:
        """Fill `scores` (n_Cs, n_folds); return for each C the tasks on all samples.

        `before` is the result for the previous width. Tasks are solved only if all of K fits.
        """
        result = None
        for C in (min(Cs), max(Cs)):  # few multipliers reach a large C: single precision may do
            cache = self._open_cache(samples.X, settings, C * float(samples.cost.max()))
            search = samples, folds, chosen, Cs, settings, cache, progress
            cache.complete(len(chosen) * len(folds) * len(Cs))
            if cache.whole and not settings.few:
                with single_threaded_blas():  # the order of its sums depends on its threads
                    result = self._search_whole(*search, before, C == max(Cs))
            elif C == max(Cs):
                result = self._search_rows(*search)
            if result is not None:
                break
            del cache, search  # one at a time: `cache_size` bounds the fit
        decisions, fits = result
        for (c, f), values in decisions.items():
            named = winners(values, len(samples.classes), self.multi_class, self.break_ties)
            test = folds[f].test
            scores[c, f] = _score(samples.codes[test], named, samples.weight[test], scoring)
        return fits

    def _search_whole(self, samples, folds, chosen, Cs, settings, cache, progress, before, exact):
        """Decision values of held-out samples by (C, fold), with all of K.

        None if multipliers turn out too large for the precision of K, unless K is `exact`.
        """
        # Bound the multipliers: of all samples first, then of each fold.
        rounding = cache.kernel.rounding * np.sqrt(cache.kernel.n)
        exact = exact or cache.kernel.dtype == np.float64
        boxes = [samples.cost]
        for train, _ in folds:
            factors = self._fold_factors(samples, train)
            boxes.append(np.where(train, samples.weight * factors[samples.codes], 0.0))
        tests = [np.flatnonzero(fold.test) for fold in folds]
        spans = spans_of([fold.test for fold in folds])
        decisions = {
            (c, f): np.empty((len(test), len(chosen)))
            for c in range(len(Cs))
            for f, test in enumerate(tests)
        }
        # From the smallest C on, each solution is the start for the next.
        fits, order = [([], []) for _ in Cs], np.argsort(Cs, kind="stable")
        for number, task in enumerate(chosen):
            limits = settings.tol, settings.max_iter, settings.routes.seeded_steps
            seeded = SeededTask(cache, task.signs(samples.codes), np.stack(boxes), *limits)
            if before is not None and before[order[0]][1] is not None:
                seeded.start(before[order[0]][1][number].beta)
            seeded.prepare(Cs[order[0]])
            for c, following in zip(order, [*order[1:], None], strict=True):
                if seeded.violation[0] > seeded.tol:
                    self._solve_row(seeded, 0, cache, settings, progress)
                last = seeded.solution(0)
                mark_rounded(last, settings.tol)
                fits[c][0].append(seeded.problem(0))
                fits[c][1].append(last)
                # The folds of this C and all samples at the next are solved at once.
                unsettled = seeded.advance(None if following is None else Cs[following])
                largest = max(np.abs(last.beta).max(), np.abs(seeded.beta[1:]).max())
                if not exact and rounding * largest > 4 * settings.tol:
                    return None
                for row in unsettled:
                    self._solve_row(seeded, row, cache, settings, progress)
                # Keep the decision values of the samples held out.
                progress.step(last.n_iter, 0.0 - last.objective, last.violation)
                values = seeded.decisions(spans)
                for f, test in enumerate(tests):
                    decisions[c, f][:, number] = values[1 + f, test]
        return decisions, fits

    def _solve_row(self, seeded, row, cache, settings, progress):
        if settings.max_iter < 0:
            (solution,) = self._solve([seeded.problem(row)], cache, settings, progress)
            seeded.replace(row, solution)
        self._warn_unconverged([seeded.solution(row)], settings)

    def _search_rows(self, samples, folds, chosen, Cs, settings, cache, progress):
        """Decision values of held-out samples by (C, fold), with rows of K as they are needed."""
        decisions, starts = {}, {}
        for f, fold in enumerate(folds):
            cost = samples.weight * self._fold_factors(samples, fold.train)[samples.codes]
            held_out = np.broadcast_to(fold.test, (len(chosen), len(fold.test)))
            before = None
            for c in np.argsort(Cs, kind="stable"):
                masks = {"train": fold.train, "held_out": held_out}
                problems = binary_problems(
                    settings.formulation, samples, chosen, **masks, cost=Cs[c] * cost
                )
                if before is not None:
                    longest = Cs[c] / before[0]
                    for problem, old, solution in zip(problems, *before[1:], strict=True):
                        beta, product = solution.beta, solution.gradient - old.linear
                        start = beta * best_multiple(beta, old.linear, product, longest)
                        problem.start = np.clip(start, problem.lower, problem.upper)
                solutions = self._solve(problems, cache, settings, progress)
                self._warn_unconverged(solutions, settings)
                before = Cs[c], problems, solutions
                values = held_out_decisions(settings.formulation, problems, solutions, held_out)
                decisions[c, f] = np.stack(values, axis=1)
                if f == 0:
                    starts[c] = self._refit_start(samples, problems, solutions)
        return decisions, [
            (self._started(samples, chosen, settings, C, starts[c]), None) for c, C in enumerate(Cs)
        ]

    def _started(self, samples, chosen, settings, C, betas):
        problems = binary_problems(settings.formulation, samples, chosen, cost=C * samples.cost)
        for problem, beta in zip(problems, betas, strict=True):
            problem.start = feasible_start(beta[problem.index], problem.lower, problem.upper)
        return problems

    def _fold_factors(self, samples: LabelledSamples, train: np.ndarray) -> np.ndarray:
        if not isinstance(self.class_weight, str):
            return samples.class_weight
        return as_class_weights(
            self.class_weight, samples.classes, samples.codes[train], samples.weight[train]
        )

    def _refit_start(self, samples, problems, solutions):
        betas = np.zeros((len(problems), len(samples.rows)))
        for beta, problem, solution in zip(betas, problems, solutions, strict=True):
            beta[problem.index] = solution.beta
        return betas

    def _formulation(self):
        # Only `verify` asks for its C: the costs of the grid are passed.
        return Classification(vars(self).get("C_", 1.0))


def _sequence(values: Any, name: str, owner: str) -> list[Any]:
    """Return `values` as a list; refuse an empty one and anything but a sequence."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(
            f"{owner}: {name}={values!r} is of type {type(values).__name__}, but must be a "
            "sequence of numbers."
        )
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{owner}: {name} must be a sequence of at least one number.")
    return list(values)


def _score(codes: np.ndarray, named: np.ndarray, weight: np.ndarray, scoring: str) -> float:
    """Return the weighted accuracy, or its mean over the classes."""
    right = codes == named
    if scoring == "accuracy":
        return float(np.average(right, weights=weight))
    members = [codes == code for code in np.unique(codes)]
    return float(np.mean([np.average(right[m], weights=weight[m]) for m in members]))


def _results(Cs: list[float], widths: list[float], scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return `cv_results_` from the scores (n_pairs, n_folds)."""
    pairs = np.array(list(product(Cs, widths)))
    mean = np.average(scores, axis=1)
    return {
        "param_C": pairs[:, 0],
        "param_gamma": pairs[:, 1],
        **{f"split{f}_test_score": column.copy() for f, column in enumerate(scores.T)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": np.array([1 + int((mean > m).sum()) for m in mean]),
    }
