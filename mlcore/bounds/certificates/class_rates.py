"""Bounds for each class: its recall, its error, and the precision of its label."""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from mlcore.bounds.held_out import binomial_tail_inversion_lower


class ClassRates(NamedTuple):
    """Bounds for one class, from fresh examples.

    Attributes
    ----------
    label : object
        The class.
    examples, predicted, right : int
        Examples of the class, examples named so, and those that are both.
    recall : float
        Lower bound on the probability that an example of the class is named so.
    error : float
        Upper bound on the probability that it is not: 1 less `recall`.
    precision : float
        Lower bound on the probability that an example named so is of the class.

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
    """Bound recall, error and precision of every class, which fail together with at most `delta`.

    Given the labels, the right predictions among the examples of a class are binomial, and given
    the predictions, so are the right ones among those of a label. Half of delta is shared by the
    classes that have examples, and half by the labels that are predicted: both numbers are known
    once what is conditioned on is. A class without examples has no recall to bound: 0.
    """
    truth, said = y.tolist(), predicted.tolist()
    right = Counter(a for a, b in zip(truth, said, strict=True) if a == b)
    examples, named = Counter(truth), Counter(said)
    labels = _in_order(examples | named)
    hits = [right[label] for label in labels]
    recall = _lower(hits, [examples[label] for label in labels], delta)
    precision = _lower(hits, [named[label] for label in labels], delta)
    return tuple(
        ClassRates(
            label,
            examples[label],
            named[label],
            right[label],
            float(recall[i]),
            min(1.0, math.nextafter(1 - float(recall[i]), 2)),
            float(precision[i]),
        )
        for i, label in enumerate(labels)
    )


def _in_order(labels):
    try:
        return sorted(labels)
    except TypeError:  # of several types
        return sorted(labels, key=str)


def _lower(hits, counts, delta):
    hits, counts = np.array(hits), np.array(counts)
    present = counts > 0
    share = math.nextafter(delta / 2 / max(1, int(present.sum())), 0)
    bounds = np.zeros(len(counts))
    bounds[present] = binomial_tail_inversion_lower(hits[present], counts[present], share)
    return bounds
