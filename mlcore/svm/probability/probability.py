"""Probabilities from decision values: one increasing link per binary problem, coupled for many.

The links are fitted to the data as they are: weights of samples are copies, weights of classes
only move the boundary and do not count. Without them `predict` names the larger
probability; with them it need not.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from mlcore._ext.svm import probability as _ext
from mlcore.checks.errors import peer_class, warn
from mlcore.estimator.folds import stratified_folds
from mlcore.kernels.expansion import row_blocks
from mlcore.kernels.kernel import Kernel, of_numbers
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas
from mlcore.svm.formulations import Formulation
from mlcore.svm.multiclass.multiclass import (
    BinaryTask,
    LabelledSamples,
    binary_problems,
    binary_tasks,
    from_layout,
    layout_row,
    only_side,
    sample_decisions,
)
from mlcore.svm.probability.link import Link, apply_link, fit_link, on_scale_of
from mlcore.svm.smo.feasible_start import feasible_start
from mlcore.svm.smo.problem import Problem, Solution

_FOLDS = 5
_LEAST_PAIR = 1e-7  # least probability of a class of a pair in the system that couples them
STORED = {  # of models that are calibrated, for files: `mlcore.estimator.persistence.declared`
    "link_offsets_": "float64 p",
    "link_slopes_": "float64 p 4",
    "link_knots_": "float64 p 3",
}


def distinct_rows(X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each distinct (row, label), and the index among these of each row's own.

    Rows are compared by a hash of 64 bits; neither their order nor their storage matters.
    """
    codes, hashes = codes.astype(np.int64, copy=False), np.empty(len(codes), dtype=np.uint64)
    for rows in row_blocks(X, 1):
        own = codes[rows], hashes[rows]
        if sparse.issparse(X):
            indptr = X.indptr[rows.start : rows.stop + 1].astype(np.int64, copy=False)
            threads = effective_threads(int(indptr[-1] - indptr[0]))
            _ext.hash_stored_rows(X.data, X.indices, indptr, *own, threads)
        else:
            _ext.hash_rows(X[rows], *own, effective_threads(X[rows].size))
    _, first, copy_of = np.unique(hashes, return_index=True, return_inverse=True)
    return first, copy_of


def couple(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the class probabilities (n, n_classes) that fit the probabilities of pairs best.

    Minimises sum_{i != j} (r_ji p_i - r_ij p_j)², `pairs` (n, n_pairs) being r_ij for i < j. T.-F.
    Wu, C.-J. Lin, R. C. Weng, JMLR 5, 2004, second approach.
    """
    pairs, p = np.ascontiguousarray(pairs), np.empty((len(pairs), n_classes))
    threads = effective_threads(len(pairs) * n_classes**3)
    scratch = np.empty((threads, n_classes**2))
    with single_threaded_blas():
        for first, last in pieces(len(pairs), n_classes**3):
            _ext.couple(pairs[first:last], _LEAST_PAIR, p[first:last], scratch, threads)
    return p


def reconciled(p: np.ndarray, winner: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the probabilities nearest to `p` in which the predicted class has the largest.

    That is the projection onto ``p[winner] >= p[j]``, the winner a few units of `dtype` above.
    """
    p = p.copy()
    _ext.reconcile(p, winner, 8 * float(np.finfo(dtype).eps), effective_threads(p.size))
    return p


def two_class(positive: np.ndarray, decisions: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return (P(-), P(+)) as `dtype`, P(+) > 1/2 exactly where the decision value is positive."""
    p, above_half = np.empty((len(positive), 2)), 0.5 + float(np.finfo(dtype).eps) / 2
    _ext.two_class(positive, decisions, above_half, p)
    return p.astype(dtype, copy=False)


def link_attributes(links: list[Link]) -> dict[str, np.ndarray]:
    """Return the fitted attributes that hold the link of each task."""
    offsets, slopes, knots = map(np.array, zip(*links, strict=True))
    return {"link_offsets_": offsets, "link_slopes_": slopes, "link_knots_": knots}


def held_out_folds(
    samples: LabelledSamples, kernel: Kernel, random_state: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Return the fold in which each sample is held out, and the number of folds.

    Copies are held out together; the only sample of a class never is: its fold is -1.
    """
    if kernel.precomputed or not of_numbers(samples.X):
        first = copy_of = np.arange(len(samples.codes))
    else:
        first, copy_of = distinct_rows(samples.X, samples.codes)
    codes = samples.codes[first]
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise ValueError(
            "probability=True holds samples out, but no class has 2 distinct ones: use more "
            "samples."
        )
    if counts.min() < 2:
        warn(
            "UserWarning",
            f"class {samples.classes.tolist()[counts.argmin()]!r} has no 2 distinct samples, "
            "of which probability=True could hold one out: its probabilities rest on the "
            "samples of other classes.",
        )
    n_folds = min(_FOLDS, int(counts[counts > 1].min()))
    several = counts[codes] > 1
    fold = np.full(len(first), -1)
    fold[several] = stratified_folds(codes[several], n_folds, random_state)
    return fold[copy_of], n_folds


def calibrated(
    formulation: Formulation,
    samples: LabelledSamples,
    tasks: list[BinaryTask],
    fitted: dict[str, Any],
    problems: list[Problem],
    solutions: list[Solution],
    folds: tuple[np.ndarray, int],
    solve: Callable[[list[Problem]], list[Solution]],
) -> dict[str, np.ndarray]:
    """Return the attributes of the links, fitted to held-out decision values of each problem.

    Folds share the kernel rows of the fit, start from its multipliers, and take its scale.
    """
    # Decision values and multipliers of the fit give the scale and the starts of the folds.
    signs = np.stack([task.signs(samples.codes) for task in tasks])
    fold, n_folds = folds
    trained = np.zeros(signs.shape)  # decision values of the fit
    for row, problem, solution in zip(trained, problems, solutions, strict=True):
        row[problem.index] = sample_decisions(formulation, problem, solution)
    betas = np.zeros(signs.shape)
    vector_codes = np.repeat(np.arange(len(samples.classes)), fitted["n_support_"])
    place = np.argsort(samples.rows)[np.searchsorted(np.sort(samples.rows), fitted["support_"])]
    betas[:, place] = from_layout(tasks, fitted["dual_coef_"], vector_codes)
    # Solve the problems of each fold and keep the values of the samples held out.
    decisions = np.zeros(signs.shape)
    for number in range(n_folds):
        held_out = (signs != 0) & (fold == number)
        masks = {"train": fold != number, "held_out": held_out}
        problems = binary_problems(formulation, samples, tasks, **masks)
        for problem, beta in zip(problems, betas, strict=True):
            if problem.total is None:
                problem.start = feasible_start(beta[problem.index], problem.lower, problem.upper)
        for row, wanted, whole, problem, solution in zip(
            decisions, held_out, trained, problems, solve(problems), strict=True
        ):
            here = problem.index
            values = sample_decisions(formulation, problem, solution)
            if not only_side(problem):
                weight = np.where(problem.upper > problem.lower, samples.cost[here], 0.0)
                values = on_scale_of(whole[here], values, weight)
            row[wanted] = values[wanted[here]]
    # Fit a link to each problem.
    used = (signs != 0) & (fold >= 0)
    links = [
        fit_link(f[here], s[here], samples.weight[here])
        for f, s, here in zip(decisions, signs, used, strict=True)
    ]
    return link_attributes(links)


def calibrated_pairs(
    samples: LabelledSamples, held_out: np.ndarray, fold: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the attributes of the pairs' links, from decision values in LIBSVM's layout."""
    n_classes, used = len(samples.classes), fold >= 0
    members = [np.flatnonzero(used & (samples.codes == c)) for c in range(n_classes)]
    links = []
    for i, j in binary_tasks(n_classes, "ovo"):
        here = np.concatenate([members[i], members[j]])
        values = held_out[layout_row(i, j), members[i]], held_out[layout_row(j, i), members[j]]
        signs = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        links.append(fit_link(np.concatenate(values), signs, samples.weight[here]))
    return link_attributes(links)


def predict_proba(self: Any, X: Any) -> np.ndarray:
    """Return the probability of each class, without regard to `class_weight`.

    Two classes: an increasing function of the decision value. More: one-vs-one pairs are
    coupled, one-vs-rest values normalised. Without `class_weight`, `predict` names the class
    of the largest probability: results that contradict it are replaced by the nearest that do
    not. Class weights move the boundary of `predict` but not the probabilities: the two may
    then name different classes.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)

    Returns
    -------
    p : ndarray of shape (n_samples, n_classes), in the precision of the fit
        Columns in the order of ``classes_``; rows sum to one.
    """
    X = self._checked_later(X)
    if "link_slopes_" not in vars(self):
        raise peer_class("NotFittedError")(
            "predict_proba is not available when fitted with probability=False: fit again."
        )
    p = np.empty((X.shape[0], len(self.classes_)), dtype=self._precision)
    with single_threaded_blas():
        for rows, decisions in self._decision_blocks(X):
            p[rows] = _probabilities(self, decisions, p.dtype)
    return p


def predict_log_proba(self: Any, X: Any) -> np.ndarray:
    """Return the logarithms of `predict_proba`.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)

    Returns
    -------
    log_probabilities : (n_samples, n_classes)
        -inf for a probability of 0.
    """
    with np.errstate(divide="ignore"):
        return np.log(self.predict_proba(X))


def _probabilities(model, decisions, dtype):
    """Return the class probabilities, (n, n_classes), for decision values of every task."""
    anchored = len(set(model.class_weight_.tolist())) == 1
    link = Link(model.link_offsets_, model.link_slopes_, model.link_knots_)
    p = apply_link(decisions, link, anchored=anchored)
    if len(model.classes_) == 2:
        if anchored:
            return two_class(p[:, 0], decisions[:, 0], dtype)
        return np.hstack([1 - p, p]).astype(dtype)
    if model.multi_class == "ovr":
        p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    else:
        p = couple(p, len(model.classes_))
    if anchored:
        p = reconciled(p, model._winners(decisions), dtype)
    return p.astype(dtype, copy=False)
