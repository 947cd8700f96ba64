"""Scorers by scikit-learn's names, or functions ``scorer(estimator, X, y)``, of held-out samples.

A search does not fit a model for each score: it has what models answer on samples held out, and
makes a model only for a function.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_choice, as_real
from mlcore.checks.errors import warn
from mlcore.estimator.scoring import labels, values

LABEL_SCORES = (*labels.TABLE, *labels.THRESHOLD, *labels.PROBABILITY)
VALUE_SCORES = tuple(values.METRICS)
_NONE: Mapping[str, float] = MappingProxyType({})


class HeldOut:
    """Samples that a fold holds out, and what the model of a candidate answers on them.

    `answers` are functions that compute, once for all scores, what `predict` (codes of classes or
    numbers), `decision_function` and `predict_proba` return. `model` makes the model with the X and
    y of these samples, for scorers that are functions.
    """

    def __init__(
        self,
        y: np.ndarray | None,
        weight: np.ndarray,
        answers: dict[str, Callable[[], np.ndarray]],
        model: Callable[[], tuple[Any, Any, Any, dict[str, Any]]] | None,
        n_classes: int = 0,
        positive: int = 1,
    ) -> None:
        self.y, self.n_classes, self.positive = y, n_classes, positive
        self.weight = np.ldexp(weight, -int(np.frexp(weight.max())[1]))  # sums stay floats
        self._answers, self._model, self._known = answers, model, {}

    def answer(self, *names: str) -> np.ndarray:
        """Return what the first of these methods that the model has returns, computed once."""
        name = next(name for name in names if name in self._answers)
        return self._once(name, self._answers[name])

    @property
    def table(self) -> np.ndarray:
        """The weights of samples by true and predicted class."""
        return self._once(
            "table",
            lambda: labels.confusion(self.y, self.answer("predict"), self.weight, self.n_classes),
        )

    def _once(self, name, compute):
        if name not in self._known:
            self._known[name] = compute()
        return self._known[name]

    def score(self, scorer: str | Callable[..., Any]) -> Any:
        """Return a score by name, or what a function returns of the model."""
        if not isinstance(scorer, str):
            model, X, y, options = self._once("model", self._model)
            return scorer(model, X, **options) if y is None else scorer(model, X, y, **options)
        if self.n_classes == 0:
            return values.score(scorer, self.y, self.answer("predict"), self.weight)
        if scorer in labels.TABLE:
            return labels.TABLE[scorer](self.table, self.positive)
        if scorer in labels.THRESHOLD:
            metric, answer = labels.THRESHOLD, self.answer("decision_function", "predict_proba")
        else:
            metric, answer = labels.PROBABILITY, self.answer("predict_proba")
        return metric[scorer](self.y, np.asarray(answer, np.float64), self.weight, self.positive)


class Scoring(NamedTuple):
    """Checked scorers by their names; `several` if results bear the names."""

    scorers: dict[str, str | Callable[..., Any]]
    several: bool
    error_score: float | None
    owner: str

    @property
    def has_functions(self) -> bool:
        """True if some scorer is a function, which needs models."""
        return not all(isinstance(scorer, str) for scorer in self.scorers.values())

    def named(self, scorer: str) -> list[str]:
        """Return the names of a score in the results."""
        return [name for name, one in self.scorers.items() if one == scorer]

    def of(self, held_out: HeldOut, known: Mapping[str, float] = _NONE) -> dict[str, float]:
        """Return the scores by name; a function that returns a dict has several."""
        scores: dict[str, float] = {}
        for name, scorer in self.scorers.items():
            if name in known:
                scores[name] = self.number(known[name], scorer)
                continue
            try:
                value = held_out.score(scorer)
            except Exception as error:
                if self.error_score is None:
                    raise
                warn(
                    "UserWarning",
                    f"{self.owner}: scoring failed: {type(error).__name__}: {error}. The score is "
                    f"error_score={self.error_score!r}.",
                )
                value = self.error_score
            if isinstance(value, dict):
                scores |= self._numbers(value)
            else:
                scores[name] = self.number(value, scorer)
        return scores

    def _numbers(self, values):
        """Return the checked scores by name that a function returned."""
        if not values or not all(isinstance(name, str) for name in values):
            raise TypeError(
                f"{self.owner}: scoring returned {values!r}, but must return a number, or a dict "
                "of at least one name to a number."
            )
        return {name: self.number(value) for name, value in values.items()}

    def number(self, value: Any, scorer: Any = None) -> float:
        """Return a score, checked to be a finite number if errors are raised."""
        if self.error_score is not None and isinstance(value, (float, np.floating)):
            return float(value)
        if isinstance(scorer, str) and math.isnan(value):
            raise ValueError(
                f"{self.owner}: scoring={scorer!r} is NaN on the samples that a fold holds out; of "
                "one sample or of one class some scores are not defined. Give other folds, or "
                "error_score=nan."
            )
        return as_real(value, "the score that scoring returns", owner=self.owner)

    def require(self, classes: np.ndarray, methods: Iterable[str]) -> int:
        """Refuse scores that the model or its classes do not have; return the positive class.

        As in scikit-learn the positive class of two is that of the label 1.
        """
        ones = [code for code, label in enumerate(classes.tolist()) if label == 1]
        for scorer in self.scorers.values():
            if not isinstance(scorer, str):
                continue
            where = f"{self.owner}: scoring={scorer!r}"
            if scorer in labels.PROBABILITY and "predict_proba" not in methods:
                raise ValueError(
                    f"{where} needs probabilities, which the model has not: use 'roc_auc', or "
                    "another model."
                )
            if scorer in labels.BINARY and len(classes) > 2:
                raise ValueError(
                    f"{where} is of two classes, found {len(classes)}: use {scorer + '_macro'!r} or"
                    f" {scorer + '_weighted'!r}."
                )
            if scorer == "roc_auc" and len(classes) > 2:
                raise ValueError(
                    f"{where} is of two classes, found {len(classes)}: use 'roc_auc_ovr' or "
                    "'roc_auc_ovo'."
                )
            one_kind = scorer in labels.BINARY or scorer == "average_precision"
            if one_kind and len(classes) == 2 and not ones:
                raise ValueError(
                    f"{where} is of the class with the label 1, which y has not: its labels are "
                    f"{classes.tolist()}."
                )
        return ones[0] if ones and len(classes) == 2 else 1


def as_error_score(error_score: Any, owner: str) -> float | None:
    """Return the score of fits that fail, None if they raise."""
    if isinstance(error_score, str):
        as_choice(error_score, "error_score", ("raise",), owner=owner)
        return None
    if isinstance(error_score, float) and math.isnan(error_score):
        return math.nan
    return as_real(error_score, "error_score", owner=owner)


def as_scoring(scoring: Any, names: Iterable[str], error_score: Any, owner: str) -> Scoring:
    """Return the checked scorers of one score, or of several in a list, tuple, set or dict."""
    names, error = tuple(names), as_error_score(error_score, owner)

    def checked(one):
        if callable(one):
            return one
        return as_choice(one, "scoring", names, owner=owner)

    several = isinstance(scoring, (list, tuple, set, frozenset, dict))
    if not several:
        return Scoring({"score": checked(scoring)}, False, error, owner)
    if not scoring:
        raise ValueError(f"{owner}: scoring={scoring!r} must have at least one score.")
    if not isinstance(scoring, dict):
        if any(callable(one) for one in scoring):
            raise ValueError(f"{owner}: functions in scoring need names: give a dict.")
        if len({checked(one) for one in scoring}) < len(scoring):
            raise ValueError(f"{owner}: scoring={scoring!r} has a score twice.")
        ordered = scoring if isinstance(scoring, (list, tuple)) else sorted(scoring, key=str)
        scoring = {one: one for one in ordered}
    for name in scoring:
        if not isinstance(name, str):
            raise TypeError(f"{owner}: scoring has the key {name!r}, but names must be strings.")
    return Scoring({name: checked(one) for name, one in scoring.items()}, True, error, owner)
