"""k-means on batches of samples, for data too large for repeated passes."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_integer
from mlcore.checks.arrays import Numbers
from mlcore.checks.stored import stored
from mlcore.cluster.k_means.assignment import assignment_of
from mlcore.cluster.k_means.center_model import CentroidModel, Init, Statistics
from mlcore.cluster.k_means.evidence import left_by_rounding, warn_of_rounding
from mlcore.cluster.k_means.k_means import variance_of
from mlcore.cluster.k_means.lloyd import Clustering, objective, squared_moves
from mlcore.cluster.k_means.origin_and_unit import choose_units
from mlcore.estimator.first_rows import BeginsWithFirstRows
from mlcore.estimator.progress import Progress
from mlcore.numerics.seeds.row_sampler import RowSampler

_MOST_COPIES = 64  # of a sample, on average, that passes and patience count
_FIRST_STEPS = 10  # most steps of Lloyd's algorithm on the first samples of a stream


class BatchSettings(NamedTuple):
    """Checked parameters of fits by batches."""

    n_clusters: int
    max_iter: int
    tol: float
    batch_size: int
    patience: float  # batches without improvement that end a fit


@stored(version=1)
class Course(NamedTuple):
    """The smoothed objective of the batches so far, and its least value; both infinite at first.

    `n_worse` counts the batches since the least.
    """

    smoothed: float = np.inf
    least: float = np.inf
    n_worse: int = 0
    _stored = {"smoothed": "float", "least": "float", "n_worse": "int"}


class MiniBatchKMeans(BeginsWithFirstRows, CentroidModel):
    r"""Find centres that are near the samples, a batch of them at a time.

    Each step assigns the samples of one batch to their nearest centres and moves each centre to
    the mean of all samples that it has ever been assigned. A centre without any after as many
    samples as the data have begins anew at a random one. The objective is that of `KMeans`, which
    the centres approach.

    Parameters
    ----------
    n_clusters, init : as in `KMeans`
    n_init : "auto" or int, default="auto"
        Number of starts, of which the one with the least objective on a batch is kept; "auto" is 3
        for ``init="random"`` and callables, else 1.
    max_iter : int, default=100
        Most passes over as many samples as the data have.
    batch_size : int, default=1024
        Samples in a batch, drawn by their weights.
    tol : float, default=0.0
        Stop when the sum of the squared shifts of the centres is at most so many times the mean
        variance of the features; 0 never stops.
    max_no_improvement : int or None, default=10
        Stop when the smoothed objective of so many batches in a row was not the least so far; None
        never stops.
    verbose, callback, random_state : as in `KMeans`

    Attributes
    ----------
    labels_ : (n_samples,) int32
        Nearest centre of each sample of the fit; not after `partial_fit`.
    inertia_, objective_ : float
        The objective on all samples; after `partial_fit`, on the last batch.
    counts_ : (n_clusters,) float64
        The weight of the samples that each centre has been assigned.
    n_steps_ : int
        Batches.
    n_iter_ : int
        Passes over as many samples as the data have, the last one maybe incomplete; samples count
        by their weights here, at least 1 and at most 64 on average.
    converged_ : bool
        True if the fit, or the last `update`, met `tol` or `max_no_improvement`.
    cluster_centers_, origin_, offsets_, n_features_in_, feature_names_in_
        As in `KMeans`.

    References
    ----------
    D. Sculley, *Web-scale k-means clustering*, WWW 2010.

    Examples
    --------
    >>> from mlcore.cluster import MiniBatchKMeans
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0)
    >>> for batch in [[0.0], [10.0]], [[1.0], [9.0]]:
    ...     model = model.partial_fit([*batch])
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [0.5, 9.5]
    """

    counts_: np.ndarray
    n_steps_: int
    _groups = "n_clusters"
    _n_batches = 1  # in a pass over all rows, of which `update` takes one
    _run_: Course
    _stored = {
        "counts_": "float64 k",
        "n_steps_": "count",
        "_run_": Course,
    }
    _older = {"_run_": (Course._make, "course")}

    _instead = {
        "compute_labels": "drop it: fit always sets labels_; partial_fit never does",
        "missing": "use KMeans: batches take complete rows only",
        "init_size": "drop it: seeds are drawn from all samples",
        "reassignment_ratio": "drop it: a centre that stays without samples begins anew",
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init | Numbers | Callable[..., Any] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 100,
        batch_size: int = 1024,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
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
        # Check parameters and data, and choose safe units.
        settings = self._settings()
        rng = self._rng()
        with Progress(self.verbose, self.callback, type(self).__name__, self) as progress:
            checked = self._check_X(X, reset=True)
            weights, weight_power = self._weights(sample_weight, checked.shape[0])
            units, moments = choose_units(checked, weights)
            sampler = RowSampler(checked, weights)
            n, size = _counted(checked.shape[0], weights, weight_power), settings.batch_size

            def batch(centers):
                rows = sampler.draw_many(rng.random(size))
                samples, copies = checked, np.empty(0)
                if checked.shape[0] <= size:  # draws of a row are its weight, not copies
                    copies = np.bincount(rows, minlength=checked.shape[0]).astype(np.float64)
                else:
                    samples = checked[rows]
                part = assignment_of(samples, copies, units, len(centers), 1)
                part.assign(centers)
                return *part.totals(), objective(part, centers) / size

            # Choose initial centres by the objective of batches.
            centers = self._best_start(checked, weights, units, rng, batch)
            wide, counts = centers.astype(np.float64), np.zeros(len(centers))
            smoothed, share = None, min(1.0, 2 * size / (n + 1))
            least, n_worse, converged = np.inf, 0, False
            own = min(n, size)  # samples by which a batch counts in a pass
            per_pass = -(-n // own)
            for step in range(1, settings.max_iter * n // own + 1):
                # Average the centres with the means of a batch.
                sums, mass, value = batch(centers)
                before = wide
                wide = _averaged(wide, counts, sums, mass)
                counts += mass
                # Once a pass, move centres that no sample has reached.
                idle = np.flatnonzero(counts == 0)
                if len(idle) and step % per_pass == 0:
                    drawn = checked[sampler.draw_many(rng.random(len(idle)))]
                    wide[idle] = units.place(drawn.toarray() if sp.issparse(drawn) else drawn)
                centers = wide.astype(centers.dtype)
                shift = float(np.square(wide - before).sum())
                if progress.active:
                    progress.step(step, float(units.back(value)), float(units.back(shift)))
                # Stop where the centres stand still or the smoothed objective no longer falls.
                smoothed = value if smoothed is None else smoothed + share * (value - smoothed)
                n_worse = 0 if smoothed < least else n_worse + 1
                least = min(least, smoothed)
                still = settings.tol > 0 and shift <= settings.tol * moments.variance
                patient = n_worse < settings.patience
                if still or not patient:
                    why = "small centers change" if still else "lack of improvement in inertia"
                    progress.note(f"Converged ({why}) at step {step}")
                    converged = True
                    break
            # Assign all samples to the final centres.
            assignment = assignment_of(checked, weights, units, len(centers), 1)
            assignment.assign(centers)
            clustering = Clustering(
                centers, assignment.labels, objective(assignment, centers), None, step, converged
            )
            inertia = self._in_range(float(np.ldexp(units.back(clustering.inertia), weight_power)))
            left = left_by_rounding(
                checked, weights, units, clustering, moments.squares, settings.n_clusters
            )
            course = Course(float(units.back(smoothed)), float(units.back(least)), n_worse)
        # Warn of what rounding did, and set the result.
        self._warn_of_fewer(len(centers))
        hidden = warn_of_rounding(left[0], clustering.inertia, settings.tol, type(self).__name__)
        self._set_fitted(
            X,
            **self._center_attributes(centers, units, checked),
            labels_=clustering.labels,
            inertia_=inertia,
            counts_=counts,
            n_steps_=step,
            n_iter_=-(-step * own // n),
            converged_=converged and not hidden,
            _run_=course,
        )
        return self

    def _waits(self):
        return isinstance(self.init, str) and not hasattr(self, "cluster_centers_")

    def _step(self, X, sample_weight):
        model = self
        if not hasattr(self, "cluster_centers_"):
            model = type(self)(**self.get_params(deep=False)).begin(X, sample_weight=sample_weight)
        model.update(model.partial_statistics(X, sample_weight=sample_weight))
        self._update_state(vars(model))

    def _fitted_to_first(self, X, weight):
        model = type(self)(**self.get_params(deep=False)).begin(X, sample_weight=weight)
        for _ in range(_FIRST_STEPS):
            before = model.cluster_centers_
            sums, counts, value = model.partial_statistics(X, sample_weight=weight)
            model.counts_, model._run_ = np.zeros(len(counts)), Course()
            model.update(Statistics(sums, counts, value))
            if np.array_equal(before, model.cluster_centers_):
                break
        model.n_steps_ = model.n_iter_ = 1
        return model

    def update(self, statistics: Statistics) -> Self:
        """Move the centres to the means of all samples so far, those of the statistics included.

        `converged_` tells when `fit` would stop after such a batch.

        Parameters
        ----------
        statistics : Statistics
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        sums, counts, value = statistics
        before = self.offsets_.astype(np.float64)
        wide = _averaged(before, self.counts_, sums, counts)
        smoothed, least, n_worse = self._run_
        mean = value / (counts.sum() or 1.0)
        share = min(1.0, 2 / self._n_batches) if smoothed < np.inf else 1.0
        smoothed = mean if share == 1 else smoothed + share * (mean - smoothed)
        n_worse = 0 if smoothed < least else n_worse + 1
        shift = float(squared_moves(before, wide).sum())
        still = 0 < self.tol and shift <= self.tol * variance_of(statistics, self.offsets_)
        n_steps = self.n_steps_ + 1
        return self._move(
            wide.astype(self.offsets_.dtype),
            inertia_=value,
            counts_=self.counts_ + counts,
            n_steps_=n_steps,
            n_iter_=-(-n_steps // self._n_batches),
            converged_=bool(still or n_worse >= (self.max_no_improvement or np.inf)),
            _run_=Course(smoothed, min(least, smoothed), n_worse),
        )

    def needs_another_pass(self) -> bool:
        """Return whether `fit` would take another batch: not if `converged_`, or after `max_iter`.

        Each `update` is a step by a batch; here it counts as a pass over all rows.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not self.converged_ and self.n_steps_ < self.max_iter * self._n_batches

    def _settings(self):
        owner, patience = type(self).__name__, self.max_no_improvement
        settings = super()._settings()
        size = as_integer(self.batch_size, "batch_size", owner=owner, at_least=1)
        if patience is not None:
            as_integer(patience, "max_no_improvement", owner=owner, at_least=1)
        return BatchSettings(*settings, size, np.inf if patience is None else patience)

    def _best_start(self, X, weights, units, rng, batch):
        best, least = None, np.inf
        n_starts = self._n_starts(3)
        for centers in self._starts(X, weights, units, n_starts, rng):
            value = batch(centers)[2] if n_starts > 1 else 0.0
            if best is None or value < least:
                best, least = centers, value
        return best

    def _initial_attributes(self, n_clusters):
        begun = {"counts_": np.zeros(n_clusters), "n_steps_": 0, "n_iter_": 0}
        return begun | {"converged_": False, "_run_": Course()}


def _counted(n_rows, weights, power) -> int:
    """Return the number of samples in a pass: copies count, by their weights.

    At least one for each row that counts, as weights may have any unit, and 64 at most.
    """
    if not len(weights):
        return n_rows
    present = int(np.count_nonzero(weights))
    with np.errstate(over="ignore"):
        total = float(np.ldexp(weights.sum(), power))
    return round(min(max(total, present), _MOST_COPIES * present))


def _averaged(centers, counts, sums, mass):
    """Return the means of all samples so far, from means of samples of weight `counts`."""
    averages, total = centers.copy(), counts + mass
    present = mass > 0
    change = sums[present] - mass[present, None] * centers[present]
    averages[present] += change / total[present, None]
    return averages
