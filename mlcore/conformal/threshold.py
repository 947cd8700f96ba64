"""Thresholds of conformal sets from the scores of a calibration set, one for each group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_delta, as_real, as_reals, length_of, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.report import for_terminal
from mlcore.checks import as_labels
from mlcore.checks.errors import warn
from mlcore.conformal.coverage import conformal_coverage, conformal_rank, least_size
from mlcore.estimator.tables import frame, table, text

_ROWS = 20  # largest number of groups shown


@dataclass(frozen=True)
class ConformalThreshold:
    """Thresholds that cover new scores, made by `conformal_threshold`.

    Parameters
    ----------
    coverage : float
        Wanted coverage.
    delta : float or None
        Probability that a calibration set gives less; None for coverage on average.
    groups : tuple
        Names of the groups, ``("all",)`` without groups.
    sizes, ranks : tuple of int
        Number of calibration scores of each group, and the rank of its threshold.
    thresholds : tuple of float
        Largest score that is covered; infinity where a group has too few scores.
    grouped : bool
        True if groups were given.

    Examples
    --------
    >>> from mlcore.conformal import conformal_threshold
    >>> found = conformal_threshold(range(1, 20), 0.9)
    >>> found.ranks, found.thresholds, found.covers([18, 18.5]).tolist()
    ((18,), (18.0,), [True, False])
    """

    coverage: float
    delta: float | None
    groups: tuple[Any, ...]
    sizes: tuple[int, ...]
    ranks: tuple[int, ...]
    thresholds: tuple[float, ...]
    grouped: bool = False

    def of(self, groups: Any = None) -> np.ndarray:
        """Return the threshold of each new example.

        Parameters
        ----------
        groups : array-like of shape (m,), optional
            Groups of the examples, if the calibration had groups, else None.

        Returns
        -------
        thresholds : float64 (m,), or () without groups
            Infinite where no number of scores suffices.

        Raises
        ------
        ValueError
            For groups without calibration scores, or given to one side only.
        """
        values = np.array(self.thresholds)
        if not self.grouped:
            if groups is not None:
                refuse("groups", groups, "None: the calibration had no groups")
            return values[0]
        return values[places_of(groups, self.groups)]

    def covers(self, scores: Any, groups: Any = None) -> np.ndarray:
        """Return True for scores that are at most the threshold.

        Parameters
        ----------
        scores : array-like of shape (m,) or (m, n_labels)
            Scores of new examples, or of each label that one could have.
        groups : array-like of shape (m,), optional
            Groups of the examples, if the calibration had groups.

        Returns
        -------
        covered : bool array of the shape of `scores`
            True for scores at most their threshold.

        Raises
        ------
        ValueError
            For NaN, other groups, or another number of them.
        """
        scores = as_reals(scores, "scores", allow_inf=True)
        limits = self.of(groups)
        if limits.ndim:
            if scores.ndim not in (1, 2) or len(scores) != len(limits):
                refuse("groups", groups, f"of {len(np.atleast_1d(scores))} examples, as scores")
            limits = limits.reshape(-1, *[1] * (scores.ndim - 1))
        return scores <= limits

    def guarantee(self, delta: float) -> np.ndarray:
        r"""Return lower bounds on the coverage given this calibration set.

        Each holds with probability at least :math:`1 - \delta` over independent calibration
        scores, not all together: for all G groups at once take :math:`\delta / G`.

        Parameters
        ----------
        delta : float in (0, 1)
            Probability that a bound fails.

        Returns
        -------
        coverage : float64 (n_groups,)
            As `conformal_coverage`; 1 for infinite thresholds.
        """
        return conformal_coverage(np.array(self.ranks), np.array(self.sizes), as_delta(delta))

    def _columns(self):
        columns: dict[str, Sequence[Any]] = {
            "group": self.groups,
            "scores": self.sizes,
            "rank": self.ranks,
            "threshold": self.thresholds,
            "on average": [k / (n + 1) for k, n in zip(self.ranks, self.sizes, strict=True)],
        }
        if self.delta is not None:
            columns["given these scores"] = self.guarantee(self.delta).tolist()
        return columns

    def _sentences(self):
        if self.delta is None:
            yield (
                f"A new score is at most its threshold with probability at least {self.coverage:g},"
                " on average over calibration sets, if the scores are exchangeable with it."
            )
        else:
            yield (
                f"With probability at least {1 - self.delta:.6g} over the calibration scores a new "
                f"score is at most its threshold with probability at least {self.coverage:g}, if "
                "all are independent draws from one distribution."
            )
        if len(self.groups) > 1:
            yield "That is so in each group, not in all at once."
        if short := self.too_small():
            yield too_small_in_words(self, short)

    def too_small(self) -> list[int]:
        """Return the places of the groups that have too few scores for a finite threshold.

        Returns
        -------
        places : list of int
            Indices into `groups`.
        """
        return [i for i, n in enumerate(self.sizes) if self.ranks[i] > n]

    def __repr__(self) -> str:
        return text(self._columns(), most=_ROWS) + "\n" + for_terminal(*self._sentences())

    def _repr_html_(self) -> str:
        return table(self._columns(), title=for_terminal(*self._sentences()))

    def to_frame(self) -> Any:
        """Return the groups, ranks and thresholds as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            Indexed by the groups.
        """
        return frame(self._columns(), index="group")


def conformal_threshold(
    scores: Any, coverage: float = 0.9, *, delta: float | None = None, groups: Any = None
) -> ConformalThreshold:
    r"""Return the thresholds that cover new scores, from the scores of a calibration set.

    A score measures how badly a label fits an example, by any rule that was fixed without the
    calibration set. The threshold is the order statistic of `conformal_rank`: a new score is
    covered with probability at least `coverage`, for every distribution and every rule.
    With groups each has a threshold from its own scores, and the coverage holds in each.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of the true labels of the calibration examples; infinite ones are never too small.
    coverage : float in (0, 1), default=0.9
        Wanted coverage.
    delta : float in (0, 1), optional
        Probability that this calibration set gives less than `coverage`; without it `coverage`
        holds on average over calibration sets.
    groups : array-like of shape (n,), optional
        Groups of the examples, by a rule fixed without the calibration set.

    Returns
    -------
    threshold : ConformalThreshold
        Prints as a table. O(n) time, O(n log n) with groups, O(n) memory.

    Raises
    ------
    ValueError
        For arguments out of range, no scores, and NaN.

    Warns
    -----
    UserWarning
        If a group has too few scores for a finite threshold.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer, *Algorithmic learning in a random world*, 2005, section 4.5
    (groups).
    V. Vovk, *Conditional validity of inductive conformal predictors*, Proceedings of the Asian
    Conference on Machine Learning, 2012, Proposition 2a (`delta`).

    Examples
    --------
    >>> from mlcore.conformal import conformal_threshold
    >>> found = conformal_threshold([3, 1, 4, 2, 30, 10, 40, 20], 0.75, groups=list("aaaabbbb"))
    >>> found.thresholds, found.covers([3.5, 3.5], groups=["a", "b"]).tolist()
    ((4.0, 40.0), [True, True])
    """
    scores = list(scores) if isinstance(scores, range) else scores
    scores = as_reals(scores, "scores", allow_inf=True)
    if scores.ndim != 1 or not len(scores):
        refuse("scores", scores.tolist(), "a sequence of at least one number")
    names, codes = ("all",), None
    if groups is not None:
        labels, codes = as_labels(groups, len(scores), name="groups")
        names = tuple(labels.tolist())
    return calibrated(scores, codes, names, coverage, delta)


def calibrated(
    scores: np.ndarray,
    codes: np.ndarray | None,
    names: tuple[Any, ...],
    coverage: float,
    delta: float | None,
) -> ConformalThreshold:
    """Return the thresholds of groups `names`, to which `codes` (n,) index; warn of small ones."""
    coverage = as_real(coverage, "coverage", above=0, below=1)
    if delta is not None:
        delta = as_delta(delta)
        warn_of_confidence(delta)
    sizes = [len(scores)]
    if codes is not None:
        sizes = np.bincount(codes, minlength=len(names)).tolist()
        # NumPy sorts 16 bits by radix: a quarter of the time for a million scores.
        narrow = codes.astype(np.uint16) if len(names) <= 2**16 else codes
        scores = scores[np.argsort(narrow, kind="stable")]
    rank_of = {n: conformal_rank(n, coverage, delta) for n in set(sizes)}
    thresholds, start = [], 0
    for n in sizes:
        k, own = rank_of[n], scores[start : start + n]
        thresholds.append(float(np.partition(own, k - 1)[k - 1]) if k <= n else math.inf)
        start += n
    ranks = tuple(rank_of[n] for n in sizes)
    found = ConformalThreshold(
        coverage, delta, names, tuple(sizes), ranks, tuple(thresholds), codes is not None
    )
    if short := found.too_small():
        warn("UserWarning", too_small_in_words(found, short))
    return found


def places_of(groups: Any, known: tuple[Any, ...]) -> np.ndarray:
    """Return the places of the groups of new examples among `known` ones, (m,) intp."""
    if groups is None:
        refuse("groups", groups, "the groups of the examples, as the calibration had groups")
    n = length_of(groups)
    if n == 0:
        refuse("groups", groups, "one group for each of at least one example")
    names, codes = as_labels(groups, n, name="groups")
    places = {name: place for place, name in enumerate(known)}
    unknown = [name for name in names.tolist() if name not in places]
    if unknown:
        refuse("groups", unknown[0], f"one of the {len(known)} groups of the calibration")
    return np.array([places[name] for name in names.tolist()], dtype=np.intp)[codes]


def too_small_in_words(threshold: ConformalThreshold, places: Sequence[int]) -> str:
    """Return the sentence on groups that have too few scores."""
    needed = least_size(threshold.coverage, threshold.delta)
    which = [f"{threshold.groups[i]!s} ({threshold.sizes[i]})" for i in places]
    shown = ", ".join(which[:5]) + (f" and {len(which) - 5} more" if len(which) > 5 else "")
    return (
        f"Too few calibration scores, of at least {needed} needed: {shown}. Their thresholds are "
        "infinite: they cover every score, so that sets hold the label and intervals every number."
    )
