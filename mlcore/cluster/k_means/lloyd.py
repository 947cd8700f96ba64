"""Lloyd's algorithm: assign samples to the nearest centres, move centres to their means."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlcore.cluster.k_means.incomplete_assignment import IncompleteAssignment
from mlcore.cluster.k_means.small_assignment import SmallAssignment
from mlcore.cluster.k_means.sparse_assignment import SparseAssignment

# Distance, relative to the norm, below which samples are duplicates: their mean differs from them
# by the rounding of a sum.
_DUPLICATE = 4096 * float(np.finfo(np.float64).eps)
_IN_CACHE = 2**15  # values
_STALLED = 10  # steps without a fall, after which rounding alone moves labels
_STEPS = 64  # in a call for few samples: less than a tenth of a second


def _unreported(step: int, objective: float, change: float) -> None:
    """Report nothing of a step."""


class Clustering(NamedTuple):
    """Result of Lloyd's algorithm, in the units of its samples."""

    centers: np.ndarray
    labels: np.ndarray
    inertia: float
    trace: np.ndarray
    n_iter: int
    converged: bool


def lloyd(
    assignment: Any,
    centers: np.ndarray,
    max_iter: int,
    tol: float,
    squares: float,
    report: Callable[..., Any] = _unreported,
) -> Clustering:
    """Repeat both steps until no label changes or the centres move by `tol` or less.

    `tol` bounds the sum of squared movements; `squares` is the weighted sum of squared norms.
    """
    steps = _STEPS_OF.get(type(assignment), _steps)
    centers, trace, changed, converged = steps(assignment, centers, max_iter, tol, squares, report)
    n_iter = len(trace)
    if changed:
        assignment.assign(centers)
        trace.append(np.inf)
    inertia, farthest = _inertia(assignment, centers)
    trace[-1] = inertia
    labels, mass = assignment.labels, assignment.totals()[1]
    if (mass <= 0).any() and farthest <= _rounding(centers):
        kept = mass > 0
        centers, labels = centers[kept], _renumbered(labels, kept, assignment, centers)
    return Clustering(centers, labels, inertia, np.array(trace), n_iter, converged)


def _steps(assignment, centers, max_iter, tol, squares, report):
    trace, converged = [], False
    for step in range(1, max_iter + 1):
        changed = assignment.assign(centers)
        sums, mass = assignment.totals()
        trace.append(_objective_of_sums(squares, sums, mass, centers))
        if changed == 0:
            report(step, trace[-1], 0.0)
            converged = True
            break
        if (mass <= 0).any():
            sums, mass = _reseed(assignment, centers, sums, mass)
        moved = means(sums, mass, centers)
        shift = float(squared_moves(centers, moved).sum())
        centers = moved
        report(step, trace[-1], shift)
        if shift <= tol:
            converged = True
            break
    return centers, trace, changed, converged


def _several_steps(assignment, centers, max_iter, tol, squares, report):
    """As `_steps`, for few samples: several steps in one call."""
    trace, moved, changed = [], True, 1
    while len(trace) < max_iter and changed and moved:
        n_steps = min(_STEPS, max_iter - len(trace))
        centers, values, shifts, changed, moved = assignment.steps(
            centers, n_steps, tol, squares, _DUPLICATE**2
        )
        for value, shift in zip(values, shifts, strict=True):
            trace.append(value)
            report(len(trace), value, shift)
    return centers, trace, changed, not (changed and moved)


def _sparse_steps(assignment, centers, max_iter, tol, squares, report):
    """As `_steps`, for CSR samples: the assignment holds the centres."""
    trace, converged, least = [], False, 0  # the step of the least objective
    assignment.place(centers)
    for step in range(1, max_iter + 1):
        changed = assignment.search()
        sums, mass = assignment.totals()
        if changed and (mass <= 0).any():
            centers = assignment.centers()
            value = _objective_of_sums(squares, sums, mass, centers)
            moved = means(*_reseed(assignment, centers, sums, mass), centers)
            shift = float(squared_moves(centers, moved).sum())
            assignment.place(moved)
        else:
            shift, value = assignment.move()
            value = max(0.0, squares + value)
        trace.append(value)
        report(step, value, shift)
        least = step - 1 if value < trace[least] else least
        # Far from 0 rounding may move labels to and fro without end.
        if changed == 0 or shift <= tol or step - 1 - least >= _STALLED:
            converged = True
            break
    return assignment.centers(), trace, changed, converged


def _incomplete_steps(assignment, centers, max_iter, tol, squares, report):
    """As `_steps`, for samples with missing values: a mean is over those that know the feature."""
    trace, converged = [], False
    for step in range(1, max_iter + 1):
        changed = assignment.assign(centers)
        sums, mass = assignment.totals()
        known, wide = assignment.known(), centers.astype(np.float64)
        inner = float((known * wide**2 - 2 * wide * sums).sum())
        trace.append(max(0.0, squares + inner))
        if changed == 0:
            report(step, trace[-1], 0.0)
            converged = True
            break
        for j, i in _farthest(assignment, centers, mass) if (mass <= 0).any() else ():
            weight, old = _weight(assignment, i), assignment.labels[i]
            if mass[old] <= weight:
                continue
            x = assignment.row(i)
            at = ~np.isnan(x)
            known[old, at] -= weight
            sums[old, at] -= weight * x[at]
            known[old, known[old] < 1e-9 * mass[old]] = 0  # the rounding of a difference
            known[j, at], sums[j, at] = weight, weight * x[at]
            mass[old], mass[j] = mass[old] - weight, weight
        moved = np.divide(sums, known, out=wide, where=known > 0).astype(centers.dtype)
        shift = float(squared_moves(centers, moved).sum())
        centers = moved
        report(step, trace[-1], shift)
        if shift <= tol:
            converged = True
            break
    return centers, trace, changed, converged


_STEPS_OF = {
    IncompleteAssignment: _incomplete_steps,
    SmallAssignment: _several_steps,
    SparseAssignment: _sparse_steps,
}


def means(sums: Any, mass: Any, centers: Any) -> Any:
    """Return the means of the samples by label; a centre without samples stays."""
    present = mass > 0
    if present.all():
        return (sums / mass[:, None]).astype(centers.dtype, copy=False)
    moved = centers.copy()
    moved[present] = sums[present] / mass[present, None]
    return moved


def squared_moves(before: Any, now: Any) -> Any:
    """Return the squared movement of each centre; blocks of rows stay in the cache."""
    squares = np.empty(len(now))
    step = max(1, _IN_CACHE // now.shape[1])
    for start in range(0, len(now), step):
        change = now[start : start + step] - before[start : start + step]
        squares[start : start + step] = np.einsum("jd,jd->j", change, change, dtype=np.float64)
    return squares


def _objective_of_sums(squares, sums, mass, centers):
    """Return sum w |x - c|² = sum w |x|² - 2 c.sum w x + (sum w) |c|², by clusters."""
    norms = np.einsum("jd,jd->j", centers, centers, dtype=np.float64)
    inner = mass * norms - 2 * np.einsum("jd,jd->j", centers, sums, dtype=np.float64)
    return max(0.0, squares + float(inner[mass > 0].sum()))


def objective(assignment: Any, centers: np.ndarray) -> float:
    """Return the weighted sum of the squared distances of samples from their centres."""
    return _inertia(assignment, centers)[0]


def _inertia(assignment, centers):
    """Return the exact objective, and the largest squared distance of a sample with weight."""
    if isinstance(assignment, SmallAssignment):
        return assignment.objective(centers)
    inertia, farthest = 0.0, 0.0
    for rows, squared in assignment.distances(centers):
        if len(assignment.weights):
            weights = assignment.weights[rows]
            inertia += float(weights @ squared)
            squared = squared[weights > 0]
        else:
            inertia += float(squared.sum())
        farthest = max(farthest, float(squared.max(initial=0)))
    return inertia, farthest


def _reseed(assignment, centers, sums, mass):
    """Move the centres without samples to the samples farthest from theirs."""
    sums, mass = sums.copy(), mass.copy()
    for j, i in _farthest(assignment, centers, mass):
        weight, old = _weight(assignment, i), assignment.labels[i]
        if mass[old] <= weight:
            continue
        x = assignment.row(i)
        sums[old] -= weight * x
        mass[old] -= weight
        sums[j], mass[j] = weight * x, weight
    return sums, mass


def _weight(assignment, i):
    return assignment.weights[i] if len(assignment.weights) else 1.0


def _farthest(assignment, centers, mass):
    """Return pairs of a centre without samples and of a sample, those farthest from theirs."""
    empty = np.flatnonzero(mass <= 0)
    kept = np.empty(0), np.empty(0, dtype=np.int64)
    for rows, squared in assignment.distances(centers):
        if len(assignment.weights):
            squared = np.where(assignment.weights[rows] > 0, squared, 0)
        farthest = np.argsort(-squared, kind="stable")[: len(empty)]
        both = np.r_[kept[0], squared[farthest]], np.r_[kept[1], rows.start + farthest]
        best = np.argsort(-both[0], kind="stable")[: len(empty)]
        kept = both[0][best], both[1][best]
    rounding = _rounding(centers)
    return list(zip(empty, kept[1][kept[0] > rounding], strict=False))


def _rounding(centers):
    """Return the squared distance up to which a sample equals its centre but for rounding."""
    return _DUPLICATE**2 * float(np.square(centers, dtype=np.float64).sum(axis=1).max())


def _renumbered(labels, kept, assignment, centers):
    """Return labels among the centres kept; samples of weight 0 may have to change."""
    number = np.where(kept, np.cumsum(kept) - 1, 0).astype(np.int32)  # others are as the first
    if not kept[labels].all():
        assignment.assign(np.where(kept[:, None], centers, centers[kept][0]))
        labels = assignment.labels
    return number[labels]
