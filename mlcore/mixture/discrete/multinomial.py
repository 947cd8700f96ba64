"""Multinomial components, and mixtures of them: documents with one topic each."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_integer
from mlcore.kernels.structured.mixture_scores import ScoreTable, inverse_roots
from mlcore.mixture import start_values
from mlcore.mixture.discrete.components import DiscreteComponents, Parameters, Rows, Statistics
from mlcore.mixture.discrete.discrete_mixture import DiscreteMixture
from mlcore.mixture.discrete.sparse_rows import rows_of_array, rows_of_csr
from mlcore.mixture.discrete.zero_probabilities import logarithm, possible


class MultinomialMixture(DiscreteMixture):
    r"""Each row of counts, such as a document's words, comes from one component.

    .. math:: \log P(x | j) = \sum_w x_w \log u_{jw},

    the density of the words in their order: the multinomial coefficient, which no parameter
    changes, is left out. EM takes O(non-zeros n_components) time a step.

    Parameters
    ----------
    n_components : int, default=2
    alpha : float, default=0.01
        Pseudo-count of every word in every component (a Dirichlet prior), which keeps a word that
        a component has not seen from being impossible there for ever; 0 is plain maximum
        likelihood. At least 0.
    tol, max_iter, n_init : as in `BernoulliMixture`
    weights_init : (n_components,), default=None
    means_init : (n_components, n_features), default=None
        Given starts; rows of `means_init` sum to 1.
    random_state, warm_start, verbose, callback : as in `BernoulliMixture`

    Attributes
    ----------
    means_ : (n_components, n_features) float64
        Probabilities of the words, u; rows sum to 1.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean log-likelihood of a sample at the start and after each step, and with `alpha` the log
        of the prior, ``alpha * sum(log u)``, divided by the number of samples: what EM
        never decreases, but by rounding.
    mean_totals_ : (1, n_components) float64
        Mean number of words of a row.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object
    others
        As in `BernoulliMixture`.

    Notes
    -----
    Probabilities of 0, which take ``alpha=0``, are exact. A row that is impossible under every
    component has a log-density of -inf; `predict` and `predict_proba` give it, as if these
    probabilities went to 0 together, to the components of its fewest impossible words, and EM to
    all in equal shares. Sums over rows may leave out responsibilities below 2^-100, which change
    none by more than 2^-100 of all words. With ``alpha=0`` a word that a component knows from such
    rows alone becomes impossible there, where exact EM keeps a tiny probability that may grow
    again: it can come to another maximum.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun, T. Mitchell, *Text classification from labeled and unlabeled
    documents using EM*, Machine Learning 39, 2000.

    Examples
    --------
    >>> from mlcore.mixture import MultinomialMixture
    >>> X = [[4, 1, 0], [3, 2, 0], [0, 1, 5], [1, 0, 4], [0, 0, 3]]
    >>> mixture = MultinomialMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.weights_.round(3)
    array([0.6, 0.4])
    >>> mixture.predict([[1, 0, 9], [2, 1, 0]])
    array([0, 1])
    """

    _tags = {"input_tags.sparse": True, "input_tags.positive_only": True}

    means_: np.ndarray
    _stored = {"means_": "float64 k f", "mean_totals_": "float64 1 k"}

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.01,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        weights_init: Any = None,
        means_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(
            n_components,
            alpha=alpha,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            weights_init=weights_init,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.means_init = means_init

    @classmethod
    def from_parameters(cls, weights: Any, means: Any) -> Self:
        """Return a mixture of known parameters, ready to predict, sample or go on fitting.

        Parameters
        ----------
        weights : (n_components,)
        means : (n_components, n_features)
            Rows sum to 1.
        """
        return cls()._set_parameters(weights, means)

    def sample(self, n_samples: int = 1, n_words: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1
        n_words : int, default=1
            Sum of each row.

        Returns
        -------
        X : (n_samples, n_features) float64
            Ordered by component.
        labels : (n_samples,) intp
            Component of each row.
        """
        rng, labels = self._drawn_components(n_samples)
        n_words = as_integer(n_words, "n_words", owner=type(self).__name__, at_least=0)
        u = self.means_ / self.means_.sum(axis=1, keepdims=True)
        return rng.multinomial(n_words, u[labels]).astype(np.float64), labels

    def _sample_like(self, X, order):
        rng, labels = self._drawn_components(len(order))
        totals = np.asarray(self._check_X(X, reset=False).sum(axis=1)).ravel()
        u = self.means_ / self.means_.sum(axis=1, keepdims=True)
        return rng.multinomial(np.round(totals).astype(np.int64), u[labels[order]]).astype(float)

    # ---- what Mixture and DiscreteMixture ask for

    def _check_X(self, X, **options):
        X = super()._check_X(X, **options)
        least = min(0.0, (X.data if sp.issparse(X) else X).min(initial=0.0))
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} (least: {least:g}): X "
                "holds counts, which must be zero or positive."
            )
        return X

    def _of_size(self, n_components, n_features):
        owner = type(self).__name__
        return MultinomialComponents(n_components, float(self.alpha), n_features, owner)

    def _given_table(self, means, name, shape):
        return start_values.distributions(means, name, shape, type(self).__name__).T

    def _score_table(self):
        present = self.weights_ > 0
        mean_total = self.weights_[present] @ self.mean_totals_[0, present]
        return ScoreTable(self.means_, inverse_roots(mean_total * self.means_), of_total=True)


class MultinomialComponents(DiscreteComponents):
    """Counts of `n_features` words, drawn by component; `alpha` is the pseudo-count of a word."""

    n_outcomes: int

    # Documents are so long, and tables so large, that leaving out what is tiny halves the time.
    entire = False

    def __init__(self, n_components: int, alpha: float, n_features: int, owner: str) -> None:
        super().__init__(n_components, alpha, owner)
        self.n_features = self.n_outcomes = n_features

    def rows(self, X: Any, weight: Any) -> Rows:
        if sp.issparse(X):
            return Rows(X, weight, rows_of_csr(X, weight))
        any_count = np.full(X.shape[1], np.inf, X.dtype)
        return Rows(X, weight, rows_of_array(X, any_count, weight)[0])

    def fill(self, loop: Any, parameters: Parameters, rows: Rows) -> np.ndarray:
        loop.fill(parameters.table, logarithms=True)
        return logarithm(parameters.weights)

    def possible(self, parameters: Any, rows: Any) -> Any:
        logs, never = possible(parameters.table)
        nothing = np.zeros(len(parameters.weights))
        return (nothing, logs), (nothing, never)

    def gathered(
        self,
        rows: Rows,
        sums: np.ndarray,
        mass: np.ndarray,
        log_likelihood: float,
        before: np.ndarray | None,
    ) -> Statistics:
        return Statistics(log_likelihood, mass, sums, np.ones((1, len(sums))) @ sums)

    def step(self, rows: Rows, parameters: Parameters) -> tuple[Any, ...]:
        """Sums by column, probabilities and their logarithms pass through memory once."""
        loop = rows.sparse.loop(len(parameters.weights))
        start = self.fill(loop, parameters, rows)
        mass, totals, log_likelihood = loop.totals(start, rows.sparse.row_totals)
        statistics = Statistics(log_likelihood, mass, None, totals[None])
        objective = self.objective(statistics, rows, parameters)
        return objective, *self.smoothed(statistics, parameters, loop.smoothed_frequencies)

    def outcome_counts(self, X: Any) -> np.ndarray:
        return X.astype(np.float64)

    def by_column(self, values: np.ndarray) -> np.ndarray:
        return values

    def filled_log_prior(self, parameters: Parameters, rows: Rows) -> float:
        return rows.sparse.loop(len(parameters.weights)).sum_of_table()

    def parameters(self, mixture: MultinomialMixture) -> Parameters:
        return Parameters(mixture.weights_, mixture.means_.T, mixture.mean_totals_)

    def attributes(self, parameters: Parameters) -> dict[Any, Any]:
        return {
            "weights_": parameters.weights,
            "means_": np.ascontiguousarray(parameters.table.T),
            "mean_totals_": parameters.totals,
        }

    def arrays(self, mixture: MultinomialMixture) -> tuple[Any, ...]:
        return mixture.weights_, mixture.means_

    def n_parameters(self) -> Any:
        k, d = self.n_components, self.n_features
        return k - 1 + k * (d - 1)
