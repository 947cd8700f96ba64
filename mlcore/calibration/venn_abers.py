"""Venn-Abers predictors: two probabilities, one of which is calibrated for every distribution."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mlcore._ext.calibration import venn_abers as _ext
from mlcore.bounds.arguments import refuse
from mlcore.calibration.calibrator import Calibrator, sums_by_score


@dataclass(frozen=True)
class VennAbersLink:
    """Increasing steps of the probabilities, if a new example were negative or positive.

    Those of a negative one begin at scores `begins`, those of a positive one end at `ends`; the
    first value of the former is that below all, the last of the latter that above all.
    """

    begins: np.ndarray
    if_negative: np.ndarray
    ends: np.ndarray
    if_positive: np.ndarray

    def interval(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both probabilities of scores (m,)."""
        # A negative example between two knots pools with that to its left, a positive one with
        # that to its right; outside of all the isotonic fit repeats its label.
        left = np.searchsorted(self.begins, scores, side="right")
        right = np.searchsorted(self.ends, scores, side="left")
        return self.if_negative[left], self.if_positive[right]

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the merged probabilities of scores (m,)."""
        low, high = self.interval(scores)
        return high / (1 - low + high)


class VennAbersCalibrator(Calibrator):
    r"""Calibrates by an interval of probabilities, one end of which is right for any distribution.

    A new example is added to the calibration examples, once as negative and once as positive, and
    isotonic regression fitted to each: its values there are :math:`p_0 \le p_1`. If all examples
    are exchangeable, the one that belongs to the true label is perfectly calibrated:
    :math:`P(y = 1 | p_y) = p_y`. The interval is wide where there are few examples.
    `predict_proba` merges the two into :math:`p_1 / (1 - p_0 + p_1)`, which minimises the regret
    of the log loss; `predict_interval` returns both. Of three classes or more each is against the
    rest, and the guarantee is that of each interval by itself.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    links_ : tuple of VennAbersLink
        Probabilities of each class at the scores seen, one for two classes.

    Notes
    -----
    O(n log n) time and O(n) memory for `fit`, O(log n) for each new example: all isotonic fits are
    slopes of lines that move along two convex minorants. Values are quotients of whole numbers.

    References
    ----------
    V. Vovk, I. Petej, *Venn-Abers predictors*, Proceedings of Uncertainty in Artificial
    Intelligence, 2014.
    V. Vovk, I. Petej, V. Fedorova, *Large-scale probabilistic predictors with and without
    guarantees of validity*, Advances in Neural Information Processing Systems 28, 2015.

    Examples
    --------
    >>> from mlcore.calibration import VennAbersCalibrator
    >>> calibrator = VennAbersCalibrator().fit([-2, -1, 0, 1, 2], [0, 1, 0, 1, 1])
    >>> low, high = calibrator.predict_interval([-3, 0.5])
    >>> low.tolist(), high.tolist()
    ([0.0, 0.3333333333333333], [0.5, 1.0])
    >>> calibrator.predict_proba([0.5])[:, 1].tolist()
    [0.6]
    """

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the scores of examples and their labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Finite scores; (n, n_classes) for three classes or more.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : None
            Examples of other weights are not exchangeable.

        Returns
        -------
        self : VennAbersCalibrator
            The fitted calibrator.

        Raises
        ------
        ValueError
            For one class, scores that are not finite, other numbers of them, and weights.
        """
        if sample_weight is not None:
            refuse("sample_weight", sample_weight, "None: examples have to be exchangeable")
        return super().fit(scores, y)

    def predict_interval(self, scores: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities if the new example were of another class, and of the class.

        Parameters
        ----------
        scores : array-like of shape (m,) or (m, n_classes)
            Scores of new examples, of as many columns as in `fit`.

        Returns
        -------
        lower, upper : float64 (m,) or (m, n_classes)
            Of the later of two classes, or of each class.

        Raises
        ------
        ValueError
            For scores that are not finite, other numbers of columns, and before `fit`.
        """
        columns = self._columns_of(scores)
        ends = [link.interval(columns[:, k]) for k, link in enumerate(self.links_)]
        if len(ends) == 1:
            return ends[0]
        return np.column_stack([e[0] for e in ends]), np.column_stack([e[1] for e in ends])

    def _link(self, scores, positive, weight):
        if len(scores) >= 2**31:
            refuse("scores", f"{len(scores)} numbers", "fewer than 2**31")
        ones = np.ones(len(scores), dtype=np.int64)
        knots, sizes, positives = sums_by_score(scores, ones, positive.astype(np.int64))
        run, rise = _with_one_more(sizes, positives)
        if_positive = rise / run
        # One more negative example is one more of the positive class, both turned round.
        run, rise = _with_one_more(sizes[::-1], (sizes - positives)[::-1])
        if_negative = ((run - rise) / run)[::-1]
        # Few of the values differ: short tables are searched in a tenth of the time.
        first = np.append(True, if_negative[1:] != if_negative[:-1])
        last = np.append(if_positive[1:] != if_positive[:-1], True)
        return VennAbersLink(
            knots[first],
            np.append(0.0, if_negative[first]),
            knots[last],
            np.append(if_positive[last], 1.0),
        )


def _with_one_more(sizes, positives):
    """Return run and rise: rise / run is the fit at each group with one more positive example."""
    P = np.zeros((len(sizes) + 1, 2), dtype=np.int64)
    np.cumsum(sizes, out=P[1:, 0])
    np.cumsum(positives, out=P[1:, 1])
    bridge = np.empty((len(sizes), 2), dtype=np.int64)
    _ext.bridges(P, np.empty((len(sizes) + 1, 2), dtype=np.int64), bridge)
    return bridge.T
