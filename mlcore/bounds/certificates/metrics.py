"""Intervals of the metrics that a certificate reports together, at equal shares of one delta."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.bounds.arguments import is_single, refuse
from mlcore.bounds.certificates.class_rates import counts_of, in_order
from mlcore.bounds.certificates.losses import NAMES, Loss, numbers_in
from mlcore.bounds.held_out import clopper_pearson
from mlcore.bounds.metrics.metric_intervals import (
    auc_interval,
    f1_interval,
    jaccard_interval,
    mean_loss_interval,
    pairs_won,
    r2_interval,
)

MetricName = Literal[
    "auc", "coverage", "error", "f1", "jaccard", "mae", "mse", "precision", "r2", "recall"
]
_OF_CLASSES = ("auc", "f1", "jaccard", "precision", "recall")
_OF_NUMBERS = ("mae", "mse", "r2")
_EXACT = "Clopper, Pearson, 1934."
_PAIRS = "Hoeffding, 1963, section 5b; Bentkus, 2004."
_MEANS = "Bates, Angelopoulos, Lei, Malik, Jordan, 2021; Bernstein, 1946; Hoeffding, 1963."


class MetricInterval(NamedTuple):
    """Interval of one metric, from fresh examples.

    Parameters
    ----------
    name : str
        Name of the metric, such as "f1".
    label : object
        Class that counts as positive; None for metrics of all classes and of numbers.
    estimate : float or None
        Value on the examples; None where it is undefined, as the recall of an absent class.
    lower, upper : float
        Ends of the interval.
    delta : float
        Probability that the interval fails.
    m : int
        Number of examples that the interval rests on.
    reference : str
        Author, work, year.

    Examples
    --------
    >>> from mlcore.bounds import certify
    >>> y, predicted = [0] * 50 + [1] * 50, [0] * 48 + [1] * 52
    >>> for metric in certify(predicted, y=y, metrics=["f1", "recall"]).metrics:
    ...     print(metric.name, *(round(x, 3) for x in metric[2:5]))
    f1 0.98 0.921 0.998
    recall 1.0 0.916 1.0
    """

    name: str
    label: Any
    estimate: float | None
    lower: float
    upper: float
    delta: float
    m: int
    reference: str


class Measured(NamedTuple):
    """Fresh examples and predictions that metrics are measured on.

    `answered` (n,) is True for the examples that are left after abstentions, else None; `model` and
    `X`, of all examples, give scores.
    """

    y: np.ndarray
    predicted: np.ndarray
    answered: np.ndarray | None
    model: Any
    X: Any
    loss: Loss | None


def as_metrics(metrics: Any, loss: Loss | None, rejects: bool) -> tuple[str, ...]:
    """Return names of metrics that are defined for this loss, all different."""
    if metrics is None:
        return ("coverage", "error") if rejects else ()
    if loss is None:
        allowed = ("error", *_OF_CLASSES, *(("coverage",) if rejects else ()))
    elif loss.name in NAMES and loss.targets is not None:
        allowed = _OF_NUMBERS
    else:
        refuse("metrics", metrics, f"None with a loss other than {' and '.join(NAMES)}")
    expected = "a list of different names of " + ", ".join(sorted(allowed))
    if isinstance(metrics, (str, bytes)) or not isinstance(metrics, Sequence) or not metrics:
        refuse("metrics", metrics, expected)
    for name in metrics:
        if not isinstance(name, str) or name not in allowed:
            other = isinstance(name, str) and name in get_args(MetricName)
            hint = _why(name) if other else ""
            refuse("metrics", name, expected + hint)
    if len(set(metrics)) < len(metrics):
        refuse("metrics", metrics, expected)
    return tuple(metrics)


def _why(name):
    if name in _OF_NUMBERS:
        return ', or of mae, mse and r2 with loss="absolute" or "squared"'
    return ", and coverage with reject=" if name == "coverage" else ""


def answered_by(predicted: np.ndarray, y: np.ndarray, reject: Any) -> np.ndarray:
    """Return a mask of the predictions that are not `reject`, of which there must be one."""
    if not is_single(reject) or reject != reject:
        refuse("reject", reject, "the one prediction that stands for no answer")
    if any(label == reject for label in y.tolist()):
        refuse("reject", reject, "no label of y: it stands for no answer")
    answered = np.array([label != reject for label in predicted.tolist()], dtype=bool)
    if not answered.any():
        refuse("reject", reject, "not all predictions: there is no answer to be judged")
    return answered


def rows_of(names: Sequence[str], data: Measured, positive: Any) -> list[tuple[str, Any]]:
    """Return metrics and the classes that they are of, whose number no sample must change."""
    if not set(names) & set(_OF_CLASSES):
        if positive is not None:
            refuse("positive", positive, "None without a metric of a class")
        return [(name, None) for name in names]
    labels = _labels(data, positive)
    return [
        (name, label) for name in names for label in (labels if name in _OF_CLASSES else (None,))
    ]


def _labels(data, positive):
    own = getattr(data.model, "classes_", None)
    if own is None:
        classes = in_order(set(data.y.tolist()) | set(data.predicted.tolist()))
    else:
        classes = np.asarray(own).tolist()
    if positive is not None:
        if not is_single(positive) or positive not in classes:
            refuse("positive", positive, f"one of the {len(classes)} classes")
        return (positive,)
    if len(classes) == 2:
        return (classes[1],)
    if own is None:
        allowed = "one of the classes: predictions do not show how many there are, other than two"
        refuse("positive", positive, allowed)
    return tuple(classes)


def intervals_of(
    rows: Sequence[tuple[str, Any]], data: Measured, delta: float
) -> tuple[MetricInterval, ...]:
    """Return the interval of each row, which fails with probability at most `delta`."""
    columns = _scores(data) if any(name == "auc" for name, _ in rows) else None
    counts = counts_of(data.y, data.predicted)
    found = []
    for name, label in rows:
        if name in _OF_NUMBERS:
            measured = _of_numbers(name, data, delta)
        elif name == "auc":
            measured = _auc(columns[label], data.y, label, delta)
        else:
            measured = _of_counts(name, label, data, counts, delta)
        found.append(MetricInterval(name, label, *measured[:-2], delta, *measured[-2:]))
    return tuple(found)


def _of_counts(name, label, data, counts, delta):
    """Return the estimate, both ends, the number of examples and the reference."""
    if name == "coverage":
        return *_rate(int(data.answered.sum()), len(data.answered), delta), _EXACT
    if name == "error":
        return *_rate(int((data.predicted != data.y).sum()), len(data.y), delta), _EXACT
    hits, examples, named = (of_label[label] for of_label in counts)
    if name in ("recall", "precision"):
        return *_rate(hits, examples if name == "recall" else named, delta), _EXACT
    interval, weight = (f1_interval, 2) if name == "f1" else (jaccard_interval, 1)
    total = examples + named - hits  # all but the true negatives
    estimate = weight * hits / (total + (weight - 1) * hits) if total else None
    return estimate, *interval(hits, named - hits, examples - hits, delta), total, _EXACT


def _rate(k, m, delta):
    return (k / m, *clopper_pearson(k, m, delta), m) if m else (None, 0.0, 1.0, 0)


def _of_numbers(name, data, delta):
    low, high = data.loss.targets
    y, predicted = numbers_in(data.loss.targets, data.y, data.predicted)
    if name == "r2":
        variance = float(np.var(y))
        error = float(np.mean((y - predicted) ** 2))
        ends = r2_interval(y, predicted, delta, value_range=(low, high))
        return 1 - error / variance if variance > 0 else None, *ends, len(y), _MEANS
    losses = np.abs(y - predicted) ** (2 if name == "mse" else 1)
    largest = (high - low) ** (2 if name == "mse" else 1)
    ends = mean_loss_interval(losses, delta, value_range=largest)
    return float(losses.mean()), *ends, len(y), _MEANS


def _auc(scores, y, label, delta):
    true = np.array([other == label for other in y.tolist()], dtype=bool)
    r = min(int(true.sum()), int((~true).sum()))
    if r == 0:
        return None, 0.0, 1.0, 0, _PAIRS
    won, pairs = pairs_won(scores[true], scores[~true])
    return won / pairs, *auc_interval(scores[true], scores[~true], delta), r, _PAIRS


def _scores(data):
    """Return the scores of the answered examples for each class, by its label."""
    classes = getattr(data.model, "classes_", None)
    if classes is not None:
        labels = np.asarray(classes).tolist()
        for name in ("decision_function", "predict_proba"):
            if callable(method := getattr(data.model, name, None)):
                values = np.asarray(method(data.X))
                if values.ndim == 1 and len(labels) == 2:
                    values = np.column_stack([-values, values])
                if values.ndim == 2 and values.shape[1] == len(labels):
                    values = values if data.answered is None else values[data.answered]
                    return dict(zip(labels, values.T, strict=True))
    refuse(
        "metrics",
        "auc",
        "of a classifier with classes_ and decision_function or predict_proba; of scores there "
        "is auc_interval",
    )
