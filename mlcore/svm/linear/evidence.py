"""Evidence of the distance of a linear machine from its optimum, in float64.

The gap is the sum of the brackets and the square of `mlcore.svm.linear.loss_problem`, none of which
cancels, with what rounding may add to each.
"""

import math
from typing import NamedTuple

import numpy as np

from mlcore._ext.svm.linear import evidence as _ext
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.linear.intercept import best_intercept
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem, feasible

ULP = 2.0**-53
_SAME = 1e-5  # difference of dual variables, relative, that rounding of float32 may make
_PLAIN_LENGTH = 1e-140  # and its inverse: squares of shorter and longer ones leave the range
_NEAR = 1e-9  # a bound, relative, at which a dual variable is on it


class LinearEvidence(NamedTuple):
    """The intercept, and objective and gap with it; dual variables (n,) that are feasible."""

    intercept: float
    objective: float
    duality_gap: float
    kkt_violation: float
    beta: np.ndarray


@np.errstate(all="ignore")
@single_threaded_blas()
def evidence(
    rows: LinearRows,
    problem: LossProblem,
    coef: np.ndarray,
    intercept: float | None,
    beta: np.ndarray,
    fit_intercept: bool,
) -> LinearEvidence:
    """Return the evidence of coefficients (d,) in the units of the data, and of an intercept.

    `problem` is in these units. The best intercept takes the place of None. `beta` are dual
    variables of the samples; where those of a squared loss are nearly what follows from residuals
    at the best intercept, this takes their place. Rounding of float64 is in the gap.
    """
    at = _Scores.of(rows, problem, coef.astype(np.float64), intercept, fit_intercept)
    if problem.squared:
        own = np.empty(rows.n)
        largest, off = _ext.own_duals(*at.of_rows(problem), at.best, _contiguous(beta), own)
        beta = beta if _SAME * largest < off < math.inf else own
    if fit_intercept:
        beta, _ = feasible(beta)
    g, rest = _rest(rows, at.coef, beta)
    if problem.squared:  # the brackets are squares of what the factor has changed
        losses, brackets, total, violation, longest = _ext.brackets(
            *at.of_rows(problem), at.b, _contiguous(beta), rows.squares[0], at.share, at.far
        )
    else:
        e, size = at.residuals(problem), np.abs(beta)
        of_rows, violation = problem.losses(e), _violation(problem, e, beta)
        conjugate = problem.eps * size
        each = of_rows + conjugate - beta * e
        each += 4 * ULP * (of_rows + conjugate + np.abs(beta * e))
        each += (problem.cost + size) * at.error(rows, problem)
        losses, brackets, total = float(of_rows.sum()), float(each.sum()), float(size.sum())
        longest = float(np.abs(e).max(initial=0))
    gap = brackets * (1 + _roundings(rows.n) * ULP) + 0.5 * float(rest @ rest)
    if fit_intercept:
        gap += _of_sum(rows, longest, total, rest)
    objective = 0.5 * float(at.coef @ at.coef) + losses
    gap += 4 * ULP * objective
    violation = max(violation, float(np.abs(g).max(initial=0)))
    return _known(at.intercept, objective, gap, violation, beta)


@np.errstate(all="ignore")
@single_threaded_blas()
def hard_margin_evidence(
    rows: LinearRows,
    y: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    beta: np.ndarray,
) -> LinearEvidence:
    """Return the evidence of a hard margin: P is that of the function whose least margin is 1."""
    problem = LossProblem(y, np.zeros(len(y)), 0.0, False, True)
    at = _Scores.of(rows, problem, coef.astype(np.float64), intercept, True)
    e = at.residuals(problem)
    least = float((1 - y * e - at.error(rows, problem)).min())
    beta, _ = feasible(beta)
    w = np.ldexp(rows.transposed_times(beta), rows.power)
    _, rest = _rest(rows, w, beta)
    objective = 0.5 * float(at.coef @ at.coef) / min(1.0, max(least, 0.0)) ** 2
    length = _length(w) + _length(rest)
    total = float(np.abs(beta).sum())
    gap = objective - total + 0.5 * length**2 + _roundings(rows.n) * ULP * total
    gap += _of_sum(rows, float(np.abs(e).max(initial=0)), total, rest) + 4 * ULP * objective
    g = at.coef - w
    violation = max(1 - least, float(np.abs(g).max(initial=0)))
    return _known(intercept, objective, gap, violation, beta)


class _Scores(NamedTuple):
    """Scores f (n,), the intercept of rows b and the best one.

    A residual ``y - f - b`` is off by ``ULP (share |x| + 4 (|f| + |b| + |y|) + far)`` at most.
    """

    coef: np.ndarray
    intercept: float
    f: np.ndarray
    b: float
    best: float
    share: float
    far: float

    @classmethod
    def of(cls, rows, problem, coef, intercept, fit_intercept):
        theta = np.ldexp(coef, rows.power)
        f, origin = rows.times(theta), np.zeros(1) if rows.origin is None else coef * rows.origin
        moved, best = math.fsum(origin), 0.0
        if fit_intercept and (intercept is None or problem.squared):
            best = best_intercept(problem, f)
        if intercept is None:
            intercept = best - moved
        longest = float(np.diff(rows.X.indptr).max(initial=0)) if rows.sparse else rows.d
        far = 0.0 if rows.origin is None else abs(intercept) + float(np.abs(origin).sum())
        return cls(
            coef, intercept, f, intercept + moved, best, (longest + 4) * _length(theta), 2 * far
        )

    def of_rows(self, problem):
        """Return what the loops over rows begin with."""
        y, cost = _contiguous(problem.y), _contiguous(problem.cost)
        return self.f, y, cost, problem.eps, problem.of_classes

    def residuals(self, problem):
        return problem.y - self.f - self.b

    def error(self, rows, problem):
        near = np.abs(self.f) + abs(self.b) + np.abs(problem.y)
        return ULP * (self.share * np.sqrt(rows.squares[0]) + 4 * near + self.far)


def _contiguous(v):
    return np.ascontiguousarray(v, np.float64)


def _length(v):
    """Return the norm of a vector, of which squares may overflow."""
    length = float(np.linalg.norm(v))
    if _PLAIN_LENGTH < length < 1 / _PLAIN_LENGTH:
        return length
    largest = float(np.abs(v).max(initial=0))
    if not 0 < largest < math.inf:
        return largest
    return largest * float(np.linalg.norm(v / largest))


def _roundings(n):
    """Return a bound on the roundings of a sum over n rows, in eight parts and more."""
    return 16 + n / 8


def _rest(rows, coef, beta):
    """Return ``w - X'beta``, and a bound on the absolute values of what it is in truth."""
    g = coef - np.ldexp(rows.transposed_times(beta), rows.power)
    lengths = np.ldexp(np.sqrt(rows.squares[1]), rows.power)
    error = _roundings(rows.n) * lengths * _length(beta) + 2 * np.abs(coef)
    return g, np.abs(g) + ULP * error


def _of_sum(rows, largest, total, rest):
    """Return a bound on the gap that the sum of dual variables, which is not quite 0, leaves.

    `largest` is that of absolute residuals, and `total` the sum of absolute dual variables.
    """
    longest = float(np.ldexp(np.sqrt(rows.squares[0].max(initial=0)), rows.power))
    largest += _length(rest) * longest
    return 4 * ULP * math.log2(rows.n + 2) * total * largest


def _known(intercept, objective, gap, violation, beta):
    """Return the evidence; the widest one if a value is NaN, beyond what float64 can measure."""
    if math.isnan(gap) or math.isnan(objective) or objective == math.inf:
        return LinearEvidence(intercept, math.inf, math.inf, math.inf, beta)
    return LinearEvidence(intercept, objective, gap, violation, beta)


def _violation(problem, e, beta):
    """Return the largest violation of the slopes of the dual of a plain loss."""
    low, high = problem.bounds(problem.cost)
    right = np.where(beta >= 0, problem.eps, -problem.eps) - e  # derivatives of the dual
    left = np.where(beta > 0, problem.eps, -problem.eps) - e
    up = np.where(beta < high - _NEAR * np.abs(high), -right, 0.0)
    down = np.where(beta > low + _NEAR * np.abs(low), left, 0.0)
    return float(np.maximum(up, down).max(initial=0))
