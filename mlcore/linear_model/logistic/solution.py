"""Minimisation of the objective of logistic regression: choice of the method, and its end."""

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.estimator.progress import Progress
from mlcore.linear_model.logistic.elastic_net import ElasticNetObjective
from mlcore.linear_model.logistic.evidence import duality_gap, is_proven, rise_as_stored
from mlcore.linear_model.logistic.intercepts import start_of
from mlcore.linear_model.logistic.logistic_pass import NEWTON, LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, hessian_of
from mlcore.linear_model.logistic.steps.conjugate_newton import conjugate_newton_steps
from mlcore.linear_model.logistic.steps.damped_newton import damped_steps, is_small
from mlcore.linear_model.logistic.steps.lbfgs import (
    diagonal_metric,
    is_wide,
    lbfgs_steps,
    metric_of,
    steps_before_dense,
)
from mlcore.linear_model.logistic.steps.newton import ROUNDING, first_point, newton_steps
from mlcore.linear_model.logistic.steps.proximal_newton import proximal_newton_steps
from mlcore.linear_model.logistic.steps.sample_span import in_span
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_LBFGS = 100, 150  # steps of L-BFGS, which far from the minimum, or anywhere, are too many
_FAR = 1e-3  # squared decrement, of the objective
_EXCESS = 1e-5  # times tol: relative excess by the decrement at which the fit ends
_ESTIMATED = 0.1  # of this, where L-BFGS estimates the decrement, sometimes too low
_LEAST = 1e-10  # such an excess below which `tol` alone ends the fit
_QUASI = "lbfgs", "gradient"  # routes of such decrements
_BLOCKS = (
    1500  # columns of the Hessian's blocks of all pairs of classes, beyond which they are dear
)
_SMALL = 1e-100  # powers of two of columns that products with a Hessian take, as their inverses
GAP = 1e-2  # times tol: relative gap at which the fit of an elastic net ends


# Ways to the minimum: steps of Newton's method with the whole Hessian, and those in the span of the
# samples; by conjugate gradients; of L-BFGS in a metric; gradients; proximal Newton steps.
Route = Literal["newton", "span", "conjugate", "lbfgs", "gradient", "proximal"]


class Settings(NamedTuple):
    """Checked parameters of a `LogisticRegression`.

    C is infinite without penalty, and `l1_ratio` 0 then.
    """

    C: float
    l1_ratio: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    verbose: bool | int


class Solution(NamedTuple):
    """Minimum of an objective, with what shows settings near it is."""

    theta: np.ndarray
    value: float
    trace: list[float]
    n_iter: int
    converged: bool
    gradient_norm: float
    decrement: float
    duality_gap: float


def evidence_attributes(solution: Solution, objective: Objective, factor: float) -> dict[str, Any]:
    """Return the attributes that show how a fit ended; P is `factor` times the objective."""
    return {
        "n_iter_": np.array([solution.n_iter], np.int32),
        "n_passes_": objective.n_passes,
        "converged_": solution.converged,
        "objective_": factor * solution.value,
        "objective_trace_": factor * np.array(solution.trace),
        "gradient_norm_": solution.gradient_norm,
        "newton_decrement_": math.sqrt(factor) * solution.decrement,
        "duality_gap_": solution.duality_gap,
    }


def scaled_objective(data: LogisticRows, settings: Settings) -> tuple[Objective, float]:
    """Return the objective per unit of weight, and the factor that makes it P."""
    C, l1_ratio = settings.C, settings.l1_ratio
    with np.errstate(over="ignore", under="ignore"):
        factor = data.total * (C if C < math.inf else 1.0)
        strength = 0.0 if C == math.inf else 1 / C / data.total
    strength = min(strength, 1e300)
    if l1_ratio > 0 and C < math.inf:
        return ElasticNetObjective(data, strength, l1_ratio), factor
    return Objective(data, strength), factor


def solve(
    objective: Objective,
    factor: float,
    theta: np.ndarray | None,
    settings: Settings,
    progress: Progress,
    fitted: Callable[[np.ndarray], dict[str, Any]],
    route: Route | None = None,
) -> Solution:
    """Minimise P, `factor` times the objective, from theta, or from 0 if P is lower there.

    `fitted` returns the fitted attributes that predictions need, of such parameters; `route` is
    that of `route_of`.
    """
    with single_threaded_blas(), np.errstate(under="ignore"):
        span, route = None, route_of(objective, settings.solver, theta is None, route)
        if route == "span":
            span = in_span(objective)
            route = route_of(objective if span is None else span.objective, "auto", False)
        point, decrement, trace, converged = _descend(
            objective, span, factor, theta, settings, route, progress, fitted
        )
        point, theta, gap = _end(objective, point, factor, converged)
        converged = converged and is_proven(objective, point, gap, factor)
        gap += rise_as_stored(objective, point, factor)
        norm = objective.gradient_norm(objective.subgradient(point))
        trace[-1] = point.value
        return Solution(theta, point.value, trace, len(trace) - 1, converged, norm, decrement, gap)


def _end(objective, point, factor, converged):
    """Return the last point, its parameters as they are stored, and the gap."""
    if not objective.penalty.any() and objective.l1_ratio == 0:
        point = _least_norm(objective, point)
    gap, gain, solved = duality_gap(objective, point, factor)
    if converged:
        point = solved
    else:  # a warm start goes on from where the steps ended
        gap += gain
    theta = point.theta
    if isinstance(objective, ElasticNetObjective):
        theta = objective.centred(theta)
    return point, theta, gap


def route_of(
    objective: Objective, solver: str, from_start: bool, route: Route | None = None
) -> Route:
    """Return the way to the minimum: `route`, if given, else what `solver` asks for.

    "auto" takes the whole Hessian of few parameters, conjugate gradients for sparse rows with a
    penalty, the span of fewer rows than columns unless it goes on from another fit, else L-BFGS.
    """
    rows = objective.rows
    if route is not None:
        return route
    if objective.l1_ratio > 0:
        return "proximal"
    few = (rows.d + 1) * (rows.n_scores + 1) <= NEWTON and rows.n_pairs * rows.width <= _BLOCKS
    if solver == "newton" or (solver == "auto" and few):
        return "newton"
    if solver != "auto":
        return "gradient" if solver == "gradient" else "lbfgs"
    if sp.issparse(rows.X):
        return "conjugate" if _can_be_squared(objective) else "lbfgs"
    return "span" if from_start and rows.n < rows.d and objective.strength > 0 else "lbfgs"


def _can_be_squared(objective):
    """Return True if all columns have a penalty, and powers of two that products can take."""
    penalty, scale = objective.penalty[:-1], objective.rows.scale
    return bool(((penalty > _SMALL) & (scale > _SMALL) & (scale < 1 / _SMALL)).all())


def _descend(objective, span, factor, theta, settings, route, progress, fitted):
    """Return the last point, its decrement, the trace, and if the fit has converged."""
    inner = objective if span is None else span.objective
    tol, trace, bound, converged = settings.tol, [], settings.tol, False
    excess = max(_EXCESS * tol * (_ESTIMATED if route in _QUASI else 1), _LEAST)
    for step in _steps(inner, theta, settings, route, excess):
        point, decrement, _ = step
        norm = inner.gradient_norm(inner.subgradient(point))
        trace.append(point.value)
        value = factor * point.value
        near = 0.5 * decrement**2 <= excess * point.value
        converged = near and norm <= bound and decrement <= tol
        if converged and span is not None:
            point = objective.at(span.theta(point.theta))
            converged = objective.gradient_norm(point.gradient) <= tol
            bound /= 4  # the columns of the samples may ask for more than those of the span
        if converged and inner.l1_ratio > 0:  # a gap that falls as the decrement, not its square
            gap, _, _ = duality_gap(inner, point, factor)
            converged = gap <= GAP * tol * factor * point.value
        # What cannot be computed any better in float64 is the minimum.
        is_minimum = converged or decrement**2 < 10 * ROUNDING * point.value

        def fitted_now(last=step.point, is_minimum=is_minimum):
            last = last if span is None else objective.at(span.theta(last.theta))
            return fitted(_end(objective, last, factor, is_minimum)[1])

        progress.step(len(trace) - 1, objective=value, change=norm, fitted=fitted_now)
        if converged or len(trace) > settings.max_iter:
            break
    else:  # no step lowers the objective, though estimates of the decrement are larger than that
        is_minimum = is_minimum or (norm <= tol and decrement <= tol)
    if span is not None:
        objective.n_passes += inner.n_passes
        point = objective.at(span.theta(step.point.theta))
    return point, decrement, trace, is_minimum


def _steps(objective, theta, settings, route, excess):
    """Return the steps from theta; from the start of all fits if there is none or that is lower."""
    start, value = start_of(objective)
    if theta is not None:
        steps = _steps_from(objective, theta, route, excess)
        first = next(steps, None)
        if first is not None and first.point.value <= value:
            return itertools.chain([first], steps)
    elif route == "newton" and settings.max_iter > 0:
        start = first_point(objective, start)
    return _steps_from(objective, start, route, excess)


def _steps_from(objective, theta, route, excess):
    if isinstance(objective, ElasticNetObjective):
        return proximal_newton_steps(objective, theta)
    if route == "conjugate":
        return conjugate_newton_steps(objective, theta, excess)
    if route != "newton":
        return _quasi_newton(objective, theta, route)
    require_memory(theta.size, theta.size, 32, what="the Hessian", instead="use solver='lbfgs'")
    return newton_steps(objective, theta)


def _quasi_newton(objective, theta, route):
    rows = objective.rows
    if route == "gradient":
        return lbfgs_steps(objective, theta, diagonal_metric, n_pairs=0)
    steps = lbfgs_steps(objective, theta, metric_of(rows))
    return steps if is_wide(rows) or not is_small(rows) else _then_damped(objective, steps)


def _then_damped(objective, steps):
    """Yield the first steps, and if they do not end, damped Newton steps."""
    for count, step in enumerate(steps, start=-steps_before_dense(objective.rows)):
        yield step
        far = step.decrement**2 > _FAR * step.point.value
        if count >= _LBFGS[1] or (count >= _LBFGS[0] and far):
            yield from damped_steps(objective, step.point)
            return


def _least_norm(objective, point):
    """Return the point of the same scores with the least coefficients."""
    rows = objective.rows
    if point.theta.size > NEWTON:
        return point
    if point.sums.hessian is None:
        point = objective.at(point.theta, hessian=True)
    null = NewtonSystem(hessian_of(point, objective.penalty), rows.n_scores).null_space()
    if null.shape[1] == 0:
        return point
    null = null.reshape(rows.n_scores, rows.d + 1, -1)
    coef = (point.theta[:, :-1] * rows.scale).ravel()
    basis = (null[:, :-1] * rows.scale[:, None]).reshape(len(coef), -1)
    amounts = np.linalg.lstsq(basis, coef, rcond=1e-10)[0]
    return objective.at(point.theta - null @ amounts)
