"""Binomial components, independent numbers of successes, and mixtures of them."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_integer
from mlcore.checks.arrays import real_array
from mlcore.checks.missing import Missing
from mlcore.mixture.discrete.binomial_product import BinomialProduct, Failures, table_of_successes
from mlcore.mixture.discrete.discrete_mixture import DiscreteMixture


class BinomialMixture(DiscreteMixture):
    r"""Rows of counts of successes in known numbers of trials, independent given the component.

    .. math:: P(x | j) = \prod_d \mu_{jd}^{x_d} (1 - \mu_{jd})^{n_d - x_d},

    the density of the trials in their order: the binomial coefficients, which no parameter changes,
    are left out. EM takes O(non-zeros n_components) time a step.

    Parameters
    ----------
    n_components : int, default=2
    n_trials : int or (n_features,) of int, default=1
        Trials behind each number of successes, which need not be whole: at least 1.
    alpha, missing, tol, max_iter, n_init : as in `BernoulliMixture`
    weights_init : (n_components,), default=None
    means_init : (n_components, n_features), default=None
        Given starts.
    random_state, warm_start, verbose, callback : as in `BernoulliMixture`

    Attributes
    ----------
    means_ : (n_components, n_features) float64
        Probabilities of success, mu.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean log-likelihood of a sample at the start and after each step, and with `alpha` the log
        of the prior, ``alpha * sum(log mu + log(1 - mu))``, divided by the number of samples: what
        EM never decreases, but by rounding.
    mean_totals_ : (n_features, n_components) float64
        Mean number of known trials of each feature.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object
    others
        As in `BernoulliMixture`.

    Notes
    -----
    Probabilities of 0 and 1, which take ``alpha=0``, are exact. A row that is impossible under
    every component has a log-density of -inf; `predict` and `predict_proba` give it, as if these
    probabilities went to 0 and 1 together, to the components of its fewest impossible trials, and
    EM to all in equal shares.

    References
    ----------
    A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 3.3: two coins.

    Examples
    --------
    Two coins: one of them, nobody knows which, was chosen and tossed three times, again and again.
    The number of heads follows from its bias; EM finds both, and how often each was chosen.

    >>> from mlcore.mixture import BinomialMixture
    >>> heads = [[3], [0], [3], [0]]
    >>> coins = BinomialMixture(
    ...     2, n_trials=3, alpha=0, weights_init=[0.3, 0.7], means_init=[[0.3], [0.6]]
    ... ).fit(heads)
    >>> coins.means_.round(3)
    array([[0.],
           [1.]])
    >>> coins.weights_.round(3)
    array([0.5, 0.5])
    """

    _tags = {"input_tags.sparse": True, "input_tags.positive_only": True}

    means_: np.ndarray
    _solution_: Failures | None = None
    _stored = {"means_": "float64 k f", "_solution_": ("|", "none", Failures)}
    _older = DiscreteMixture._older | {"_solution_": (Failures, "failures")}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_trials: Any = 1,
        alpha: float = 0.01,
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
        self.n_trials = n_trials
        self.missing = missing
        self.means_init = means_init

    @classmethod
    def from_parameters(cls, weights: Any, means: Any, n_trials: Any = 1) -> Self:
        """Return a mixture of known parameters, ready to predict, sample or go on fitting.

        Parameters
        ----------
        weights : (n_components,)
        means : (n_components, n_features)
            In [0, 1].
        n_trials : int or (n_features,) of int, default=1
        """
        model = cls(n_trials=n_trials)
        model._trials(np.shape(means)[-1] if np.ndim(means) else 1)
        return model._set_parameters(weights, means)

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
        trials = self._trials(self.n_features_in_).astype(np.int64)
        return rng.binomial(trials, self.means_[labels]).astype(np.float64), labels

    def _trials(self, d):
        owner = type(self).__name__
        if np.ndim(self.n_trials) == 0:
            return np.full(d, float(as_integer(self.n_trials, "n_trials", owner=owner, at_least=1)))
        trials = real_array(self.n_trials, "n_trials").astype(np.float64)
        if trials.shape != (d,):
            raise ValueError(
                f"{owner}: n_trials has shape {trials.shape}, but must be an integer >= 1, or one "
                f"for each of {d} features."
            )
        if not ((trials >= 1) & (trials == np.floor(trials))).all():
            raise ValueError(
                f"{owner}: n_trials goes from {trials.min():g} to {trials.max():g}, but must hold "
                "integers >= 1."
            )
        return trials

    def _given_table(self, means, name, shape):
        return table_of_successes(means, name, shape, type(self).__name__)

    def _as_first(self, X, like):
        X = super()._as_first(X, like)
        self._of_size(1, X.shape[1]).rows(X, None)  # refuses values out of range
        return X

    def _of_size(self, n_components, n_features):
        return BinomialComponents(
            n_components,
            float(self.alpha),
            self._trials(n_features),
            self.missing == "ignore",
            type(self).__name__,
        )


class BinomialComponents(BinomialProduct):
    """Independent numbers of successes, from 0 to the numbers of trials."""

    def wrong(self, values: Any, most: np.ndarray) -> np.ndarray:
        return (values < 0) | (values > most)

    def refused(self, row: int, column: int, value: float, most: float) -> Any:
        negative = f"Negative values in data passed to {self.owner}" if value < 0 else self.owner
        return ValueError(
            f"{negative}: X holds {value:g} at row {row}, column {column}, but must hold numbers "
            f"of successes, from 0 to n_trials={most:g}."
        )
