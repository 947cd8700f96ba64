"""Lloyd's algorithm: samples to their nearest centres, centres to the means of their samples."""

from typing import NamedTuple

import numpy as np

from mlcore.cluster.k_means.small_partition import SmallPartition
from mlcore.cluster.k_means.sparse_partition import SparsePartition

# Samples nearer than this, relative to their norm, are one point: the mean of equal samples is
# theirs up to the rounding of a sum.
_SAME = 4096 * float(np.finfo(np.float64).eps)
_IN_CACHE = 2**15  # values
_STEPS = 64  # of few samples in a call: less than a tenth of a second


class Clustering(NamedTuple):
    """What Lloyd's algorithm found, in the frame of its samples."""

    centers: np.ndarray
    labels: np.ndarray
    inertia: float
    trace: np.ndarray
    n_iter: int
    converged: bool


def lloyd(partition, centers, max_iter, tol, squares, report) -> Clustering:
    """Repeat the two steps until no label changes, the centres move by `tol` or less, or the end.

    Parameters
    ----------
    partition : Partition, SmallPartition or SparsePartition
    centers : (k, d) array
    max_iter : int
    tol : float
        Bounds the sum of the squared shifts of the centres.
    squares : float
        The weighted sum of the squared norms of all samples.
    report : callable
        Called with step, objective and change.
    """
    steps = _STEPS_OF.get(type(partition), _steps)
    centers, trace, changed, converged = steps(partition, centers, max_iter, tol, squares, report)
    n_iter = len(trace)
    if changed:
        partition.assign(centers)
        trace.append(np.inf)
    inertia, farthest = _inertia(partition, centers)
    trace[-1] = inertia
    labels, mass = partition.labels, partition.totals()[1]
    if (mass <= 0).any() and farthest <= _rounding(centers):
        kept = mass > 0
        centers, labels = centers[kept], _renumbered(labels, kept, partition, centers)
    # Rounding aside, no step raises the objective.
    trace = np.minimum.accumulate(trace)
    return Clustering(centers, labels, inertia, trace, n_iter, converged)


def _steps(partition, centers, max_iter, tol, squares, report):
    trace, converged = [], False
    for step in range(1, max_iter + 1):
        changed = partition.assign(centers)
        sums, mass = partition.totals()
        trace.append(_by_sums(squares, sums, mass, centers))
        if changed == 0:
            report(step, trace[-1], 0.0)
            converged = True
            break
        if (mass <= 0).any():
            sums, mass = _reseed(partition, centers, sums, mass)
        moved = means(sums, mass, centers)
        shift = float(squared_moves(centers, moved).sum())
        centers = moved
        report(step, trace[-1], shift)
        if shift <= tol:
            converged = True
            break
    return centers, trace, changed, converged


def _several_steps(partition, centers, max_iter, tol, squares, report):
    """The same, some steps in one call."""
    trace, moved, changed = [], True, 1
    while len(trace) < max_iter and changed and moved:
        n_steps = min(_STEPS, max_iter - len(trace))
        centers, values, shifts, changed, moved = partition.steps(
            centers, n_steps, tol, squares, _SAME**2
        )
        for value, shift in zip(values, shifts, strict=True):
            trace.append(value)
            report(len(trace), value, shift)
    return centers, trace, changed, not (changed and moved)


def _sparse_steps(partition, centers, max_iter, tol, squares, report):
    """The same, with centres that stay where the partition keeps them."""
    trace, converged = [], False
    partition.place(centers)
    for step in range(1, max_iter + 1):
        changed = partition.search()
        sums, mass = partition.totals()
        if changed and (mass <= 0).any():
            centers = partition.centers()
            value = _by_sums(squares, sums, mass, centers)
            moved = means(*_reseed(partition, centers, sums, mass), centers)
            shift = float(squared_moves(centers, moved).sum())
            partition.place(moved)
        else:
            shift, value = partition.move()
            value = max(0.0, squares + value)
        trace.append(value)
        report(step, value, shift)
        if changed == 0 or shift <= tol:
            converged = True
            break
    return partition.centers(), trace, changed, converged


_STEPS_OF = {SmallPartition: _several_steps, SparsePartition: _sparse_steps}


def means(sums, mass, centers):
    """Return the means of the samples by label; a centre without any stays."""
    present = mass > 0
    if present.all():
        return (sums / mass[:, None]).astype(centers.dtype, copy=False)
    found = centers.copy()
    found[present] = sums[present] / mass[present, None]
    return found


def squared_moves(before, now):
    """Return how far each centre has moved, squared; blocks of rows stay in the cache."""
    found = np.empty(len(now))
    step = max(1, _IN_CACHE // now.shape[1])
    for start in range(0, len(now), step):
        change = now[start : start + step] - before[start : start + step]
        found[start : start + step] = np.einsum("jd,jd->j", change, change, dtype=np.float64)
    return found


def _by_sums(squares, sums, mass, centers):
    # sum w |x - c|² = sum w |x|² - 2 c.sum w x + (sum w) |c|², by clusters.
    norms = np.einsum("jd,jd->j", centers, centers, dtype=np.float64)
    inner = mass * norms - 2 * np.einsum("jd,jd->j", centers, sums, dtype=np.float64)
    return max(0.0, squares + float(inner[mass > 0].sum()))


def objective(partition, centers) -> float:
    """Return the weighted sum of the squared distances of samples from their centres."""
    return _inertia(partition, centers)[0]


def _inertia(partition, centers):
    """Return the exact objective, and the largest squared distance of a sample with weight."""
    if isinstance(partition, SmallPartition):
        return partition.objective(centers)
    inertia, farthest = 0.0, 0.0
    for rows, squared in partition.distances(centers):
        if len(partition.weights):
            weights = partition.weights[rows]
            inertia += float(weights @ squared)
            squared = squared[weights > 0]
        else:
            inertia += float(squared.sum())
        farthest = max(farthest, float(squared.max(initial=0)))
    return inertia, farthest


def _reseed(partition, centers, sums, mass):
    """Move the centres without samples to the samples farthest from theirs."""
    empty = np.flatnonzero(mass <= 0)
    sums, mass = sums.copy(), mass.copy()
    kept = np.empty(0), np.empty(0, dtype=np.int64)
    for rows, squared in partition.distances(centers):
        if len(partition.weights):
            squared = np.where(partition.weights[rows] > 0, squared, 0)
        some = np.argsort(-squared, kind="stable")[: len(empty)]
        both = np.r_[kept[0], squared[some]], np.r_[kept[1], rows.start + some]
        best = np.argsort(-both[0], kind="stable")[: len(empty)]
        kept = both[0][best], both[1][best]
    rounding = _rounding(centers)
    for j, i in zip(empty, kept[1][kept[0] > rounding], strict=False):
        weight = partition.weights[i] if len(partition.weights) else 1.0
        old = partition.labels[i]
        if mass[old] <= weight:
            continue
        x = partition.row(i)
        sums[old] -= weight * x
        mass[old] -= weight
        sums[j], mass[j] = weight * x, weight
    return sums, mass


def _rounding(centers):
    return _SAME**2 * float(np.square(centers, dtype=np.float64).sum(axis=1).max())


def _renumbered(labels, kept, partition, centers):
    """Labels among the centres that are kept; samples without weight may have had another."""
    number = (np.cumsum(kept) - 1).astype(np.int32)
    if not kept[labels].all():
        partition.assign(np.where(kept[:, None], centers, centers[kept][0]))
        labels = partition.labels
    return number[labels]
