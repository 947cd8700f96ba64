"""Two classifiers compared on the same fresh examples, with a report."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mlcore.bounds.arguments import as_delta, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.classifiers import as_classifier, labels_of
from mlcore.bounds.certificates.freshness import unsure_of
from mlcore.bounds.certificates.report import for_terminal, to_safe_side
from mlcore.bounds.held_out.paired import error_difference_interval, mcnemar_test


@dataclass(frozen=True)
class Comparison:
    """What examples tell of the difference of two classifiers; made by `compare_classifiers`.

    Parameters
    ----------
    names : tuple of two str
    delta : float
        Probability that the interval fails.
    counts : mapping
        "both", "first", "second" and "neither": examples that both get wrong, only one, neither.
    difference : float
        The observed error rate of the first less that of the second.
    lower, upper : float
        Interval for the difference of the true errors.
    p_value : float
        Of McNemar's exact test that both err equally often.
    unsure : str or None
        What is not known of the examples; the report begins with it.

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
        """
        first, second = self.names
        low = to_safe_side(self.lower, down=True)
        high = to_safe_side(self.upper, down=False)
        if self.lower > 0:
            verdict = f"{second} is better"
        elif self.upper < 0:
            verdict = f"{first} is better"
        else:
            verdict = "either may be the better one"
        text = "" if self.unsure is None else f"{self.unsure} "
        return text + (
            f"With probability at least {1 - self.delta:.6g} the true error of {first} less that "
            f"of {second} is between {low} and {high}: {verdict}. Of {sum(self.counts.values())} "
            f"examples only {first} is wrong on {self.counts['first']}, only {second} on "
            f"{self.counts['second']}, both on {self.counts['both']}; that both err equally often "
            f"has the p-value {self.p_value:.3g}."
        )

    def __str__(self) -> str:
        return for_terminal(
            self.summary(),
            "Examples are independent draws, and took no part in fitting or choosing either "
            "classifier. Of several comparisons each needs its share of delta.",
            "McNemar, 1947, exact; Clopper, Pearson, 1934, with a union bound.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings, as JSON takes them.

        Returns
        -------
        plain : dict
        """
        return asdict(self) | {"names": list(self.names), "counts": dict(self.counts)}


def compare_classifiers(
    first: Any, second: Any, X: Any = None, y: Any = None, *, delta: float = 0.05
) -> Comparison:
    """Compare the true errors of two classifiers by the same fresh examples.

    ``compare_classifiers(first, second, X, y)``, or of predictions
    ``compare_classifiers(first, second, y=y)``. Pairs of answers of which both are right, or both
    wrong, do not tell the classifiers apart; of the others McNemar's exact test asks whether both
    err equally often, and `error_difference_interval` bounds the difference of their errors. Where
    both make few errors this is much sharper than two separate bounds.

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
    >>> machines = [SVC(kernel=name).fit(X[:600], y[:600]) for name in ("linear", "rbf")]
    >>> found = compare_classifiers(*machines, X[600:], y[600:])
    >>> found.counts["first"], found.counts["second"], round(found.p_value, 3)
    (19, 16, 0.736)
    """
    delta = as_delta(delta)
    both = as_classifier(first, "first"), as_classifier(second, "second")
    if X is None and any(classifier.predict is not None for classifier in both):
        refuse("X", X, "the examples, for what is not an array of predictions")
    wrong, unsure = [], []
    for classifier in both:
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
    names = tuple(classifier.name for classifier in both)
    if names[0] == names[1]:
        names = f"{names[0]} (first)", f"{names[1]} (second)"
    return Comparison(
        names, delta, counts, (b - c) / m, lower, upper, mcnemar_test(b, c), unsure[0] or unsure[1]
    )
