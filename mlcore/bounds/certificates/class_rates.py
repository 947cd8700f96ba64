"""Bounds on the recall, error and precision of each class."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mlcore.bounds.held_out import binomial_tail_inversion_lower


class ClassRates(NamedTuple):
    """Bounds for one class, from fresh examples.

    Parameters
    ----------
    label : object
        The class.
    examples, predicted, right : int
        Number of examples of the class, of examples predicted to be, and of those that are both.
    recall : float
        Lower bound on the probability that an example of the class is predicted to be.
    error : float
        Upper bound on the probability that it is not: 1 - `recall`.
    precision : float
        Lower bound on the probability that an example predicted to be of the class is.

    Examples
    --------
    >>> from mlcore.bounds import certify
    >>> certificate = certify([0] * 90 + [1] * 10, y=[0] * 88 + [1] * 12)
    >>> for rates in certificate.classes:
    ...     print(rates.label, rates.right, rates.examples, round(rates.recall, 2))
    0 88 88 0.95
    1 10 12 0.47
    """

    label: Any
    examples: int
    predicted: int
    right: int
    recall: float
    error: float
    precision: float


def rates_of_classes(y: np.ndarray, predicted: np.ndarray, delta: float) -> tuple[ClassRates, ...]:
    """Bound recall, error and precision of every class; one of them fails with at most `delta`.

    The numbers are binomial given the labels, or the predictions: half of delta is for each kind,
    divided among its classes. The recall of a class without examples is 0.
    """
    right, examples, predictions = counts_of(y, predicted)
    labels = in_order(examples | predictions)
    hits = [right[label] for label in labels]
    recall = _lower(hits, [examples[label] for label in labels], delta)
    precision = _lower(hits, [predictions[label] for label in labels], delta)
    return tuple(
        ClassRates(
            label,
            examples[label],
            predictions[label],
            right[label],
            float(recall[i]),
            min(1.0, math.nextafter(1 - float(recall[i]), 2)),
            float(precision[i]),
        )
        for i, label in enumerate(labels)
    )


def counts_of(y: np.ndarray, predicted: np.ndarray) -> tuple[Counter[Any], ...]:
    """Return by label the numbers of right predictions, of examples, and of predictions."""
    truth, guesses = y.tolist(), predicted.tolist()
    right = Counter(a for a, b in zip(truth, guesses, strict=True) if a == b)
    return right, Counter(truth), Counter(guesses)


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Return labels sorted, those of several types by their text."""
    try:
        return sorted(labels)
    except TypeError:  # of several types
        return sorted(labels, key=str)


def _lower(hits, counts, delta):
    hits, counts = np.array(hits), np.array(counts)
    present = counts > 0
    part = math.nextafter(delta / 2 / max(1, int(present.sum())), 0)
    bounds = np.zeros(len(counts))
    bounds[present] = binomial_tail_inversion_lower(hits[present], counts[present], part)
    return bounds
