"""The search over support vector machines whose folds and candidates share kernel rows.

Held-out samples take part in the problems of folds as variables that cannot move: the solver's
gradient holds their decision values.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcore.estimator.folds import Fold
from mlcore.estimator.scoring.scorers import HeldOut
from mlcore.estimator.scoring.search import Plan, column
from mlcore.svm.cross_validation.grid import resolved_gammas
from mlcore.svm.cross_validation.held_out import HeldOutLabels, fold_factors
from mlcore.svm.formulations import Formulation
from mlcore.svm.machine import FEW, Settings, attributes_of_one
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    binary_problems,
    held_out_decisions,
    side_weights,
)
from mlcore.svm.one_class import at_border
from mlcore.svm.smo.feasible_start import grown_to_sums
from mlcore.svm.smo.problem import Problem, Solution

Params = dict[str, float]
Fit = tuple[list[Problem], list[Solution]]


class FoldProblems:
    """The dual problems of folds, and what their solutions predict for samples held out.

    `X` are the samples with weight (n,) at `rows` of the checked X of the fit; `kind` is the class
    of the models that the search compares.
    """

    def __init__(
        self, search: Any, kind: type, checked: Any, samples: Any, folds: list[Fold], weighted: bool
    ) -> None:
        self.search, self.kind, self.checked = search, kind, checked
        self.X, self.rows, self.weight = samples.X, samples.rows, samples.weight
        self.samples, self.folds, self.weighted = samples, folds, weighted

    def problems(self, formulation: Formulation, fold: Fold) -> list[Problem]:
        """Return the dual problems on the training samples of a fold."""
        cost = np.where(fold.train, formulation.cost(self.weight), 0.0)
        return [formulation.problem(self.samples.y, cost)]

    def largest_bound(self, formulations: Sequence[Formulation]) -> float:
        """Return the largest bound of a multiplier."""
        return max(float(one.cost(self.weight).max()) for one in formulations)

    def require_feasible(self, formulation: Formulation) -> None:
        """Raise ValueError if a fold's problems have no solution."""

    def held_out(
        self, f: int, settings: Settings, fit: Fit, params: Params
    ) -> tuple[HeldOut, dict[str, float]]:
        """Return the samples that fold f holds out, and scores of them that are known."""
        test = np.flatnonzero(self.folds[f].test)
        (problem,), (solution,) = fit
        scale, multipliers = settings.formulation.scale_and_multipliers(problem, solution)
        values = scale * (solution.gradient - problem.linear - multipliers.mean())[test]
        weight = self.weight[test]

        def model():
            one = like(self.kind, self.search, params)
            found = attributes_of_one(one, self.checked, self.rows, settings, problem, solution)
            one._set_fitted(self.checked, **found)
            options = {"sample_weight": weight} if self.weighted else {}
            return one, self.checked[self.rows[test]], self.samples.given(test), options

        return self._of_values(values, multipliers, test, weight, params, model)

    def _of_values(self, values, multipliers, test, weight, params, model):
        answers = {"predict": lambda: values}
        return HeldOut(self.samples.y[test], weight, answers, model), {}


class OneClassFolds(FoldProblems):
    """The dual problems of a model of one class.

    `samples.codes` are 1 for inliers and 0 for outliers, or None. `consistency` are the names of
    scores that compare nu with the share of samples found outside.
    """

    consistency: Sequence[str] = ()

    def _of_values(self, values, multipliers, test, weight, params, model):
        values = at_border(values, float(multipliers.mean()))
        inside = (values >= 0).astype(np.intp)
        outside = 1 - float(np.average(inside, weights=weight))
        known = dict.fromkeys(self.consistency, -abs(outside - params["nu"]))
        answers = {"predict": lambda: inside, "decision_function": lambda: values}
        codes = None if self.samples.codes is None else self.samples.codes[test]
        return HeldOut(codes, weight, answers, model, 2), known


class LabelledFolds(FoldProblems):
    """The dual problems of a classifier made of binary ones."""

    def __init__(
        self,
        search: Any,
        kind: type,
        checked: Any,
        samples: LabelledSamples,
        folds: list[Fold],
        weighted: bool,
        tasks: list[BinaryTask],
        positive: int,
    ) -> None:
        super().__init__(search, kind, checked, samples, folds, weighted)
        self._tasks = tasks
        self._labels = HeldOutLabels(search, checked, samples, folds, positive, weighted)

    def problems(self, formulation, fold):
        cost = self.weight * fold_factors(self.search, self.samples, fold.train)[self.samples.codes]
        masks = {"train": fold.train, "held_out": self._held_out(fold)}
        cost = formulation.cost(cost)
        return binary_problems(formulation, self.samples, self._tasks, **masks, cost=cost)

    def largest_bound(self, formulations):
        return max(float(one.cost(self.samples.cost).max()) for one in formulations)

    def require_feasible(self, formulation):
        for fold in self.folds:
            trained = replace(self.samples, weight=np.where(fold.train, self.weight, 0.0))
            formulation.require_feasible(*side_weights(trained, self._tasks))

    def _held_out(self, fold):
        return np.broadcast_to(fold.test, (len(self._tasks), len(fold.test)))

    def held_out(self, f, settings, fit, params):
        wanted = self._held_out(self.folds[f])
        values = held_out_decisions(settings.formulation, *fit, wanted)

        def make(samples):
            model = like(self.kind, self.search, params)
            found = model._fit_tasks(self.checked, samples, settings, *fit)
            model._set_fitted(self.checked, **found)
            return model

        return self._labels.fold(f, np.stack(values, axis=1), make), {}


def search(
    parts: FoldProblems,
    settings: Settings,
    gammas: list[Any],
    grid: list[tuple[Params, Formulation]],
    plan: Plan,
    progress: Any,
    complexity: Sequence[tuple[str, int]],
    start: Callable[..., Any] | None = None,
) -> tuple[Params, dict[str, Any]]:
    """Return the parameters of the chosen candidate, and the attributes of the search.

    `grid` is in the order of the candidates, with gamma varying fastest. It is solved in the order
    of increasing parameters, the last first; `start` (parameters, problems and solutions before,
    parameters, problems) may set where problems start. `complexity` has names of parameters, with
    the sign of their growth, the first deciding.
    """
    model = parts.search
    widths = resolved_gammas(model, gammas, settings, parts.X, parts.weight)
    params = [{**one, "gamma": width} for one, _ in grid for width in widths]
    table = plan.table(len(params), len(parts.folds))
    few = max(np.count_nonzero(fold.train) for fold in parts.folds) <= FEW
    # Candidates that some fold has no solution for.
    solved = []
    for c in sorted(range(len(grid)), key=lambda c: tuple(grid[c][0].values())[::-1]):
        try:
            parts.require_feasible(grid[c][1])
        except ValueError as error:
            for g in range(len(widths)):
                table.fail(c * len(widths) + g, error)
        else:
            solved.append(c)
    for g, width in enumerate(widths if solved else ()):
        at = settings.of_width(width, few)
        cache = model._open_cache(parts.X, at, parts.largest_bound([one for _, one in grid]))
        cache.complete(2 * len(parts.folds) * len(solved))
        for f, fold in enumerate(parts.folds):
            before: tuple[Any, ...] = ()
            for c in solved:
                (values, formulation), place = grid[c], c * len(widths) + g
                one = replace(at, formulation=formulation)
                with table.timed([place], f):
                    problems = parts.problems(formulation, fold)
                    if start is not None and before:
                        start(*before, values, problems)
                    solutions = model._solve(problems, cache, one, progress)
                model._warn_unconverged(solutions, one)
                before = values, problems, solutions
                held_out, known = parts.held_out(f, one, (problems, solutions), params[place])
                table.add(place, f, held_out, **known)
        cache = None  # one at a time
    order = [sign * column(params, name) for name, sign in complexity]
    index, found = plan.select(table, params, order)
    return params[index], found


def start_from_smaller_nu(
    before: Params,
    problems: list[Problem],
    solutions: list[Solution],
    params: Params,
    following: list[Problem],
) -> None:
    """Start problems of a larger nu from the solutions for a smaller one."""
    growth = params["nu"] / before["nu"]
    for old, solution, problem in zip(problems, solutions, following, strict=True):
        if old.total.all() and problem.total.all():
            problem.start = grown_to_sums(problem, solution.beta, solution.gradient, growth)


def like(kind: type, search: Any, params: Params) -> Any:
    """Return a model of this kind with the parameters that the search has too, and these."""
    own = search.get_params(deep=False)
    names = kind().get_params(deep=False).keys() & own.keys() - {"verbose", "callback"}
    return kind(**{name: own[name] for name in names}, **params)


def fitted_attributes(model: Any) -> dict[str, Any]:
    """Return the attributes that a fit left."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}
