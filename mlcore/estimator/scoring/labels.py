"""Metrics of predicted labels, decision values and probabilities, under scikit-learn's names.

Labels are codes of the sorted classes; weights are all positive. A metric that is not defined for
the samples, as the AUC of one class, is NaN.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np


def confusion(codes: np.ndarray, named: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Return the weights (k, k) of samples by true and predicted class."""
    return np.bincount(codes * k + named, weights=weight, minlength=k * k).reshape(k, k)


def _accuracy(table):
    return table.trace() / table.sum()


def _balanced_accuracy(table):
    totals = table.sum(axis=1)
    present = totals > 0
    return (table.diagonal()[present] / totals[present]).mean()


def _matthews(table):
    """The correlation of true and predicted classes (Gorodkin 2004, equation 8)."""
    table = table / table.sum()
    true, predicted = table.sum(axis=1), table.sum(axis=0)
    variances = (1 - true @ true) * (1 - predicted @ predicted)
    if (true > 0).sum() < 2 or (predicted > 0).sum() < 2:
        return 0.0
    return (table.trace() - true @ predicted) / np.sqrt(variances)


def _ratio(measure, true, predicted, hits):
    """Return a measure from sums of weights by class; 0 where nothing is true or predicted."""
    above, below = {
        "precision": (hits, predicted),
        "recall": (hits, true),
        "f1": (2 * hits, true + predicted),
        "jaccard": (hits, true + predicted - hits),
    }[measure]
    return np.divide(above, below, out=np.zeros_like(hits), where=below > 0)


def by_class(measure: str, average: str) -> Callable[..., float]:
    """Return a function of the confusion table, and the positive class of two."""

    def metric(table, positive):
        true, predicted, hits = table.sum(axis=1), table.sum(axis=0), table.diagonal()
        if average == "binary":
            return float(_ratio(measure, true, predicted, hits)[positive])
        present = true + predicted > 0
        if average == "micro":
            sums = (np.array([values.sum()]) for values in (true, predicted, hits))
            return float(_ratio(measure, *sums)[0])
        values = _ratio(measure, true, predicted, hits)[present]
        return float(np.average(values, weights=true[present] if average == "weighted" else None))

    return metric


def area_under_curve(positive: np.ndarray, values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted share of pairs that `values` orders rightly, ties counting one half.

    It is the area under the ROC curve; NaN if all samples are of one kind.
    """
    above, below = _by_value(positive, values, weight)
    pairs = above.sum() * below.sum()
    if pairs == 0:
        return np.nan
    return float(above @ (below[::-1].cumsum()[::-1] - 0.5 * below) / pairs)


def average_precision(positive: np.ndarray, values: np.ndarray, weight: np.ndarray) -> float:
    """Return the sum over thresholds of precision times the growth of recall."""
    above, below = _by_value(positive, values, weight)
    if above.sum() == 0:
        return 0.0
    hits = above.cumsum()
    return float(above @ (hits / (hits + below.cumsum())) / above.sum())


def _by_value(positive, values, weight):
    """Return the weights of positive and of other samples at each value, largest first."""
    _, place = np.unique(-values, return_inverse=True)
    m = int(place.max()) + 1
    return (np.bincount(place, np.where(kind, weight, 0.0), m) for kind in (positive, ~positive))


def _one_against_rest(metric, weighted=False):
    """Return the mean over classes of a metric of two classes."""

    def mean(codes, values, weight, positive):
        if values.ndim == 1:
            return metric(codes == positive, values, weight)
        k = values.shape[1]
        if k == 2:
            return metric(codes == positive, values[:, positive], weight)
        parts = [metric(codes == c, values[:, c], weight) for c in range(k)]
        totals = np.bincount(codes, weight, k) if weighted else None
        return float(np.average(parts, weights=totals))

    return mean


def _one_against_one(weighted=False):
    """Return the mean over pairs of classes of their AUC (Hand and Till 2001, equation 7)."""

    def mean(codes, values, weight, positive):
        k = values.shape[1]
        if k == 2:
            return area_under_curve(codes == positive, values[:, positive], weight)
        areas, totals = [], np.bincount(codes, weight, k)
        for a, b in combinations(range(k), 2):
            pair = (codes == a) | (codes == b)
            both = [
                area_under_curve(codes[pair] == c, values[pair, c], weight[pair]) for c in (a, b)
            ]
            areas.append(0.5 * sum(both))
        shares = [totals[a] + totals[b] for a, b in combinations(range(k), 2)]
        return float(np.average(areas, weights=shares if weighted else None))

    return mean


def _log_likelihood(codes, probabilities, weight, positive):
    least = np.finfo(probabilities.dtype).eps
    own = probabilities[np.arange(len(codes)), codes]
    return float(np.average(np.log(np.clip(own, least, 1 - least)), weights=weight))


def _brier(codes, probabilities, weight, positive):
    """Minus the squares of what probabilities are off by, of one class of two."""
    k = probabilities.shape[1]
    if k == 2:
        squares = np.square(probabilities[:, positive] - (codes == positive))
    else:
        squares = np.square(probabilities - (codes[:, None] == np.arange(k))).sum(axis=1)
    return -float(np.average(squares, weights=weight))


# Of the confusion table; those of one class of two are called "binary".
TABLE: dict[str, Callable[..., float]] = {
    "accuracy": lambda table, positive: float(_accuracy(table)),
    "balanced_accuracy": lambda table, positive: float(_balanced_accuracy(table)),
    "matthews_corrcoef": lambda table, positive: float(_matthews(table)),
    **{
        measure + suffix: by_class(measure, suffix[1:] or "binary")
        for measure in ("f1", "precision", "recall", "jaccard")
        for suffix in ("", "_macro", "_micro", "_weighted")
    },
}
BINARY = {"f1", "precision", "recall", "jaccard"}

# Of decision values, (n,) for two classes or (n, n_classes), or else of probabilities.
THRESHOLD: dict[str, Callable[..., Any]] = {
    "roc_auc": _one_against_rest(area_under_curve),
    "average_precision": _one_against_rest(average_precision),
}
# Of probabilities (n, n_classes).
PROBABILITY: dict[str, Callable[..., Any]] = {
    "neg_log_loss": _log_likelihood,
    "neg_brier_score": _brier,
    "roc_auc_ovr": _one_against_rest(area_under_curve),
    "roc_auc_ovr_weighted": _one_against_rest(area_under_curve, weighted=True),
    "roc_auc_ovo": _one_against_one(),
    "roc_auc_ovo_weighted": _one_against_one(weighted=True),
}
