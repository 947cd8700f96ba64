"""Number of clusters by the gap between the costs of the data and of data without clusters."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mlcore.checks import as_choice, as_integer, as_random_state, as_samples
from mlcore.checks.errors import warn
from mlcore.checks.parameters import refuse
from mlcore.cluster.k_means.k_means import KMeans
from mlcore.cluster.partition import as_partition
from mlcore.cluster.scores.centers import center_sums
from mlcore.decomposition import PCA
from mlcore.estimator import tables

_OWNER = "gap_statistic"


@dataclass(frozen=True, repr=False)
class GapStatistic:
    """Result of `gap_statistic`, which prints as a table.

    Parameters
    ----------
    n_clusters : int64 (m,)
        The numbers of clusters tried.
    gap : float64 (m,)
        Mean of `reference_log_inertia` less `log_inertia`.
    standard_error : float64 (m,)
        Deviation of the references times ``sqrt(1 + 1 / n_references)``: it includes the error of
        their mean.
    log_inertia : float64 (m,)
        Logarithm of the sum of squares to the centres, -inf where it is 0.
    reference_log_inertia : float64 (n_references, m)
        The same of each reference.
    best_n_clusters : int
        Least number whose gap is within a standard error of the next one; the largest number tried
        if there is none.
    found : bool
        False if there is none.

    Examples
    --------
    >>> from mlcore.cluster import gap_statistic
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> gap_statistic(X, n_clusters=[1, 2, 3], n_references=5, random_state=0).gap.shape
    (3,)
    """

    n_clusters: np.ndarray
    gap: np.ndarray
    standard_error: np.ndarray
    log_inertia: np.ndarray
    reference_log_inertia: np.ndarray
    best_n_clusters: int
    found: bool

    def _columns(self):
        names = "n_clusters", "gap", "standard_error", "log_inertia"
        return {name: getattr(self, name).tolist() for name in names}

    def _place(self):
        return self.n_clusters.tolist().index(self.best_n_clusters)

    def __str__(self) -> str:
        return tables.text(self._columns(), best=self._place())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return tables.table(self._columns(), best=self._place())

    def to_frame(self) -> Any:
        """Return the table as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Columns "gap", "standard_error" and "log_inertia", indexed by "n_clusters".

        Raises
        ------
        ImportError
            Without pandas.
        """
        return tables.frame(self._columns(), index="n_clusters")


def gap_statistic(
    X: Any,
    clusterer: Any = KMeans,
    *,
    n_clusters: Iterable[int] = range(1, 11),
    n_references: int = 20,
    reference: Literal["pca", "uniform"] = "pca",
    random_state: Any = None,
) -> GapStatistic:
    r"""Return the gap statistic of several numbers of clusters, and the number that it chooses.

    .. math:: Gap(k) = \frac{1}{B} \sum_b \ln W_k^{(b)} - \ln W_k

    with the sum :math:`W_k` of squared distances to the centres of k clusters, and the same of B
    references, drawn uniformly from a box that holds the data. The least k is chosen with
    :math:`Gap(k) \ge Gap(k + 1) - s_{k + 1}`, s being `standard_error`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Dense.
    clusterer : class or estimator, default=KMeans
        With the parameter `n_clusters` (or `n_components`) and a method `fit_predict`. Its other
        parameters stay, but a `random_state` is drawn for each fit.
    n_clusters : iterable of int, default=range(1, 11)
        Ascending. The rule compares each number with the next one given.
    n_references : int, default=20
        B.
    reference : {"pca", "uniform"}, default="pca"
        Box along the principal components, or along the features.
    random_state : int, numpy.random.Generator or RandomState, optional

    Returns
    -------
    result : GapStatistic
        Gaps with their standard errors, and `best_n_clusters`.

    Raises
    ------
    ValueError, TypeError
        For bad samples, a clusterer without these parameters or methods, and for numbers of
        clusters that do not ascend, are below 1, or exceed the number of samples.

    Warns
    -----
    UserWarning
        If no number fulfils the rule; then `best_n_clusters` is the largest.

    Notes
    -----
    It takes the time of ``m (n_references + 1)`` fits, for m numbers of clusters, and holds one
    reference at a time. Equal samples have :math:`\ln W = -\infty`: the gap is infinite, or 0 where
    that of every reference is as well.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, T. Hastie, *Estimating the number of clusters in a data set
       via the gap statistic*, JRSS B 63, 2001, sections 3 and 4.

    Examples
    --------
    >>> from mlcore.cluster import gap_statistic
    >>> from mlcore.datasets import load_iris
    >>> X, _ = load_iris()
    >>> found = gap_statistic(X, n_clusters=range(1, 6), n_references=10, random_state=0)
    >>> found.found
    True
    """
    X = as_samples(X, owner=_OWNER)
    numbers = _numbers(n_clusters, len(X))
    model, parameters, name = _taken_apart(clusterer)
    n_references = as_integer(n_references, "n_references", owner=_OWNER, at_least=1)
    reference = as_choice(reference, "reference", ("pca", "uniform"), owner=_OWNER)
    rng = as_random_state(random_state, owner=_OWNER)

    def log_inertias(samples):
        found = np.empty(len(numbers))
        for place, k in enumerate(numbers):
            given = parameters | {name: k}
            if "random_state" in parameters:
                given["random_state"] = int(rng.integers(2**31))
            labels = model(**given).fit_predict(samples)
            found[place] = _log_inertia(samples, labels)
        return found

    # Costs of the data, then of each reference.
    own = log_inertias(X)
    draw = _along_components(X) if reference == "pca" else _along_features(X)
    of_references = np.array([log_inertias(draw(rng)) for _ in range(n_references)])
    # Gaps; where costs of 0 meet, there is none.
    with np.errstate(invalid="ignore"):
        differences = np.where(of_references == own, 0, of_references - own)
        errors = np.where((of_references == of_references[0]).all(0), 0, of_references.std(0))
    gaps = differences.mean(axis=0)
    errors *= np.sqrt(1 + 1 / n_references)
    chosen = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    if not len(chosen):
        warn(
            "UserWarning",
            f"{_OWNER}: for no number of clusters in {numbers} is the gap within a standard error "
            f"of the next one: best_n_clusters={numbers[-1]} is the largest that was tried.",
        )
    best = numbers[chosen[0]] if len(chosen) else numbers[-1]
    return GapStatistic(
        np.array(numbers), gaps, errors, own, of_references, int(best), bool(len(chosen))
    )


def _numbers(n_clusters, n_samples):
    try:
        given = list(n_clusters)
    except TypeError:
        refuse("n_clusters", n_clusters, "an iterable of integers")
    numbers = [
        as_integer(k, "n_clusters", owner=_OWNER, at_least=1, at_most=n_samples) for k in given
    ]
    if not numbers or sorted(set(numbers)) != numbers:
        refuse("n_clusters", given, "at least one number, ascending")
    return numbers


def _taken_apart(clusterer):
    """Return the class of a clusterer, its parameters, and which of them counts clusters."""
    instance = clusterer() if isinstance(clusterer, type) else clusterer
    if hasattr(instance, "get_params") and hasattr(instance, "fit_predict"):
        parameters = instance.get_params(deep=False)
        for name in ("n_clusters", "n_components"):
            if name in parameters:
                return type(instance), parameters, name
    refuse(
        "clusterer", clusterer,
        "a clusterer with a parameter n_clusters or n_components, get_params and fit_predict",
    )  # fmt: skip


def _log_inertia(X, labels):
    _, codes = as_partition(labels, len(X), owner=_OWNER)
    sums = center_sums(X, codes, np.ones(len(X)))
    with np.errstate(divide="ignore"):
        return np.log(sums.squares.sum()) + 2 * sums.power * np.log(2)


def _along_features(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return lambda rng: _between(rng, low, high, len(X))


def _along_components(X):
    model = PCA(ddof=0).fit(X)
    scores = model.transform(X)
    low, high = scores.min(axis=0), scores.max(axis=0)
    return lambda rng: model.inverse_transform(_between(rng, low, high, len(X)))


def _between(rng, low, high, n):
    places = rng.random((n, len(low)), dtype=low.dtype)
    places *= high - low
    places += low
    return places
