"""Sets of labels that hold the true one with a wanted probability, from any classifier."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from mlcore.bounds.arguments import as_bool, as_choice, as_reals, length_of, refuse
from mlcore.bounds.certificates.classifiers import as_classifier
from mlcore.bounds.certificates.freshness import unsure_of
from mlcore.bounds.certificates.report import for_terminal
from mlcore.checks import as_labels
from mlcore.conformal.threshold import ConformalThreshold, calibrated, places_of
from mlcore.estimator.tables import table

Score = Literal["least_ambiguous", "adaptive"]
_ROWS = 4096  # sorted at a time
_SLACK = 1e-6  # by which rounding may leave a probability outside [0, 1]


@dataclass(frozen=True)
class ConformalSets:
    """Calibrated sets of labels, made by `conformal_sets`.

    Parameters
    ----------
    name : str
        Name of the classifier.
    probabilities : callable
        Function of X that returns the probabilities of the classes, (m, n_classes).
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    score : {"least_ambiguous", "adaptive"}
        Rule of the scores.
    by_class : bool
        True if each class has a threshold.
    threshold : ConformalThreshold
        Thresholds of the scores, with their guarantees.
    unsure : str or None
        Doubts whether the calibration examples are fresh.
    groups : tuple or None
        Groups of which each class has a threshold, with `by_class`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import conformal_sets
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])
    >>> sets = conformal_sets(np.asarray, P, [0, 0, 1, 1], 0.7, classes=[0, 1])
    >>> sets.predict([[0.55, 0.45], [0.8, 0.2]]).tolist()
    [[False, False], [True, False]]
    """

    name: str
    probabilities: Callable[[Any], Any]
    classes: np.ndarray
    score: Score
    by_class: bool
    threshold: ConformalThreshold
    unsure: str | None = None
    groups: tuple[Any, ...] | None = None

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the sets of labels, True for the labels that they hold.

        Parameters
        ----------
        X : array-like
            New examples.
        groups : array-like of shape (m,), optional
            Groups of the examples, if the calibration had groups.

        Returns
        -------
        sets : bool (m, n_classes)
            Columns in the order of `classes`. A set can be empty: then every label is a worse fit
            than the threshold allows. O(m c log c) time for c classes.

        Raises
        ------
        ValueError
            For what is no probability, and other groups than those of the calibration.
        """
        P = _probabilities(self.probabilities, X, self.name, len(self.classes))
        scores = scores_of(P, self.score)
        if not self.by_class:
            return self.threshold.covers(scores, groups)
        # The thresholds of all classes, in each group; one column without groups.
        limits = np.array(self.threshold.thresholds).reshape(len(self.classes), -1)
        if self.groups is None:
            if groups is not None:
                refuse("groups", groups, "None: the calibration had no groups")
            return scores <= limits[:, 0]
        places = places_of(groups, self.groups)
        if len(places) != len(scores):
            refuse("groups", f"{len(places)} groups", f"of {len(scores)} examples")
        return scores <= limits[:, places].T

    def _sentences(self):
        if self.unsure is not None:
            yield self.unsure
        per = "class" if self.by_class else "group"
        per += " and group" if self.groups is not None else ""
        yield f"Sets of {len(self.classes)} labels of {self.name}, {self.score}, by {per}."

    def __repr__(self) -> str:
        return for_terminal(*self._sentences()) + "\n" + repr(self.threshold)

    def _repr_html_(self) -> str:
        return table({}, title=for_terminal(*self._sentences())) + self.threshold._repr_html_()


def conformal_sets(
    classifier: Any,
    X: Any,
    y: Any,
    coverage: float = 0.9,
    *,
    delta: float | None = None,
    score: Score = "least_ambiguous",
    by_class: bool = False,
    groups: Any = None,
    classes: Any = None,
) -> ConformalSets:
    r"""Calibrate sets of labels that hold the true one with probability at least `coverage`.

    The score of a label y of an example is minus its probability ("least_ambiguous": the smallest
    sets on average), or the sum of the probabilities of y and of the more probable labels
    ("adaptive": sets grow where the classifier is unsure). A set holds the labels whose score is at
    most the threshold of `conformal_threshold`. The probabilities may be wrong: that makes sets
    larger, and takes nothing from the coverage.

    Assumes that calibration and new examples are exchangeable (with `delta`, independent draws
    from one distribution), and that the calibration examples took no part in fitting or choosing
    the classifier.

    Parameters
    ----------
    classifier : object with `predict_proba` and `classes_`, or function
        A fitted classifier of any library, or a function of X that returns probabilities, then
        with `classes`.
    X : array-like
        Calibration examples.
    y : array-like of shape (n,)
        Their true labels.
    coverage : float in (0, 1), default=0.9
        Wanted probability that a set holds the true label.
    delta : float in (0, 1), optional
        Probability that this calibration set gives less than `coverage`; without it `coverage`
        holds on average over calibration sets.
    score : {"least_ambiguous", "adaptive"}, default="least_ambiguous"
        Rule of the scores.
    by_class : bool, default=False
        Calibrate each class by its own examples (label-conditional): the coverage holds for each
        true label. A class without enough examples is in every set.
    groups : array-like of shape (n,), optional
        Groups of the examples, each calibrated by its own; with `by_class` each pair of class and
        group, and a class without enough examples in a group is in every set there.
    classes : array-like of shape (n_classes,), optional
        Labels in the order of the columns of a function's probabilities.

    Returns
    -------
    sets : ConformalSets
        Its `predict` returns sets; it prints as a table.

    Raises
    ------
    ValueError
        For arguments out of range, labels that the classifier does not know, and examples that it
        was fitted to, as far as it keeps them.

    Warns
    -----
    UserWarning
        If the examples are too few for a finite threshold.

    References
    ----------
    M. Sadinle, J. Lei, L. Wasserman, *Least ambiguous set-valued classifiers with bounded error
    levels*, Journal of the American Statistical Association 114, 2019.
    Y. Romano, M. Sesia, E. Candès, *Classification with valid and adaptive coverage*, Advances in
    Neural Information Processing Systems 33, 2020 (here without random draws).
    V. Vovk, A. Gammerman, G. Shafer, *Algorithmic learning in a random world*, 2005, section 4.5
    (by class, and by group).

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import conformal_sets
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_digits()
    >>> order = np.random.default_rng(0).permutation(len(y))  # writers come one after the other
    >>> X, y = X[order], y[order]
    >>> model = LinearDiscriminantAnalysis().fit(X[:600], y[:600])
    >>> sets = conformal_sets(model, X[600:1200], y[600:1200], 0.95)
    >>> found = sets.predict(X[1200:])
    >>> bool(found[range(len(found)), y[1200:]].mean() > 0.93), bool(found.sum(axis=1).mean() < 1.2)
    (True, True)
    """
    score = as_choice(score, "score", get_args(Score))
    by_class = as_bool(by_class, "by_class")
    source, columns = _source(classifier, classes)
    n = length_of(y)
    if n == 0:
        refuse("y", y, "at least one label")
    labels, codes = as_labels(y, n)
    places = {label: place for place, label in enumerate(columns.tolist())}
    unknown = [label for label in labels.tolist() if label not in places]
    if unknown:
        refuse("y", unknown[0], f"one of the {len(columns)} classes of {source.name}")
    codes = np.array([places[label] for label in labels.tolist()], dtype=np.intp)[codes]
    unsure = unsure_of(source, X, None, "calibration")
    P = _probabilities(source.predict, X, source.name, len(columns))
    if len(P) != len(codes):
        refuse("y", y, f"{len(P)} labels, one for each example, not {len(codes)}")
    scores = scores_of(P, score)[np.arange(len(P)), codes]
    # Calibrated together are all, a class, a group, or a class in a group.
    names: tuple[Any, ...] = ("all",)
    together: np.ndarray | None = None
    given: tuple[Any, ...] | None = None
    if groups is not None:
        found, together = as_labels(groups, len(P), name="groups")
        names = given = tuple(found.tolist())
    if by_class:
        names = tuple(columns.tolist())
        if given is not None and together is not None:
            codes = codes * len(given) + together
            names = tuple(itertools.product(names, given))
        together = codes
    threshold = calibrated(scores, together, names, coverage, delta)
    return ConformalSets(
        source.name, source.predict, columns, score, by_class, threshold, unsure,
        given if by_class else None,
    )  # fmt: skip


def _source(classifier, classes):
    """Return the source of probabilities, whose `predict` returns them, and their labels."""
    name = "classifier"
    if callable(getattr(classifier, "predict_proba", None)) and not isinstance(classifier, type):
        source = as_classifier(classifier, name)._replace(predict=classifier.predict_proba)
        own = getattr(classifier, "classes_", None)
        if classes is not None or own is None:
            allowed = "None: the classifier has classes_" if own is not None else "its labels"
            if own is not None or classes is None:
                refuse("classes", classes, allowed)
            own = classes
        columns = _as_columns(own)
    elif callable(classifier) and not isinstance(classifier, type):
        if hasattr(classifier, "predict"):
            refuse(name, classifier, "a fitted classifier with predict_proba")
        if classes is None:
            refuse("classes", classes, "the labels of the columns that the function returns")
        source, columns = as_classifier(classifier, name), _as_columns(classes)
    else:
        refuse(name, classifier, "a fitted classifier with predict_proba, or a function of X")
    if columns.ndim != 1 or not len(columns) or len(set(columns.tolist())) < len(columns):
        refuse("classes", classes, "one label for each column, all different")
    return source, columns


def _as_columns(classes):
    try:
        return np.asarray(classes)
    except ValueError:  # ragged
        refuse("classes", classes, "one label for each column, all different")


def _probabilities(function, X, name, n_classes):
    """Return the probabilities as float64 (m, n_classes), or raise ValueError."""
    P = as_reals(function(X), f"probabilities of {name}")
    if P.ndim != 2 or P.shape[1] != n_classes:
        raise ValueError(
            f"{name}: probabilities of shape {P.shape} must be of shape (m, {n_classes}), a column "
            "for each class."
        )
    for extreme in (P.min(initial=0.0), P.max(initial=1.0)):
        if not -_SLACK <= extreme <= 1 + _SLACK:
            refuse(f"probabilities of {name}", float(extreme), "from 0 to 1")
    return P


def scores_of(P: np.ndarray, score: Score) -> np.ndarray:
    """Return the scores (m, n_classes) of all labels, each row by itself."""
    if score == "least_ambiguous":
        return -P
    scores = np.empty_like(P)
    for start in range(0, len(P), _ROWS):
        block = P[start : start + _ROWS]
        order = np.argsort(-block, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(block, order, axis=1), axis=1)
        np.put_along_axis(scores[start : start + _ROWS], order, sums, axis=1)
    return scores
