"""Models whose clusters are given by centres: parameters, starts, prediction, sums over rows."""

import numbers
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.checks import (
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    as_samples,
    as_weights,
    require_enough,
    scaled_weights,
)
from mlcore.cluster.k_means.assignment import assignment_of, nearest_labels
from mlcore.cluster.k_means.incomplete_assignment import filled, squared_distances
from mlcore.cluster.k_means.lloyd import objective
from mlcore.cluster.k_means.origin_and_unit import (
    OriginAndUnit,
    choose_units,
    shared_units,
    sums_of_known,
)
from mlcore.cluster.k_means.starts.seeding import k_means_plus_plus
from mlcore.estimator import progress
from mlcore.estimator.model import Clusterer, Model, Transformer, warn
from mlcore.numerics.seeds.row_sampler import RowSampler, random_rows
from mlcore.row_sums import RowSums
from mlcore.runtime.memory import require_memory

Init = Literal["k-means++", "random"]


class Settings(NamedTuple):
    """Checked parameters of clustering by centres; those of starts are checked too."""

    n_clusters: int
    max_iter: int
    tol: float


class Statistics(NamedTuple):
    """Sums over samples by their nearest centres.

    `sums` (n_clusters, n_features) are of weighted samples measured from `origin_`.
    """

    sums: np.ndarray
    counts: np.ndarray
    objective: float


class CenterModel(Transformer, Clusterer, Model):
    """Clustering by centres: parameters and their checks, for any distance."""

    set_callbacks = progress.set_callbacks

    cluster_centers_: np.ndarray
    inertia_: float
    n_iter_: int
    converged_: bool

    _tags: ClassVar[dict[str, Any]] = {
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }
    _stored = {
        "cluster_centers_": "float k f",
        "labels_": "int n < k",
        "inertia_": "float",
        "n_iter_": "count",
        "converged_": "bool",
    }

    _instead = {
        "copy_x": "drop it: X is never changed",
        "algorithm": "drop it: bounds skip work where that pays, and labels are as without them",
        "precompute_distances": "drop it: distances are computed block by block",
    }

    @property
    def objective_(self) -> float:
        """`inertia_`, which the fit minimises."""
        return self.inertia_

    def _n_out(self):
        return len(self.cluster_centers_)

    def _rng(self):
        return as_random_state(self.random_state, owner=type(self).__name__)

    def _settings(self):
        owner = type(self).__name__
        settings = Settings(
            as_integer(self.n_clusters, "n_clusters", owner=owner, at_least=1),
            as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
            as_real(self.tol, "tol", owner=owner, at_least=0),
        )
        if isinstance(self.init, str):
            as_choice(self.init, "init", get_args(Init), owner=owner)
        elif self.init is None or isinstance(self.init, numbers.Number):
            raise TypeError(
                f"{owner}: init={self.init!r} is of type {type(self.init).__name__}, but must be "
                "'k-means++', 'random', an array of centres or callable."
            )
        elif not callable(self.init):
            self._given_centers(self.init, "init", None)
        if isinstance(self.n_init, str):
            as_choice(self.n_init, "n_init", ("auto",), owner=owner)
        else:
            as_integer(self.n_init, "n_init", owner=owner, at_least=1)
        return settings

    def _weights(self, sample_weight, n_samples):
        """Return scaled weights, empty for ones, and the power of two that undoes the scaling."""
        weights = np.empty(0) if sample_weight is None else as_weights(sample_weight, n_samples)
        require_enough(n_samples, self.n_clusters, "n_clusters", weights)
        return scaled_weights(weights) if len(weights) else (weights, 0)

    def _n_starts(self, several):
        has_centers = not isinstance(self.init, str) and not callable(self.init)
        if has_centers and self.n_init not in ("auto", 1):
            warn(
                "RuntimeWarning",
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
            )
        if has_centers:
            return 1
        if not isinstance(self.n_init, str):
            return int(self.n_init)
        by_chance = callable(self.init) or (isinstance(self.init, str) and self.init == "random")
        return several if by_chance else 1

    def _warn_of_fewer(self, n_found):
        if n_found < self.n_clusters:
            warn(
                "ConvergenceWarning",
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
            )

    def _given_centers(self, centers, what, n_features):
        centers = as_samples(centers, owner=type(self).__name__, name=what)
        wrong = n_features is not None and centers.shape[1] != n_features
        if wrong or len(centers) != self.n_clusters:
            columns = "n_features" if n_features is None else n_features
            fault = "features of the data" if len(centers) == self.n_clusters else "clusters"
            raise ValueError(
                f"{type(self).__name__}: The shape of the initial centers {centers.shape} ({what}) "
                f"does not match the number of {fault}: it must be (n_clusters, n_features) = "
                f"({self.n_clusters}, {columns})."
            )
        return centers


class CentroidModel(RowSums, CenterModel):
    """Clustering by the nearest of `cluster_centers_`, in Euclidean distance."""

    origin_: np.ndarray
    offsets_: np.ndarray

    _tags = {**CenterModel._tags, "input_tags.sparse": True}
    _stored = {"origin_": "float f", "offsets_": "float k f"}

    def predict(self, X: Any) -> np.ndarray:
        """Return the index of the nearest centre for each row of `X`, int32.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,) int32
            Index of the nearest centre.
        """
        X, units, centers = self._new_samples(X)
        return nearest_labels(X, units, centers)

    def transform(self, X: Any) -> Any:
        """Return the distances of each row of `X` from the centres.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        distances : (n_samples, n_clusters)
            Euclidean, in the precision of the fit.
        """
        original = X
        X, units, centers = self._new_samples(X)
        n, k = X.shape[0], len(centers)
        require_memory(n, k, X.dtype.itemsize, what="the distances", instead="pass fewer rows")
        out = np.empty((n, k), dtype=X.dtype)
        wide = centers.astype(np.float64)
        norms = np.square(wide).sum(axis=1)
        for rows, block in units.blocks(X, k * (2**10 + 2 * X.shape[1])):
            if units.incomplete:
                distances = np.sqrt(squared_distances(block.astype(np.float64), wide))
            elif sp.issparse(block):
                own = np.asarray(block.multiply(block).sum(axis=1)).reshape(-1, 1)
                distances = np.sqrt(np.maximum(0, own + norms - 2 * (block @ wide.T)))
            else:
                distances = cdist(block, wide)
            out[rows] = np.ldexp(distances, units.power)
        return self._wrap(out, original)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of the squared distances of samples from their centres.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
            Minus the inertia of these samples: at most 0.
        """
        assignment, units, centers = self._assigned(X, sample_weight)
        return -self._in_range(float(units.back(objective(assignment, centers))))

    # ---- sums over rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose initial centres, as `fit` would for the samples `X`; `y` is ignored.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._settings()
        rng = self._rng()
        checked = self._check_X(X, reset=True)
        weights, _ = self._weights(sample_weight, checked.shape[0])
        self._require_complete(self._incomplete(checked))
        units, _ = choose_units(checked, weights)
        centers = next(self._starts(checked, weights, units, 1, rng))
        attributes = self._center_attributes(centers, units, checked)
        self._set_fitted(X, **attributes, **self._initial_attributes(len(centers)))
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Statistics:
        """Return the sums of the rows of `X` by their nearest centres; `y` is ignored.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Statistics
            Sums of the rows of each centre, with their weights.
        """
        assignment, units, centers = self._assigned(X, sample_weight)
        self._require_complete(units.incomplete)
        sums, counts = assignment.totals()
        return Statistics(
            np.ldexp(sums, units.power),
            counts,
            self._in_range(float(units.back(objective(assignment, centers)))),
        )

    def _assigned(self, X, sample_weight):
        """Return the assignment of rows to their nearest centres, its units, and these in them."""
        X, units, centers = self._new_samples(X)
        weights = np.empty(0) if sample_weight is None else as_weights(sample_weight, X.shape[0])
        assignment = assignment_of(X, weights, units, len(centers), 1)
        assignment.assign(centers)
        return assignment, units, centers

    # ---- for subclasses

    def _incomplete(self, X):
        """Return True if values of checked rows are missing."""
        return False

    def _require_complete(self, incomplete):
        if incomplete:
            raise ValueError(
                f"{type(self).__name__}: X has missing values, which sums over rows, as of blocks, "
                "do not take: fit all rows at once, or fill the gaps first."
            )

    def _new_samples(self, X):
        """Return checked samples for a fitted model, their units, and the centres in these."""
        X = self._check_X(X, reset=False, like=getattr(self, "offsets_", None))
        origin = self.origin_ if self.origin_.any() and not sp.issparse(X) else None
        offsets = self.offsets_ if origin is not None else self.cluster_centers_
        units = shared_units(X, offsets, origin, self._incomplete(X))
        return X, units, np.ldexp(offsets, -units.power)

    def _starts(self, X, weights, units, n_starts, rng):
        """Yield initial centres, in these units."""
        drawn = isinstance(self.init, str)
        sampler = RowSampler(X, weights) if drawn else None
        fill = None
        if drawn and units.incomplete:
            mass, sums, _ = sums_of_known(X, weights, units)
            fill = np.divide(sums, mass, out=np.zeros(len(sums)), where=mass > 0)
        for _ in range(n_starts):
            if not drawn:
                centers, what = self.init, "init"
                if callable(centers):
                    centers = centers(X, self.n_clusters, random_state=rng)
                    what = "init(X, n_clusters, random_state)"
                centers = self._given_centers(centers, what, X.shape[1]).astype(np.float64)
            else:
                if self.init == "random":
                    rows = random_rows(sampler, self.n_clusters, X.shape[0], rng)
                else:
                    rows = k_means_plus_plus(X, weights, units, self.n_clusters, rng, sampler, fill)
                centers = X[rows]
                centers = centers.toarray() if sp.issparse(centers) else centers
            centers = units.place(centers)
            centers = centers if fill is None else filled(centers, fill)
            yield np.ascontiguousarray(centers, dtype=X.dtype)

    @staticmethod
    def _center_attributes(centers, units, X):
        """Return the fitted attributes for centres in these units."""
        offsets = np.ldexp(centers, units.power)
        if units.origin is None:
            return {
                "cluster_centers_": offsets,
                "offsets_": offsets,
                "origin_": np.zeros(X.shape[1], dtype=X.dtype),
            }
        return {
            "cluster_centers_": (offsets + units.origin.astype(np.float64)).astype(X.dtype),
            "offsets_": offsets,
            "origin_": units.origin,
        }

    def _move(self, offsets, **attributes):
        """Replace the centres and these attributes, and remove the labels, no longer valid."""
        units = OriginAndUnit(self.origin_ if self.origin_.any() else None)
        moved = self._center_attributes(offsets, units, self.cluster_centers_) | attributes
        self._update_state(moved, forget={"labels_"} & vars(self).keys())
        return self

    @staticmethod
    def _in_range(inertia):
        if not np.isfinite(inertia):
            raise ValueError("X is too large: its squared distances overflow float64.")
        return inertia
