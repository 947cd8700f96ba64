"""Bernoulli components, independent binary features, and mixtures of them."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_real
from mlcore.checks.missing import Missing
from mlcore.estimator.model import warn
from mlcore.kernels.structured.mixture_scores import ScoreTable, inverse_roots
from mlcore.mixture.discrete.binomial_product import BinomialProduct, Failures, table_of_successes
from mlcore.mixture.discrete.discrete_mixture import DiscreteMixture

_BLOCK = 1024  # rows looked at in one go


class BernoulliMixture(DiscreteMixture):
    r"""Rows of zeros and ones, whose features are independent given the component.

    .. math:: P(x | j) = \prod_d \mu_{jd}^{x_d} (1 - \mu_{jd})^{1 - x_d}.

    EM takes O(n_samples n_features n_components) time a step, and less where features are
    mostly 0, or mostly 1.

    Parameters
    ----------
    n_components : int, default=2
    alpha : float, default=0.01
        Pseudo-count of a 0 and of a 1 in every feature of every component (a Beta prior), which
        keeps what a component has not seen from being impossible there for ever; 0 is plain
        maximum likelihood. At least 0.
    binarize : float or None, default=0.0
        Values above count as 1, others as 0; with None the data must be 0 and 1. A warning names
        features that vary, and are constant after.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, which takes no part: exact EM where values are
        missing at random.
    tol : float, default=1e-4
        EM ends when the mean objective of a sample moves by less in a step, and would in the next.
    max_iter : int, default=200
        Most steps of EM; 0 keeps the start.
    n_init : int, default=1
        Starts, of which the best goes on after ten steps. A start is the best of six after five
        steps on at most 512 rows; these begin from rows far from each other, mixed with the mean.
    weights_init : (n_components,), default=None
    means_init : (n_components, n_features), default=None
        Given starts.
    random_state : None, int, Generator or RandomState, default=None
    warm_start : bool, default=False
        Start `fit` where the previous one ended, if that was of the same shape.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` after every step; raising stops the
        fit.

    Attributes
    ----------
    weights_ : (n_components,) float64
        Descending, unless part of the start was given: then in the order given.
    means_ : (n_components, n_features) float64
        Probabilities of a 1, mu.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean log-likelihood of a sample at the start and after each step, and with `alpha` the log
        of the prior, ``alpha * sum(log mu + log(1 - mu))``, divided by the number of samples: what
        EM never decreases, but by rounding.
    lower_bound_, objective_ : float
        The last of these.
    n_iter_ : int
    converged_ : bool
    collapsed_components_ : (n_collapsed,) intp
        Components that have lost all their samples, or all but 16 eps of the weight. A warning
        names them.
    mean_totals_ : (n_features, n_components) float64
        Share of the rows where each feature is known.
    total_weight_ : float
        Of the samples seen.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Probabilities of 0 and 1, which take ``alpha=0``, are exact. A row that is impossible under
    every component has a log-density of -inf; `predict` and `predict_proba` give it, as if these
    probabilities went to 0 and 1 together, to the components of its fewest impossible values, and
    EM to all in equal shares.

    References
    ----------
    C. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 9.3.3.

    Examples
    --------
    >>> from mlcore.mixture import BernoulliMixture
    >>> X = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    >>> mixture = BernoulliMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.weights_.round(2)
    array([0.6, 0.4])
    >>> mixture.predict([[1, 1, 0], [0, 0, 1]])
    array([0, 1])
    """

    _tags = {"input_tags.sparse": True}

    means_: np.ndarray
    _solution_: Failures | None = None
    _stored = {"means_": "float64 k f", "_solution_": ("|", "none", Failures)}
    _older = DiscreteMixture._older | {"_solution_": (Failures, "failures")}

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.01,
        binarize: float | None = 0.0,
        missing: Missing = "error",
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
        self.binarize = binarize
        self.missing = missing
        self.means_init = means_init

    @classmethod
    def from_parameters(cls, weights: Any, means: Any) -> Self:
        """Return a mixture of known parameters, ready to predict, sample or go on fitting.

        Parameters
        ----------
        weights : (n_components,)
        means : (n_components, n_features)
            In [0, 1].
        """
        return cls()._set_parameters(weights, means)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features) float64
            Ordered by component.
        labels : (n_samples,) intp
            Component of each row.
        """
        rng, labels = self._drawn_components(n_samples)
        X = rng.random((len(labels), self.means_.shape[1])) < self.means_[labels]
        return X.astype(np.float64), labels

    def _settings(self):
        settings = super()._settings()
        if self.binarize is not None:
            as_real(self.binarize, "binarize", owner=type(self).__name__)
        return settings

    def _check_X(self, X, **options):
        X = super()._check_X(X, **options)
        if sp.issparse(X) and self.binarize is not None and self.binarize < 0:
            raise ValueError(
                f"{type(self).__name__}: binarize={float(self.binarize):g} makes ones of the zeros "
                "that sparse X leaves out: it must be >= 0, or X dense."
            )
        return X

    def _components(self, X, weight):
        if self.binarize is not None:
            self._warn_of_constants(X, float(self.binarize))
        return super()._components(X, weight)

    def _given_table(self, means, name, shape):
        return table_of_successes(means, name, shape, type(self).__name__)

    def _as_first(self, X, like):
        X = super()._as_first(X, like)
        self._of_size(1, X.shape[1]).rows(X, None)  # refuses values out of range
        return X

    def _of_size(self, n_components, n_features):
        return BernoulliComponents(
            n_components,
            float(self.alpha),
            n_features,
            None if self.binarize is None else float(self.binarize),
            self.missing == "ignore",
            type(self).__name__,
        )

    def _score_table(self):
        factors = inverse_roots(self.means_ * (1 - self.means_))
        return ScoreTable(self.means_, factors, threshold=self.binarize)

    def _warn_of_constants(self, X, threshold):
        columns, low, high = _made_constant(X, threshold)
        if len(columns):
            warn(
                "UserWarning",
                f"{type(self).__name__}: binarize={threshold:g} makes {len(columns)} of "
                f"{X.shape[1]} features constant that vary in X (column {columns[0]} from "
                f"{low[0]:g} to {high[0]:g}): these say nothing of the components. Choose a "
                f"threshold that parts their values, such as binarize={(low[0] + high[0]) / 2:g}.",
            )


class BernoulliComponents(BinomialProduct):
    """Independent features that are 0 or 1, or above a threshold or not.

    Above `threshold` a value is 1, else 0; None: values must be 0 or 1. Else as `BinomialProduct`.
    """

    def __init__(
        self,
        n_components: int,
        alpha: float,
        n_features: int,
        threshold: float | None,
        missing: bool,
        owner: str,
    ) -> None:
        super().__init__(n_components, alpha, np.ones(n_features), missing, owner)
        self.threshold = threshold

    def wrong(self, values: Any, most: np.ndarray) -> np.ndarray:
        return (values != 0) & (values != 1) & ~np.isnan(values)

    def refused(self, row: Any, column: Any, value: Any, most: Any) -> Any:
        return ValueError(
            f"{self.owner}: X holds {value:g} at row {row}, column {column}, but with "
            "binarize=None must hold 0 and 1 only."
        )


def _made_constant(X, threshold):
    """Columns that vary but lie on one side of the threshold; their least and largest values."""
    if sp.issparse(X):
        full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        low, high = (np.where(full, start, 0.0) for start in (np.inf, -np.inf))
        np.fmin.at(low, X.indices, X.data)
        np.fmax.at(high, X.indices, X.data)
        columns = np.flatnonzero((low < high) & ((low > threshold) == (high > threshold)))
        return columns, low[columns], high[columns]
    columns = np.arange(X.shape[1])
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK]
        block = block if len(columns) == X.shape[1] else block[:, columns]
        low = np.fmin(low, np.fmin.reduce(block))
        high = np.fmax(high, np.fmax.reduce(block))
        same = (low > threshold) == (high > threshold)
        columns, low, high = columns[same], low[same], high[same]
        if not len(columns):
            break
    varies = low < high
    return columns[varies], low[varies], high[varies]
