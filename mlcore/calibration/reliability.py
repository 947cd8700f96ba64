"""Evidence for or against predicted probabilities, with intervals that hold for every model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.bounds.arguments import (
    as_choice,
    as_count,
    as_delta,
    as_real,
    as_reals,
    length_of,
    refuse,
)
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.report import for_terminal
from mlcore.bounds.held_out import clopper_pearson
from mlcore.bounds.metrics.metric_intervals import mean_loss_interval
from mlcore.checks import as_labels, declared_classes
from mlcore.estimator.tables import frame, table, text

Strategy = Literal["uniform", "quantile"]
_ROWS = 20  # largest number of bins shown
_SLACK = 1e-3  # by which a sum of probabilities may differ from 1
_ROUNDING = 2.0**-48


class Estimate(NamedTuple):
    """A number seen on examples, and the interval that holds the true one.

    Parameters
    ----------
    value : float
        The number seen.
    lower, upper : float
        Ends of the interval; infinite where the loss has no bound.

    Examples
    --------
    >>> from mlcore.calibration import reliability
    >>> found = reliability([0, 1] * 50, [0.2, 0.9] * 50)
    >>> round(found.brier.value, 3), round(found.brier.upper, 3)
    (0.025, 0.101)
    """

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities beside observed frequencies, made by `reliability`.

    Parameters
    ----------
    classes : tuple
        The class of each curve: the later of two classes, or every class.
    delta : float
        Probability that some interval of a bin, or of `calibration_error`, fails.
    curve : int64 (n_bins,)
        Index into `classes` of each bin that holds examples.
    sizes, positives : int64 (n_bins,)
        Numbers of examples in the bins, and of those of the class.
    predicted : float64 (n_bins,)
        Mean predicted probability in each bin.
    lower, upper : float64 (n_bins,)
        Ends of the intervals of the true frequencies.
    calibration_error : tuple of Estimate
        For each curve the mean, over the examples, of the distance in their bin between true
        frequency and mean prediction.
    brier : Estimate
        Mean squared distance of the probabilities from the labels, of new examples; from 0 to 1
        for two classes, and to 2 for more.
    log_loss : Estimate
        Mean negative logarithm of the true label's probability, of new examples, in nats.

    Examples
    --------
    >>> from mlcore.calibration import reliability
    >>> found = reliability([0, 1] * 50, [0.2, 0.9] * 50, n_bins=2)
    >>> found.frequency.tolist(), round(found.calibration_error[0].value, 3)
    ([0.0, 1.0], 0.15)
    """

    classes: tuple[Any, ...]
    delta: float
    curve: np.ndarray
    sizes: np.ndarray
    positives: np.ndarray
    predicted: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    calibration_error: tuple[Estimate, ...]
    brier: Estimate
    log_loss: Estimate

    @property
    def frequency(self) -> np.ndarray:
        """Share of examples of the class in each bin, (n_bins,)."""
        return self.positives / self.sizes

    def _bins(self):
        columns: dict[str, Sequence[Any]] = {
            "class": [self.classes[k] for k in self.curve],
            "examples": self.sizes.tolist(),
            "predicted": self.predicted.tolist(),
            "observed": self.frequency.tolist(),
            "at least": self.lower.tolist(),
            "at most": self.upper.tolist(),
        }
        return columns

    def _columns(self):
        if len(self.classes) == 1:
            return self._bins()
        ends = zip(*self.calibration_error, strict=True)
        names = ("calibration error", "at least", "at most")
        columns = dict(zip(names, map(list, ends), strict=True))
        return {"class": list(self.classes), **columns}

    def _sentences(self):
        yield (
            f"With probability at least {1 - self.delta:.6g} the true frequencies of all bins are "
            "inside of their intervals at once."
        )
        if len(self.classes) == 1:
            yield f"So is the calibration error, {_in_words(self.calibration_error[0])}."
        yield (
            f"Each at that probability by itself: Brier score {_in_words(self.brier)}, "
            f"log loss {_in_words(self.log_loss)}."
        )

    def __repr__(self) -> str:
        return text(self._columns(), most=_ROWS) + "\n" + for_terminal(*self._sentences())

    def _repr_html_(self) -> str:
        return table(self._columns(), title=for_terminal(*self._sentences()))

    def to_frame(self) -> Any:
        """Return the bins as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            Indexed by the class.
        """
        return frame(self._bins(), index="class")


def reliability(
    y: Any,
    probabilities: Any,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    delta: float = 0.05,
    clip: float | None = None,
    classes: Any = None,
) -> Reliability:
    r"""Compare predicted probabilities with observed frequencies, bin by bin.

    Given the predictions, the labels of a bin are independent, each with a true probability of its
    own; the bin's frequency is the mean of these. The intervals are those of `clopper_pearson` at
    :math:`\delta / B` for B bins of all classes, with ends at least 1 / n beside the observed
    frequency of n examples: of all sums of independent labels with this mean the binomial one has
    the heaviest tails there (Hoeffding, 1956). So bins may be chosen by the predictions. The
    calibration error of the examples, :math:`\sum_b (n_b / n) |f_b - \bar p_b|` with true
    frequencies f, lies between its least and its largest value for frequencies inside of the
    intervals. Intervals of the Brier score and of the log loss are those of `mean_loss_interval`,
    and hold for new examples, each at :math:`1 - \delta` by itself.

    Assumes that the examples are independent draws from one distribution, and that none was used
    to fit, to choose or to calibrate the model.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    probabilities : array-like of shape (n,) or (n, n_classes)
        Of the later of two classes, or of each class: rows that sum to 1. To judge the most
        probable class alone, pass ``prediction == y`` as `y` and its probability.
    n_bins : int, default=10
        Bins of each class; those without examples are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of about as many examples each.
    delta : float in (0, 1), default=0.05
        Probability that an interval fails, of all bins together.
    clip : float in (0, 1/2], optional
        Smallest probability that counts in the log loss, chosen beforehand. Without it the loss
        has no bound, and its interval is from 0 to infinity.
    classes : array-like of shape (n_classes,), optional
        All labels, if some may be absent from `y`.

    Returns
    -------
    found : Reliability
        Prints as a table. O(n) time and memory for each class, O(n log n) for quantiles.

    Raises
    ------
    ValueError
        For probabilities outside of [0, 1], rows that do not sum to 1, and another number of
        classes.

    References
    ----------
    W. Hoeffding, *On the distribution of the number of successes in independent trials*, Annals of
    Mathematical Statistics 27, 1956, Theorem 4.
    A. Kumar, P. Liang, T. Ma, *Verified uncertainty calibration*, Advances in Neural Information
    Processing Systems 32, 2019 (calibration errors of bins).

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.calibration import reliability
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.random(4000)
    >>> y = rng.random(4000) < probability**2
    >>> found = reliability(y, probability, n_bins=4)
    >>> found.upper.round(2).tolist(), round(found.calibration_error[0].lower, 2)
    ([0.04, 0.2, 0.44, 0.77], 0.14)
    """
    P = as_reals(probabilities, "probabilities", at_least=0, at_most=1)
    if P.ndim not in (1, 2) or not len(P) or (P.ndim == 2 and P.shape[1] < 2):
        allowed = "of shape (n,) or (n, n_classes), for at least one example and two classes"
        refuse("probabilities", f"an array of shape {P.shape}", allowed)
    names, codes = _coded(y, len(P), 2 if P.ndim == 1 else P.shape[1], classes)
    if P.ndim == 2 and not (np.abs(P.sum(axis=1) - 1) <= _SLACK).all():
        worst = float(P.sum(axis=1)[np.argmax(np.abs(P.sum(axis=1) - 1))])
        refuse("probabilities", f"a row of sum {worst:g}", "rows that sum to 1")
    n_bins = as_count(n_bins, "n_bins", at_least=1, at_most=2**20)
    as_choice(strategy, "strategy", get_args(Strategy))
    delta = as_real(as_delta(delta), "delta", at_least=2.0**-1000)
    warn_of_confidence(delta)
    if clip is not None:
        clip = as_real(clip, "clip", above=0, at_most=0.5)
    # A curve for the later of two classes, or for each.
    if len(names) == 2:
        P = P if P.ndim == 1 else P[:, 1]
        curves = [(1, P)]
    else:
        curves = [(k, P[:, k]) for k in range(len(names))]
    cells = [_cells(p, codes == k, n_bins, strategy) for k, p in curves]
    n_cells = sum(len(sizes) for sizes, _, _ in cells)
    curve = np.repeat(np.arange(len(cells)), [len(sizes) for sizes, _, _ in cells])
    sizes, positives, predicted = (np.concatenate(parts) for parts in zip(*cells, strict=True))
    lower, upper = clopper_pearson(positives, sizes, delta / n_cells)
    lower = np.minimum(lower, np.maximum(positives - 1, 0) / sizes)
    upper = np.maximum(upper, np.minimum(positives + 1, sizes) / sizes)
    errors = tuple(
        _calibration_error(*(a[curve == k] for a in (sizes, positives, predicted, lower, upper)))
        for k in range(len(cells))
    )
    brier, log_loss = _losses(P, codes, delta, clip)
    return Reliability(
        tuple(names[k] for k, _ in curves),
        delta, curve, sizes, positives, predicted, lower, upper, errors, brier, log_loss,
    )  # fmt: skip


def _coded(y, n, n_classes, classes):
    """Return the labels of the columns as a list, and the place of each example's label."""
    labels, codes = as_labels(y, n)
    if classes is not None:
        if length_of(classes) != n_classes or getattr(classes, "ndim", 1) != 1:
            refuse("classes", classes, f"{n_classes} labels")
        known = declared_classes(classes)
        places = {label: place for place, label in enumerate(known.tolist())}
        unknown = [label for label in labels.tolist() if label not in places]
        if unknown:
            refuse("y", unknown[0], f"one of classes={known.tolist()}")
        codes = np.array([places[label] for label in labels.tolist()], dtype=np.intp)[codes]
        labels = known
    elif len(labels) != n_classes:
        refuse("y", f"{len(labels)} classes", f"labels of {n_classes} classes, or classes given")
    return labels.tolist(), codes


def _cells(p, positive, n_bins, strategy):
    """Return numbers of examples, of positive ones, and mean predictions of bins that hold any."""
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.unique(np.quantile(p, edges))
    bins = np.searchsorted(edges[1:-1], p, side="right")
    sizes = np.bincount(bins)
    used = sizes > 0
    sums = np.bincount(bins, weights=p)[used]
    positives = np.bincount(bins[positive], minlength=len(sizes))[used]
    sizes = sizes[used]
    return sizes, positives, np.minimum(sums / sizes, 1)


def _calibration_error(sizes, positives, predicted, lower, upper):
    share = sizes / sizes.sum()
    seen = float(share @ np.abs(positives / sizes - predicted))
    least = float(share @ np.maximum(np.maximum(lower - predicted, predicted - upper), 0))
    most = float(share @ np.maximum(upper - predicted, predicted - lower))
    return Estimate(seen, least * (1 - _ROUNDING), min(most * (1 + _ROUNDING), 1.0))


def _losses(P, codes, delta, clip):
    """Return the Brier score and the log loss with their intervals."""
    if P.ndim == 1:
        squares, of_label = (P - codes) ** 2, np.where(codes == 1, P, 1 - P)
        value_range = 1.0
    else:
        of_label = P[np.arange(len(P)), codes]
        squares = np.einsum("ij,ij->i", P, P) - of_label**2 + (1 - of_label) ** 2
        value_range = 2.0 * (1 + _SLACK) ** 2
    squares = np.clip(squares, 0, value_range)
    brier = Estimate(
        float(squares.mean()), *mean_loss_interval(squares, delta, value_range=value_range)
    )
    if clip is not None:
        of_label = np.maximum(of_label, clip)
    with np.errstate(divide="ignore"):
        losses = np.maximum(-np.log(of_label), 0)
    ends = (0.0, np.inf)
    if clip is not None:
        largest = float(-np.log(clip)) * (1 + _ROUNDING)
        ends = mean_loss_interval(losses, delta, value_range=largest)
    return brier, Estimate(float(losses.mean()), *ends)


def _in_words(estimate):
    return f"{estimate.value:.4g} (between {estimate.lower:.4g} and {estimate.upper:.4g})"
