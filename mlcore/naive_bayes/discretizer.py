"""Numbers made categories: by given edges, by shares or widths, or by what tells of the labels."""

from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np

from mlcore.checks import as_choice, as_integer, as_labels, as_weights
from mlcore.checks.arrays import column_label, real_array
from mlcore.checks.missing import Missing, with_missing
from mlcore.estimator.mixins import FeaturewiseTransformer
from mlcore.estimator.model import Model, warn
from mlcore.runtime.memory import require_memory

_Strategy = Literal["quantile", "uniform", "mdl"]


class Discretizer(FeaturewiseTransformer, Model):
    r"""Replace each number by the code of its interval, 0, 1, ... from the lowest.

    The code of x is the number of edges that are at most x.

    Parameters
    ----------
    n_bins : int, default=5
        Intervals of each feature by "quantile" and "uniform", at least 2; fewer where values are
        equal.
    strategy : {"quantile", "uniform", "mdl"}, default="quantile"
        Intervals of equal shares of the rows; or of equal widths; or those that tell of the labels
        `y`: an interval is divided where that lowers the entropy of the labels most, as long as it
        shortens the description of the labels after Fayyad and Irani.
    edges : list of n_features increasing sequences, or None, default=None
        Given edges, instead of a strategy.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, which stays one.

    Attributes
    ----------
    edges_ : list of n_features arrays
        Increasing, and larger than the least value of the fit, unless given.
    n_bins_ : (n_features,) intp
        Number of intervals, one more than the edges.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    A fit takes O(n_samples log(n_samples) n_features) time; "mdl" that for each level of its
    divisions, times the number of classes. The codes are float64, as NaN is one of them; they are
    categories of `CategoricalNB` and `CategoricalMixture`.

    References
    ----------
    U. Fayyad, K. Irani, *Multi-interval discretization of continuous-valued attributes for
    classification learning*, IJCAI, 1993.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.naive_bayes import CategoricalNB, Discretizer
    >>> X, y = load_iris()
    >>> bins = Discretizer(strategy="mdl").fit(X, y)
    >>> bins.edges_[2].round(2)
    array([2.45, 4.75])
    >>> codes = bins.transform(X)
    >>> int((CategoricalNB().fit(codes, y).predict(codes) != y).sum())
    8
    """

    edges_: list[Any]
    n_bins_: np.ndarray
    _stored = {"edges_": ["f", "increasing m[]?"], "n_bins_": "int f"}

    _instead = {
        "encode": "drop it: codes are whole numbers, which sklearn's OneHotEncoder takes further",
        "quantile_method": "drop it: edges are the averaged_inverted_cdf",
        "dtype": "drop it: codes are float64, as NaN is one of them",
        "subsample": "drop it: all rows count",
        "random_state": "drop it: nothing is drawn at random",
    }

    def __init__(
        self,
        *,
        n_bins: int = 5,
        strategy: _Strategy = "quantile",
        edges: Any = None,
        missing: Missing = "error",
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.missing = missing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the edges of each feature.

        By "quantile" and "uniform", features that have one interval, as all or many of their
        values are equal, are a UserWarning: their codes are all 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Labels, which only strategy="mdl" needs.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a sample, 0 for its absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        """
        owner = type(self).__name__
        n_bins = as_integer(self.n_bins, "n_bins", owner=owner, at_least=2)
        as_choice(self.strategy, "strategy", get_args(_Strategy), owner=owner)
        as_choice(self.missing, "missing", get_args(Missing), owner=owner)
        checked = self._check_X(X, reset=True)
        n, d = checked.shape
        weights = None if sample_weight is None else as_weights(sample_weight, n)
        codes = as_labels(y, n, owner=owner)[1] if self._needs_labels() else None
        if self.edges is not None:
            edges = self._given_edges(d)
        else:
            n_bins = min(n_bins, 2**53)
            if codes is None:
                require_memory(n_bins, d, 8, what="the edges", instead="use fewer bins")
            edges = [self._edges(column, n_bins, codes, weights) for column in checked.T]
        sizes = np.array([len(column) + 1 for column in edges], np.intp)
        if self.edges is None and codes is None:
            _warn_of_single_intervals(np.flatnonzero(sizes == 1), X, owner)
        self._set_fitted(X, edges_=edges, n_bins_=sizes)
        return self

    def _needs_labels(self):
        return self.edges is None and self.strategy == "mdl"

    def _edges(self, column, n_bins, codes, weights):
        """Return the edges of a column from the values that are there and have weight."""
        known = ~np.isnan(column)
        if weights is not None:
            known &= weights > 0
        values = column[known]
        w = None if weights is None else weights[known]
        if codes is not None:
            return _shortest_description(values, codes[known], w)
        if self.strategy == "quantile":
            return _quantiles(values, n_bins, w)
        return _widths(values, n_bins)

    def transform(self, X: Any) -> Any:
        """Return the codes of the intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        codes : (n_samples, n_features) float64
            From 0 on in each column.
        """
        checked = self._check_X(X, reset=False)
        codes = np.empty(checked.shape)
        for j, edges in enumerate(self.edges_):
            codes[:, j] = np.searchsorted(edges, checked[:, j], side="right")
        codes[np.isnan(checked)] = np.nan
        return self._wrap(codes, X)

    def _as_samples(self, X, **how):
        # Edges between numbers of one precision divide those of the other.
        how["like"] = np.float64
        return with_missing(X, partial(super()._as_samples, **how), self.missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _check_loaded(self):
        if "n_bins_" not in vars(self):
            return
        if [len(edges) + 1 for edges in self.edges_] != self.n_bins_.tolist():
            raise ValueError("n_bins_ are not the numbers of intervals between edges_.")

    def _given_edges(self, n_features):
        owner = type(self).__name__
        if not isinstance(self.edges, (list, tuple, np.ndarray)) or len(self.edges) != n_features:
            raise ValueError(
                f"{owner}: edges must be a list of {n_features} increasing sequences of numbers, "
                "one for each feature."
            )
        edges = []
        for j, values in enumerate(self.edges):
            column = np.asarray(real_array(values, f"edges[{j}]"), np.float64)
            if column.ndim != 1 or not np.isfinite(column).all() or (np.diff(column) <= 0).any():
                raise ValueError(f"{owner}: edges[{j}] must be finite and increasing: {values!r}.")
            edges.append(column)
        return edges


def _warn_of_single_intervals(lost, X, owner):
    if not len(lost):
        return
    shown = ", ".join(column_label(int(j), X) for j in lost[:5])
    warn(
        "UserWarning",
        f"{owner}: {shown}{', ...' if len(lost) > 5 else ''} "
        f"{'has' if len(lost) == 1 else 'have'} one interval, as too many values are equal, and so "
        'one code: strategy="mdl" or edges= may divide what is not constant.',
    )


def _quantiles(values, n_bins, weights):
    if not len(values):
        return np.empty(0)
    shares = np.arange(1, n_bins) / n_bins
    if weights is None:
        edges = np.quantile(values, shares, method="averaged_inverted_cdf")
    else:
        edges = _weighted_quantiles(values, shares, weights)
    edges = np.unique(edges)
    return edges[edges > values.min()]


def _weighted_quantiles(values, shares, weights):
    """Return the quantiles of NumPy's "averaged_inverted_cdf", weights as copies.

    Where a share ends exactly between two values, it is their mean.
    """
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(weights[order])
    targets = shares * ends[-1]
    whole = (weights == np.floor(weights)).all()
    slack = 0.0 if whole else 8 * np.finfo(float).eps * ends[-1]  # what sums of fractions lose
    lower = np.searchsorted(ends, targets - slack)
    upper = np.minimum(np.searchsorted(ends, targets + slack, side="right"), len(values) - 1)
    return values[lower] / 2 + values[upper] / 2


def _widths(values, n_bins):
    if not len(values):
        return np.empty(0)
    least, shares = values.min(), np.arange(1, n_bins) / n_bins
    edges = np.unique(least + shares * (values.max() - least))
    return edges[edges > least]


def _shortest_description(column, codes, weights):
    """Return the edges of Fayyad and Irani for a column (n,), labels 0, 1, ... and weights (n,)."""
    order = np.argsort(column, kind="stable")
    values, labels = column[order], codes[order]
    weights = np.ones(len(values)) if weights is None else weights[order]
    edges, pending = [], [(0, len(values))]
    while pending:
        first, last = pending.pop()
        cut = _division(values[first:last], labels[first:last], weights[first:last])
        if cut is not None:
            low, high = values[first + cut - 1], values[first + cut]
            # The mean of neighbours may be the lower one, by rounding.
            middle = low / 2 + high / 2
            edges.append(middle if middle > low else high)
            pending += [(first, first + cut), (first + cut, last)]
    return np.sort(np.array(edges))


def _division(values, labels, weights):
    """Return the number of rows in the lower part, None if no division is worth its description."""
    n = weights.sum()
    if len(values) < 2 or n <= 1:
        return None
    present, labels = np.unique(labels, return_inverse=True)
    if len(present) == 1:
        return None
    places = np.flatnonzero(values[1:] > values[:-1]) + 1
    if not len(places):
        return None
    sums = [np.cumsum(np.where(labels == k, weights, 0))[places - 1] for k in range(len(present))]
    low = np.stack(sums, axis=1)
    total = np.bincount(labels, weights)
    high = np.maximum(total - low, 0)
    bits_low, bits_high = _bits(low), _bits(high)
    best = int(np.argmin(bits_low + bits_high))
    whole, parts = _bits(total), (bits_low[best], bits_high[best])
    sizes = low[best].sum(), high[best].sum()
    kinds = [np.count_nonzero(side[best]) for side in (low, high)]
    # All are n times the quantities of the article, in bits.
    gain = whole - sum(parts)
    entropies = [part / size for part, size in zip(parts, sizes, strict=True)]
    change = np.log2(3.0 ** len(present) - 2) if len(present) < 600 else len(present) * np.log2(3)
    change -= len(present) * whole / n
    change += sum(k * entropy for k, entropy in zip(kinds, entropies, strict=True))
    return int(places[best]) if gain > np.log2(n - 1) + change else None


def _bits(counts):
    """Return n times the entropy of rows of counts, (..., k), in bits; n is the sum of a row."""
    counts = np.asarray(counts, np.float64)
    n = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log2(counts), 0.0)
        whole = np.where(n > 0, n * np.log2(n), 0.0)
    return whole - terms.sum(axis=-1)
