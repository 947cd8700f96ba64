"""Samples that folds of a search over support vector machines hold out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mlcore.checks import as_class_weights
from mlcore.estimator.folds import Fold
from mlcore.estimator.scoring.scorers import HeldOut
from mlcore.svm.multiclass.multiclass import LabelledSamples, votes, winners


class HeldOutLabels:
    """Held-out samples of a classifier's folds, in the order of the rows of X.

    `make` (samples of the fold, place of the candidate, fit) returns a model, for scorers that are
    functions.
    """

    def __init__(
        self,
        search: Any,
        X: Any,
        samples: LabelledSamples,
        folds: list[Fold],
        positive: int,
        weighted: bool,
    ) -> None:
        self._search, self._X, self._samples, self._folds = search, X, samples, folds
        self._positive, self._weighted = positive, weighted
        self._order = [np.argsort(samples.rows[fold.test], kind="stable") for fold in folds]

    def fold(self, f: int, values: np.ndarray, make: Callable[[LabelledSamples], Any]) -> HeldOut:
        """Return the samples of fold f, of decision values (n_test, n_tasks) as in `samples`."""
        search, samples = self._search, self._samples
        k, order = len(samples.classes), self._order[f]
        test = np.flatnonzero(self._folds[f].test)[order]
        values, weight = values[order], samples.weight[test]

        def decisions():
            if k == 2:
                return values[:, 0]
            return values if search.multi_class == "ovr" else votes(values, k, confidence=True)

        def model():
            factors = fold_factors(search, samples, self._folds[f].train)
            options = {"sample_weight": weight} if self._weighted else {}
            y = samples.classes[samples.codes[test]]
            return (
                make(replace(samples, class_weight=factors)),
                self._X[samples.rows[test]],
                y,
                options,
            )

        answers = {
            "predict": lambda: winners(values, k, search.multi_class, search.break_ties),
            "decision_function": decisions,
        }
        return HeldOut(samples.codes[test], weight, answers, model, k, self._positive)


def fold_factors(search: Any, samples: LabelledSamples, train: np.ndarray) -> np.ndarray:
    """Return the factors of the classes, those of "balanced" from the training samples."""
    if not isinstance(search.class_weight, str):
        return samples.class_weight
    return as_class_weights(
        search.class_weight, samples.classes, samples.codes[train], samples.weight[train]
    )
