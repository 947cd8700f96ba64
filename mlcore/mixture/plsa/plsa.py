"""Probabilistic latent semantic analysis (the aspect model) of counts of words in documents.

It has a loop of its own beside `mlcore.mixture.em`: its parameters grow with the documents, which
`Components` forbids, and its objective is a mean over counts, not over rows.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import (
    as_bool,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_random_state,
)
from mlcore.estimator.first_rows import KeepsFirstRows
from mlcore.estimator.model import Model, Transformer, warn
from mlcore.estimator.progress import CallbackSupport, Progress
from mlcore.mixture.em import RECENT
from mlcore.mixture.plsa.aspect_tables import (
    AspectTables,
    distributions,
    proportions,
    random_components,
    require_tables,
)
from mlcore.mixture.plsa.document_blocks import DocumentBlocks


class PLSA(CallbackSupport, DocumentBlocks, KeepsFirstRows, Transformer, Model):
    r"""Probabilistic latent semantic analysis: each component has its own distribution of words.

    .. math:: P(w, d) = \sum_j \lambda_j u_j(w) v_j(d)

    is fitted to a matrix of counts G, documents by words, by EM: it minimises the relative entropy
    between G / sum(G) and P. A step takes O(n_components) time for each non-zero count; the fit
    holds a copy of these, and O(n_components (n_samples + n_features)).

    Parameters
    ----------
    n_components : int, default=10
    tol : float, default=1e-4
        A fit has converged when a step moves the mean log-likelihood of a count by no more than
        this, and the next would; 0 takes exactly `max_iter` steps.
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
    log_likelihood_trace_ : (n_iter_ + 1,) float64
        Mean over all counts of log P(w, d) at the start and after each step, plus the prior's
        log-density: it never falls, but by rounding, without a warning. P(d) is the document's
        share of the counts. -inf where a positive `alpha` meets a probability of 0 in the start.
    n_iter_ : int
    converged_ : bool
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

    weights_: np.ndarray
    components_: np.ndarray
    document_components_: np.ndarray
    log_likelihood_trace_: np.ndarray
    n_iter_: int
    converged_: bool
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
        "log_likelihood_trace_": "float64 t?",
        "n_iter_": "count",
        "converged_": "bool",
        "total_count_": "float",
        "_drawn_": "bool",
        "_kept_": ("float k f", "float k"),
        "_end_": ("float k f", "float k"),
    }

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to counts.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Counts of words (columns) in documents (rows), whole or not, not negative.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        MemoryError
            If what must be held does not fit.
        """
        k = self._checked_n_components()
        with Progress(self.verbose, self.callback, type(self).__name__, self) as progress:
            counts, weights = self._training_counts(X, sample_weight)
            random = as_random_state(self.random_state)
            is_given, order_is_given = self._given_start()
            step, best, fall = 0, None, (0, 0.0)
            for _ in range(1 if is_given else self.n_init):
                components, _, mixtures = self._start(counts, weights, k, random)
                tables = AspectTables(counts, weights, components, mixtures, self.alpha)
                found, fell = tables.ascend(self.max_iter, self.tol, progress, step)
                step += found["n_iter_"]
                trace = found["log_likelihood_trace_"]
                if best is None or trace[-1] > best["log_likelihood_trace_"][-1]:
                    best, fall = found, fell
        best["total_count_"] = float(np.ldexp(tables.mass, tables.unit))
        if not order_is_given:
            order = np.argsort(-best["weights_"], kind="stable")
            for name in ("weights_", "components_", "document_components_"):
                best[name] = best[name][order]
        self._report(best["converged_"], best["weights_"])
        self._warn_of_fall(*fall, "")
        self._set_fitted(X, **best)
        return self

    def _warn_of_fall(self, step, size, reason):
        if size > 0:
            warn(
                "ConvergenceWarning",
                f"PLSA: the mean log-likelihood fell by {size:.3g} in step {step}, which rounding "
                f"does not explain{reason}.",
            )

    def _report(self, converged, weights):
        if not converged and self.tol > 0:
            warn(
                "ConvergenceWarning",
                f"PLSA did not converge in max_iter={self.max_iter} steps, before these moved the "
                f"mean log-likelihood by no more than tol={self.tol:g}.",
            )
        lost = np.flatnonzero(weights == 0)
        if len(lost):
            warn(
                "UserWarning",
                f"PLSA: components {lost.tolist()} have no counts left, and weights_ "
                "of 0: use alpha > 0, fewer components or another start.",
            )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take a step of stepwise EM on new documents, which are folded in: see `update`.

        The components represent earlier documents. New counts get twice their share of all, since
        earlier ones were summed under worse components (step sizes 2 / t). A new model keeps its
        first documents and is fitted to all of them as they grow, until there are 100 for each
        component. Arguments as of `fit`.

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
        if not hasattr(self, "components_") or self._first_rows is not None:
            return self._take_first(X, sample_weight, k)
        new = self.partial_statistics(X, y, sample_weight)
        if not new.mass > 0:
            raise ValueError("X has no counts: at least one must be positive for a step.")
        seen = self.total_count_ + new.mass
        share = min(1.0, RECENT * new.mass / seen)
        known = self.weights_[:, None] * self.components_.astype(np.float64)
        mixed = share / new.mass * new.word_counts + (1 - share) * known
        objective = self._mean_with_prior(new.log_likelihood, new.mass)
        self._move(seen * mixed, objective, seen)
        return self

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
        return self._wrap(self._folded(X).mixtures(), X)

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
        tables = self._folded(X, sample_weight, for_fit=True)
        if not tables.mass > 0:
            raise ValueError("X has no counts: at least one must be positive for a score.")
        return tables.expect()

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

    def _as_first(self, X, like):
        return self._counts(X, reset=True)

    def _n_out(self):
        return len(self.components_)

    def _checked_n_components(self):
        """Check all parameters but start values; return `n_components`."""
        owner = type(self).__name__
        k = as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        as_real(self.tol, "tol", owner=owner, at_least=0)
        as_integer(self.max_iter, "max_iter", owner=owner, at_least=1)
        as_real(self.alpha, "alpha", owner=owner, at_least=0)
        as_integer(self.n_init, "n_init", owner=owner, at_least=1)
        as_bool(self.warm_start, "warm_start", owner=owner)
        require_random_state(self.random_state, owner=owner)
        return k

    def _counts(self, X, reset):
        like = None if reset else getattr(self, "components_", None)  # _check_X asks for the fit
        X = self._check_X(X, reset=reset, like=like)
        counts = X if sp.issparse(X) else sp.csr_array(X)
        if counts.data.min(initial=0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} (least: "
                f"{counts.data.min():g}): X must hold counts, zero or positive."
            )
        return counts

    def _training_counts(self, X, sample_weight):
        counts = self._counts(X, reset=True)
        weights = None if sample_weight is None else as_weights(sample_weight, counts.shape[0])
        weighted = counts if weights is None else counts[weights > 0]
        if not weighted.data.max(initial=0) > 0:
            raise ValueError(
                f"X has no counts, all are zero: {type(self).__name__} needs at least one positive "
                "count in a document of positive weight."
            )
        return counts, weights

    def _given_start(self):
        """Return whether the start needs no draws, and whether the order of components is given."""
        whole = self.components_init is not None or self._goes_on()
        parts = self.weights_init, self.document_components_init
        return whole, whole or any(part is not None for part in parts)

    def _goes_on(self):
        return bool(self.warm_start) and hasattr(self, "components_")

    def _start(self, counts, weights, k, random):
        """P(word | component), weights and P(component | document) before the first step."""
        (n, v), dtype = counts.shape, counts.dtype
        require_tables(n, v, k, dtype)
        weights_ = distributions(self.weights_init, "weights_init", (k,))
        components = distributions(self.components_init, "components_init", (k, v))
        documents = self.document_components_init
        documents = distributions(documents, "document_components_init", (k, n))
        if self._goes_on():
            weights_, components = self.weights_, self.components_
            if components.shape != (k, v):
                raise ValueError(
                    f"warm_start=True goes on from components_ of shape {components.shape}, but "
                    f"n_components={k} and X has {v} features: use warm_start=False."
                )
            before = getattr(self, "document_components_", None)
            documents = before if before is not None and before.shape[1] == n else None
        mixtures = weights_ = np.full(k, 1 / k) if weights_ is None else weights_
        if documents is not None:
            mixtures = proportions((weights_[:, None] * documents).T, weights_)
        if components is None:
            components = random_components(counts, weights, k, random)
        return components.astype(dtype), weights_.astype(dtype), mixtures.astype(dtype)

    def _folded(self, X, sample_weight=None, for_fit=False):
        """The tables of documents whose mixtures are fitted under the components now."""
        counts = self._counts(X, reset=False)
        weights = None if sample_weight is None else as_weights(sample_weight, counts.shape[0])
        start = self.components_, self.weights_
        tables = AspectTables(counts, weights, *start, self.alpha, for_fit)
        tables.fold_in(self.tol, self.max_iter)
        return tables
