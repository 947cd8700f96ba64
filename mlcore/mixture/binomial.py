"""Mixtures of independent binomial counts, one number of trials for each feature."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore._ext import multinomial as _ext
from mlcore.checks import as_integer
from mlcore.checks.arrays import real_array
from mlcore.mixture import given
from mlcore.mixture.discrete import DiscreteMixture, Parameters, Rows, Statistics
from mlcore.mixture.entries import Entries, csr_entries, logarithm
from mlcore.mixture.missing import WithMissing
from mlcore.threads import effective_threads

_GROUP = 4  # binary features that are one entry: a table of their 16 outcomes fits into the cache
_LEAST = 1e-6  # probability in logarithms, and 1 minus it the largest
_FIRST_ROWS = 1024  # that tell what is usual: any answer is right, a good one saves entries


class ProductOfBinomials(WithMissing, DiscreteMixture):
    """Features are numbers of successes in known numbers of trials; 1, where they are binary."""

    _tags = {"input_tags.sparse": True, "input_tags.positive_only": True}

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.01,
        missing: str = "error",
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
        self.missing = missing
        self.means_init = means_init

    # ---- what Mixture and DiscreteMixture ask for; a frame is the numbers of trials

    def _given(self, d):
        k, table = int(self.n_components), None
        if self.means_init is not None:
            table = _probabilities(self.means_init, "means_init", (k, d), type(self).__name__).T
        return self._given_weights(), table

    def _rows(self, X, weight, frame):
        owner, (n, d) = type(self).__name__, X.shape
        if sp.issparse(X):
            entries = csr_entries(X, weight)
            values, columns = entries.values, entries.columns
            missing = np.isnan(values)
            most = frame[columns]
            wrong = ~missing & ~((values >= 0) & (values <= most) & (values == np.floor(values)))
            if wrong.any():
                place = int(np.argmax(wrong))
                row = int(np.searchsorted(X.indptr, place, side="right")) - 1
                raise _refused(owner, row, int(columns[place]), values[place], most[place])
            columns = np.where(missing, columns + d, columns).astype(np.int32)
            entries.columns, entries.values = columns, np.where(missing, 1.0, values)
            entries.n_columns = 2 * d if missing.any() else d
            return Rows(X, weight, entries, np.zeros(d, bool))
        group = _GROUP if (frame == 1).all() else 1
        usual = np.zeros(d, X.dtype)
        if group > 1:
            usual[:] = np.nan_to_num(X[:_FIRST_ROWS]).mean(axis=0) > 0.5
        indptr, wrong = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
        most, n_threads = frame.astype(X.dtype), effective_threads(X.size)
        none = np.empty(0, np.int32)
        _ext.deviations(X, usual, most, group, indptr, none, None, wrong, False, n_threads)
        np.cumsum(indptr, out=indptr)
        columns = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1]) if group == 1 else None
        if len(columns):
            _ext.deviations(X, usual, most, group, indptr, columns, values, wrong, True, n_threads)
        if wrong.any():
            row = int(np.argmax(wrong))
            x = X[row]
            column = int(np.argmax(~(np.isnan(x) | (x >= 0) & (x <= most) & (x == np.floor(x)))))
            raise _refused(owner, row, column, x[column], most[column])
        n_columns = _n_codes(d, group)
        if self.missing == "ignore" and np.isnan(X).any():
            n_columns += d
        return Rows(X, weight, Entries(n, n_columns, columns, indptr, values, weight), usual > 0)

    def _first(self, rows, frame, rng):
        X, weight = rows.X, rows.weight
        weight = np.ones(X.shape[0]) if weight is None else weight
        known = weight.sum()
        if self.missing == "ignore":
            if sp.issparse(X):
                marks = sp.csr_array((np.isnan(X.data) + 0.0, X.indices, X.indptr), shape=X.shape)
                X = sp.csr_array((np.nan_to_num(X.data), X.indices, X.indptr), shape=X.shape)
            else:
                marks, X = np.isnan(X), np.nan_to_num(X)
            known = known - weight @ marks
        mean = (weight @ X + 0.5) / (known * frame + 1)
        odds = np.log(mean / (1 - mean))[:, None]
        odds = odds + rng.standard_normal((len(mean), int(self.n_components)))
        return 1 / (1 + np.exp(-odds))

    def _log_densities(self, parameters, rows, table):
        """An entry moves a feature, or several, away from `usual`; or takes a missing one out."""
        p, trials = parameters.table, self._trials(rows.X.shape[1])
        d, k = p.shape
        log_p, log_q = _logarithms(p)
        flipped = rows.usual[:, None]
        constant = trials[:, None] * np.where(flipped, log_p, log_q)
        odds = np.where(flipped, log_q - log_p, log_p - log_q)
        group = 1 if rows.entries.values is not None else _GROUP
        n_codes = _n_codes(d, group)
        if group == 1:
            table[:d, :k] = odds
        else:
            codes = table[:n_codes, :k].reshape(-1, 1 << group, k)
            codes[:, 0] = 0
            for bit in range(group):
                part = odds[bit::group]
                where = codes[: len(part)]
                where[:, 1 << bit : 2 << bit] = where[:, : 1 << bit] + part[:, None]
        if rows.entries.n_columns > n_codes:
            table[n_codes:, :k] = -constant
        return logarithm(parameters.weights) + constant.sum(axis=0)

    def _summed(self, rows, by_column, mass, log_likelihood):
        d, k = rows.X.shape[1], len(mass)
        trials = self._trials(d)[:, None]
        group = 1 if rows.entries.values is not None else _GROUP
        n_codes = _n_codes(d, group)
        known = np.broadcast_to(mass, (d, k))
        if rows.entries.n_columns > n_codes:
            known = np.maximum(known - by_column[n_codes:], 0)
        if group == 1:
            counts = by_column[:d]
        else:
            codes = by_column[:n_codes].reshape(-1, 1 << group, k)
            counts = np.empty((len(codes), group, k))
            for bit in range(group):
                counts[:, bit] = codes[:, [c for c in range(1 << group) if c >> bit & 1]].sum(
                    axis=1
                )
            counts = counts.reshape(-1, k)[:d]
            counts = np.where(rows.usual[:, None], np.maximum(known - counts, 0), counts)
        return Statistics(log_likelihood, mass, counts, trials * known)

    def _by_column(self, values, frame):
        return values

    def _alternatives(self, frame):
        return np.full((len(frame), 1), 2.0)

    def _log_prior(self, table):
        log_p, log_q = _logarithms(table)
        return float(log_p.sum() + log_q.sum())

    def _parameters(self):
        return Parameters(self.weights_, self.means_.T, self.mean_trials_)

    def _attributes(self, parameters, frame):
        return {
            "weights_": parameters.weights,
            "means_": np.ascontiguousarray(parameters.table.T),
            "mean_trials_": parameters.trials,
        }

    def _n_parameters(self):
        k, d = self.means_.shape
        return k - 1 + k * d

    def _frame(self, X, weight):
        return self._trials(X.shape[1])

    def _fitted_frame(self):
        return self._trials(self.n_features_in_)

    @classmethod
    def _of(cls, model, weights, means):
        """`model` with the parameters given."""
        means = _probabilities(means, "means", None, cls.__name__)
        k = len(means)
        weights = given.weights(weights, "weights", k, cls.__name__)
        model.n_components = k
        parameters = Parameters(weights, means.T, np.ones(means.T.shape))
        model._set_fitted(means, **model._attributes(parameters, None), **model._unfitted(1.0))
        return model


class BinomialMixture(ProductOfBinomials):
    r"""Rows of counts of successes in known numbers of trials, independent given the component.

    .. math:: P(x | j) = \prod_d \mu_{jd}^{x_d} (1 - \mu_{jd})^{n_d - x_d},

    the density of the trials in their order: the binomial coefficients, which no parameter changes,
    are left out. EM takes O(non-zeros n_components) time a step.

    Parameters
    ----------
    n_components : int, default=1
    n_trials : int or (n_features,) of int, default=1
        Trials behind each count: at least 1.
    alpha : float, default=0.01
        Pseudo-count of a success and of a failure in every feature of every component (a Beta
        prior), which keeps what a component has not seen from being impossible there for ever; 0
        is plain maximum likelihood. At least 0.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, which takes no part: exact EM where values are
        missing at random.
    tol : float, default=1e-4
        EM ends when the mean objective of a sample moves by less.
    max_iter : int, default=200
    n_init : int, default=1
        Random starts, of which the best goes on after a few steps.
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
        Probabilities of success, mu.
    log_likelihood_trace_ : (n_iter_,) float64
        Mean log-likelihood of a sample before each step, and with `alpha` the logarithm of the
        prior, ``alpha * sum(log mu + log(1 - mu))``, divided by the number of samples: what EM
        never decreases.
    lower_bound_ : float
        The last of these.
    n_iter_ : int
    converged_ : bool
    collapsed_components_ : (n_collapsed,) intp
        Components that lost all their samples. They have weight 0, and a warning names them.
    mean_trials_ : (n_features, n_components) float64
        Mean number of known trials of each feature.
    total_weight_ : float
        Of the samples seen.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    A probability below 1e-6 counts as 1e-6 in logarithms, one near 1 likewise: so it can move
    again, and the log-density of a row that is impossible under every component is finite, about
    -14 for each impossible success or failure.

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

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_trials: Any = 1,
        alpha: float = 0.01,
        missing: str = "error",
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
            missing=missing,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            weights_init=weights_init,
            means_init=means_init,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.n_trials = n_trials

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
        return cls._of(model, weights, means)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features) float64
        labels : (n_samples,) intp
        """
        rng, labels = self._drawn_components(n_samples)
        trials = self._fitted_frame().astype(np.int64)
        return rng.binomial(trials, self.means_[labels]).astype(np.float64), labels

    def _trials(self, d):
        owner = type(self).__name__
        if np.ndim(self.n_trials) == 0:
            return np.full(d, float(as_integer(self.n_trials, "n_trials", owner=owner, at_least=1)))
        trials = real_array(self.n_trials, "n_trials").astype(np.float64)
        if trials.shape != (d,) or not ((trials >= 1) & (trials == np.floor(trials))).all():
            raise ValueError(
                f"{owner}: n_trials of shape {trials.shape}, from {trials.min():g} to "
                f"{trials.max():g}, must be an integer >= 1, or one for each of {d} features."
            )
        return trials


def _logarithms(p):
    """log p and log(1 - p), of p kept in [1e-6, 1 - 1e-6]."""
    p = np.clip(p, _LEAST, 1 - _LEAST)
    return np.log(p), np.log1p(-p)


def _n_codes(d, group):
    return d if group == 1 else -(-d // group) << group


def _probabilities(value, name, shape, owner):
    found = given.means(value, name, shape, owner)
    if (found < 0).any() or (found > 1).any():
        raise ValueError(
            f"{owner}: {name} must hold probabilities, in [0, 1], but spans {found.min():g} to "
            f"{found.max():g}."
        )
    return found


def _refused(owner, row, column, value, most):
    if owner == "BernoulliMixture":
        allowed = "0 and 1 only: set binarize, or convert X"
    else:
        allowed = f"counts of successes only, whole numbers from 0 to n_trials={most:g}"
    return ValueError(
        f"{owner}: X holds {value:g} at row {row}, column {column}, but must hold {allowed}."
    )
