"""Comparison of two models on the same fresh examples, by errors or by another loss."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count, as_delta, as_real, refuse
from mlcore.bounds.calculator import calculator, warn_of_confidence
from mlcore.bounds.certificates.classifiers import as_classifier, labels_of
from mlcore.bounds.certificates.freshness import unsure_of
from mlcore.bounds.certificates.losses import LossName, as_loss, mean_of
from mlcore.bounds.certificates.report import for_terminal, to_safe_side
from mlcore.bounds.concentration.binomial_tail import binomial_tail
from mlcore.bounds.held_out import clopper_pearson
from mlcore.bounds.metrics.bounded_mean import mean_interval, moments_of, on_range

_OF_RATE = 0.2  # part of delta for q; nearly the shortest interval for b + c from 20 to 500


@calculator("b", "c")
def mcnemar_test(b: Any, c: Any) -> Any:
    r"""Exact p-value of McNemar's test that two classifiers err equally often.

    Of the examples that just one classifier gets wrong, b are errors of the first and c of the
    second. If both have the same true error, then b given b + c is binomial with probability 1/2:
    the p-value is
    :math:`\min(1, 2 P(\mathrm{Bin}(b + c, 1/2) \le \min(b, c)))`. It is at most alpha with
    probability at most alpha, at any sample size. Assumes independent examples that took no part in
    fitting or choosing either classifier.

    Parameters
    ----------
    b, c : int or array
        Examples that only the first gets wrong, and only the second; at least 0.

    Returns
    -------
    p_value : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
    percentages*, Psychometrika 12, 1947.

    Examples
    --------
    >>> from mlcore.bounds import mcnemar_test
    >>> round(mcnemar_test(30, 15), 4)
    0.0357
    >>> mcnemar_test(0, 0)
    1.0
    """
    b, c = as_count(b, "b"), as_count(c, "c")
    return min(1.0, 2 * binomial_tail(min(b, c), b + c, 0.5)) if b + c else 1.0


@calculator("b", "c", "m", "delta")
def error_difference_interval(b: Any, c: Any, m: Any, delta: Any) -> tuple[Any, Any]:
    r"""Interval for the difference of the errors of two classifiers, from the same examples.

    With probability at least :math:`1 - \delta` it contains the true error of the first minus that
    of the second, which is :math:`q (2 \pi - 1)`: q is the probability that just one of them is
    wrong, and :math:`\pi` that it is then the first. Of m examples, b + c is binomial with
    probability q, and b given b + c with probability :math:`\pi`. The interval is the range of the
    product over the intervals of Clopper and Pearson for q, at :math:`\delta / 5`, and for
    :math:`\pi`, at :math:`4 \delta / 5`: both hold at once by a union bound. It excludes 0 if and
    only if `mcnemar_test` is below :math:`4 \delta / 5`.

    Assumes independent examples that took no part in fitting or choosing either classifier.

    Parameters
    ----------
    b, c : int or array
        Examples that only the first gets wrong, and only the second; at least 0.
    m : int or array
        All examples, at least 1 and at least b + c.
    delta : float in (0, 1), or array
        Probability that either end fails.

    Returns
    -------
    lower, upper : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.
    Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
    percentages*, Psychometrika 12, 1947 (b is binomial given b + c).

    Examples
    --------
    >>> from mlcore.bounds import error_difference_interval
    >>> lower, upper = error_difference_interval(30, 15, 1000, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.00021, 0.03947)
    """
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    b = as_count(b, "b", at_most=m)
    c = as_count(c, "c", at_most=m - b)
    least, most = clopper_pearson(b + c, m, max(delta * _OF_RATE, 5e-324))
    first, last = clopper_pearson(b, b + c, delta * (1 - _OF_RATE)) if b + c else (0.0, 1.0)
    low, high = 2 * first - 1, 2 * last - 1
    lower = low * (least if low > 0 else most)
    upper = high * (most if high > 0 else least)
    # Two roundings, of the difference and of the product: two steps to the safe side.
    return (
        max(-1.0, float(np.nextafter(np.nextafter(lower, -math.inf), -math.inf))),
        min(1.0, float(np.nextafter(np.nextafter(upper, math.inf), math.inf))),
    )


@dataclass(frozen=True)
class Comparison:
    """Difference of two classifiers on the same examples, made by `compare_classifiers`.

    Parameters
    ----------
    names : tuple of two str
    delta : float
        Probability that the interval fails.
    counts : mapping
        "both", "first", "second" and "neither": numbers of examples by who gets them wrong.
    difference : float
        Observed error rate of the first minus that of the second.
    lower, upper : float
        Interval for the difference of the true errors.
    p_value : float
        p-value of McNemar's exact test that both err equally often.
    unsure : str or None
        Doubts whether the examples are fresh; the report begins with them.

    Examples
    --------
    >>> from mlcore.bounds import compare_classifiers
    >>> found = compare_classifiers([1] * 90 + [0] * 10, [1] * 100, y=[1] * 100)
    >>> found.difference, found.lower > 0
    (0.1, True)
    """

    names: tuple[str, str]
    delta: float
    counts: Mapping[str, int]
    difference: float
    lower: float
    upper: float
    p_value: float
    unsure: str | None = None

    def summary(self) -> str:
        """Return the comparison in a few sentences.

        Returns
        -------
        text : str
            Plain sentences.
        """
        first, second = self.names
        low, high = _shown(self)
        text = "" if self.unsure is None else f"{self.unsure} "
        return text + (
            f"With probability at least {1 - self.delta:.6g} the true error of {first} less that "
            f"of {second} is between {low} and {high}: {_verdict(self)}. Of "
            f"{sum(self.counts.values())} examples only {first} is wrong on "
            f"{self.counts['first']}, only {second} on {self.counts['second']}, both on "
            f"{self.counts['both']}; that both err equally often has the p-value "
            f"{self.p_value:.3g}."
        )

    def __str__(self) -> str:
        return for_terminal(
            self.summary(),
            "Examples are independent draws, and took no part in fitting or choosing either "
            "classifier. Of several comparisons each needs its share of delta.",
            "McNemar, 1947, exact; Clopper, Pearson, 1934, with a union bound.",
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings, as JSON takes them.

        Returns
        -------
        plain : dict
            By the names of the attributes.
        """
        return asdict(self) | {"names": list(self.names), "counts": dict(self.counts)}


def compare_classifiers(
    first: Any, second: Any, X: Any = None, y: Any = None, *, delta: float = 0.05
) -> Comparison:
    """Compare the true errors of two classifiers on the same fresh examples.

    ``compare_classifiers(first, second, X, y)``, or of predictions
    ``compare_classifiers(first, second, y=y)``. From the examples that just one classifier
    gets right come the p-value of McNemar's exact test and `error_difference_interval`. If both
    make few errors, this is much sharper than two separate bounds.

    Parameters
    ----------
    first, second : object with `predict`, function, or array of predictions
        As in `certify`.
    X, y : array-like
        Examples that took no part in fitting or choosing either, and their true labels; predictions
        need no X.
    delta : float in (0, 1), default=0.05
        Probability that the interval fails.

    Returns
    -------
    comparison : Comparison
        Its text is a report.

    Raises
    ------
    ValueError
        For arguments out of range; for what is no classifier; for examples that a classifier was
        fitted to.

    References
    ----------
    Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
    percentages*, Psychometrika 12, 1947.

    Examples
    --------
    >>> from mlcore.bounds import compare_classifiers
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.svm import SVC
    >>> X, y = load_digits()
    >>> models = [SVC(kernel=name).fit(X[:600], y[:600]) for name in ("linear", "rbf")]
    >>> found = compare_classifiers(*models, X[600:], y[600:])
    >>> found.counts["first"], found.counts["second"], round(found.p_value, 3)
    (23, 17, 0.43)
    """
    delta = as_delta(delta)
    sources, names = _two(first, second, X)
    wrong, unsure = [], []
    for classifier in sources:
        labels, predicted = labels_of(classifier, X, y)
        wrong.append(predicted != labels)
        unsure.append(unsure_of(classifier, X, None, "test"))
    counts = {
        "both": int((wrong[0] & wrong[1]).sum()),
        "first": int((wrong[0] & ~wrong[1]).sum()),
        "second": int((wrong[1] & ~wrong[0]).sum()),
        "neither": int((~wrong[0] & ~wrong[1]).sum()),
    }
    b, c, m = counts["first"], counts["second"], len(labels)
    lower, upper = error_difference_interval(b, c, m, delta)
    warn_of_confidence(delta)
    return Comparison(
        names, delta, counts, (b - c) / m, lower, upper, mcnemar_test(b, c), unsure[0] or unsure[1]
    )


@dataclass(frozen=True)
class LossComparison:
    """Difference of the expected losses of two models, made by `compare_models`.

    Parameters
    ----------
    names : tuple of two str
    loss : str
        Name of the loss.
    delta : float
        Probability that the interval fails.
    m : int
        Number of examples.
    mean_losses : tuple of two float
        Observed mean losses.
    difference : float
        That of the first minus that of the second.
    lower, upper : float
        Interval for the difference of the expected losses.
    unsure : str or None
        Doubts whether the examples are fresh; the report begins with them.

    Examples
    --------
    >>> from mlcore.bounds import compare_models
    >>> y = [0.1, 0.2, 0.3, 0.4] * 100
    >>> found = compare_models([0.5] * 400, y, y=y, loss="absolute", value_range=(0, 1))
    >>> round(found.difference, 9), found.lower > 0
    (0.25, True)
    """

    names: tuple[str, str]
    loss: str
    delta: float
    m: int
    mean_losses: tuple[float, float]
    difference: float
    lower: float
    upper: float
    unsure: str | None = None

    def summary(self) -> str:
        """Return the comparison in a few sentences.

        Returns
        -------
        text : str
            Plain sentences.
        """
        first, second = self.names
        low, high = _shown(self)
        text = "" if self.unsure is None else f"{self.unsure} "
        return text + (
            f"With probability at least {1 - self.delta:.6g} the expected {self.loss} loss of "
            f"{first} less that of {second} is between {low} and {high}: {_verdict(self)}. On "
            f"{self.m} examples the means are {self.mean_losses[0]:.6g} and "
            f"{self.mean_losses[1]:.6g}."
        )

    def __str__(self) -> str:
        return for_terminal(
            self.summary(),
            "Examples are independent draws, and took no part in fitting or choosing either "
            "model; no loss is outside of value_range. Of several comparisons each needs its share "
            "of delta.",
            "Bates, Angelopoulos, Lei, Malik, Jordan, 2021; Bernstein, 1946; Hoeffding, 1963.",
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings, as JSON takes them.

        Returns
        -------
        plain : dict
            By the names of the attributes.
        """
        return asdict(self) | {"names": list(self.names), "mean_losses": list(self.mean_losses)}


def compare_models(
    first: Any,
    second: Any,
    X: Any = None,
    y: Any = None,
    *,
    loss: LossName | Callable[[Any, Any], Any],
    value_range: tuple[float, float] | None = None,
    delta: float = 0.05,
) -> LossComparison:
    """Compare the expected losses of two models on the same fresh examples.

    ``compare_models(first, second, X, y, loss="squared", value_range=(0, 10))``, or of predictions
    with ``y=y`` alone. The interval is that of `mean_loss_interval` for the differences of both
    losses, whose range is twice as long: where the models err on the same examples, differences
    vary little, and the empirical Bernstein bound makes it much sharper than two separate ones.

    Parameters
    ----------
    first, second : object with `predict`, function, or array of predictions
        Regressors or classifiers, as in `certify`.
    X, y : array-like
        Examples that took no part in fitting or choosing either, and their targets; predictions
        need no X.
    loss : {"absolute", "squared"} or callable
        ``loss(y, prediction)``, a loss of each example.
    value_range : (float, float), optional
        With a named loss the least and largest possible target, known beforehand, outside of which
        no prediction may be; with a callable the least and largest possible loss, by default
        (0, 1).
    delta : float in (0, 1), default=0.05
        Probability that the interval fails, at least 2**-1021.

    Returns
    -------
    comparison : LossComparison
        Its text is a report. O(m) time beside the predictions.

    Raises
    ------
    ValueError
        For arguments out of range; for what does not predict; for losses outside of their range;
        for examples that a model was fitted to.

    References
    ----------
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. I. Jordan, *Distribution-free, risk-controlling
    prediction sets*, Journal of the ACM 68, 2021.
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, section 5a.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.bounds import compare_models
    >>> y = np.linspace(0, 1, 5000)
    >>> found = compare_models(0.9 * y, 0.8 * y, y=y, loss="squared", value_range=(0, 1))
    >>> round(found.lower, 4), round(found.upper, 4), found.upper < 0
    (-0.0137, -0.0063, True)
    """
    delta = as_real(delta, "delta", at_least=2.0**-1021, below=1)
    measure = as_loss(loss, value_range)
    sources, names = _two(first, second, X, scored=True)
    losses, unsure = [], []
    for model in sources:
        targets, predicted = labels_of(model, X, y, scored=True)
        losses.append(measure(targets, predicted))
        unsure.append(unsure_of(model, X, None, "test"))
    low, high = measure.value_range
    length = high - low
    if math.isinf(2 * length):
        refuse("value_range", value_range, "of a length whose double is finite")
    differences = losses[0] - losses[1]
    lower, upper = on_range(
        mean_interval(moments_of(differences, -length, length), delta), -length, length
    )
    warn_of_confidence(delta)
    m = len(differences)
    means = mean_of(losses[0]), mean_of(losses[1])
    return LossComparison(
        names,
        measure.name,
        delta,
        m,
        means,
        mean_of(differences),
        lower,
        upper,
        unsure[0] or unsure[1],
    )


def _two(first, second, X, *, scored=False):
    """Return both sources of predictions, and names that differ."""
    both = (
        as_classifier(first, "first", scored=scored),
        as_classifier(second, "second", scored=scored),
    )
    if X is None and any(source.predict is not None for source in both):
        refuse("X", X, "the examples, for what is not an array of predictions")
    names = tuple(source.name for source in both)
    if names[0] == names[1]:
        names = f"{names[0]} (first)", f"{names[1]} (second)"
    return both, names


def _shown(comparison):
    """Return both ends, rounded outwards."""
    lower, upper = comparison.lower, comparison.upper
    return to_safe_side(lower, down=True), to_safe_side(upper, down=False)


def _verdict(comparison):
    first, second = comparison.names
    if comparison.lower > 0:
        return f"{second} is better"
    if comparison.upper < 0:
        return f"{first} is better"
    return "either may be the better one"
