"""k-medoids clustering: centres are samples, with any distance."""

import numbers
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from mlcore.checks import (
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_enough,
)
from mlcore.checks.arrays import Numbers, real_array
from mlcore.cluster.k_means.evidence import warn_of_rise
from mlcore.cluster.k_medoids.dissimilarities import (
    Dissimilarity,
    given_distances,
    rounding_of_search,
)
from mlcore.cluster.k_medoids.fasterpam import (
    NearestMedoids,
    build,
    improve_on_parts,
    plus_plus,
    swap_medoids,
)
from mlcore.cluster.metrics import Metric
from mlcore.estimator import progress
from mlcore.estimator.model import Clusterer, Model, Transformer, warn
from mlcore.estimator.progress import Progress
from mlcore.numerics.seeds.row_sampler import RowSampler, random_rows
from mlcore.runtime.memory import require_memory

_Init = Literal["k-medoids++", "random", "build"]
_HIDDEN = 0.01  # share by which the objective of the search may differ from the true one unreported


class Settings(NamedTuple):
    """Checked parameters of the swaps; the others are checked too."""

    tol: float
    max_iter: int


class KMedoids(Transformer, Clusterer, Model):
    r"""Find samples that the others are near to.

    .. math:: \min_{m_1, \dots, m_k} \sum_i w_i \min_j d(x_i, x_{m_j})^p,

    a minimum that no swap of one medoid for one sample lowers. FasterPAM tries samples in turn,
    compares all medoids that each could replace in one pass over its distances, and swaps as soon
    as that lowers the objective; a last round over all samples without a swap proves that none is
    left (up to the rounding of the distances). From a thousand samples on, swaps among a part of
    them come first.

    Parameters
    ----------
    n_clusters : as in `KMeans`
    metric : str or callable, default="euclidean"
        A metric of ``scipy.spatial.distance``, or "manhattan", "l1", "l2"; "precomputed", when X
        holds the distances themselves; or ``metric(x, y)`` of two rows.
    power : 1 or 2, default=1
        Power of the distance in the objective.
    init : str or array of int (n_clusters,), default="k-medoids++"
        Initial medoids: greedy "k-medoids++"; "random" samples drawn by their weights; "build",
        each in turn the best one, which takes `n_clusters` rounds; or indices of samples.
    max_iter : int, default=100
        Most rounds over all samples.
    tol : float, default=0.0
        Swaps that lower the objective by a smaller share of it are not made.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every swap.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` at every swap; raising stops the fit.
    random_state : as in `KMeans`

    Attributes
    ----------
    medoid_indices_ : (n_clusters,) int64
        The medoids as rows of the samples of the fit.
    cluster_centers_ : (n_clusters, n_features)
        Their coordinates; absent with ``metric="precomputed"``.
    labels_ : (n_samples,) int32
        Nearest medoid of each sample.
    inertia_, objective_ : float
        The objective, from exact distances.
    medoid_silhouettes_ : (n_samples,) float64
        ``1 - d1 / d2`` from the distances to the nearest and the next medoid: 1 amid a cluster, 0
        between two; 0 for all if there is one cluster.
    medoid_silhouette_ : float
        Their weighted mean.
    objective_trace_ : (n_swaps + 1,) float64
        The objective at the start and after each swap, falling but for rounding of distances in the
        search; preparation counts as one, and the last is `inertia_`.
    n_iter_ : int
        Rounds over the samples, an incomplete last one included.
    converged_ : bool
        True if no swap is left that lowers the objective, and rounding did not hide it.
    n_features_in_, feature_names_in_
        As in `KMeans`.

    Notes
    -----
    A round takes O(n²) time, and for Euclidean distances O(n² d), as the distances are formed in
    it, or once where memory of at most 1 GiB holds them. Other metrics need n² values of memory,
    Euclidean ones O(n (d + k)) beyond that size. Of more than some hundred samples the Euclidean
    distances of the search come from products in their precision, which loses digits of those near
    0 as in `KMeans`; labels, `inertia_` and what `transform` returns come from differences.

    References
    ----------
    E. Schubert, P. Rousseeuw, *Fast and eager k-medoids clustering: O(k) runtime improvement of the
    PAM, CLARA, and CLARANS algorithms*, Information Systems 101, 2021, algorithm 3.

    L. Lenssen, E. Schubert, *Clustering by direct optimization of the medoid silhouette*, SISAP
    2022, equation 4.

    S. Shalev-Shwartz, S. Ben-David, *Understanding machine learning*, 2014, section 22.2.

    Examples
    --------
    >>> from mlcore.cluster import KMedoids
    >>> model = KMedoids(n_clusters=2, random_state=0).fit([[0.0], [1.0], [2.0], [9.0], [90.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [1.0, 90.0]
    >>> model.inertia_
    10.0
    """

    set_callbacks = progress.set_callbacks
    _tags = {"transformer_tags.preserves_dtype": ["float64", "float32"]}

    medoid_indices_: np.ndarray
    cluster_centers_: np.ndarray
    inertia_: float
    medoid_silhouettes_: np.ndarray
    medoid_silhouette_: float
    objective_trace_: np.ndarray
    n_iter_: int
    converged_: bool
    _stored = {
        "medoid_indices_": "int k < n",
        "cluster_centers_": "float k f",
        "labels_": "int n < k",
        "inertia_": "float",
        "medoid_silhouettes_": "float64 n",
        "medoid_silhouette_": "float",
        "objective_trace_": "float64 t?",
        "n_iter_": "count",
        "converged_": "bool",
    }

    _no_blocks = "it compares all pairs of rows"

    @property
    def objective_(self) -> float:
        """`inertia_`, which the fit minimises."""
        return self.inertia_

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Metric | Callable[..., float] = "euclidean",
        power: Literal[1, 2] = 1,
        init: _Init | Numbers = "k-medoids++",
        max_iter: int = 100,
        tol: float = 0.0,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.power = power
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the medoids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With ``metric="precomputed"`` the distances, (n_samples, n_samples).
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
            For parameters or data out of range, before any work; for a metric that gives NaN.
        MemoryError
            If a matrix of distances is needed and does not fit.
        """
        owner = type(self).__name__
        settings = self._settings()
        dissimilarity = Dissimilarity(self.metric, self.power, owner)
        rng = as_random_state(self.random_state, owner=owner)
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            weights = self._weights(sample_weight, len(checked))
            initial = self._given_medoids(weights, len(checked))
            rows = dissimilarity.rows(checked, weights)

            def report(step, objective, change):
                if progress.active:
                    values = np.ldexp([objective, change], dissimilarity.unit)
                    progress.step(step, float(values[0]), float(values[1]))

            # Without coordinates, samples are ordered by their indices.
            along = np.arange(len(checked))[:, None] if dissimilarity.precomputed else checked
            sampler = RowSampler(along, weights)
            order = sampler.order.astype(np.int64)
            if len(weights):
                order = order[weights[order] > 0]
            start = self._start(initial, rows, weights, order, sampler, rng)
            state = NearestMedoids(rows, weights, start)
            trace = [state.objective]
            report(0, trace[0], 0.0)

            def draw(m):
                return sampler.draw_many((np.arange(m) + 0.5) / m)

            better = improve_on_parts(rows, start, order, draw)
            other = state if better is start else NearestMedoids(rows, weights, better)
            if other.objective < trace[0]:
                state = other
            else:
                trace = []
            swaps = swap_medoids(rows, state, order, **settings._asdict(), report=report)
            medoids = swaps.medoids
            exact = rows.exact(medoids)
            weight = float(weights.sum()) if len(weights) else rows.n
            rounding = rounding_of_search(rows, checked.shape[1], swaps.trace[0], weight)
            del rows, state, other
            fitted = {"medoid_indices_": medoids, **dissimilarity.fitted}
            if not dissimilarity.precomputed:
                fitted["cluster_centers_"] = checked[medoids]
            fitted |= self._summary(checked, weights, dissimilarity, fitted, exact)
            with np.errstate(over="ignore"):
                trace = np.ldexp(np.array(trace + swaps.trace), dissimilarity.unit)
                searched, rounding = trace[-1], np.ldexp(rounding, dissimilarity.unit)
            trace[-1] = inertia = fitted["inertia_"]
        if not np.isfinite(trace[-1]):
            raise ValueError("X is too large: the objective overflows float64; rescale the data.")
        warn_of_rise(trace, rounding, owner, "rounding hides which samples are nearest")
        hidden = abs(searched - inertia) > _HIDDEN * inertia > 0
        if hidden:
            warn(
                "ConvergenceWarning",
                f"{owner}: the search took the objective for {searched:g}, and it is {inertia:g}: "
                "rounding hides the distances of samples so near each other. Pass float64, or a "
                "matrix of distances.",
            )
        if not swaps.converged:
            warn(
                "ConvergenceWarning",
                f"{owner} stopped after max_iter={settings.max_iter} rounds, with samples left "
                "that it has not tried since the last swap. Increase max_iter.",
            )
        self._set_fitted(
            X,
            **fitted,
            objective_trace_=trace,
            n_iter_=swaps.n_iter,
            converged_=swaps.converged and not hidden,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the index of the nearest medoid for each row of `X`, int32.

        With ``metric="precomputed"`` rows hold distances from all samples of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,) int32
            Index of the nearest medoid.
        """
        X, blocks = self._new_samples(X)
        labels = np.empty(len(X), dtype=np.int32)
        for rows, distances in blocks:
            labels[rows] = np.argmin(distances, axis=1)
        return labels

    def transform(self, X: Any) -> Any:
        """Return the distances of each row of `X` from the medoids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : (n_samples, n_clusters)
            By the metric of the fit.
        """
        original = X
        X, blocks = self._new_samples(X)
        n, k = len(X), len(self.medoid_indices_)
        require_memory(n, k, X.dtype.itemsize, what="the distances", instead="pass fewer rows")
        out = np.empty((n, k), dtype=X.dtype)
        for rows, distances in blocks:
            out[rows] = distances
        return self._wrap(out, original)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        return tags

    def _n_out(self):
        return len(self.medoid_indices_)

    def _settings(self):
        owner = type(self).__name__
        as_integer(self.n_clusters, "n_clusters", owner=owner, at_least=1)
        as_choice(self.power, "power", (1, 2), owner=owner)
        if isinstance(self.init, str):
            as_choice(self.init, "init", get_args(_Init), owner=owner)
        elif self.init is None or isinstance(self.init, numbers.Number):
            raise TypeError(
                f"{owner}: init={self.init!r} is of type {type(self.init).__name__}, but must be "
                "'k-medoids++', 'random', 'build' or an array of samples' indices."
            )
        tol = as_real(self.tol, "tol", owner=owner, at_least=0)
        return Settings(tol, as_integer(self.max_iter, "max_iter", owner=owner, at_least=1))

    def _weights(self, sample_weight, n_samples):
        """Return checked weights, empty for ones."""
        weights = np.empty(0) if sample_weight is None else as_weights(sample_weight, n_samples)
        require_enough(n_samples, self.n_clusters, "n_clusters", weights)
        return weights

    def _given_medoids(self, weights, n_samples):
        if isinstance(self.init, str):
            return None
        init = real_array(self.init, "init")
        if init.shape != (self.n_clusters,) or init.dtype.kind not in "iu":
            raise ValueError(
                f"{type(self).__name__}: init has shape {init.shape} and type {init.dtype}, but "
                f"must hold n_clusters={self.n_clusters} indices of samples."
            )
        if init.min() < 0 or init.max() >= n_samples or len(np.unique(init)) < len(init):
            raise ValueError(
                f"{type(self).__name__}: init holds {init.tolist()[:20]}, but must hold different "
                f"indices from 0 to {n_samples - 1}."
            )
        init = init.astype(np.int64)
        if len(weights) and not weights[init].all():
            raise ValueError(f"{type(self).__name__}: init names a sample of weight 0.")
        return init

    def _start(self, medoids, rows, weights, order, sampler, rng):
        if medoids is not None:
            return medoids
        if self.init == "build":
            return build(rows, weights, self.n_clusters, order)
        if self.init == "random":
            return random_rows(sampler, self.n_clusters, rows.n, rng)
        return plus_plus(rows, weights, self.n_clusters, sampler, rng)

    def _summary(self, X, weights, dissimilarity, fitted, exact):
        """Return the attributes that need exact distances: `exact`, or formed anew if None."""
        n, k = len(X), len(fitted["medoid_indices_"])
        labels, nearest = np.empty(n, dtype=np.int32), np.empty(n)
        silhouettes = np.zeros(n)
        if exact is None:
            blocks = dissimilarity.blocks(X, fitted)
        else:
            unit = dissimilarity.unit // self.power
            blocks = [(slice(0, n), np.ldexp(exact, unit) if unit else exact)]
        for rows, distances in blocks:
            at = np.arange(len(distances))
            labels[rows] = own = np.argmin(distances, axis=1)
            nearest[rows] = first = distances[at, own]
            if k > 1:
                distances[at, own] = np.inf
                second = distances.min(axis=1)
                # Both medoids at distance 0: silhouette 0, as between two clusters.
                silhouettes[rows] = 1 - first / np.where(second > 0, second, 1)
                silhouettes[rows][second == 0] = 0
        with np.errstate(over="ignore"):
            costs = nearest**self.power
            inertia = float(weights @ costs) if len(weights) else float(costs.sum())
        return {
            "labels_": labels,
            "inertia_": inertia,
            "medoid_silhouettes_": silhouettes,
            "medoid_silhouette_": float(
                np.average(silhouettes, weights=weights) if len(weights) else silhouettes.mean()
            ),
        }

    def _new_samples(self, X):
        """Return checked samples for a fitted model, and their distances in blocks of rows."""
        X = self._check_X(X, reset=False, like=getattr(self, "cluster_centers_", None))
        dissimilarity = Dissimilarity(self.metric, self.power, type(self).__name__)
        if dissimilarity.precomputed:
            X = given_distances(X, type(self).__name__, square=False)
        return X, dissimilarity.blocks(X, vars(self))
