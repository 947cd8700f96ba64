"""k-means clustering by Lloyd's algorithm; bounds skip distances, not steps."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from mlcore.checks.arrays import Numbers
from mlcore.checks.missing import Missing, require_known
from mlcore.checks.stored import stored
from mlcore.cluster.k_means.assignment import assignment_of
from mlcore.cluster.k_means.center_model import CentroidModel, Init, Statistics
from mlcore.cluster.k_means.evidence import (
    EPS,
    left_by_rounding,
    rounding_of_search,
    warn_of_rise,
    warn_of_rounding,
)
from mlcore.cluster.k_means.lloyd import lloyd, squared_moves
from mlcore.cluster.k_means.origin_and_unit import choose_units
from mlcore.cluster.k_means.starts.k_means_parallel import start_over_blocks
from mlcore.estimator.mixins import TakesMissing
from mlcore.estimator.progress import Progress


@stored(version=1)
class Step(NamedTuple):
    """The last step of a fit by `update`: the squared movement of the centres, summed.

    `rounding` is that of the objective before the step.
    """

    shift: float
    rounding: float = 0.0
    _stored = {"shift": "float", "rounding": "float"}


class KMeans(TakesMissing, CentroidModel):
    r"""Find centres that are near the samples.

    .. math:: \min_{c_1, \dots, c_k} \sum_i w_i \min_j |x_i - c_j|^2,

    a local minimum: Lloyd's algorithm assigns each sample to its nearest centre and moves each
    centre to the mean of its samples until nothing changes. Bounds on the distances save work;
    labels are those of a full search. A cluster that loses all its samples begins anew at the
    sample farthest from its centre.

    Parameters
    ----------
    n_clusters : int, default=8
    init : str, array of shape (n_clusters, n_features) or callable, default="k-means++"
        Initial centres: greedy "k-means++"; "random" samples drawn by their weights; an array; or
        the result of ``init(X, n_clusters, random_state=generator)``. Draws depend neither on the
        order of samples nor on repetition by weights or by copies.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the one with the least objective is kept; "auto" is 10 for
        ``init="random"`` and callables, else 1.
    max_iter : int, default=300
        Most steps of one start.
    tol : float, default=1e-4
        Stop when the sum of the squared shifts of the centres is at most so many times the mean
        variance of the features; 0 goes on until no label changes.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.
    random_state : None, int, Generator or RandomState, default=None
    missing : {"error", "ignore"}, default="error"
        Whether NaN of dense rows is refused, or a missing value. Then the sum is over the known
        values, ``sum_i w_i min_j sum_{f known of i} (x_if - c_jf)²``, of which each step lowers it:
        a distance is over what is known of the sample, and a feature of a centre is the mean over
        its samples that know it; one that none of them knows stays as it was. Seeds take means of
        the features for their missing values. A row of which nothing is known has label 0 and
        moves no centre.

    Attributes
    ----------
    cluster_centers_ : (n_clusters, n_features)
        Fewer rows where the data have fewer distinct points.
    labels_ : (n_samples,) int32
        Nearest centre of each sample of the fit.
    inertia_, objective_ : float
        The objective, from exact distances.
    objective_trace_ : (n_steps,) float64
        The objective at each step; the last is `inertia_`. No step raises it but by rounding: a
        larger rise is warned of.
    n_iter_ : int
    converged_ : bool
        True if the last step met `tol`, or changed no label, and rounding does not hide which
        centres are nearest.
    origin_ : (n_features,)
        Origin of the distances: 0, or a point amid data that lie far from 0.
    offsets_ : (n_clusters, n_features)
        ``cluster_centers_ - origin_``, with digits that rounding of the centres may lose.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    ConvergenceWarning
        If rounding hides which centres are nearest; if the objective rises; if the data have fewer
        distinct points than `n_clusters`. Not where `max_iter` ends a fit: `converged_` tells.

    Notes
    -----
    A step takes O(n k d) time at most, far less when few labels change. Memory beside the data is
    O(n + k d); no copy of the data is made. More than 512 centres are searched in 8-bit integers if
    the processor adds products of them by fours (AVX-512 VNNI); double precision decides.

    `fit` repeats a sum over rows, which `begin`, `partial_statistics`, `merge` and `update` offer
    one by one for data that come in blocks.

    References
    ----------
    S. Lloyd, *Least squares quantization in PCM*, IEEE Transactions on Information Theory 28, 1982.

    D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.

    T. Kaukoranta, P. Fränti, O. Nevalainen, *A fast exact GLA based on code vector activity
    detection*, IEEE Transactions on Image Processing 9, 2000 (centres that do not move).

    G. Hamerly, *Making k-means even faster*, SDM 2010.

    Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz, *Yinyang k-means: a drop-in replacement
    of the classic k-means with consistent speedup*, ICML 2015.

    Examples
    --------
    >>> from mlcore.cluster import KMeans
    >>> model = KMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist())
    [0.5, 9.5]
    >>> model.inertia_
    1.0
    """

    objective_trace_: np.ndarray
    _stored = {"objective_trace_": "float64 t?", "_run_": Step}
    _older = {"_run_": (Step, "shift")}

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
        missing: Missing = "error",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state
        self.missing = missing

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
        settings, owner = self._settings(), type(self).__name__
        rng = self._rng()
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            weights, weight_power = self._weights(sample_weight, checked.shape[0])
            incomplete = self._incomplete(checked)
            if incomplete:
                require_known(checked, weights if len(weights) else None, owner)
            units, moments = choose_units(checked, weights, incomplete=incomplete)

            def objective(value):
                return np.ldexp(units.back(value), weight_power)

            def report(step, value, change):
                if progress.active:
                    progress.step(step, float(objective(value)), float(units.back(change)))

            # Run Lloyd's algorithm from each start, and keep the best.
            best = None
            for centers in self._starts(checked, weights, units, self._n_starts(10), rng):
                assignment = assignment_of(checked, weights, units, len(centers), settings.max_iter)
                clustering = lloyd(
                    assignment,
                    centers,
                    settings.max_iter,
                    settings.tol * moments.variance,
                    moments.squares,
                    report,
                )
                del assignment
                if best is None or clustering.inertia < best.inertia:
                    best = clustering
            # Bound the part of the objective that rounding hides.
            left = left_by_rounding(
                checked, weights, units, best, moments.squares, settings.n_clusters
            )
            with np.errstate(over="ignore"):
                trace = objective(best.trace)
                inertia = self._in_range(float(objective(best.inertia)))
        # Warn of what rounding did, and set the result.
        self._warn_of_fewer(len(best.centers))
        hidden = warn_of_rounding(sum(left), best.inertia, settings.tol, owner)
        n, d = checked.shape
        rounding = rounding_of_search(moments.squares, d, checked.dtype)
        rounding += n * EPS * moments.squares  # of the sums
        warn_of_rise(best.trace, rounding, owner, "rounding hides which centre is nearest")
        self._set_fitted(
            X,
            **self._center_attributes(best.centers, units, checked),
            labels_=best.labels,
            inertia_=inertia,
            objective_trace_=trace,
            n_iter_=best.n_iter,
            converged_=best.converged and not hidden,
        )
        return self

    def impute(self, X: Any) -> np.ndarray:
        """Return the rows with the values of the nearest centres for missing ones, NaN.

        What is known is kept bit for bit. It takes ``missing="ignore"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        values : (n_samples, n_features)
            A new array, of the type of the checked rows.

        Raises
        ------
        TypeError
            If X is sparse.
        ValueError
            If X has NaN and `missing` is "error", or the number of features differs.

        Examples
        --------
        >>> from mlcore.cluster import KMeans
        >>> X = [[0.0, 1.0], [0.0, float("nan")], [8.0, 9.0], [float("nan"), 9.0]]
        >>> model = KMeans(n_clusters=2, missing="ignore", random_state=0).fit(X)
        >>> model.impute(X).tolist()
        [[0.0, 1.0], [0.0, 1.0], [8.0, 9.0], [8.0, 9.0]]
        """
        like = getattr(self, "offsets_", None)
        values = np.array(self._check_X(X, reset=False, accept_sparse=False, like=like))
        if self._incomplete(values):
            labels = self.predict(values)
            step = max(1, 2**16 // values.shape[1])
            for start in range(0, len(values), step):
                block = values[start : start + step]
                own = self.cluster_centers_[labels[start : start + step]]
                np.copyto(block, own, where=np.isnan(block))
        return values

    def begin_over_blocks(self, total: Callable[[Any], Any], seed: int) -> None:
        """Draw the centres anew among all rows, if `begin` has drawn them by k-means++.

        Parameters
        ----------
        total : callable
            Returns what a task of `mlcore.blocks` gives for all blocks, merged.
        seed : int
            Of random numbers.
        """
        if isinstance(self.init, str) and self.init == "k-means++":
            offsets = start_over_blocks(self, total, seed)
            if offsets is not None:
                self._move(offsets)

    def update(self, statistics: Statistics) -> Self:
        """Move the centres to the means of the statistics; those without samples stay.

        `converged_` tells when they moved by no more than `tol` allows.

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
        sums, counts, objective = statistics
        offsets = self.offsets_.copy()
        squares, d = squares_of(statistics, self.offsets_), len(self.origin_)
        present = counts > 0
        offsets[present] = sums[present] / counts[present, None]
        shift = float(squared_moves(self.offsets_, offsets).sum())
        return self._move(
            offsets,
            inertia_=objective,
            objective_trace_=np.append(self.objective_trace_, objective),
            n_iter_=self.n_iter_ + 1,
            converged_=shift <= self.tol * variance_of(statistics, self.offsets_),
            _run_=Step(shift, rounding_of_search(squares, d, offsets.dtype)),
        )

    def needs_finishing_pass(self) -> bool:
        """Return True if the last step moved the centres: `inertia_` is that of those before.

        Returns
        -------
        needed : bool
            Whether `finish` needs the sums over all rows.
        """
        return self._run_.shift > 0

    def finish(self, total: Statistics | None = None) -> None:
        """End a fit by `update` as `fit` ends: with the objective of the last centres.

        Parameters
        ----------
        total : Statistics, optional
            Sums over all rows, if `needs_finishing_pass`.
        """
        trace, inertia = self.objective_trace_, self.inertia_ if total is None else total.objective
        if total is not None or self.n_iter_ == 1:
            trace = np.append(trace, inertia)
        self._update_state({"inertia_": inertia, "objective_trace_": trace})
        self._warn_of_fewer(len(self.cluster_centers_))
        why = "the rows must be the same in every pass"
        warn_of_rise(trace, self._run_.rounding, type(self).__name__, why)

    def _initial_attributes(self, n_clusters):
        begun = {"objective_trace_": np.empty(0), "n_iter_": 0, "converged_": False}
        return begun | {"_run_": Step(np.inf)}


def squares_of(statistics: Statistics, offsets: np.ndarray) -> float:
    """Return the weighted squared norms of all rows, summed by their nearest offsets."""
    sums, counts, objective = statistics
    wide = offsets.astype(np.float64)
    return objective + float((wide * (2 * sums - counts[:, None] * wide)).sum())


def variance_of(statistics: Statistics, offsets: np.ndarray) -> float:
    """Return the mean variance of the features of all rows, summed by their nearest offsets."""
    sums, counts, _ = statistics
    weight, squares = counts.sum(), squares_of(statistics, offsets)
    mean = sums.sum(axis=0) / weight
    return max(0.0, squares / weight - float(mean @ mean)) / len(mean)
