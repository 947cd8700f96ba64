"""Probabilistic latent semantic analysis (the aspect model) of counts of words in documents."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_integer, as_real, as_weights
from mlcore.estimator.model import Transformer, warn
from mlcore.mixture.em import Run
from mlcore.mixture.em_model import EMModel, Evaluated
from mlcore.mixture.plsa.aspect_tables import AspectTables, distributions, proportions
from mlcore.mixture.plsa.components import AspectComponents
from mlcore.runtime.threads import single_threaded_blas


class PLSA(Transformer, EMModel):
    r"""Probabilistic latent semantic analysis: each component has its own distribution of words.

    .. math:: P(w, d) = \sum_j \lambda_j u_j(w) v_j(d)

    is fitted to a matrix of counts G, documents by words, by EM: it minimises the relative entropy
    between G / sum(G) and P. A step takes O(n_components) time for each non-zero count; the fit
    holds a copy of these, and O(n_components (n_samples + n_features)).

    Parameters
    ----------
    n_components : int, default=10
    tol : float, default=1e-4
        A fit has converged when the mean log-likelihood of a count moves by less in a step, and
        would in the next; 0 takes exactly `max_iter` steps.
    max_iter : int, default=1000
    alpha : float, default=0.01
        Pseudo-counts, added to those of each word in each component and of each component in each
        document: the fit maximises the likelihood times Dirichlet densities with parameter
        1 + alpha of u_j and of P(j | d). A positive value keeps every probability positive; 0 is
        plain maximum likelihood, where a probability that has become 0 stays 0.
    n_init : int, default=1
        Random starts, of which the best is kept.
    weights_init : (n_components,) array, optional
    components_init : (n_components, n_features) array, optional
        Start, by default equal weights and random components.
    document_components_init : (n_components, n_samples) array, optional
        Start of v_j(d), by default the same mixture for every document.
    warm_start : bool, default=False
        Whether `fit` goes on from the components, the weights and, for as many documents, the
        mixtures of the previous fit.
    random_state : None, int, Generator or RandomState
        Of the random starts.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.

    Attributes
    ----------
    weights_ : (n_components,)
        lambda_j, the largest first; in the order of the start where one is given.
    components_ : (n_components, n_features)
        u_j(w), rows that sum to 1.
    document_components_ : (n_components, n_samples)
        v_j(d) of the documents of `fit`, rows that sum to 1.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean over all counts of log P(w, d) at the start and after each step, plus the prior's
        log-density: it never falls, but by rounding, without a warning. P(d) is the document's
        share of the counts. -inf where a positive `alpha` meets a probability of 0 in the start.
    n_iter_ : int
    converged_ : bool
    lower_bound_, objective_ : float
        The last of the trace.
    collapsed_components_ : (n_collapsed,) intp
        Components that have lost all counts.
    total_count_ : float
        The weighted sum of the counts seen.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Weights of documents count copies: 2 is a document given twice, 0 its absence, with v_j(d) = 0.
    Empty documents and words change nothing. A counted word of probability 0 has a logarithm of
    -inf; a probability below 2^-900 (2^-100 in float32) counts as that. With ``alpha=0`` a
    component may lose all counts: it keeps its words with a weight of 0, and a warning names it.

    Sums over blocks (`partial_statistics`, `partial_fit`) remember nothing of a document: its
    mixture is folded in, as `transform` does, under the components now. A step gains more than one
    of `fit`, and takes longer. `document_components_` is of `fit` alone.

    References
    ----------
    T. Hofmann, *Unsupervised learning by probabilistic latent semantic analysis*, Machine Learning
    42, 2001. A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 3.5.2.

    Examples
    --------
    >>> from mlcore.mixture import PLSA
    >>> counts = [[4, 2, 0, 0], [2, 1, 0, 0], [0, 0, 3, 6]]
    >>> model = PLSA(n_components=2, random_state=0).fit(counts)
    >>> mixtures = model.transform(counts).round(1)
    >>> bool((mixtures[0] == mixtures[1]).all()), bool((mixtures[0] == mixtures[2]).any())
    (True, False)
    """

    components_: np.ndarray
    document_components_: np.ndarray
    total_count_: float

    _tags: ClassVar = {
        "input_tags.sparse": True,
        "input_tags.positive_only": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }
    _stored = {
        "weights_": "float k",
        "components_": "float k f",
        "document_components_": "float k n",
        "total_count_": "float",
    }
    _total, _of_fit = "total_count_", frozenset({"document_components_"})

    def __init__(
        self,
        n_components: int = 10,
        *,
        tol: float = 1e-4,
        max_iter: int = 1000,
        alpha: float = 0.01,
        n_init: int = 1,
        weights_init: Any = None,
        components_init: Any = None,
        document_components_init: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.alpha = alpha
        self.n_init = n_init
        self.weights_init = weights_init
        self.components_init = components_init
        self.document_components_init = document_components_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def transform(self, X: Any) -> Any:
        """Return P(component | document) for each row of `X`.

        Each document is folded in: EM on its mixture alone, from `weights_`, until no value moves
        by more than `tol`, at most `max_iter` steps. A document of unknown words gets equal
        probabilities, or `weights_` with ``alpha=0``.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        mixtures : (n_samples, n_components)
            Rows that sum to 1.
        """
        rows, tables = self._folded(X)
        return self._wrap(np.ascontiguousarray(tables.mixtures[:, : rows.k]), X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean over all counts of log P(word | document), documents folded in.

        `X` needs a positive count; `sample_weight` (n_samples,) is of the documents. Words that no
        component has make it -inf.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        score : float
            Mean natural logarithm, at most 0.
        """
        rows, tables = self._folded(X, sample_weight)
        if not rows.mass > 0:
            raise ValueError("X has no counts: at least one must be positive for a score.")
        return rows.expect(tables)

    def perplexity(self, X: Any, sample_weight: Any = None) -> float:
        """Return exp(-score): the number of equally likely words that would be as surprising.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional
            Of the documents.

        Returns
        -------
        perplexity : float
            At least 1.
        """
        return float(np.exp(-self.score(X, sample_weight=sample_weight)))

    # ---- what EMModel asks for

    def _evaluated(self, X, sample_weight):
        rows, tables = self._folded(X, sample_weight)
        k, n_words = self.components_.shape
        n_documents = int(np.count_nonzero(rows.weights))
        n_parameters = n_documents * (k - 1) + k * (n_words - 1)
        return Evaluated(rows.expect(tables) * rows.total, rows.total, n_parameters, math.nan)

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        as_integer(self.max_iter, "max_iter", owner=owner, at_least=1)
        as_real(self.alpha, "alpha", owner=owner, at_least=0)
        return settings._replace(short_run=settings.max_iter)

    def _as_first(self, X, like):
        return self._counts(X, reset=True)

    def _n_out(self):
        return len(self.components_)

    def _scaled(self, weight):
        return weight, 0

    def _most_share(self, n_rows):
        return 1.0

    def _checked(self, X, sample_weight, *, reset):
        counts = self._counts(X, reset=reset)
        weight = None if sample_weight is None else as_weights(sample_weight, counts.shape[0])
        if not reset:
            return counts, weight
        weighted = counts if weight is None else counts[weight > 0]
        if not weighted.data.max(initial=0) > 0:
            raise ValueError(
                f"X has no counts, all are zero: {type(self).__name__} needs at least one positive "
                "count in a document of positive weight."
            )
        return counts, weight

    def _counts(self, X, *, reset):
        like = None if reset else getattr(self, "components_", None)  # _check_X asks for the fit
        X = self._check_X(X, reset=reset, like=like)
        counts = X if sp.issparse(X) else sp.csr_array(X)
        if counts.data.min(initial=0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} (least: "
                f"{counts.data.min():g}): X must hold counts, zero or positive."
            )
        return counts

    def _components(self, X, weight):
        return self._aspects(int(self.n_components), folded=False)

    def _fitted_components(self):
        return self._aspects(len(self.components_), folded=True)

    def _aspects(self, k, *, folded):
        return AspectComponents(
            k, float(self.alpha), float(self.tol), int(self.max_iter), folded=folded
        )

    def _start_values(self, shape):
        """Weights, components and documents' mixtures, as far as they are given.

        With components none is missing: the others are equal weights, and these for all documents.
        """
        (n, v), k = shape, int(self.n_components)
        weights = distributions(self.weights_init, "weights_init", (k,))
        components = distributions(self.components_init, "components_init", (k, v))
        documents = self.document_components_init
        documents = distributions(documents, "document_components_init", (k, n))
        if components is not None and weights is None:
            weights = np.full(k, 1 / k)
        mixtures = None
        if documents is not None:
            prior = np.full(k, 1 / k) if weights is None else weights
            mixtures = proportions((prior[:, None] * documents).T, prior)
        elif components is not None:
            mixtures = np.broadcast_to(weights, (n, k))
        return weights, components, mixtures

    def _starts(self, em):
        if not (self.warm_start and hasattr(self, "components_")):
            return super()._starts(em)
        components, weights = self.components_, self.weights_
        (n, v), dtype = em.rows.X.shape, em.rows.X.dtype
        if components.shape != (self.n_components, v):
            raise ValueError(
                f"warm_start=True goes on from components_ of shape {components.shape}, but "
                f"n_components={self.n_components} and X has {v} features: use warm_start=False."
            )
        documents, mixtures = getattr(self, "document_components_", None), None
        if documents is not None and documents.shape[1] == n:
            mixtures = proportions((weights[:, None] * documents).T, weights).astype(dtype)
        weights, words = weights.astype(dtype), components.astype(dtype).T
        return [Run(AspectTables(weights, words, mixtures, em.rows.shares))], None

    def _report_collapsed(self, run, owner):
        if len(run.collapsed):
            warn(
                "UserWarning",
                f"{owner}: components {run.collapsed.tolist()} have no counts left, and weights_ "
                "of 0: use alpha > 0, fewer components or another start.",
            )

    def _from_older_state(self, state):
        """0.2 kept neither the last objective alone nor the components without counts."""
        if "components_" in state and "lower_bound_" not in state:
            trace = state["log_likelihood_trace_"]
            state["lower_bound_"] = float(trace[-1]) if len(trace) else -np.inf
            state["collapsed_components_"] = np.flatnonzero(state["weights_"] == 0)
        return super()._from_older_state(state)

    @single_threaded_blas()
    def _folded(self, X, sample_weight=None):
        """Return documents, and tables with their mixtures under the components now."""
        counts, weight = self._checked(X, sample_weight, reset=False)
        components = self._fitted_components()
        rows = components.rows(counts, weight)
        return rows, components.folded_in(rows, components.parameters(self))
