"""Probabilistic latent semantic analysis by sums over blocks of documents."""

import math
from typing import Any, Self

import numpy as np

from mlcore.checks import as_random_state
from mlcore.mixture.plsa.aspect_tables import PLSAStatistics, proportions
from mlcore.row_sums import RepeatedPasses, merged


class DocumentBlocks(RepeatedPasses):
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

    def merge(self, a: PLSAStatistics, b: PLSAStatistics) -> PLSAStatistics:
        """Return the sums over the documents of both.

        Parameters
        ----------
        a, b : PLSAStatistics
            Sums over different rows.

        Returns
        -------
        statistics : PLSAStatistics
            Their sums.
        """
        return merged(a, b)

    def update(self, statistics: PLSAStatistics) -> Self:
        """Replace components and weights by the proportions of the expected counts.

        `log_likelihood_trace_` grows by the value before the step: the mean of
        log P(word | document) and the prior; `converged_` tells if it rose by no more than `tol`.
        `document_components_` is of `fit` alone.

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
        return self._moved(*statistics, seen=statistics.mass)

    def _close_passes(self, total: Any = None) -> None:
        """End a fit by `update` as `fit` ends: the order of components, and what it warns of."""
        if vars(self).get("_drawn_"):
            order = np.argsort(-self.weights_, kind="stable")
            changed = {name: getattr(self, name)[order] for name in ("weights_", "components_")}
            self._update_state(changed)
        self._report(self.converged_, self.weights_)

    def _moved(self, counts, log_likelihood, mass, seen):
        dtype, alpha, old = self.components_.dtype, float(self.alpha), self.components_
        if alpha > 0:
            with np.errstate(divide="ignore"):
                log_likelihood += alpha * float(np.log(old, dtype=np.float64).sum())
        objective, trace = float(log_likelihood / mass), self.log_likelihood_trace_
        before = float(trace[-1]) if len(trace) else -math.inf
        change = objective - before if objective > -math.inf else math.inf
        changed = {
            "components_": proportions(counts + alpha, old).astype(dtype),
            "weights_": (counts.sum(axis=1) / counts.sum()).astype(dtype),
            "log_likelihood_trace_": np.append(trace, objective),
            "converged_": change <= self.tol and self.tol > 0,
            "n_iter_": self.n_iter_ + 1,
            "total_count_": seen,
        }
        self._update_state(changed, forget={"document_components_"} & vars(self).keys())
        return self
