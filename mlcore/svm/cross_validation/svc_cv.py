"""C and gamma of a support vector classifier, chosen together by cross-validation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from mlcore.estimator import tables
from mlcore.estimator.folds import Fold, folds_of
from mlcore.estimator.scoring.scorers import LABEL_SCORES
from mlcore.estimator.scoring.search import (
    STORED,
    Rule,
    as_plan,
    column,
    require_refit,
    test_sizes,
)
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.cross_validation.alpha_seeding import SeededTask, best_multiple, spans_of
from mlcore.svm.cross_validation.grid import checked_gammas, numbers_of, resolved_gammas
from mlcore.svm.cross_validation.held_out import HeldOutLabels, fold_factors
from mlcore.svm.formulations import Classification
from mlcore.svm.machine import FEW, Settings, mark_rounded
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    binary_problems,
    binary_tasks,
    held_out_decisions,
)
from mlcore.svm.smo.feasible_start import feasible_start
from mlcore.svm.smo.kernel_cache import far_origin
from mlcore.svm.smo.problem import Problem, Solution
from mlcore.svm.svc import SVC, SupportVectorClassifier

_AS_SVC = (
    "kernel", "degree", "coef0", "tol", "cache_size", "class_weight", "max_iter",
    "decision_function_shape", "break_ties", "multi_class",
)  # fmt: skip


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
    scoring : str, callable, list, tuple, set or dict, default="accuracy"
        What to maximise on test samples, weighted by `sample_weight`: one of scikit-learn's names
        of metrics of labels or decision values, such as "balanced_accuracy", "f1_macro" and
        "roc_auc", which have its values; or a function ``scorer(model, X, y)`` of an `SVC`, to
        which ``sample_weight=`` is passed if it is given to `fit`. Several are a list of names, a
        dict of names and scorers, or a function that returns a dict.
    refit : bool, str or callable, default=True
        False to leave out the fit to all samples, without which there are no predictions. Of
        several scores the name of the one that chooses; or a function of `cv_results_` that
        returns the index of the choice.
    rule : "best" or "one_standard_error", default="best"
        The candidate of the highest mean score, the first of equal ones; or the simplest of those
        whose mean is at most a standard error of that score below it: the smallest C, then the
        smallest gamma.
    error_score : "raise" or float, default="raise"
        The score, such as NaN, where a scorer fails; it warns then.
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
    best_params_ : dict
        The pair by name.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict
        The keys of scikit-learn's GridSearchCV, with a value for each pair, gamma varying fastest:
        ``param_C``, ``param_gamma``, ``params``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, with the name of each of several scores in the
        place of ``score``; ``mean_fit_time`` and the like are shares of the time of the work that
        candidates have in common.
    n_test_samples_ : (n_folds,) int64 or None
        Samples that each fold holds out; None with `sample_weight`.
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
    best_params_: dict[str, float]
    n_test_samples_: np.ndarray | None
    cv_results_: dict[str, Any]
    _stored = STORED | {"C_": "float"}

    _instead = {
        "param_grid": "use Cs=[...] and gammas=[...]",
        "estimator": "drop it: the machine is an SVC, and the best is fitted again to all samples",
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
        self.Cs = Cs
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
        # Check parameters and data.
        owner = type(self).__name__
        settings, plan = self._settings(), as_plan(self, LABEL_SCORES)
        Cs = numbers_of(self, "Cs", above=0)
        gammas = checked_gammas(self, settings)
        progress = self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        positive = plan.scoring.require(samples.classes, ("predict", "decision_function"))
        labels = samples.classes, samples.codes
        folds = folds_of(self.cv, X, y, samples.rows, checked.shape[0], owner, labels, groups)
        chosen = binary_tasks(len(samples.classes), self.multi_class)
        widths = resolved_gammas(self, gammas, settings, samples.X, samples.weight)
        settings = replace(settings, origin=far_origin(samples.X, settings.kernel))

        # Score every C and width.
        params = [{"C": C, "gamma": width} for C in Cs for width in widths]
        table = plan.table(len(params), len(folds))
        held_out = HeldOutLabels(self, checked, samples, folds, positive, sample_weight is not None)
        best = fits_of_width = None
        with progress:
            few = max(np.count_nonzero(fold.train) for fold in folds) <= FEW
            for g, width in enumerate(widths):
                at = settings.of_width(width, few)
                places = range(g, len(params), len(widths))
                with table.timed(places):
                    decisions, fits_of_width, kept = self._search_width(
                        samples,
                        folds,
                        chosen,
                        Cs,
                        at,
                        progress,
                        fits_of_width,
                        plan.scoring.has_functions,
                    )
                for (c, f), values in decisions.items():
                    make = partial(self._model_of_fold, checked, at, Cs[c], kept.get((c, f)))
                    table.add(places[c], f, held_out.fold(f, values, make))
                # The fit to all samples of the best so far.
                leading = plan.leading(table)
                if leading in places:
                    best = leading, fits_of_width[leading // len(widths)]
            index, found = plan.select(
                table, params, [column(params, "C"), column(params, "gamma")]
            )
            found |= {"C_": params[index]["C"], "gamma_": params[index]["gamma"]}
            found["n_test_samples_"] = test_sizes(folds, sample_weight)
            fitted = {"classes_": samples.classes, "shape_fit_": tuple(map(int, checked.shape))}
            if plan.refit is not False:
                # Fit to all samples with the choice, which the search may have done.
                at = settings.of_width(found["gamma_"], few=len(samples.rows) <= FEW)
                fitted = self._refitted(
                    checked,
                    samples,
                    chosen,
                    at,
                    found["C_"],
                    progress,
                    (best[1] if best is not None and best[0] == index else None),
                )
        self._set_fitted(X, **fitted | found)
        return self

    def _refitted(self, checked, samples, chosen, settings, C, progress, fit):
        """Return the attributes of the fit to all samples, from the search's `fit` if it has it."""
        problems, solutions = fit or (None, None)
        if solutions is None:
            if problems is None:
                cost = C * samples.cost
                problems = binary_problems(settings.formulation, samples, chosen, cost=cost)
            cache = self._open_cache(samples.X, settings, C * float(samples.cost.max()))
            solutions = self._solve(problems, cache, settings, progress)
        return self._fit_tasks(checked, samples, settings, problems, solutions)

    def _repr_html_(self) -> str:
        return tables.search_table(self)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        require_refit(self, "dual_coef_")

    # ---- training

    def _search_width(
        self,
        samples: LabelledSamples,
        folds: list[Fold],
        chosen: list[BinaryTask],
        Cs: list[float],
        settings: Settings,
        progress: Any,
        before: list[tuple[list[Problem], list[Solution] | None]] | None,
        keeps: bool,
    ) -> tuple[Any, list[tuple[list[Problem], list[Solution] | None]], Any]:
        """Return decision values by (C, fold), for each C the tasks on all samples, and the fits.

        `before` is the second result for the previous width. Tasks are solved only if all of K
        fits. Fits to the training samples are (problems, solutions) by (C, fold), if `keeps`.
        """
        result = None
        for C in (min(Cs), max(Cs)):  # few multipliers reach a large C: single precision may do
            cache = self._open_cache(samples.X, settings, C * float(samples.cost.max()))
            search = samples, folds, chosen, Cs, settings, cache, progress, keeps
            cache.complete(len(chosen) * len(folds) * len(Cs))
            if cache.whole and not settings.few:
                with single_threaded_blas():  # the order of its sums depends on its threads
                    result = self._search_whole(*search, before, C == max(Cs))
            elif C == max(Cs):
                result = self._search_rows(*search)
            if result is not None:
                break
            del cache, search  # one at a time: `cache_size` bounds the fit
        return result

    def _search_whole(
        self, samples, folds, chosen, Cs, settings, cache, progress, keeps, before, exact
    ):
        """Decision values of held-out samples by (C, fold), with all of K.

        None if multipliers turn out too large for the precision of K, unless K is `exact`.
        """
        # Bound the multipliers: of all samples first, then of each fold.
        rounding = cache.kernel.rounding * np.sqrt(cache.kernel.n)
        exact = exact or cache.kernel.dtype == np.float64
        boxes = [samples.cost]
        for train, _ in folds:
            factors = fold_factors(self, samples, train)
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
        kept = {place: ([], []) for place in decisions} if keeps else {}
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
                    if keeps:
                        kept[c, f][0].append(seeded.problem(1 + f))
                        kept[c, f][1].append(seeded.solution(1 + f))
        return decisions, fits, kept

    def _solve_row(self, seeded, row, cache, settings, progress):
        if settings.max_iter < 0:
            (solution,) = self._solve([seeded.problem(row)], cache, settings, progress)
            seeded.replace(row, solution)
        self._warn_unconverged([seeded.solution(row)], settings)

    def _search_rows(self, samples, folds, chosen, Cs, settings, cache, progress, keeps):
        """Decision values of held-out samples by (C, fold), with rows of K as they are needed."""
        decisions, starts, kept = {}, {}, {}
        for f, fold in enumerate(folds):
            cost = samples.weight * fold_factors(self, samples, fold.train)[samples.codes]
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
                if keeps:
                    kept[c, f] = problems, solutions
                if f == 0:
                    starts[c] = self._refit_start(samples, problems, solutions)
        fits = [
            (self._started(samples, chosen, settings, C, starts[c]), None) for c, C in enumerate(Cs)
        ]
        return decisions, fits, kept

    def _started(self, samples, chosen, settings, C, betas):
        problems = binary_problems(settings.formulation, samples, chosen, cost=C * samples.cost)
        for problem, beta in zip(problems, betas, strict=True):
            problem.start = feasible_start(beta[problem.index], problem.lower, problem.upper)
        return problems

    def _refit_start(self, samples, problems, solutions):
        betas = np.zeros((len(problems), len(samples.rows)))
        for beta, problem, solution in zip(betas, problems, solutions, strict=True):
            beta[problem.index] = solution.beta
        return betas

    def _model_of_fold(self, X, settings, C, fit, samples):
        """Return the `SVC` of (problems, solutions) on the training samples of a fold."""
        model = SVC(C=C, gamma=settings.gamma, **{name: getattr(self, name) for name in _AS_SVC})
        model._set_fitted(X, **model._fit_tasks(X, samples, settings, *fit))
        return model

    def _formulation(self):
        # Only `verify` asks for its C: the costs of the grid are passed.
        return Classification(vars(self).get("C_", 1.0))
