"""Probabilities from decision values: one increasing link per binary problem, coupled for many.

The link is a logistic function with one slope on either side of the boundary,

    P(+ | f) = 1 / (1 + exp(-a f)),  a = a_minus for f < 0, a_plus for f > 0, both positive.

Platt's sigmoid has a slope and an offset; its offset moves the point of probability 1/2 away from
f = 0, where `predict` changes, so that the two contradict each other in between. Without the
offset, what is left to fit is how fast confidence grows with distance; fitting it separately on
either side keeps the second degree of freedom, and with it the calibration of asymmetric classes.
"""

from collections.abc import Callable
from hashlib import blake2b
from types import MethodType
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.exceptions import warn
from mlcore.svm.classifier import KernelClassifier
from mlcore.svm.folds import feasible_start, stratified_folds
from mlcore.svm.machine import Settings
from mlcore.svm.multiclass import LabelledSamples, duels, from_layout
from mlcore.svm.smo import RowStore

_FOLDS = 5
_LEAST_SLOPE = 1e-3  # times 1 / max |f|: what a side gets whose labels do not grow with f
_LEAST_PAIR = 1e-7
_ROWS = 4096


class OnlyWithProbability:
    """A method that exists only where the model's parameter `probability` is true."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.function
        if not model.probability:
            raise AttributeError(
                f"{owner.__name__} has {self.function.__name__} only with probability=True."
            )
        return MethodType(self.function, model)


def expit(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-z))."""
    from scipy import special  # 35 ms that only probabilities should cost

    return special.expit(z)


def distinct_rows(X: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of rows that differ in X or label, and which of them each row equals.

    Their order depends on what rows hold, not on where or how. O(n d) time. Rows are told apart by
    64 bits of a hash.
    """
    hashes = bytearray()
    for i, code in enumerate(codes):
        row = blake2b(code.tobytes(), digest_size=8)
        if sparse.issparse(X):
            stored = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[stored], X.data[stored]
        else:
            columns, values = np.arange(X.shape[1]), X[i]
        row.update(columns[values != 0].astype(np.int64))
        row.update(values[values != 0])
        hashes += row.digest()
    _, first, copy_of = np.unique(
        np.frombuffer(hashes, dtype=np.uint64), return_index=True, return_inverse=True
    )
    return first, copy_of


def fit_link(decisions: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the slopes (a_minus, a_plus) of greatest likelihood.

    Parameters
    ----------
    decisions : (n,) float64
        Decision values of samples that their machine was not trained on.
    signs : (n,) float64
        +1 or -1.
    weight : (n,) float64

    Notes
    -----
    Labels are softened as Platt does, to (N_+ + 1) / (N_+ + 2) and 1 / (N_- + 2), which keeps the
    slopes finite where the classes do not overlap. A side without samples takes the other's slope.

    References
    ----------
    J. Platt, *Probabilistic outputs for support vector machines*, 1999.
    H.-T. Lin, C.-J. Lin, R. C. Weng, *A note on Platt's probabilistic outputs*, Machine Learning
    68, 2007: the softened targets and the safeguarded Newton method.
    """
    positive = signs > 0
    n_positive, n_negative = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    slopes = [
        _slope(decisions[side], target[side], weight[side]) if side.any() else None
        for side in (decisions < 0, decisions > 0)
    ]
    known = [slope for slope in slopes if slope is not None]
    other = known[0] if known else 1.0
    return np.array([other if slope is None else slope for slope in slopes])


def _slope(f: np.ndarray, target: np.ndarray, weight: np.ndarray) -> float:
    """Return the positive slope a of greatest likelihood of expit(a f), by Newton's method."""
    unit = float(np.abs(f).max())
    f = f / unit
    low, high, slope = 0.0, np.inf, 1.0
    for _ in range(100):
        p = expit(slope * f)
        rate = float((weight * f) @ (p - target))  # increasing in the slope: the loss is convex
        if rate > 0:
            high = slope
        else:
            low = slope
        step = rate / max(float((weight * f * f) @ (p * (1 - p))), 1e-300)
        new = slope - step
        if not low < new < high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2 * slope
        if abs(new - slope) <= 1e-12 * slope or new < _LEAST_SLOPE:
            slope = new
            break
        slope = new
    return max(slope, _LEAST_SLOPE) / unit


def apply_link(decisions: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return P(+) for decision values: increasing, and 1/2 at 0 only."""
    return expit(decisions * np.where(decisions > 0, slopes[1], slopes[0]))


def couple(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Return class probabilities that agree best with probabilities of pairs.

    Minimises sum_{i != j} (r_ji p_i - r_ij p_j)² with the p summing to one.

    Parameters
    ----------
    pairs : (n, n_classes (n_classes - 1) / 2) float64
        r_ij, the probability of class i among i and j, for i < j in order.

    Returns
    -------
    p : (n, n_classes) float64

    References
    ----------
    T.-F. Wu, C.-J. Lin, R. C. Weng, *Probability estimates for multi-class classification by
    pairwise coupling*, JMLR 5, 2004, second approach; its linear system is solved directly.
    """
    first, second = np.triu_indices(n_classes, 1)
    out = np.empty((len(pairs), n_classes))
    for start in range(0, len(pairs), _ROWS):
        r = np.clip(pairs[start : start + _ROWS], _LEAST_PAIR, 1 - _LEAST_PAIR)
        system = np.zeros((len(r), n_classes + 1, n_classes + 1))
        system[:, first, second] = system[:, second, first] = -r * (1 - r)
        for i, j, r_ij in zip(first, second, r.T, strict=True):
            system[:, i, i] += (1 - r_ij) ** 2
            system[:, j, j] += r_ij**2
        system[:, :n_classes, -1] = system[:, -1, :n_classes] = 1
        right = np.zeros((len(r), n_classes + 1, 1))
        right[:, -1] = 1
        p = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], 0)
        out[start : start + _ROWS] = p / p.sum(axis=1, keepdims=True)
    return out


def agreeing(p: np.ndarray, winner: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the probabilities nearest to `p` whose largest is the predicted class's.

    Votes of pairs and coupled probabilities can name different classes. Where they do, the
    predicted class and those above it share their sum equally (the Euclidean projection onto
    ``p[winner] >= p[j]``), the predicted class with a few units in the last place more.

    Parameters
    ----------
    p : (n, n_classes) float64
        Rows that sum to one.
    winner : (n,) intp
        Class that `predict` names.
    dtype : dtype
        Precision in which the result stays strict.
    """
    p = p.copy()
    for row in np.flatnonzero(p.argmax(axis=1) != winner):
        own = winner[row]
        others = np.argsort(-p[row], kind="stable")
        others = others[others != own]
        total, count = p[row, own], 1
        for other in others:
            if p[row, other] < total / count:
                break
            total, count = total + p[row, other], count + 1
        shared = total / count
        less = shared * 8 * float(np.finfo(dtype).eps)
        p[row, others[: count - 1]] = shared - less
        p[row, own] = shared + (count - 1) * less
    return p


def two_class(positive: np.ndarray, decisions: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return (P(-), P(+)) as `dtype`, P(+) > 1/2 exactly where the decision value is positive."""
    p = positive.astype(dtype)
    half = dtype.type(0.5)
    above = decisions > 0
    p[above] = np.maximum(p[above], np.nextafter(half, dtype.type(1)))
    p[~above] = np.minimum(p[~above], half)
    return np.stack([1 - p, p], axis=1)


class ProbabilisticClassifier(KernelClassifier):
    """A classifier with `predict_proba` where its parameter `probability` is true."""

    link_slopes_: np.ndarray

    def _folds(
        self, samples: LabelledSamples, settings: Settings, random_state: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Return the fold in which each sample is held out, and the number of folds.

        Copies are held out together, so that a weight of 2 is a copy here too. The only sample of
        a class is never held out: its fold is -1.
        """
        if settings.precomputed:
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

    def _calibrate(
        self,
        samples: LabelledSamples,
        settings: Settings,
        store: RowStore,
        fitted: dict[str, Any],
        folds: tuple[np.ndarray, int],
        progress: Any,
    ) -> np.ndarray:
        """Return the slopes of each duel's link, (n_duels, 2), from decision values held out.

        The folds share the kernel rows of the fit, and start from its multipliers.
        """
        chosen = duels(len(samples.classes), self.multi_class)
        signs = np.stack([duel.signs(samples.codes) for duel in chosen])
        fold, n_folds = folds
        betas = np.zeros(signs.shape)
        vector_codes = np.repeat(np.arange(len(samples.classes)), fitted["n_support_"])
        place = np.argsort(samples.rows)[np.searchsorted(np.sort(samples.rows), fitted["support_"])]
        betas[:, place] = from_layout(chosen, fitted["dual_coef_"], vector_codes)
        decisions = np.zeros(signs.shape)
        for number in range(n_folds):
            held_out = (signs != 0) & (fold == number)
            problems = self._problems(samples, chosen, train=fold != number, held_out=held_out)
            for problem, beta in zip(problems, betas, strict=True):
                if problem.total is None:
                    here = beta if problem.index is None else beta[problem.index]
                    problem.start = feasible_start(here, problem.lower, problem.upper)
            solutions = self._solve(problems, store, settings, progress)
            values = self._held_out_decisions(problems, solutions, held_out)
            for row, wanted, found in zip(decisions, held_out, values, strict=True):
                row[wanted] = found
        known = (signs != 0) & (fold >= 0)
        return np.array(
            [
                fit_link(f[here], s[here], samples.weight[here])
                for f, s, here in zip(decisions, signs, known, strict=True)
            ]
        )

    @OnlyWithProbability
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; `predict` always names the largest.

        Two classes: an increasing function of the decision value that is 1/2 where it is 0.
        More: one-vs-one pairs are coupled, one-vs-rest values normalised; where the result would
        contradict `predict`, it is replaced by the nearest that does not. Turning `probability`
        on therefore changes no prediction.

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
            raise ValueError(
                "probability=True was set after the fit: fit again to have probabilities."
            )
        p = np.empty((X.shape[0], len(self.classes_)), dtype=self.support_vectors_.dtype)
        for rows, decisions in self._decision_blocks(X):
            p[rows] = self._probabilities(decisions, p.dtype)
        return p

    def _probabilities(self, decisions: np.ndarray, dtype: np.dtype) -> np.ndarray:
        links = [apply_link(f, a) for f, a in zip(decisions.T, self.link_slopes_, strict=True)]
        if len(self.classes_) == 2:
            return two_class(links[0], decisions[:, 0], dtype)
        p = np.stack(links, axis=1)
        if self.multi_class == "ovr":
            p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        else:
            p = couple(p, len(self.classes_))
        return agreeing(p, self._winners(decisions), dtype).astype(dtype)

    @OnlyWithProbability
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
