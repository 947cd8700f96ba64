"""Certificates, the result of `certify`: bounds with their assumptions."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

from mlcore.bounds.arguments import as_rate, as_real, refuse
from mlcore.bounds.certificates.class_rates import ClassRates
from mlcore.bounds.certificates.metrics import MetricInterval
from mlcore.bounds.certificates.report import as_html, as_text, in_words
from mlcore.bounds.held_out import test_set_sample_size
from mlcore.estimator.tables import frame

BINOMIAL = "binomial test-set bound"
_NEARBY = 500  # numbers of errors tried below the one found, enough up to a billion examples

Role = Literal["test", "validation", "train"]


@dataclass(frozen=True)
class Bound:
    """One bound on the true error, with its assumptions.

    Parameters
    ----------
    name : str
        Name, such as "binomial test-set bound".
    value : float
        Value, also ``float(bound)``.
    delta : float or None
        Probability that this bound fails; None where there is no guarantee.
    kind : {"upper", "lower", "expected", "heuristic"}
        The last two are no guarantees.
    sample : {"test", "validation", "train", "stream"}
        Examples that the numbers were counted on.
    inputs : mapping
        Numbers in the formula, such as ``{"k": 30, "m": 1000}``.
    assumptions : tuple of str
        Sentences.
    reference : str
        Author, work, year.

    Examples
    --------
    >>> from mlcore.bounds import Bound
    >>> bound = Bound("by hand", 0.04, 0.05, "upper", "test", {"m": 1000}, ("A coin.",), "")
    >>> float(bound), bound.vacuous, bound.trivial
    (0.04, False, False)
    """

    name: str
    value: float
    delta: float | None
    kind: Literal["upper", "lower", "expected", "heuristic"]
    sample: Role | Literal["stream"]
    inputs: Mapping[str, Any] = field(hash=False)
    assumptions: tuple[str, ...]
    reference: str

    @property
    def vacuous(self) -> bool:
        """True for a bound without information, at the end of the range of errors or losses."""
        low, high = self.inputs.get("value_range", (0.0, 1.0))
        return self.value <= low if self.kind == "lower" else self.value >= high

    @property
    def trivial(self) -> bool:
        """True for an upper bound of 1/2 or more on an error rate, that of a fair coin."""
        return self.kind != "lower" and "value_range" not in self.inputs and self.value >= 0.5

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Certificate:
    """Bounds on the true error of a classifier, made by `certify` and printed as a report.

    Parameters
    ----------
    estimator : str
        Name of its class.
    role : {"test", "validation", "train"}
        Earlier use of the examples.
    delta : float
        Probability that a statement of the certificate fails.
    n_candidates : int
        Number of classifiers among which this one was chosen, each at its part of `delta`.
    simultaneous : bool
        True if all upper bounds, and so the smallest, hold together at confidence 1 - delta.
    inputs : mapping
        Counts: "k" errors on "m" examples, or the "mean_loss", its "value_range" and "m"; with
        abstentions the number "rejected" beside these m.
    bounds : tuple of Bound
        Upper bounds, smallest first.
    interval : tuple of two Bound, or None
        Lower and upper bound that hold together at 1 - delta, from fresh examples.
    heuristics : tuple of Bound
        Estimates without a guarantee.
    left_out : tuple of str
        Reasons why other bounds are absent.
    target : float or None
        Error rate that the report plans for.
    classes : tuple of ClassRates
        Recall, error and precision of each class, from fresh examples. All of them hold together
        at 1 - delta, in place of `bounds`.
    unsure : str or None
        Doubts whether the examples are fresh; the report begins with them.
    metrics : tuple of MetricInterval
        Intervals of the metrics that were asked for. All of them hold together at 1 - delta, in
        place of `bounds` and `classes`.

    Examples
    --------
    >>> from mlcore.bounds import certify
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.svm import SVC
    >>> X, y = load_digits()
    >>> machine = SVC(C=10).fit(X[:900], y[:900])
    >>> certificate = certify(machine, X[900:], y[900:])
    >>> certificate.best.name, certificate.best.delta
    ('binomial test-set bound', 0.05)
    >>> certificate.lower.value < certificate.best.value < 0.05
    True
    """

    estimator: str
    role: Role
    delta: float
    n_candidates: int
    simultaneous: bool
    inputs: Mapping[str, Any] = field(hash=False)
    bounds: tuple[Bound, ...]
    interval: tuple[Bound, Bound] | None
    heuristics: tuple[Bound, ...]
    left_out: tuple[str, ...]
    target: float | None = None
    classes: tuple[ClassRates, ...] = ()
    unsure: str | None = None
    metrics: tuple[MetricInterval, ...] = ()

    @property
    def best(self) -> Bound:
        """Smallest upper bound."""
        return self.bounds[0]

    @property
    def lower(self) -> Bound | None:
        """Lower end of `interval`; None without fresh examples."""
        return None if self.interval is None else self.interval[0]

    def required(self, target: float, *, error_rate: float | None = None) -> float:
        """Count the fresh examples after which the binomial bound is at most `target`.

        Parameters
        ----------
        target : float in (0, 1)
        error_rate : float in [0, 1], optional
            Error rate on them, rounded up to whole errors; by default the observed one.

        Returns
        -------
        m : int
            Least number (above a billion, a number near it); infinite if `target` is not above
            the error rate.

        Raises
        ------
        ValueError
            For arguments out of range, and if losses were certified, not errors.
        """
        target = as_real(target, "target", above=0, below=1)
        if "k" not in self.inputs:
            refuse("target", target, "None where a loss is certified: it counts errors")
        if error_rate is None:
            rate = Fraction(self.inputs["k"], self.inputs["m"])
        else:
            rate = Fraction(as_rate(error_rate, "error_rate"))
        if Fraction(target) <= rate:
            return math.inf
        fresh = [bound for bound in self.bounds if bound.name == BINOMIAL]
        return _least_sample(target, fresh[0].delta if fresh else self.delta, rate)

    def summary(self) -> str:
        """Return the certificate in a sentence or two.

        Returns
        -------
        text : str
            Plain sentences.
        """
        return in_words(self)

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_frame(self) -> Any:
        """Return the bounds and the intervals of metrics as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            Columns "class", "observed", "at least", "at most", "delta" and "on", indexed by the
            names of the bounds and metrics. Either part holds by itself.
        """
        rows = [
            (bound.name, None, None, None, bound.value, bound.delta, bound.sample)
            for bound in self.bounds
        ] + [
            (row.name, row.label, row.estimate, row.lower, row.upper, row.delta, self.role)
            for row in self.metrics
        ]
        names = ("bound", "class", "observed", "at least", "at most", "delta", "on")
        return frame(
            {name: [row[i] for row in rows] for i, name in enumerate(names)}, index="bound"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings, as JSON takes them.

        Returns
        -------
        plain : dict
            By the names of the attributes.
        """
        return _plain(asdict(self))


def _least_sample(target, delta, rate):
    """Return the least m at which ceil(rate m) errors have a binomial bound of at most `target`.

    It is M(k) for the first k with M(k) rate <= k, M(k) being the size for k errors.
    """

    def size(k):
        return test_set_sample_size(target, delta, k=k)

    if rate == 0:
        return size(0)
    low, high = 0, 1
    while size(high) * rate > high:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if size(middle) * rate > middle:
            low = middle
        else:
            high = middle
    lowest = max(0, low - _NEARBY)
    while low > lowest and (size(low) - 1) * rate <= low:
        if size(low) * rate <= low:
            high = low
        low -= 1
    return size(high)


def _plain(value):
    if isinstance(value, (ClassRates, MetricInterval)):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in value]
    return value
