"""Formulations of support vector machines: primal problems, their duals, and how they relate.

The duals are over signed multipliers b of the training samples (`mlcore.svm.smo.problem.Problem`).
With the multipliers lambda of their equalities a solution is the function

    f(x) = s (sum_i b_i k(x_i, x) - mean of lambda).
"""

import math
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ClassVar

import numpy as np

from mlcore.checks.errors import warn
from mlcore.svm.smo.bias import ROUNDING
from mlcore.svm.smo.optimality import largest_nu, multiplier_values, nu_scale, nu_sums
from mlcore.svm.smo.problem import Problem, Solution

FINEST = 1e-3  # how far below `tol` a narrow margin takes the solver of a problem with nu
_COARSE = 1e-3  # times rho: the most that rounding of predictions in float32 takes off the offset
_NO_MARGIN = 1e-13  # times the largest gradient, as in pairs.pyx


class Formulation:
    """A primal problem, its dual, and the decision function of a dual solution.

    `hard`: no margin errors. `nu`, else None: the dual fixes the sum of each class's multipliers.
    """

    nu: float | None
    hard = False
    free_intercept = True

    def cost(self, weight: np.ndarray) -> np.ndarray:
        """Return the bounds of the multipliers' absolute values, from the samples' weights."""
        return weight

    def problem(
        self, target: np.ndarray, cost: np.ndarray, index: np.ndarray | EllipsisType = ...
    ) -> Problem:
        """Return the dual for the `target` of each sample, the sign of its class or its value.

        Samples of cost 0 are only predicted. `index` holds the row of K of each variable.
        """
        raise NotImplementedError

    def gradient_scale(self, problems: list[Problem], largest: float) -> tuple[float, float]:
        """Return the factors of the gradient that come from weights and from values of K.

        `largest` is the largest value of K. Where gradients are proportional to both, `tol` is.
        """
        return 1.0, 1.0

    def finer_tol(
        self, solutions: list[Solution], tol: float, scale: float, rounding: float
    ) -> float | None:
        """Return the smaller tolerance that is still needed, None if there is none.

        `scale` is that of small weights and values of K, `rounding` what K can hide of a gradient.
        """
        return None

    def resolution(self, solution: Solution, tol: float, factors: tuple[float, float]) -> float:
        """Return the part of a decision value, before s, that `tol` is of a solution."""
        return tol

    def rounding(self, solution: Solution) -> float:
        """Return the size of the errors in values of K that decision values rest on."""
        return solution.rounding

    def scale_and_multipliers(
        self, problem: Problem, solution: Solution
    ) -> tuple[float, np.ndarray]:
        """Return s and the multipliers lambda of the equalities."""
        return 1.0, multiplier_values(solution)

    def attributes(self, multipliers: np.ndarray, norms: np.ndarray) -> dict[str, Any]:
        """Return further fitted attributes; `norms` (n_problems,) are the |w| of each function."""
        return {}

    def warn_if_constant(self, length: float, gap: float) -> None:
        """Warn where a function of this |w| cannot be distinguished from a constant one."""

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """Return the coefficient of each sample from the multipliers of the variables."""
        return beta

    def variables(self, coef: np.ndarray) -> np.ndarray:
        """Return the multipliers of the variables from the coefficient of each sample."""
        return coef

    def fitted(self, model: Any, column: int, bias: float) -> tuple[float, np.ndarray]:
        """Return (1 / s, multipliers of the equalities) of a fitted problem with this intercept."""
        return 1.0, np.array([-bias])


@dataclass(frozen=True)
class Classification(Formulation):
    """Classification with a cost for margin errors.

    Primal: min over w, b of 1/2 |w|² + sum_i C_i max(0, 1 - y_i f(x_i)).
    Dual: max over 0 <= a_i <= C_i with sum_i y_i a_i = 0 of sum_i a_i - 1/2 |sum_i y_i a_i x_i|²,
    where b_i = y_i a_i (Cortes and Vapnik 1995, equations 22 to 27).
    """

    C: float
    nu: ClassVar[None] = None

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.C))

    def cost(self, weight: np.ndarray) -> np.ndarray:
        if not self.hard:
            return self.C * weight
        return np.where(weight > 0, np.inf, 0.0)  # products of weights may vanish

    def problem(self, target: np.ndarray, cost: np.ndarray, index: Any = ...) -> Problem:
        return Problem(
            linear=-target,
            lower=np.where(target < 0, -cost, 0.0),
            upper=np.where(target > 0, cost, 0.0),
            index=index,
        )


@dataclass(frozen=True)
class NuClassification(Formulation):
    """Classification with a bound nu on the share of margin errors.

    Primal: min over w, b, rho >= 0 of 1/2 |w|² - N rho + sum_i c_i max(0, rho - y_i f(x_i)), with
    N = nu sum_i c_i.
    Dual: min over 0 <= a_i <= c_i of 1/2 |sum_i y_i a_i x_i|², the a_i of each class adding up to
    N / 2. Its function is divided by rho (Schölkopf et al. 2000, section 4).
    """

    nu: float
    owner: str

    def problem(self, target: np.ndarray, cost: np.ndarray, index: Any = ...) -> Problem:
        positive, negative = target > 0, target < 0
        half, _ = nu_sums(cost[positive].sum(), cost[negative].sum(), self.nu)
        return Problem(
            linear=np.zeros(len(target)),
            lower=np.where(negative, -cost, 0.0),
            upper=np.where(positive, cost, 0.0),
            index=index,
            group=negative.astype(np.int8),
            total=np.array([half, -half]),
        )

    def require_feasible(self, first: np.ndarray, second: np.ndarray) -> None:
        """Refuse `nu` where the classes of a binary problem, of these weights, do not allow it.

        `first` and `second` (n_problems,) are the sums of the sample weights of each side.
        """
        largest = float(largest_nu(first, second).min())
        if self.nu > largest * (1 + 1e-12):
            raise ValueError(
                f"{self.owner}: nu={self.nu} is infeasible for these class sizes; the "
                f"largest feasible nu is {largest:.6g}."
            )

    def gradient_scale(self, problems: list[Any], largest: float) -> tuple[Any, ...]:
        moving = [p for p in problems if p.total.any()] or problems
        return nu_scale(moving, self.nu), largest

    def finer_tol(self, solutions: Any, tol: Any, scale: Any, rounding: Any) -> Any:
        """Return `tol` times the margin: decision values are divided by the margin."""
        margins = [0.5 * np.subtract(*multiplier_values(s)) for s in solutions if s.gradient.any()]
        return max(tol * min(margins, default=1.0), FINEST * tol * scale, 4 * rounding)

    def resolution(self, solution: Solution, tol: float, factors: tuple[Any, ...]) -> float:
        if not solution.gradient.any():  # of no samples of a class
            return tol
        rho = 0.5 * float(np.subtract(*multiplier_values(solution)))
        return tol * max(rho, FINEST * math.prod(min(1.0, factor) for factor in factors))

    def scale_and_multipliers(self, problem: Problem, solution: Solution) -> tuple[Any, ...]:
        above, below = multiplier_values(solution)
        sides = float(problem.upper.sum()), -float(problem.lower.sum())
        _, excess = nu_sums(*sides, self.nu)
        if excess > 1:
            # Any larger rho is optimal too: the lighter class is all margin errors.
            more = (1 - 1 / excess) * (above - below)
            above, below = (above + more, below) if sides[0] < sides[1] else (above, below - more)
        else:
            middle, rho = 0.5 * (above + below), 0.5 * (above - below)
            first, last = edges(problem, solution)
            within = min(rho, first - middle, middle - last) - solution.uncertainty
            if within > 0.5 * rho:  # no sample below its bound is a margin error
                above, below = middle + within, middle - within
        rho = 0.5 * (above - below)
        if not rho > _NO_MARGIN * np.abs(solution.gradient).max(initial=0):
            rho, above = 0.0, 0.5 * (above + below)
            below = above
        return self.scale(rho, solution.violation), np.array([above, below])

    def scale(self, rho: float, violation: float) -> float:
        """Return 1 / rho, or 1 where that is 0; warn where rho is not certain to be positive."""
        if rho == 0:
            warn(
                "UserWarning",
                f"{self.owner}: at nu={self.nu} the margin is zero, because the reduced "
                "convex hulls of two classes meet: their decision function is constant. Use a "
                "larger nu or another kernel.",
            )
            return 1.0
        if rho <= violation:
            warn(
                "ConvergenceWarning",
                f"{self.owner}: at nu={self.nu} the margin is zero within the KKT "
                f"violation ({rho:.2g} against {violation:.2g}): decision values are "
                "uncertain. Use a larger nu, a smaller tol or another kernel.",
            )
        return 1 / rho

    def attributes(self, multipliers: np.ndarray, norms: np.ndarray) -> dict[Any, Any]:
        return {"rho_": 0.5 * (multipliers[:, 0] - multipliers[:, 1])}

    def fitted(self, model: Any, column: Any, bias: Any) -> Any:
        rho = model.rho_[column]
        unscale = rho if rho > 0 else 1.0
        return unscale, np.array([rho, -rho]) - unscale * bias


@dataclass(frozen=True)
class Regression(Formulation):
    """Regression with a tube of given width.

    Primal: min over w, b of 1/2 |w|² + sum_i C_i max(0, |y_i - f(x_i)| - epsilon).
    Dual: min over |b_i| <= C_i with sum_i b_i = 0 of 1/2 |sum_i b_i x_i|² - sum_i y_i b_i +
    epsilon sum_i |b_i| (Smola and Schölkopf 2004, equation 10).
    """

    C: float
    epsilon: float

    def cost(self, weight: np.ndarray) -> np.ndarray:
        return self.C * weight

    def problem(self, target: np.ndarray, cost: np.ndarray, index: Any = ...) -> Problem:
        return Problem(linear=-target, lower=-cost, upper=cost, index=index, epsilon=self.epsilon)


@dataclass(frozen=True)
class NuRegression(Formulation):
    """Regression whose tube is as wide as a share nu of errors asks for.

    Primal: min over w, b, epsilon >= 0 of 1/2 |w|² + N epsilon
    + sum_i C_i max(0, |y_i - f(x_i)| - epsilon), with N = nu sum_i C_i.
    Dual: a tube of width 0, b_i = a_i - a'_i with 0 <= a_i, a'_i <= C_i, the a_i and the a'_i each
    adding up to N / 2 (Schölkopf et al. 2000, section 2).
    """

    nu: float
    C: float

    def cost(self, weight: np.ndarray) -> np.ndarray:
        return self.C * weight

    def problem(self, target: np.ndarray, cost: np.ndarray, index: Any = ...) -> Problem:
        # Two variables for each sample, above and below the tube: the sums of both are fixed.
        n = len(target)
        zero, places = np.zeros(n), np.arange(n) if index is ... else index
        half = 0.5 * self.nu * float(cost.sum())
        return Problem(
            linear=-np.concatenate([target, target]),
            lower=np.concatenate([zero, -cost]),
            upper=np.concatenate([cost, zero]),
            index=np.tile(places, 2),
            group=np.repeat(np.arange(2, dtype=np.int8), n),
            total=np.array([half, -half]),
        )

    def scale_and_multipliers(self, problem: Problem, solution: Solution) -> tuple[Any, ...]:
        above, below = multiplier_values(solution)
        middle = 0.5 * (above + below)
        first, last = edges(problem, solution)
        # No sample below its bound is outside the tube.
        half = max(0.5 * (below - above), middle - first, last - middle)
        half += solution.error_of(self.coefficients(solution.beta))
        return 1.0, np.array([middle - half, middle + half])

    def rounding(self, solution: Solution) -> float:
        # Where both variables of a sample are large, their sum has lost what their bounds took.
        beta = solution.beta
        lost = np.abs(beta).max() > 2 * np.abs(self.coefficients(beta)).max()
        return solution.rounding + ROUNDING * solution.largest if lost else solution.rounding

    def attributes(self, multipliers: np.ndarray, norms: np.ndarray) -> dict[Any, Any]:
        above, below = multipliers[0]
        return {"epsilon_": float(0.5 * (below - above))}

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        n = len(beta) // 2
        return beta[:n] + beta[n:]

    def variables(self, coef: Any) -> Any:
        return np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)])

    def fitted(self, model: Any, column: Any, bias: Any) -> Any:
        return 1.0, np.array([-bias - model.epsilon_, -bias + model.epsilon_])


@dataclass(frozen=True)
class OneClass(Formulation):
    """The half-space, far from the origin, that holds most samples.

    Primal: min over w, rho of 1/2 |w|² - N rho + sum_i c_i max(0, rho - w.phi(x_i)), with
    N = nu sum_i c_i.
    Dual: min over 0 <= b_i <= c_i with sum_i b_i = N of 1/2 |sum_i b_i x_i|² (Schölkopf et al.
    2001, equations 3 to 11).
    """

    nu: float
    owner: str
    free_intercept: ClassVar[bool] = False

    def problem(self, target: np.ndarray, cost: np.ndarray, index: Any = ...) -> Problem:
        total = np.array([self.nu * float(cost.sum())])
        lower = np.zeros(len(cost))
        return Problem(linear=target, lower=lower, upper=cost.copy(), index=index, total=total)

    def gradient_scale(self, problems: list[Any], largest: float) -> tuple[Any, ...]:
        # The sum of the multipliers is that of few samples or less where nu is small.
        return min(nu_scale(problems, self.nu), *(float(p.total[0]) for p in problems)), largest

    def finer_tol(self, solutions: list[Any], tol: float, scale: float, rounding: float) -> float:
        """`tol` is in units of the margin."""
        rho = min(float(multiplier_values(s)[0]) for s in solutions)
        uncertainty = max(s.uncertainty for s in solutions)
        return max(tol * rho, FINEST * tol * scale, 2 * uncertainty)

    def resolution(self, solution: Solution, tol: float, factors: tuple[Any, ...]) -> float:
        return tol * math.prod(factors)

    def rounding(self, solution: Solution) -> float:
        mixed = solution.uncertainty
        return solution.rounding * (solution.one_sided / mixed if mixed > 0 else 1.0)

    def scale_and_multipliers(self, problem: Problem, solution: Solution) -> tuple[Any, ...]:
        first, _ = edges(problem, solution)
        if not np.isfinite(first):
            return super().scale_and_multipliers(problem, solution)
        # No sample below its bound is outside: nu bounds the share of outliers. Of predictions in
        # float32 the bound is coarse where kernel values differ in size: they have a part of rho.
        slack = solution.coarseness * solution.one_sided
        if solution.coarseness > 1:
            slack = min(slack, _COARSE * abs(first))
        return 1.0, np.array([first - slack])

    def warn_if_constant(self, length: float, gap: float) -> None:
        # The dual objective is |w|²/2 below that of w = 0, which the gap says may be the optimum.
        half = 0.5 * length * length
        vanished = length > 0 and half == 0  # beyond the range of floats
        if half <= gap < np.inf and not vanished:
            warn(
                "UserWarning",
                f"{self.owner}: at nu={self.nu} w = 0 is optimal, or cannot be told from the "
                f"optimum (|w|²/2 = {half:.2g}, duality gap {gap:.2g}), because the "
                "origin of feature space lies among the samples: no hyperplane separates them "
                "from it. Use a smaller nu or another kernel, such as 'rbf'.",
            )

    def attributes(self, multipliers: np.ndarray, norms: np.ndarray) -> dict[Any, Any]:
        rho, length = float(multipliers[0, 0]), float(norms[0])
        return {"offset_": rho, "margin_": rho / length if length > 0 else np.inf}


def edges(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Return the least gradient of group 0, and the largest of group 1, among free multipliers.

    Infinite where all are at their bounds, up to the violation that the solver left.
    """
    beta, gradient = solution.beta, solution.gradient
    rounding = ROUNDING * float(np.abs(beta).max(initial=0))
    second = np.zeros(len(beta), dtype=bool) if problem.group is None else problem.group == 1
    first = gradient[~second & (problem.upper - beta > rounding)]
    last = gradient[second & (beta - problem.lower > rounding)]
    return float(first.min(initial=np.inf)), float(last.max(initial=-np.inf))
