"""Optimality of dual multipliers: both objectives, their gap, and the KKT conditions.

All models here minimise, over signed multipliers b of the training samples,

    D(b) = 1/2 b'Kb + q'b + epsilon sum |b_i|,  l <= b <= u,  sum of b over group g = s_g.

With multipliers lambda_g of the equalities and w = sum b_i phi(x_i), any b gives the lower bound

    D* >= -1/2 b'Kb + sum_g lambda_g s_g - sum_i max_{l_i <= v <= u_i} [r_i v - epsilon |v|],
    r_i = lambda_g(i) - (Kb + q)_i,

because a convex function lies above its tangents. Minus that bound is the primal objective of each
model, written once: the maxima are its slacks times their costs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcore._ext.svm import optimality as _ext
from mlcore.estimator.verification import Verification
from mlcore.svm.smo.problem import Problem, Solution, is_plain

_WITHIN = 1 - 1e-9  # leaves a free multiplier in either class, which fixes rho and the bias


@dataclass(frozen=True, repr=False)
class Optimality(Verification):
    """Objectives, duality gap and KKT violation of a solution.

    Values are floats, or arrays of one value per binary problem of a multi-class model.

    Parameters
    ----------
    objective : float or ndarray of float64
        Value of the primal at the model's w and b, also `primal_objective`; never below the
        optimum.
    duality_gap : float or ndarray of float64
        Difference of both objectives, and what rounding of the products can hide of it: a bound on
        the distance of either to the optimum.
    dual_objective : float or ndarray of float64
        Value of the dual, to be maximised; never above the optimum.
    kkt_violation : float or ndarray of float64
        Largest violation of the Karush-Kuhn-Tucker conditions, the quantity that `tol` bounds.

    Examples
    --------
    >>> from mlcore.svm import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> optimality = SVC(kernel="linear", C=10.0).fit(X, y).verify(X, y)
    >>> optimality.duality_gap < 1e-9
    True
    """

    dual_objective: Any
    kkt_violation: Any

    @property
    def primal_objective(self) -> Any:
        """Value of the primal, which is the `objective`."""
        return self.objective


def measure(
    problem: Problem,
    beta: np.ndarray,
    products: np.ndarray,
    multipliers: np.ndarray,
    rounding: float = 0.0,
    distance: float = 0.0,
) -> Optimality:
    """Return both objectives, their gap and the KKT violation of a feasible `beta` (m,).

    `products` (m,) are K beta. The gap allows for `rounding`, the size of the errors in K, and for
    `distance`, that of the origin subtracted from the samples.
    """
    power = problem.power
    if power:  # the objectives may be beyond the range of floats, their parts are not
        parts = (np.ldexp(values, -power) for values in (beta, products, multipliers))
        errors = rounding, distance
        divided = measure(problem.divided(power), *parts, *errors)
        primal, gap, dual, violation = vars(divided).values()
        with np.errstate(over="ignore"):
            objectives = np.ldexp([primal, gap, dual], 2 * power).tolist()
        return _or_unknown(Optimality(*objectives, float(np.ldexp(violation, power))))
    group = np.zeros(len(beta), dtype=np.int8) if problem.group is None else problem.group
    lambdas, totals = np.zeros((2, 2))
    lambdas[: np.size(multipliers)] = multipliers
    if problem.total is not None:
        totals[: len(problem.total)] = problem.total
    dual, primal, gap, violation = _ext.measure(
        problem.linear, problem.lower, problem.upper, problem.epsilon, group,
        np.ascontiguousarray(beta), np.ascontiguousarray(products), lambdas, totals, rounding,
        distance,
    )  # fmt: skip
    return _or_unknown(Optimality(primal, gap, dual, violation))


def _or_unknown(optimality):
    """Return the optimality; the widest one if a value is NaN, beyond what float64 can measure."""
    if any(map(math.isnan, vars(optimality).values())):
        return Optimality(math.inf, math.inf, -math.inf, math.inf)
    return optimality


def norm(beta: np.ndarray, products: np.ndarray) -> float:
    """Return |w|, the root of beta'K beta, even if the square would overflow or vanish."""
    peak = float(np.abs(beta).max(initial=0))
    power = 0 if is_plain(peak) else math.frexp(peak)[1]
    if power:
        beta, products = np.ldexp(beta, -power), np.ldexp(products, -power)
    square = max(0.0, float((beta * products).sum()))
    return float(np.ldexp(math.sqrt(square), power)) if power else math.sqrt(square)


def multiplier_values(solution: Solution) -> np.ndarray:
    """Return the multiplier of each equality; if its interval has only one end, that end.

    An interval is open where all multipliers of a group are at the same bound.
    """
    return np.array(
        [
            next((v for v in (value, low, high) if np.isfinite(v)), 0.0)
            for low, high, value in solution.multipliers
        ]
    )


def merged_optimality(optimalities: list[Optimality]) -> Optimality:
    """Return one Optimality, of floats for one problem and of arrays for several."""
    if len(optimalities) == 1:
        return optimalities[0]
    return Optimality(
        *(np.array([getattr(one, name) for one in optimalities]) for name in vars(optimalities[0]))
    )


def nu_scale(problems: list[Problem], nu: float) -> float:
    """Return the least mean multiplier of problems with `nu`, relative to nu.

    Their gradient is proportional to it: a `tol` that ignores it lets small weights pass as solved.
    """
    return min(
        float(np.abs(p.total).sum()) / (nu * max(1, np.count_nonzero(p.upper > p.lower)))
        for p in problems
    )


def largest_nu(first: Any, second: Any) -> Any:
    """Return the largest nu that two classes of these sums of weights allow."""
    both = np.maximum(first + second, np.finfo(np.float64).tiny)
    return 2 * np.minimum(first, second) / both


def nu_sums(first: Any, second: Any, nu: float) -> tuple[Any, Any]:
    """Return the sum of each class's multipliers, and nu as a multiple of the largest feasible.

    `first` and `second` are sums of costs; a `nu` above the largest feasible one counts as that.
    """
    wanted, lighter = 0.5 * nu * (first + second), np.minimum(first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(lighter > 0, wanted / lighter, 1.0)
    return np.minimum(wanted, _WITHIN * lighter), part
