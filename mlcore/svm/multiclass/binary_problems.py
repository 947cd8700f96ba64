"""The binary problems of a classifier: built for a formulation, and read from their solutions."""

from typing import Any

import numpy as np

from mlcore.svm.formulations import Formulation
from mlcore.svm.multiclass.multiclass import BinaryTask, LabelledSamples, SolvedTasks, to_layout
from mlcore.svm.smo.optimality import measure, merged_optimality, norm
from mlcore.svm.smo.problem import Problem, Solution

UNOPPOSED = 1e100  # decision value where a fold leaves a binary problem only one class


def binary_problems(
    formulation: Formulation,
    samples: LabelledSamples,
    chosen: list[BinaryTask],
    *,
    train: np.ndarray | None = None,
    held_out: np.ndarray | None = None,
    cost: np.ndarray | None = None,
) -> list[Problem]:
    """Return the dual of each binary problem, on all samples or on those of the mask `train`.

    Samples of `held_out` (one mask for each problem) become variables whose box is a point: they
    cost no iteration, and the solver's gradient holds their decision values. `cost` replaces the
    formulation's bounds of the multipliers.
    """
    cost = formulation.cost(samples.cost) if cost is None else cost
    problems = []
    for number, task in enumerate(chosen):
        signs = task.signs(samples.codes)
        taking = signs != 0 if train is None else (signs != 0) & train
        present = taking if held_out is None else taking | held_out[number]
        index = None if present.all() else np.flatnonzero(present)
        signs, costs = (np.where(taking, values, 0.0)[present] for values in (signs, cost))
        problems.append(formulation.problem(signs, costs, index))
    return problems


def solved_tasks(
    formulation: Formulation,
    samples: LabelledSamples,
    chosen: list[BinaryTask],
    problems: list[Problem],
    solutions: list[Solution],
) -> tuple[SolvedTasks, dict[str, Any]]:
    """Return the decision functions of solved binary problems, and further fitted attributes."""
    betas = np.zeros((len(chosen), len(samples.rows)))
    errors = np.zeros(len(samples.rows), dtype=bool)
    norms, biases, found, optimalities = [], [], [], []
    for beta, problem, solution in zip(betas, problems, solutions, strict=True):
        scale, multipliers = formulation.scale_and_multipliers(problem, solution)
        products = solution.gradient - problem.linear
        how = {"rounding": solution.rounding, "distance": solution.distance}
        optimalities.append(measure(problem, solution.beta, products, multipliers, **how))
        norms.append(scale * norm(solution.beta, products))
        found.append(multipliers)
        biases.append(-scale * multipliers.mean())
        place = slice(None) if problem.index is None else problem.index
        beta[place] = scale * solution.beta
        reached = np.where(solution.beta > 0, problem.upper, problem.lower) == solution.beta
        errors[place] |= reached & (solution.beta != 0)
    solved = SolvedTasks(
        dual_coef=to_layout(chosen, betas, samples.codes, len(samples.classes)),
        intercept=np.array(biases),
        norms=np.array(norms),
        optimality=merged_optimality(optimalities),
        errors=errors,
        n_iter=np.array([s.n_iter for s in solutions]),
        converged=all(s.converged for s in solutions),
    )
    return solved, formulation.attributes(np.array(found), solved.norms)


def sample_decisions(formulation: Formulation, problem: Problem, solution: Solution) -> np.ndarray:
    """Return the decision values of a binary problem's samples, held-out ones included."""
    if side := only_side(problem):
        return np.full(len(problem.lower), side * UNOPPOSED)
    scale, multipliers = formulation.scale_and_multipliers(problem, solution)
    return scale * (solution.gradient - problem.linear - multipliers.mean())


def held_out_decisions(
    formulation: Formulation,
    problems: list[Problem],
    solutions: list[Solution],
    held_out: np.ndarray,
) -> list[np.ndarray]:
    """Return for each binary problem the decision values of its held-out samples."""
    found = []
    for problem, solution, wanted in zip(problems, solutions, held_out, strict=True):
        here = slice(None) if problem.index is None else problem.index
        found.append(sample_decisions(formulation, problem, solution)[wanted[here]])
    return found


def only_side(problem: Problem) -> int:
    """Return +1 or -1 if only samples of that sign can have a multiplier, else 0."""
    movable = problem.upper > problem.lower
    return int((movable & (problem.upper > 0)).any()) - int((problem.lower < 0).any())
