"""The fit of the support vector classifiers: all pairs at once, or one problem after another."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_random_state
from mlcore.progress import Progress
from mlcore.svm.machine import Settings
from mlcore.svm.multiclass import Duel, LabelledSamples, SolvedDuels, duels
from mlcore.svm.pairs import are_small, solve_pairs
from mlcore.svm.probability import ProbabilisticClassifier
from mlcore.svm.smo import KernelCache


class SupportVectorClassifier(ProbabilisticClassifier):
    """The fit of `SVC` and `NuSVC`."""

    def _check_own(self) -> None:
        """Check the parameters that only this machine has."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of each sample's cost: 2 is a copy, 0 is absence.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for ``C=inf`` on classes that
            cannot be separated; for an infeasible ``nu``.
        MemoryError
            If what must be held does not fit.
        """
        settings = self._settings(self.gamma)
        self._check_choices()
        self._check_own()
        probability = as_bool(self.probability, "probability", owner=type(self).__name__)
        random_state = None
        if probability or self.random_state is not None:  # entropy takes a tenth of a small fit
            random_state = as_random_state(self.random_state, owner=type(self).__name__)
        progress = self._progress()
        checked = self._training_samples(X)
        samples = self._labelled(checked, y, sample_weight, settings)
        folds = self._folds(samples, settings, random_state) if probability else None
        chosen = duels(len(samples.classes), self.multi_class)
        self._require_feasible(samples, chosen)
        problems = [] if self._small_pairs(samples) else self._problems(samples, chosen)
        settings = self._resolved(settings, samples.X, samples.weight)
        packed = settings.kernel.packed
        if samples.X is not checked and isinstance(samples.X, np.ndarray) and not packed:
            # The copy of X in another order counts against the memory that was allowed.
            left = settings.cache_size - samples.X.nbytes / 1e6
            settings = replace(settings, cache_size=max(left, 1e-3))
        with progress:
            reaches = [p.reach for p in problems] or [float(self._cost(samples).max())]
            store = self._open_store(samples.X, settings, max(reaches))
            if packed:
                samples = replace(samples, X=None)  # the store has its own
            fitted = None
            if not problems:
                fitted = self._fit_pairs(checked, samples, settings, store, folds, progress)
            if fitted is None:
                problems = problems or self._problems(samples, chosen)
                solutions = self._solve(problems, store, settings, progress)
                if folds is None:
                    store = None  # its memory serves the support vectors
                fitted = self._fit_duels(checked, samples, settings, problems, solutions)
                if folds is not None:
                    trained = np.zeros((len(problems), len(samples.codes)))
                    for row, problem, solution in zip(trained, problems, solutions, strict=True):
                        here = slice(None) if problem.index is None else problem.index
                        row[here] = self._sample_decisions(problem, solution)
                    fitted |= self._calibrate(
                        samples, settings, store, fitted, trained, folds, progress
                    )
        self._set_fitted(X, **fitted)
        return self

    def _small_pairs(self, samples: LabelledSamples) -> bool:
        """Whether the duels are pairs of small classes, with finite costs."""
        pairs = self.multi_class == "ovo" or len(samples.classes) == 2
        return pairs and self.max_iter < 0 and not self._hard() and are_small(samples)

    def _require_feasible(self, samples: LabelledSamples, chosen: list[Duel]) -> None:
        """Refuse samples for which a duel has no solution."""

    def _solved_pairs(
        self,
        samples: LabelledSamples,
        settings: Settings,
        store: KernelCache,
        fold: np.ndarray | None,
        progress: Progress,
        nu: float | None = None,
    ) -> tuple[SolvedDuels, np.ndarray, np.ndarray] | None:
        """Return what `solve_pairs` finds, as decision functions."""
        limits = settings.tol, settings.few
        return solve_pairs(samples, self._cost(samples), nu, store, fold, *limits, progress)

    def _margins(self, rho: Any) -> dict[str, np.ndarray]:
        """Return the fitted attributes that hold the margins of a machine with nu."""
        return {}

    def _fit_pairs(
        self,
        X: Any,
        samples: LabelledSamples,
        settings: Settings,
        store: KernelCache,
        folds: tuple[np.ndarray, int] | None,
        progress: Progress,
    ) -> dict[str, Any] | None:
        """Return all fitted attributes of a machine of small pairs; None where that fails."""
        fold = None if folds is None else folds[0]
        found = self._solved_pairs(samples, settings, store, fold, progress)
        if found is None:
            return None
        solved, held_out, rho = found
        fitted = self._attributes_of(solved, X, samples, settings) | self._margins(rho)
        if fold is not None:
            fitted |= self._calibrate_pairs(samples, held_out, fold)
        return fitted
