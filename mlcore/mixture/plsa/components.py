"""Components of PLSA: distributions of words, of which each document is a mixture of its own."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.mixture.components import Components
from mlcore.mixture.plsa.aspect_tables import (
    AspectTables,
    Documents,
    proportions,
    random_components,
)


class PLSAStatistics(NamedTuple):
    """Sums over documents, from which `PLSA.update` takes its step."""

    word_counts: np.ndarray  # (k, v) expected counts of each word from each component
    log_likelihood: float  # of the counts, with the prior of the documents' mixtures
    mass: np.float64  # the sum of the counts


class AspectComponents(Components):
    """Distributions of words. A document's mixture is a parameter of `fit`, which has all rows.

    If `folded` (sums over blocks), no mixture is kept: each is folded in, by `tol` and `max_iter`.
    """

    alpha: float
    n_components: int
    exact: bool

    collapsed_may_grow = True

    def __init__(
        self, n_components: int, alpha: float, tol: float, max_iter: int, *, folded: bool
    ) -> None:
        self.n_components, self.alpha = n_components, alpha
        self._tol, self._max_iter, self._folded = tol, max_iter, folded
        self.exact = not folded
        self._documents: Documents | None = None  # those of the fit, by which rounding goes

    def rows(self, X: Any, weight: Any) -> Documents:
        self._documents = Documents(X, weight, self.n_components, self.alpha)
        return self._documents

    def start(
        self,
        em: Any,
        start_values: tuple[Any, ...],
        rng: np.random.Generator | None,
        number: int = 0,
    ) -> AspectTables:
        weights, components, mixtures = start_values
        rows, k = em.rows, self.n_components
        if components is None:
            components = random_components(rows.X, rows.weight, k, rng)
        dtype = rows.X.dtype
        if mixtures is not None:
            mixtures = mixtures.astype(dtype)
        weights = np.full(k, 1 / k) if weights is None else weights
        return AspectTables(
            weights.astype(dtype), components.astype(dtype).T, mixtures, rows.shares
        )

    def for_any_rows(self, parameters: Any) -> Any:
        return AspectTables(parameters.own_weights, parameters.words)

    def step(self, rows: Documents, parameters: AspectTables) -> tuple[Any, ...]:
        # Tables of a step are placed already.
        tables = parameters if parameters.own_weights is None else rows.placed(parameters)
        return rows.step(tables)

    def folded_in(self, rows: Documents, parameters: AspectTables) -> AspectTables:
        """Return tables with the documents' mixtures under these components."""
        tables = rows.placed(AspectTables(parameters.own_weights, parameters.words))
        rows.fold_in(tables, self._tol, self._max_iter)
        return tables

    def statistics(self, rows: Any, parameters: Any) -> Any:
        tables, mean = self.folded_in(rows, parameters), 0.0
        if not rows.total > 0:
            return PLSAStatistics(np.zeros(parameters.words.T.shape), 0.0, np.float64(0))
        mean = rows.expect(tables) + rows.log_prior_of_documents(tables.mixtures)
        total = np.float64(rows.total)
        return PLSAStatistics(rows.expected_counts(tables), mean * rows.total, total)

    def maximize(self, statistics: Any, parameters: Any) -> Any:
        counts, dtype = statistics.word_counts, parameters.words.dtype
        words = proportions(counts + self.alpha, parameters.words.T).astype(dtype)
        weights = (counts.sum(axis=1) / counts.sum()).astype(dtype)
        return AspectTables(weights, words.T), weights == 0

    def log_prior(self, parameters: Any) -> Any:
        if self.alpha == 0:
            return 0.0
        with np.errstate(divide="ignore"):
            return self.alpha * float(np.log(parameters.words.T, dtype=np.float64).sum())

    def rounding(self, parameters: Any, objective: Any, n: Any) -> Any:
        """Half of what rounding, and the tolerance of folding in, explain of a difference."""
        if self._folded:
            return np.finfo(parameters.words.dtype).eps ** 0.75 * abs(objective) / 2
        return self._documents.rounding(objective) / 2

    def why_it_fell(self) -> Any:
        if self._folded:
            return f"documents are folded in to tol={self._tol:g}"
        return super().why_it_fell()

    def reorder(self, parameters: AspectTables, order: np.ndarray) -> AspectTables:
        _, words, mixtures, shares = parameters
        weights = parameters.weights[order]
        mixtures = None if mixtures is None else mixtures[:, order]
        return AspectTables(weights, words[:, order], mixtures, shares)

    def expected(self, parameters: Any, total_weight: Any) -> Any:
        counts = parameters.weights[:, None] * parameters.words.T.astype(np.float64)
        return PLSAStatistics(counts, 0.0, np.float64(1))

    def attributes(self, parameters: AspectTables) -> dict[Any, Any]:
        words, k = parameters.words, self.n_components
        attributes = {
            "components_": np.ascontiguousarray(words[:, :k].T),
            "weights_": parameters.weights[:k].astype(words.dtype),
        }
        if parameters.mixtures is not None:
            joint = np.ascontiguousarray(parameters.mixtures[:, :k]).T * parameters.shares
            documents = proportions(joint, parameters.shares)
            attributes["document_components_"] = documents.astype(words.dtype)
        return attributes

    def parameters(self, mixture: Any) -> AspectTables:
        return AspectTables(mixture.weights_, mixture.components_.T)
