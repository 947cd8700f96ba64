"""k-means in the feature space of a kernel."""

import numbers
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from scipy import sparse

from mlcore.checks import (
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_enough,
    scaled_weights,
)
from mlcore.checks.arrays import Numbers, real_array
from mlcore.cluster.k_means.origin_and_unit import far_origin
from mlcore.cluster.kernel_k_means.initial_labels import KernelStarts
from mlcore.cluster.kernel_k_means.kernel_assignment import (
    Descent,
    KernelAssignment,
    descend,
    without_empty,
)
from mlcore.estimator import progress
from mlcore.estimator.derived import cached
from mlcore.estimator.model import Clusterer, warn
from mlcore.estimator.progress import Progress
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.gram_rows import GramRows
from mlcore.kernels.kernel import copied, of_numbers, precision
from mlcore.kernels.kernel_model import KernelModel
from mlcore.kernels.vector_kernels import GammaRule, KernelName, as_kernel, resolve_gamma
from mlcore.runtime.memory import require_memory

_Init = Literal["k-means++", "random"]
_FAR = 4.0  # times the variance: squared mean from which samples are centred, which costs little


class Settings(NamedTuple):
    """Checked parameters of the steps; those of kernel and starts are checked too."""

    n_clusters: int
    max_iter: int
    tol: float


class KernelKMeans(Clusterer, KernelModel):
    r"""Find clusters of samples that are near each other by a kernel.

    k-means in the feature space of the kernel, ``k(x, y) = phi(x).phi(y)``:

    .. math:: \min_{\psi_1, \dots, \psi_k} \sum_j \sum_{i \in \psi_j} w_i |\phi(x_i) - c_j|^2
        = \sum_i w_i K_{ii} - \max_\psi \sum_j \frac{1}{l_j} \sum_{r, s \in \psi_j} w_r w_s K_{rs},

    with :math:`c_j` the mean of cluster :math:`\psi_j` and :math:`l_j` the sum of its weights: a
    maximum of :math:`\mathrm{tr}(G^\top K G)` over the scaled indicators G of partitions. Each step
    assigns all samples to the nearest means, until nothing changes: a local minimum. A cluster that
    loses all its samples gets the one that was farthest from its mean.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : str, callable or Kernel, default="rbf"
        "linear", "polynomial" (or "poly"), "rbf", "laplacian", "sigmoid", "cosine", "chi2",
        "precomputed", a function of two sets of samples that returns their kernel values, or a
        `mlcore.kernels.Kernel`.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Width of the kernel; "scale" is 1 / (n_features * variance of X), where samples count by
        their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    init : str or array of shape (n_samples,), default="k-means++"
        Initial labels: the nearest of seeds, drawn by greedy "k-means++" or at "random" by their
        weights; or an array of integers from 0 to n_clusters - 1. Draws depend neither on the order
        of samples nor on repetition by weights or by copies.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the one with the least objective is kept; "auto" is 10 for
        ``init="random"``, else 1. An array is one start.
    max_iter : int, default=300
        Most steps of one start.
    tol : float, default=1e-6
        Stop when a step lowers the objective by at most so many times itself; 0 goes on until no
        label changes or rounding alone is left to win.
    cache_size : float, default=1000
        MB for the Gram matrix. Where it does not fit, rows are computed again, in blocks of up to
        32 MB, whenever a step needs them; of a costly kernel, those that fit are kept.
    verbose, callback, random_state : as in `KMeans`

    Attributes
    ----------
    labels_ : (n_samples,) int32
        Cluster of each sample of the fit.
    inertia_, objective_ : float
        The objective of `labels_`.
    objective_trace_ : (n_iter_,) float64
        The objective after each step, never increasing; the last is `inertia_`.
    coefficients_ : (n_samples,) float64
        Weight of each sample in the mean of its cluster:
        :math:`c_j = \sum_{i \in \psi_j}` ``coefficients_[i]`` :math:`\phi(x_i)`.
    center_squared_norms_ : (n_clusters,) float64
        Squared norms of the means. Fewer where the data have fewer distinct points.
    X_fit_ : (n_samples, n_features)
        The samples of the fit, which `predict` needs; empty with ``kernel="precomputed"``.
    gamma_ : float
    origin_ : (n_features,) or None
        A point amid dense samples that lie far from 0, if the kernel is linear (or polynomial of
        degree 1): its values, and the norms above, are then of the differences to it.
    n_iter_, converged_, n_features_in_, feature_names_in_
        As in `KMeans`.

    Notes
    -----
    The Gram matrix takes O(n² d) time and is the memory, up to `cache_size`, beside O(n k). A step
    takes O(n m) time for the m samples that change clusters, O(n²) at most, and O(n k); rows of the
    Gram matrix that are not kept add O(n d) each.

    A kernel that is not positive semi-definite has no feature space: the fit warns, and stops
    before a step that would raise the objective. It also warns, and has not converged, where
    distances in feature space are lost in the rounding of the kernel values, as those of samples
    far from 0 are by a polynomial kernel.

    References
    ----------
    B. Schölkopf, A. Smola, K.-R. Müller, *Nonlinear component analysis as a kernel eigenvalue
    problem*, Neural Computation 10, 1998.

    I. Dhillon, Y. Guan, B. Kulis, *Kernel k-means, spectral clustering and normalized cuts*,
    KDD 2004.

    A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 6.1.1.

    Examples
    --------
    >>> from mlcore.cluster import KernelKMeans
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = KernelKMeans(n_clusters=2, gamma=1.0, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> bool(model.predict([[5.2]])[0] == model.labels_[3])
    True
    """

    set_callbacks = progress.set_callbacks
    inertia_: float
    objective_trace_: np.ndarray
    n_iter_: int
    converged_: bool
    coefficients_: np.ndarray
    center_squared_norms_: np.ndarray
    origin_: np.ndarray | None
    X_fit_: np.ndarray | Any  # CSR where the samples are
    _stored = {
        "labels_": "int n < k",
        "inertia_": "float",
        "objective_trace_": "float64 t?",
        "n_iter_": "count",
        "converged_": "bool",
        "coefficients_": "float64 n",
        "center_squared_norms_": "float64 k",
        "X_fit_": "rows n f | float 0 0",
        "origin_": "none | float f",
    }

    @property
    def objective_(self) -> float:
        """`inertia_`, which the fit minimises."""
        return self.inertia_

    def _from_older_state(self, state):
        if "X_fit_" in state:  # 0.2 had no origin
            state.setdefault("origin_", None)
        return super()._from_older_state(state)

    _no_blocks = "its Gram matrix is of all pairs of rows"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        init: _Init | Numbers = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        cache_size: float = 1000,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
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
        MemoryError
            If what must be held does not fit.
        """
        settings, owner = self._settings(), type(self).__name__
        rng = as_random_state(self.random_state, owner=owner)
        with Progress(self.verbose, self.callback, owner, self) as progress:
            samples = self._training_samples(X)
            weights, power = self._weights(sample_weight, samples.shape[0])
            no_gamma = self._precomputed or not of_numbers(samples)
            gamma = 0.0 if no_gamma else resolve_gamma(self.gamma, samples, weights)
            origin, centred = self._centred(samples, gamma)
            kernel, gram = self._gram(centred, gamma)
            require_memory(
                settings.n_clusters, gram.n, 8, what="the sums by cluster",
                instead="lower n_clusters, or fit some of the rows and predict the others",
            )  # fmt: skip
            assignment = KernelAssignment(gram, weights, settings.n_clusters)

            def report(step, value, change):
                progress.step(step, float(np.ldexp(value, power)), change)

            best = None
            for labels in self._starts(centred, kernel, gram, weights, rng):
                run = descend(assignment, labels, settings.max_iter, settings.tol, report)
                # Of starts equal but for rounding, the first: their clusters may be equal too.
                if best is None or run.means.objective < best.means.objective - assignment.slack:
                    best = run
            labels, kept = without_empty(assignment, best.means)
            hidden = _hidden(best.means.objective, kernel.rounding, weights, samples, labels)
        kernel = gram = assignment = centred = None  # freed before the samples are copied
        self._warn_of(best, int(kept.sum()), hidden)
        trace = np.ldexp(best.trace, power)
        mass = best.means.mass[kept]
        self._set_fitted(
            X,
            labels_=labels,
            inertia_=float(trace[-1]),
            objective_trace_=trace,
            n_iter_=len(trace),
            converged_=best.converged and not hidden,
            coefficients_=weights / mass[labels],
            center_squared_norms_=best.means.squared_norms[kept],
            X_fit_=copied(samples) if not self._precomputed else np.empty((0, 0), samples.dtype),
            gamma_=gamma,
            origin_=origin,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of the nearest mean in feature space for each row of `X`, int32.

        With ``kernel="precomputed"``, `X` holds the kernel values between new samples and those of
        the fit, (n_new, n_samples). Takes O(n_new n_samples (n_features + n_clusters)) time.

        Parameters
        ----------
        X : array-like, sparse or container of n_new samples

        Returns
        -------
        labels : (n_new,) int32
            Index of the cluster.
        """
        self._check_fitted()
        vectors = self.X_fit_
        X = _less(self._later_samples(X, vectors), self.origin_)
        n, k = len(self.labels_), len(self.center_squared_norms_)
        require_memory(n, k, 8, what="the coefficients of the means", instead="fit fewer rows")
        means = np.zeros((n, k))
        means.ravel()[np.arange(0, n * k, k) + self.labels_] = self.coefficients_
        kernel = self._fitted_kernel
        if kernel.precomputed:
            expansion = Expansion(np.arange(n), kernel)
        else:
            vectors = vectors, self.origin_
            expansion = cached(self, vectors, kernel, lambda: Expansion(_less(*vectors), kernel))
        inner = expansion.sums(X, means)
        return np.argmin(self.center_squared_norms_ - 2 * inner, axis=1).astype(np.int32)

    # ---- before the work

    def _settings(self):
        owner = type(self).__name__
        k = as_integer(self.n_clusters, "n_clusters", owner=owner, at_least=1, at_most=2**31 - 1)
        self._checked_kernel()
        self._checked_gamma(self.gamma)
        max_iter = as_integer(self.max_iter, "max_iter", owner=owner, at_least=1)
        tol = as_real(self.tol, "tol", owner=owner, at_least=0)
        as_real(self.cache_size, "cache_size", owner=owner, above=0)
        if isinstance(self.init, str):
            as_choice(self.init, "init", get_args(_Init), owner=owner)
        else:
            self._given_labels(None)
        if isinstance(self.n_init, str):
            as_choice(self.n_init, "n_init", ("auto",), owner=owner)
        else:
            as_integer(self.n_init, "n_init", owner=owner, at_least=1)
        return Settings(k, max_iter, tol)

    def _given_labels(self, n_samples):
        """Return the labels in `init`, checked; `n_samples` of them unless it is None."""
        owner = type(self).__name__
        allowed = f"must be 'k-means++', 'random' or integers from 0 to {self.n_clusters - 1}"
        if self.init is None or isinstance(self.init, numbers.Number) or callable(self.init):
            raise TypeError(
                f"{owner}: init is of type {type(self.init).__name__}, but {allowed}, one for each "
                "sample."
            )
        labels = real_array(self.init, "init")
        if labels.ndim != 1 or n_samples not in (None, len(labels)):
            shape = "(n_samples,)" if n_samples is None else f"({n_samples},)"
            raise ValueError(f"{owner}: init has shape {labels.shape}, but must be {shape} labels.")
        if labels.dtype.kind not in "iu":
            raise TypeError(f"{owner}: init is of type {labels.dtype}, but {allowed}.")
        if len(labels) and (labels.min() < 0 or labels.max() >= self.n_clusters):
            raise ValueError(
                f"{owner}: init has labels from {labels.min()} to {labels.max()}, but {allowed}."
            )
        return labels.astype(np.int32)

    def _weights(self, sample_weight, n_samples):
        """Return scaled weights, and the power of two that undoes the scaling."""
        weights = as_weights(sample_weight, n_samples)
        require_enough(n_samples, self.n_clusters, "n_clusters", weights)
        return scaled_weights(weights)

    # ---- the work

    def _centred(self, samples, gamma):
        """Return a point amid samples far from 0, if the kernel may be taken from it, and the rest.

        Distances do not depend on it, and inner products of what is left keep their digits.
        """
        kernel = as_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        free = kernel.origin_free and isinstance(samples, np.ndarray) and of_numbers(samples)
        origin = far_origin(samples, _FAR) if free else None
        return origin, _less(samples, origin)

    def _gram(self, samples, gamma):
        kernel = as_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        rows = kernel.rows(samples, double=precision(samples) == np.float64)
        rows.warn_if_indefinite("they have no feature space to cluster in")
        return rows, GramRows.within(rows, self.cache_size, samples if self._precomputed else None)

    def _starts(self, samples, kernel, gram, weights, rng) -> Iterator[np.ndarray]:
        """Yield labels to start from."""
        if not isinstance(self.init, str):
            yield self._given_labels(gram.n)
            return
        size = max(1.0, float(np.abs(gram.diagonal).max()))
        rounding = max(float(np.finfo(gram.dtype).eps), kernel.rounding / size)
        numbers = of_numbers(samples) and not self._precomputed
        starts = KernelStarts(samples if numbers else None, gram, rounding, weights)
        draw = starts.random if self.init == "random" else starts.plus_plus
        several = 10 if self.init == "random" else 1
        for _ in range(several if isinstance(self.n_init, str) else int(self.n_init)):
            yield draw(self.n_clusters, rng)

    def _warn_of(self, best: Descent, n_found, hidden):
        name = type(self).__name__
        if hidden:
            warn(
                "ConvergenceWarning",
                f"{name}: distances of the samples in feature space are lost in the rounding of "
                "the kernel values. Subtract the mean of the features, scale them, or pass "
                "float64.",
            )
        if n_found < self.n_clusters:
            warn(
                "ConvergenceWarning",
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
            )
        if best.rose:
            warn(
                "ConvergenceWarning",
                f"{name} stopped where a step would have raised the objective: the kernel is not "
                "positive semi-definite on these samples.",
            )
        elif not best.converged:
            warn(
                "ConvergenceWarning",
                f"{name} stopped after max_iter={self.max_iter} steps that still lowered the "
                f"objective by more than tol={self.tol:g} times itself: raise max_iter or tol.",
            )


def _less(samples, origin):
    return samples if origin is None else samples - origin


def _hidden(objective, rounding, weights, samples, labels) -> bool:
    """Return whether rounding of kernel values may exceed a hundredth of the objective.

    Not where the samples of each cluster are equal, nor of objects, for which it is unknown.
    """
    rounding = 4 * rounding * float(weights.sum())
    negative = objective < -rounding  # no feature space: of which the fit has warned
    if negative or rounding <= 0.01 * objective or not of_numbers(samples):
        return False
    present = np.flatnonzero(weights > 0)
    first = np.zeros(labels.max() + 1, dtype=np.int64)
    first[labels[present[::-1]]] = present[::-1]
    apart = samples[present] != samples[first[labels[present]]]
    return bool(apart.nnz if sparse.issparse(apart) else apart.any())
