"""k-medians clustering: least sum of absolute differences, which outliers hardly change."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy.spatial.distance import cdist

from mlcore._ext.cluster.k_means import k_medians as _ext
from mlcore.checks.arrays import Numbers
from mlcore.cluster.k_means.center_model import CenterModel, Init
from mlcore.cluster.k_means.evidence import warn_of_rise
from mlcore.estimator.model import warn
from mlcore.estimator.progress import Progress
from mlcore.numerics.seeds.greedy_seeds import first_least, greedy_seeds, n_candidates
from mlcore.numerics.seeds.row_sampler import RowSampler, random_rows
from mlcore.runtime.memory import require_memory

_BLOCK = 2**22  # differences of a call: some milliseconds
_FEW = 2**14  # samples whose seeds are drawn in one call


class KMedians(CenterModel):
    r"""Find centres that are near the samples, feature by feature.

    .. math:: \min_{c_1, \dots, c_k} \sum_i w_i \min_j \sum_f |x_{if} - c_{jf}|,

    a local minimum: assign each sample to its nearest centre and move each centre to the medians of
    its samples, one feature at a time, until nothing changes. A cluster that loses all its samples
    begins anew at the sample farthest from its centre.

    Parameters
    ----------
    n_clusters : as in `KMeans`
    init : str, array of shape (n_clusters, n_features) or callable, default="k-means++"
        Initial centres: greedy "k-means++" with the distances of this objective; "random" samples
        drawn by their weights; an array; or the result of
        ``init(X, n_clusters, random_state=generator)``.
    n_init, max_iter : as in `KMeans`
    tol : float, default=1e-4
        Stop when a step lowers the objective by at most so many times itself; 0 goes on until no
        label changes.
    verbose, callback, random_state : as in `KMeans`

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, objective_, objective_trace_, n_iter_, converged_
    n_features_in_, feature_names_in_
        As in `KMeans`.

    Notes
    -----
    A step takes O(n d (k + log n)) time. Memory beside the data is O(n + k d), and a copy of the
    samples of one cluster.

    References
    ----------
    P. Bradley, O. Mangasarian, W. Street, *Clustering via concave minimization*, NIPS 1997,
    algorithm 2.1.

    D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.

    Examples
    --------
    >>> from mlcore.cluster import KMedians
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [900.0]]
    >>> model = KMedians(n_clusters=2, init=[[0.0], [60.0]]).fit(X)
    >>> model.cluster_centers_.ravel().tolist()
    [1.0, 51.0]
    >>> model.inertia_
    852.0
    """

    objective_trace_: np.ndarray
    _stored = {"objective_trace_": "float64 t?"}

    _no_blocks = "medians are no sums over rows"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init | Numbers | Callable[..., Any] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
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
        """
        settings, owner = self._settings(), type(self).__name__
        rng = self._rng()
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            weights, power = self._weights(sample_weight, len(checked))
            best = None
            for centers in self._starts(checked, weights, self._n_starts(10), rng):
                fitted = self._steps(checked, weights, centers.copy(), settings, progress, power)
                if best is None or fitted["inertia_"] < best["inertia_"]:
                    best = fitted
        if not np.isfinite(best["inertia_"]):
            raise ValueError("X is too large: the objective overflows float64; rescale the data.")
        self._warn_of_fewer(len(best["cluster_centers_"]))
        trace = best["objective_trace_"]
        rounding = checked.shape[1] * float(np.finfo(np.float64).eps) * trace[0]
        warn_of_rise(trace, rounding, owner, "a fault of the solver")
        if not best["converged_"]:
            warn(
                "ConvergenceWarning",
                f"{owner} stopped after max_iter={settings.max_iter} steps. Increase max_iter or "
                "tol.",
            )
        self._set_fitted(X, **best)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the index of the nearest centre for each row of `X`, int32.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,) int32
            Index of the nearest centre.
        """
        X = self._check_X(X, reset=False, like=getattr(self, "cluster_centers_", None))
        return _nearest(X, self.cluster_centers_)[0]

    def transform(self, X: Any) -> Any:
        """Return the sums of absolute differences from the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : (n_samples, n_clusters)
            Sums of absolute differences.
        """
        original = X
        X = self._check_X(X, reset=False, like=getattr(self, "cluster_centers_", None))
        n, k = len(X), len(self.cluster_centers_)
        require_memory(n, k, X.dtype.itemsize, what="the distances", instead="pass fewer rows")
        out = np.empty((n, k), dtype=X.dtype)
        for rows, distances in _distances(X, self.cluster_centers_):
            out[rows] = distances
        return self._wrap(out, original)

    def _starts(self, X, weights, n_starts, rng):
        sampler = RowSampler(X, weights) if isinstance(self.init, str) else None
        for _ in range(n_starts):
            if callable(self.init):
                centers = self.init(X, self.n_clusters, random_state=rng)
                what = "init(X, n_clusters, random_state)"
                yield self._given_centers(centers, what, X.shape[1]).astype(X.dtype)
            elif sampler is None:
                yield self._given_centers(self.init, "init", X.shape[1]).astype(X.dtype)
            elif self.init == "random":
                yield X[random_rows(sampler, self.n_clusters, len(X), rng)]
            else:
                yield X[_plus_plus(X, weights, self.n_clusters, rng, sampler)]

    def _steps(self, X, weights, centers, settings, progress, power):
        """Alternate assignments and medians from these centres; return the fitted attributes."""
        # Assign the samples to the initial centres.
        n, k = len(X), len(centers)
        labels, distances = _nearest(X, centers)
        trace, converged = [_total(weights, distances)], False
        # Allocate scratch for blocks of features that fit in the cache.
        counts, ends = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        members, values = np.empty(n, dtype=np.int64), np.empty(n * (2 if len(weights) else 1))
        width = max(1, _BLOCK // (16 * n))  # each value is read about 16 times
        for step in range(1, settings.max_iter + 1):
            # Move each centre to the medians of its samples.
            _ext.reseed(weights, distances, labels, counts)
            for first in range(0, X.shape[1], width):
                last = min(first + width, X.shape[1])
                _ext.medians(
                    X, weights, labels, counts, first, last, ends, members, values, centers
                )
            # Assign the samples again, and stop where that helps no more.
            before = labels
            labels, distances = _nearest(X, centers)
            trace.append(_total(weights, distances))
            if progress.active:
                shown = np.ldexp([trace[-1], trace[-2] - trace[-1]], power)
                progress.step(step, float(shown[0]), float(shown[1]))
            converged = trace[-2] - trace[-1] <= settings.tol * trace[-1]
            if converged and (settings.tol > 0 or np.array_equal(labels, before)):
                break
            converged = False
        # Leave out centres without samples.
        mass = np.bincount(labels, weights=weights if len(weights) else None, minlength=k)
        if (mass <= 0).any():
            centers = centers[mass > 0]
            labels, distances = _nearest(X, centers)
        trace[-1] = _total(weights, distances)
        with np.errstate(over="ignore"):
            trace = np.ldexp(trace, power)
        return {
            "cluster_centers_": centers,
            "labels_": labels,
            "inertia_": float(trace[-1]),
            "objective_trace_": trace,
            "n_iter_": step,
            "converged_": converged,
        }


def _distances(X, centers):
    """Yield slices of rows and the distances of these from the centres, float64."""
    step = max(1, _BLOCK // centers.size)
    for start in range(0, len(X), step):
        rows = slice(start, min(len(X), start + step))
        yield rows, cdist(X[rows], centers, "cityblock")


def _nearest(X, centers):
    """Return the nearest centre of each row, int32, and the distance from it."""
    labels, distances = np.empty(len(X), dtype=np.int32), np.empty(len(X))
    step = max(1, _BLOCK // centers.size)
    for first in range(0, len(X), step):
        _ext.nearest(X, centers, first, min(len(X), first + step), labels, distances)
    return labels, distances


def _total(weights, distances):
    return float(weights @ distances) if len(weights) else float(distances.sum())


def _plus_plus(X, weights, n_clusters, rng, sampler):
    """Return up to `n_clusters` rows of X by greedy k-means++, in absolute differences."""
    trials = n_candidates(n_clusters)
    if len(X) <= _FEW and X.size * trials * n_clusters <= _BLOCK:
        rows = np.empty(n_clusters, dtype=np.int64)
        count = _ext.seeds(
            X, weights, sampler.order, rng.random(1 + (n_clusters - 1) * trials), trials,
            np.empty((1 + trials, len(X))), np.empty(len(X)), rows,
        )  # fmt: skip
        return rows[:count]
    return greedy_seeds(_Costs(X, weights), n_clusters, sampler, rng)


class _Costs:
    """Sums of absolute differences from the nearest seeds, as `k_means_plus_plus.Costs`."""

    def __init__(self, X, weights):
        self._X, self._weights = X, weights if len(weights) else np.ones(len(X))
        self.nearest = np.full(len(X), np.inf)

    def add_best(self, candidates):
        X, objectives = self._X, np.zeros(len(candidates))
        if len(candidates) > 1:
            for rows, distances in _distances(X, X[candidates]):
                left = np.minimum(self.nearest[rows, None], distances)
                objectives += self._weights[rows] @ left
        best = candidates[first_least(objectives)]
        self.nearest = np.minimum(self.nearest, _nearest(X, X[[best]])[1])
        return int(best)
