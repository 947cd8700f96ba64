"""Numbers made categories: by given edges, by shares or widths, or by what tells of the labels."""

from functools import partial
from typing import Any, Self

import numpy as np

from mlcore.checks import as_choice, as_integer, as_labels, require_memory
from mlcore.checks.arrays import real_array
from mlcore.checks.missing import with_missing
from mlcore.mixins import FeaturewiseTransformer
from mlcore.model import Model


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

    edges_: list
    n_bins_: np.ndarray
    _stored = {"edges_": ["f", "increasing m[]"], "n_bins_": "int f"}

    def __init__(
        self,
        *,
        n_bins: int = 5,
        strategy: str = "quantile",
        edges: Any = None,
        missing: str = "error",
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the edges of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Labels, which only strategy="mdl" needs.

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
        as_choice(self.strategy, "strategy", ("quantile", "uniform", "mdl"), owner=owner)
        as_choice(self.missing, "missing", ("error", "ignore"), owner=owner)
        checked = self._check_X(X, reset=True)
        n, d = checked.shape
        if self.edges is not None:
            edges = self._given_edges(d)
        elif self.strategy == "mdl":
            _, codes = as_labels(y, n, owner=owner)
            edges = [_shortest_description(column, codes) for column in checked.T]
        else:
            n_bins = min(n_bins, 2**53)
            require_memory(n_bins, d, 8, what="the edges", instead="use fewer bins")
            make = _quantiles if self.strategy == "quantile" else _widths
            edges = [make(column[~np.isnan(column)], n_bins) for column in checked.T]
        sizes = np.array([len(column) + 1 for column in edges], np.intp)
        self._set_fitted(X, edges_=edges, n_bins_=sizes)
        return self

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _given_edges(self, n_features):
        owner = type(self).__name__
        if not isinstance(self.edges, (list, tuple, np.ndarray)) or len(self.edges) != n_features:
            raise ValueError(
                f"{owner}: edges must be a list of {n_features} increasing sequences of numbers, "
                "one for each feature."
            )
        found = []
        for j, values in enumerate(self.edges):
            column = np.asarray(real_array(values, f"edges[{j}]"), np.float64)
            if column.ndim != 1 or not np.isfinite(column).all() or (np.diff(column) <= 0).any():
                raise ValueError(f"{owner}: edges[{j}] must be finite and increasing: {values!r}.")
            found.append(column)
        return found


def _quantiles(values, n_bins):
    if not len(values):
        return np.empty(0)
    shares = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(values, shares, method="averaged_inverted_cdf"))
    return edges[edges > values.min()]


def _widths(values, n_bins):
    if not len(values):
        return np.empty(0)
    least, shares = values.min(), np.arange(1, n_bins) / n_bins
    edges = np.unique(least + shares * (values.max() - least))
    return edges[edges > least]


def _shortest_description(column, codes):
    """Return the edges of Fayyad and Irani for a column (n,) and labels 0, 1, ... (n,)."""
    known = np.flatnonzero(~np.isnan(column))
    order = known[np.argsort(column[known], kind="stable")]
    values, labels = column[order], codes[order]
    edges, pending = [], [(0, len(values))]
    while pending:
        first, last = pending.pop()
        cut = _division(values[first:last], labels[first:last])
        if cut is not None:
            low, high = values[first + cut - 1], values[first + cut]
            # The mean of neighbours may be the lower one, by rounding.
            middle = low / 2 + high / 2
            edges.append(middle if middle > low else high)
            pending += [(first, first + cut), (first + cut, last)]
    return np.sort(np.array(edges))


def _division(values, labels):
    """Return the number of rows in the lower part, None if no division is worth its description."""
    n = len(values)
    if n < 2:
        return None
    present, labels = np.unique(labels, return_inverse=True)
    if len(present) == 1:
        return None
    places = np.flatnonzero(values[1:] > values[:-1]) + 1
    if not len(places):
        return None
    low = np.stack([np.cumsum(labels == k)[places - 1] for k in range(len(present))], axis=1)
    total = np.bincount(labels)
    high = total - low
    bits_low, bits_high = _bits(low), _bits(high)
    best = int(np.argmin(bits_low + bits_high))
    whole, parts = _bits(total), (bits_low[best], bits_high[best])
    sizes = places[best], n - places[best]
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
