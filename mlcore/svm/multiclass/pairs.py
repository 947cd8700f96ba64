"""Solver of all pairwise problems of small classes, and of their folds, in few compiled calls."""

from dataclasses import fields
from typing import Any

import numpy as np

from mlcore._ext.svm import pairs as _ext
from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas
from mlcore.svm.formulations import FINEST
from mlcore.svm.multiclass.multiclass import UNOPPOSED, LabelledSamples, SolvedTasks, binary_tasks
from mlcore.svm.smo.bias import ROUNDING
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.optimality import Optimality, nu_sums
from mlcore.svm.smo.small_problem import INTEGERS, MARKS, SINGLE, WIDE

# The result for each pair, `outcome` of pairs.pyx: `violation` is what `tol` bounds; `above` and
# `below` are the multipliers of the positive and the negative class.
OUTCOME = np.dtype(
    [("dual_objective", np.float64), ("objective", np.float64), ("duality_gap", np.float64)]
    + [(name, np.float64) for name in ("kkt_violation", "squared_norm", "above", "below")]
    + [("n_iter", np.int64), ("violation", np.float64), ("fold_violation", np.float64)]
)


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
    """Return the solved tasks of all pairs, held-out decision values if there are folds, and rho.

    Held-out values (n_classes - 1, n) are in LIBSVM's layout; `fold` (n,) is -1 for none. rho
    (n_pairs,) is the margin with `nu`, by which solutions are still to be divided. None is returned
    if K does not fit, is too rough or a problem takes more than `steps` for each sample.
    """
    n_classes, n = len(samples.classes), len(cost)
    pairs = np.array([tuple(task) for task in binary_tasks(n_classes, "ovo")], dtype=np.int64)
    n_folds = 0 if fold is None else int(fold.max()) + 1
    # K: all of it, in a precision that these costs allow.
    kernel, largest, rough = cache.kernel, float(cost.max()), 0.0
    value = float(np.abs(kernel.diagonal).max()) or 1.0
    if cache.dtype == np.float64:
        rough = largest * max(kernel.rounding * np.sqrt(n), ROUNDING * value)
    if nu is None and rough > tol:
        return None  # a solution may not count as converged
    cache.complete(len(pairs) * (1 + n_folds))
    if not cache.whole:
        return None
    # The problems: samples by class, and with nu the sums of their multipliers.
    sizes = np.bincount(samples.codes)
    order = np.argsort(samples.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    m = padded(int(np.sort(sizes)[-2:].sum()))
    sums, finer = None, tol
    if nu is not None:
        first, second = np.bincount(samples.codes, weights=cost)[pairs].T
        sums = np.column_stack(nu_sums(first, second, nu))
        # Small weights make a small gradient.
        scale = min(1.0, float((2 * sums[:, 0] / (nu * sizes[pairs].sum(axis=1))).min()))
        finer = tol * scale * min(1.0, value)
    work = _ext.Pairs(
        cache.rows, kernel.diagonal.astype(kernel.dtype), order, starts, pairs, cost, finer, exact,
        steps * max(200, m), kernel.rounding, kernel.distance,
    )  # fmt: skip
    if fold is not None:
        work.hold_out(fold.astype(np.int64), n_folds, UNOPPOSED)
    if sums is not None:
        least = max(FINEST * finer, 4 * kernel.rounding * largest * np.sqrt(n))
        work.fix_sums(sums, tol, least)
    dual_coef, held_out = np.zeros((2, n_classes - 1, n))
    solved = _solved(work, len(pairs), m, n_folds, (dual_coef, held_out), kernel.dtype, progress)
    # The functions, if all have converged.
    if not (np.maximum(solved["violation"], solved["fold_violation"]) <= finer).all():
        return None
    above, below = solved["above"], solved["below"]
    rho = 0.5 * (above - below)
    if nu is not None and (rough > np.maximum(tol * rho, FINEST * finer)).any():
        return None
    values = {field.name: solved[field.name] for field in fields(Optimality)}
    if len(pairs) == 1:
        values = {name: value.item() for name, value in values.items()}
    functions = SolvedTasks(
        dual_coef=dual_coef,
        intercept=-above if nu is None else -0.5 * (above + below),
        norms=np.sqrt(np.maximum(solved["squared_norm"], 0)),
        optimality=Optimality(**values),
        errors=((dual_coef != 0) & (np.abs(dual_coef) == cost)).any(axis=0),
        n_iter=solved["n_iter"],
        converged=True,
    )
    return functions, held_out, rho


def _solved(
    work: Any,
    n_pairs: int,
    m: int,
    n_folds: int,
    results: tuple[np.ndarray, np.ndarray],
    dtype: np.dtype,
    progress: Any,
) -> np.ndarray:
    """Solve all pairs, of at most m samples, and their folds; return an `OUTCOME` of each."""
    threads = effective_threads(n_pairs * m * m * (1 + n_folds))
    work.use(
        scratch_array((threads, m * m), dtype), scratch_array((threads, m * m), dtype),
        scratch_array((threads, SINGLE * m), dtype), np.empty((threads, (WIDE + 1) * m)),
        np.empty((threads, INTEGERS * m), dtype=np.int64),
        np.empty((threads, MARKS * m), dtype=np.int8), m,
    )  # fmt: skip
    solved = np.zeros(n_pairs, OUTCOME)
    at_once = items_per_call(20 * m * m * (1 + n_folds))
    with single_threaded_blas():
        for start in range(0, n_pairs, at_once):
            now = solved[start : start + at_once]
            work.solve(start, *results, now, threads)
            if progress.active:
                for pair in now:
                    shown = pair["n_iter"], pair["dual_objective"], pair["kkt_violation"]
                    progress.step(*(number.item() for number in shown))
    return solved
