"""Probabilistic latent semantic analysis by sums over blocks of documents."""

import math
from typing import Any, Self

import numpy as np

from mlcore.checks import as_random_state
from mlcore.mixture.plsa.aspect_tables import PLSAStatistics, proportions
from mlcore.row_sums import RowSums


class DocumentBlocks(RowSums):
    """Mixin of `PLSA`: the methods of `RowSums`."""

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the components to start from; random ones follow the words' frequencies in `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        self
            This model.
        """
        k = self._checked_n_components()
        counts, weights = self._training_counts(X, sample_weight)
        random = as_random_state(self.random_state)
        components, weights_, _ = self._start(counts, weights, k, random)
        start = {"components_": components, "weights_": weights_, "n_iter_": 0, "converged_": False}
        start["_drawn_"] = not self._given_start()[1]
        self._set_fitted(X, **start, log_likelihood_trace_=np.empty(0), total_count_=0.0)
        return self

    def partial_statistics(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> PLSAStatistics:
        """Return the expected counts of words from components over the documents of `X`.

        Nothing is remembered of a document, so its mixture is first folded in, as `transform` does,
        under the components now; then the counts of its words are shared out by
        P(component | word, document). A step gains more than one of `fit`, and takes longer.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        statistics : PLSAStatistics
            Sums over these documents.
        """
        tables = self._folded(X, sample_weight, for_fit=True)
        mass, mean = float(np.ldexp(tables.mass, tables.unit)), 0.0
        if mass > 0:
            mean = tables.expect() + tables.log_prior_of_documents()
        return PLSAStatistics(tables.expected_counts(), mean * mass, mass)

    def update(self, statistics: PLSAStatistics) -> Self:
        """Replace components and weights by the proportions of the expected counts.

        `log_likelihood_trace_` grows by the value before the step: the mean of
        log P(word | document) and the prior; `converged_` tells if two steps moved it by no more
        than `tol`. `document_components_` is of `fit` alone.

        Parameters
        ----------
        statistics : PLSAStatistics
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        if not statistics.mass > 0:
            raise ValueError("the statistics hold no counts: at least one must be positive.")
        objective, change = self._objective_of(statistics)
        small = abs(change) <= self.tol and self.tol > 0
        before, kept = (self.components_, self.weights_), vars(self).get("_kept_")
        self._move(statistics.word_counts, objective, statistics.mass)
        end = kept if small else None
        state = {"_kept_": before if small else None, "_end_": end, "converged_": end is not None}
        self._update_state(state)
        return self

    def _objective_of(self, statistics):
        """Return the objective of the components, and its change; warn if it fell."""
        objective = self._mean_with_prior(statistics.log_likelihood, statistics.mass)
        trace = self.log_likelihood_trace_
        before = float(trace[-1]) if len(trace) else -math.inf
        change = objective - before if before > -math.inf else math.inf
        # Documents are folded in up to `tol`.
        explained = max(self.tol, np.finfo(self.components_.dtype).eps ** 0.75 * abs(objective))
        if -change > explained:
            reason = ": documents were folded in too roughly, or have changed from pass to pass"
            self._warn_of_fall(len(trace), -change, reason)
        return objective, change

    def _mean_with_prior(self, log_likelihood, mass):
        alpha = float(self.alpha)
        if alpha > 0:
            with np.errstate(divide="ignore"):
                log_likelihood += alpha * float(np.log(self.components_, dtype=np.float64).sum())
        return float(log_likelihood / mass)

    def needs_finishing_pass(self) -> bool:
        """Return True if the objective of the last components is not known yet.

        Returns
        -------
        needed : bool
            Whether `finish` needs the sums over all rows.
        """
        return not self.converged_

    def finish(self, total: Any = None) -> None:
        """End a fit by `update` as `fit` ends: the order of components, and its warnings.

        Parameters
        ----------
        total : PLSAStatistics, optional
            Sums over all rows, if `needs_finishing_pass`.
        """
        state, trace = vars(self), self.log_likelihood_trace_
        end, n_iter = state.get("_end_"), self.n_iter_
        if total is not None and total.mass > 0:
            objective, change = self._objective_of(total)
            n_iter, trace = n_iter + 1, np.append(trace, objective)
            end = state.get("_kept_") if abs(change) <= self.tol and self.tol > 0 else None
        changed = {"log_likelihood_trace_": trace, "n_iter_": n_iter - 1}
        if end is not None:  # the last objective is that of the step which is not taken
            changed = {"log_likelihood_trace_": trace[:-1], "n_iter_": n_iter - 2}
            changed |= {"components_": end[0], "weights_": end[1], "converged_": True}
        self._update_state(changed, forget={"_kept_", "_end_"} & state.keys())
        if vars(self).get("_drawn_"):
            order = np.argsort(-self.weights_, kind="stable")
            changed = {name: getattr(self, name)[order] for name in ("weights_", "components_")}
            self._update_state(changed)
        self._report(self.converged_, self.weights_)

    def _move(self, counts, objective, seen):
        """Take the step that expected counts lead to; `objective` is that before it."""
        dtype, old = self.components_.dtype, self.components_
        changed = {
            "components_": proportions(counts + float(self.alpha), old).astype(dtype),
            "weights_": (counts.sum(axis=1) / counts.sum()).astype(dtype),
            "log_likelihood_trace_": np.append(self.log_likelihood_trace_, objective),
            "converged_": False,
            "n_iter_": self.n_iter_ + 1,
            "total_count_": seen,
        }
        lost = {"document_components_", "_kept_", "_end_"}
        self._update_state(changed, forget=lost & vars(self).keys())
