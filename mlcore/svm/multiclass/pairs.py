"""Solver of all pairwise problems of small classes, and of their folds, in few compiled calls."""

from typing import Any

import numpy as np

from mlcore._ext.svm import pairs as _ext
from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas
from mlcore.svm.formulations import FINEST
from mlcore.svm.multiclass.multiclass import (
    UNOPPOSED,
    LabelledSamples,
    SolvedTasks,
    binary_tasks,
)
from mlcore.svm.smo.bias import ROUNDING
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.optimality import Optimality, nu_sums
from mlcore.svm.smo.small_problem import INTEGERS, MARKS, SINGLE, WIDE
from mlcore.threads import effective_threads, items_per_call, single_threaded_blas


def are_small(samples: LabelledSamples, most: int) -> bool:
    """Return True if every pair of classes has at most so many samples."""
    sizes = np.sort(np.bincount(samples.codes))
    return int(sizes[-2:].sum()) <= most


def solve_pairs(
    samples: LabelledSamples,
    cost: np.ndarray,
    nu: float | None,
    cache: KernelCache,
    fold: np.ndarray | None,
    tol: float,
    exact: bool,
    steps: int,
    progress: Any,
) -> tuple[SolvedTasks, np.ndarray, np.ndarray] | None:
    """Return the solved tasks of all pairs and, where there are folds, held-out decision values.

    Parameters
    ----------
    samples : LabelledSamples
    cost : (n,) float64
        Finite bounds of the multipliers.
    nu : float, optional
        Of a machine whose classes each have a given sum of multipliers; then without folds.
    cache : KernelCache
    fold : (n,) int, optional
        The fold that holds each sample out, -1 for none.
    tol : float
    exact : bool
        True to go on to rounding error.
    steps : int
        Most pair steps for each sample of a pair, of 200 at least.
    progress : mlcore.progress.Progress

    Returns
    -------
    solved : SolvedTasks
    held_out : (n_classes - 1, n) float64
        In LIBSVM's layout: decision values of the pairwise machine trained without the sample's
        fold.
    rho : (n_pairs,) float64
        Half the difference of the multipliers of the sums: with nu, the margin, by which solutions
        are still to be divided.

    None is returned instead if K does not fit, is too rough or a problem runs out of steps.
    """
    n_classes, n = len(samples.classes), len(cost)
    pairs = np.array([tuple(task) for task in binary_tasks(n_classes, "ovo")], dtype=np.int64)
    n_folds = 0 if fold is None else int(fold.max()) + 1
    rounding, largest = cache.kernel.rounding, float(cost.max())
    value = float(np.abs(cache.kernel.diagonal).max()) or 1.0
    rough = 0.0
    if cache.dtype == np.float64:
        rough = largest * max(rounding * np.sqrt(n), ROUNDING * value)
    if nu is None and rough > tol:
        return None  # a solution may not count as converged
    cache.complete(len(pairs) * (1 + n_folds))
    if not cache.whole:
        return None
    sizes = np.bincount(samples.codes)
    order = np.argsort(samples.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    fold = np.zeros(n, dtype=np.int64) if fold is None else fold.astype(np.int64)
    dual_coef, held_out = np.zeros((2, n_classes - 1, n))
    figures = np.zeros((len(pairs), 10))
    m = padded(int(np.sort(sizes)[-2:].sum()))
    threads, dtype = effective_threads(len(pairs) * m * m * (1 + n_folds)), cache.kernel.dtype
    scratch = (
        scratch_array((threads, m * m), dtype),
        scratch_array((threads, m * m), dtype),
        scratch_array((threads, SINGLE * m), dtype),
        np.empty((threads, (WIDE + 1) * m)),
        np.empty((threads, INTEGERS * m), dtype=np.int64),
        np.empty((threads, MARKS * m), dtype=np.int8),
    )
    diagonal = cache.kernel.diagonal.astype(dtype)
    sums, least, finer = np.zeros((0, 2)), 0.0, tol
    if nu is not None:
        first, second = np.bincount(samples.codes, weights=cost)[pairs].T
        sums = np.column_stack(nu_sums(first, second, nu))
        # Small weights make a small gradient.
        scale = min(1.0, float((2 * sums[:, 0] / (nu * sizes[pairs].sum(axis=1))).min()))
        finer = tol * scale * min(1.0, value)
        least = max(FINEST * finer, 4 * rounding * largest * np.sqrt(n))
    at_once = items_per_call(20 * m * m * (1 + n_folds))
    with single_threaded_blas():
        for start in range(0, len(pairs), at_once):
            now = slice(start, start + at_once)
            _ext.solve_pairs(
                cache.rows, diagonal, order, starts, pairs[now], cost, fold, n_folds, sums[now],
                finer, tol, least, rounding, cache.kernel.distance, exact, steps * max(200, m),
                dual_coef, held_out, figures[now], *scratch, m, UNOPPOSED, threads,
            )  # fmt: skip
            if progress.active:
                for dual, _, violation, *_, n_iter, _, _, _ in figures[now]:
                    progress.step(int(n_iter), dual, violation)
    dual, primal, kkt, squares, above, below, n_iter, *violations, gap = figures.T
    if not (np.maximum(*violations) <= finer).all():
        return None
    rho = 0.5 * (above - below)
    if nu is not None and (rough > np.maximum(tol * rho, FINEST * finer)).any():
        return None
    optimality = Optimality(dual, primal, gap, kkt)
    if len(pairs) == 1:
        optimality = Optimality(*(float(values[0]) for values in optimality))
    solved = SolvedTasks(
        dual_coef=dual_coef,
        intercept=-above if nu is None else -0.5 * (above + below),
        norms=np.sqrt(np.maximum(squares, 0)),
        optimality=optimality,
        errors=((dual_coef != 0) & (np.abs(dual_coef) == cost)).any(axis=0),
        n_iter=n_iter,
        converged=True,
    )
    return solved, held_out, rho
