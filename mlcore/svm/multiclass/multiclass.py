"""Many classes from binary problems: one-vs-one and one-vs-rest, and LIBSVM's layout of the duals.

A task is one binary problem. Its decision value is positive for `positive`; `negative` is a class,
or None for all the rest. Problems are built for a formulation; solutions become decision functions.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.svm import multiclass as _ext
from mlcore.checks.sparse import dense_if_full
from mlcore.runtime.threads import effective_threads, single_threaded_blas
from mlcore.svm.formulations import Formulation
from mlcore.svm.smo.optimality import measure, merged_optimality, norm
from mlcore.svm.smo.problem import Problem, Solution

_TILE_ROWS = 64  # rows of values whose sums by class stay in cache
UNOPPOSED = 1e100  # decision value where a fold leaves a binary problem only one class


@dataclass(frozen=True)
class LabelledSamples:
    """Samples of a fit that have weight, sorted by class where tasks or groups need that.

    `rows` (m,) are their places in the X of the fit; `codes` (m,) index the sorted `classes`.
    """

    X: Any
    rows: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray

    @property
    def cost(self) -> np.ndarray:
        return self.weight * self.class_weight[self.codes]


class BinaryTask(NamedTuple):
    """One binary problem between classes, given by their codes."""

    positive: int
    negative: int | None

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return +1, -1, or 0 for samples that take no part, as float64."""
        positive = codes == self.positive
        negative = ~positive if self.negative is None else codes == self.negative
        return positive.astype(np.float64) - negative


def binary_tasks(n_classes: int, multi_class: str) -> list[BinaryTask]:
    """Return the binary problems, in the order of `intercept_`.

    Two classes: positive for the second. Pairs (0, 1), (0, 2), ...: positive for the first.
    """
    if n_classes == 2:
        return [BinaryTask(1, 0)]
    if multi_class == "ovr":
        return [BinaryTask(code, None) for code in range(n_classes)]
    return [BinaryTask(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def one_vs_rest(tasks: list[BinaryTask]) -> bool:
    """Return True if each of these tasks is one class against the rest."""
    return tasks[0].negative is None


def side_weights(
    samples: LabelledSamples, tasks: list[BinaryTask]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the sample weights on the two sides of each task, both (n_tasks,)."""
    weights = np.bincount(samples.codes, weights=samples.weight)
    own = weights[[task.positive for task in tasks]]
    if one_vs_rest(tasks):
        return own, weights.sum() - own
    return own, weights[[task.negative for task in tasks]]


def layout_row(own: int, other: int) -> int:
    """Return the row of `own` against `other` in LIBSVM's (n_classes - 1, n_SV) layout."""
    return other - (other > own)


class SolvedTasks(NamedTuple):
    """Solutions of all binary tasks, over the n samples with weight.

    `dual_coef` is in LIBSVM's layout, or (n_tasks, n) for one-vs-rest; `errors` (n,) are the
    samples with a multiplier at its bound; `norms` are |w|.
    """

    dual_coef: np.ndarray
    intercept: np.ndarray
    norms: np.ndarray
    optimality: Any
    errors: np.ndarray
    n_iter: np.ndarray
    converged: bool


def binary_problems(
    formulation: Formulation,
    samples: LabelledSamples,
    tasks: list[BinaryTask],
    *,
    train: np.ndarray | None = None,
    held_out: np.ndarray | None = None,
    cost: np.ndarray | None = None,
) -> list[Problem]:
    """Return the dual of each binary problem, on all samples or on those of the mask `train`.

    Samples of `held_out` (a mask per problem) become variables whose box is a point: the solver's
    gradient then holds their decision values.
    """
    cost = formulation.cost(samples.cost) if cost is None else cost
    problems = []
    for number, task in enumerate(tasks):
        signs = task.signs(samples.codes)
        taking = signs != 0 if train is None else (signs != 0) & train
        present = taking if held_out is None else taking | held_out[number]
        index = ... if present.all() else np.flatnonzero(present)
        signs, costs = (np.where(taking, values, 0.0)[present] for values in (signs, cost))
        problems.append(formulation.problem(signs, costs, index))
    return problems


def solved_tasks(
    formulation: Formulation,
    samples: LabelledSamples,
    tasks: list[BinaryTask],
    problems: list[Problem],
    solutions: list[Solution],
) -> tuple[SolvedTasks, dict[str, Any]]:
    """Return the decision functions of solved binary problems, and further fitted attributes."""
    betas = np.zeros((len(tasks), len(samples.rows)))
    errors = np.zeros(len(samples.rows), dtype=bool)
    norms, biases, equalities, optimalities = [], [], [], []
    for beta, problem, solution in zip(betas, problems, solutions, strict=True):
        scale, multipliers = formulation.scale_and_multipliers(problem, solution)
        products = solution.gradient - problem.linear
        errors_of_K = solution.rounding, solution.distance
        optimalities.append(measure(problem, solution.beta, products, multipliers, *errors_of_K))
        norms.append(scale * norm(solution.beta, products))
        equalities.append(multipliers)
        biases.append(-scale * multipliers.mean())
        beta[problem.index] = scale * solution.beta
        reached = np.where(solution.beta > 0, problem.upper, problem.lower) == solution.beta
        errors[problem.index] |= reached & (solution.beta != 0)
    solved = SolvedTasks(
        dual_coef=to_layout(tasks, betas, samples.codes, len(samples.classes)),
        intercept=np.array(biases),
        norms=np.array(norms),
        optimality=merged_optimality(optimalities),
        errors=errors,
        n_iter=np.array([s.n_iter for s in solutions]),
        converged=all(s.converged for s in solutions),
    )
    return solved, formulation.attributes(np.array(equalities), solved.norms)


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
    decisions = []
    for problem, solution, wanted in zip(problems, solutions, held_out, strict=True):
        values = sample_decisions(formulation, problem, solution)
        decisions.append(values[wanted[problem.index]])
    return decisions


def only_side(problem: Problem) -> int:
    """Return +1 or -1 if only samples of that sign can have a multiplier, else 0."""
    movable = problem.upper > problem.lower
    return int((movable & (problem.upper > 0)).any()) - int((problem.lower < 0).any())


def to_layout(
    tasks: list[BinaryTask], betas: np.ndarray, codes: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return `dual_coef`, (n_classes - 1, n) float64, or (n_classes, n) for one-vs-rest.

    `betas` (n_tasks, n) are signed multipliers, zero for samples that take no part.
    """
    if one_vs_rest(tasks):
        return betas
    dual_coef = np.zeros((n_classes - 1, betas.shape[1]))
    members = [np.flatnonzero(codes == code) for code in range(n_classes)]
    for task, beta in zip(tasks, betas, strict=True):
        for own, other in (task, task[::-1]):
            dual_coef[layout_row(own, other), members[own]] = beta[members[own]]
    return dual_coef


def scales_in_layout(scale: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the factor of each of the (n_classes - 1, n) values of `to_layout`, by pair."""
    n_classes = int(codes.max()) + 1
    factors = np.empty((n_classes - 1, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    factors[j - 1, i] = factors[i, j] = scale
    return factors[:, codes]


def from_layout(tasks: list[BinaryTask], dual_coef: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the (n_tasks, n) duals of each task: the inverse of `to_layout`."""
    if one_vs_rest(tasks):
        return dual_coef
    betas = np.zeros((len(tasks), dual_coef.shape[1]))
    members = [np.flatnonzero(codes == code) for code in range(len(dual_coef) + 1)]
    for task, beta in zip(tasks, betas, strict=True):
        for own, other in (task, task[::-1]):
            beta[members[own]] = dual_coef[layout_row(own, other), members[own]]
    return betas


def task_weights(
    dual_coef: np.ndarray, vectors: Any, n_support: np.ndarray | None = None
) -> np.ndarray:
    """Return the weight vector of each task, (n_tasks, n_features) float64, of a linear kernel.

    `dual_coef` has a row for each task; with `n_support` (n_classes,), LIBSVM's layout of pairs.
    """
    vectors = dense_if_full(vectors)
    with single_threaded_blas():
        if n_support is None:
            return dual_coef @ vectors
        k = len(n_support)
        weights = np.zeros((k * (k - 1) // 2, vectors.shape[1]))
        place = np.zeros((k, k), dtype=np.intp)  # of the task of two classes
        place[np.triu_indices(k, 1)] = np.arange(len(weights))
        place += place.T
        ends = np.cumsum(n_support)
        for own, end in enumerate(ends):
            span = slice(end - n_support[own], end)
            weights[np.delete(place[own], own)] += dual_coef[:, span] @ vectors[span]
    return weights


def pair_decisions(
    values: np.ndarray, dual_coef: np.ndarray, n_support: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Return the one-vs-one decision values (n, n_tasks), by one product for each class.

    `values` (n, n_SV) are kernel values against the support vectors, sorted by class.
    """
    decisions = np.empty((len(values), len(intercept)))
    threads = effective_threads(len(values) * dual_coef.size)
    scratch = np.empty((threads, min(_TILE_ROWS, max(1, len(values))) * len(dual_coef)))
    with single_threaded_blas():
        _ext.pair_sums(
            np.ascontiguousarray(values, np.float64), np.ascontiguousarray(dual_coef, np.float64),
            np.ascontiguousarray(n_support, np.int32), np.ascontiguousarray(intercept, np.float64),
            decisions, scratch, threads,
        )  # fmt: skip
    return decisions


def votes(decisions: np.ndarray, n_classes: int, confidence: bool = False) -> np.ndarray:
    """Return the number of one-vs-one tasks that each class wins: (n_samples, n_classes) float64.

    `confidence` breaks ties by the sums of decision values, squeezed into (-1/3, 1/3).
    """
    count = np.empty((len(decisions), n_classes))
    if len(decisions):
        vote = _ext.vote_with_confidence if confidence else _ext.vote
        vote(np.ascontiguousarray(decisions), count, effective_threads(decisions.size))
    return count


def winners(
    decisions: np.ndarray, n_classes: int, multi_class: str, break_ties: bool = False
) -> np.ndarray:
    """Return the code of the class predicted for each row of decision values (n, n_tasks).

    One-vs-one: most votes, ties to the first class or, with `break_ties`, the largest confidence.
    """
    if n_classes == 2:
        return (decisions[:, 0] > 0).astype(np.intp)
    if multi_class == "ovr":
        return decisions.argmax(axis=1)
    return votes(decisions, n_classes, break_ties).argmax(axis=1)
