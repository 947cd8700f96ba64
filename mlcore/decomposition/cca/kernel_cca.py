"""Canonical correlation analysis in the feature spaces of two kernels."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mlcore.checks import as_integer, as_real, as_weights, scaled_weights
from mlcore.decomposition.cca.canonical_pairs import column_correlations
from mlcore.decomposition.cca.kernel_view import KernelView, leading_pairs, require_ranks
from mlcore.decomposition.cca.two_blocks import as_columns, one_or_two, require_as_many
from mlcore.decomposition.dual_functions import (
    DualFunctions,
    is_linear,
    mean_and_directions,
)
from mlcore.decomposition.evidence import signs
from mlcore.estimator.derived import cached
from mlcore.estimator.model import Transformer, warn
from mlcore.kernels.kernel import Kernel, copied
from mlcore.kernels.kernel_model import (
    KernelModel,
    checked_gamma,
    checked_kernel,
    given_gram,
    kept_samples,
    kernel_samples,
)
from mlcore.kernels.vector_kernels import GammaRule, KernelName, as_kernel
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_Kernel = KernelName | Callable[..., Any] | Kernel
_Gamma = float | GammaRule | None


class _Settings(NamedTuple):
    """Checked parameters of a `KernelCCA`: of X, and of y."""

    k: int
    kernels: list[Kernel]
    gammas: list[GammaRule | float]
    alphas: list[float]


class KernelCCA(Transformer, KernelModel):
    r"""Find pairs of functions of two views of the samples that correlate most.

    .. math:: \max_{f, g} \sum_i w_i f(x_i) g(y_i), \quad
        \sum_i w_i f(x_i)^2 + \alpha \|f\|^2 = \sum_i w_i g(y_i)^2 + \alpha \|g\|^2 = 1,

    over functions f and g in the feature spaces of two kernels, each of mean 0 over the samples
    with weights w, and each pair uncorrelated with those before. Without a ridge `alpha` functions
    rich enough correlate perfectly whatever the data.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs. More than the rank of either view are cut, with a warning.
    kernel : str, callable or Kernel, or two of them, default="linear"
        A name that `mlcore.kernels.gram_matrix` knows, "precomputed", a function ``kernel(X, Y)``
        of two sets of samples, or a `mlcore.kernels.Kernel`: of both views, or a tuple of the
        kernels of X and of Y.
    gamma : float, "scale" or "auto", or two of them, optional
        Width of the kernel: 1 / n_features by default and with "auto"; "scale" is
        1 / (n_features Var(X)), of each view.
    degree : int or (int, int), default=3
        Of the polynomial kernel.
    coef0 : float or (float, float), default=1
        Of the polynomial and sigmoid kernels.
    alpha : float or (float, float), default=1.0
        Ridge on the squared norms of the functions, as of `KernelRidge`: of both, or of X and of Y.

    Attributes
    ----------
    canonical_correlations_ : (k,) float64
        Of the penalised problem: descending, in [0, 1].
    training_correlations_ : (k,) float64
        Those of the variates over the samples of the fit, at least as large.
    x_dual_coef_ : (n_samples, k) float64, y_dual_coef_ : (n_samples, k) float64
        The variates of x are ``x_intercept_ + sum_i x_dual_coef_[i] k(x_i, x)``.
    x_intercept_ : (k,) float64, y_intercept_ : (k,) float64
    mean_coef_ : (n_samples,) float64
        The means in both feature spaces are the sums of these times the images of the samples.
    x_rank_, y_rank_ : int
        Eigenvalues of the centred Gram matrices above rounding.
    orthogonality_ : float
        Largest ``|F'WF + alpha <F, F> - I|`` over both views, for the rounded coefficients, with
        ``<F, F>`` the inner products of the functions, and what rounding may hide: 0 if exact.
    off_diagonal_ : float
        Largest ``|F'WG|`` outside the diagonal, likewise.
    alpha_ : (2,) float64
    gamma_, y_gamma_ : float
        Widths of the kernels of X and of Y.
    X_fit_ : (n_samples, n_features), Y_fit_ : (n_samples, n_targets)
        The samples of the fit, or the matrices of precomputed kernels.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    With the centred Gram matrices ``w^(1/2) K w^(1/2) = Q D Q'`` of both views the correlations are
    the singular values of ``(D_x/(D_x + alpha))^(1/2) Q_x'Q_y (D_y/(D_y + alpha))^(1/2)``.

    O(n² d) time for the Gram matrices, O(n³) for their decompositions, or O(n² r + n r²) where a
    kernel known as positive semi-definite has a small rank r; O(n²) memory. LAPACK decomposes all
    rows in one call, for which Ctrl-C waits.

    scikit-learn cuts a matrix of kernel values on both sides if it is X, but on one if it is y. To
    cross-validate with a matrix K of y, let its samples be row numbers,
    ``numpy.arange(n)[:, None]``, and its kernel a function that looks values up:
    ``lambda a, b: K[a.astype(int), b.astype(int).T]``.

    Linear kernels give the pairs of `CCA`, with its `alpha` times the sum of the weights less
    `ddof`, and variates divided by the root of this; `CCA` is the more exact where features nearly
    depend on each other.

    References
    ----------
    F. Bach, M. Jordan, *Kernel independent component analysis*, Journal of Machine Learning
    Research 3, 2002. D. Hardoon, S. Szedmak, J. Shawe-Taylor, *Canonical correlation analysis: an
    overview with application to learning methods*, Neural Computation 16, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.decomposition import KernelCCA
    >>> angle = np.linspace(0, 6, 40)
    >>> X, Y = np.c_[np.cos(angle), np.sin(angle)], angle**2
    >>> model = KernelCCA(1, kernel="rbf", gamma="scale", alpha=0.01).fit(X, Y)
    >>> model.training_correlations_.round(3)
    array([1.])
    """

    _tags = {
        "input_tags.sparse": True,
        "target_tags.required": True,
        "target_tags.multi_output": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    canonical_correlations_: np.ndarray
    training_correlations_: np.ndarray
    x_dual_coef_: np.ndarray
    y_dual_coef_: np.ndarray
    mean_coef_: np.ndarray
    x_intercept_: np.ndarray
    y_intercept_: np.ndarray
    x_rank_: int
    y_rank_: int
    orthogonality_: float
    off_diagonal_: float
    alpha_: np.ndarray
    gamma_: float
    y_gamma_: float
    X_fit_: Any
    Y_fit_: Any
    _stored = {
        "canonical_correlations_": "float64 k",
        "training_correlations_": "float64 k",
        "x_dual_coef_": "float64 n k",
        "y_dual_coef_": "float64 n k",
        "mean_coef_": "float64 n",
        "x_intercept_": "float64 k",
        "y_intercept_": "float64 k",
        "x_rank_": "count",
        "y_rank_": "count",
        "orthogonality_": "float",
        "off_diagonal_": "float",
        "alpha_": "float64 2",
        "y_gamma_": "float",
        "X_fit_": "rows n f",
        "Y_fit_": "rows n q",
    }

    _no_blocks = "its Gram matrices are of all pairs of rows"

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: _Kernel | Sequence[_Kernel] = "linear",
        gamma: _Gamma | Sequence[_Gamma] = None,
        degree: int | tuple[int, int] = 3,
        coef0: float | tuple[float, float] = 1,
        alpha: float | tuple[float, float] = 1.0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the pairs.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features), or a list of objects
            With a precomputed kernel: the (n_samples, n_samples) matrix of kernel values.
        y : array-like or sparse of shape (n_samples, n_targets) or (n_samples,), or objects
            The second view, Y, of the same samples; as X.
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; if a view has equal samples only,
            or without a ridge has functions that take any values at all samples.
        MemoryError
            If what must be held does not fit.
        """
        settings, owner = self._settings(), type(self).__name__
        kernels = settings.kernels
        # The samples of both views, and those of positive weight.
        samples = [self._training_samples(X), self._training_Y(y, kernels[1])]
        require_as_many(*samples, "y")
        n = samples[0].shape[0]
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        if len(kept) < 2:
            few = f"n_samples={n}" if n < 2 else "sample_weight leaves 1 sample"
            raise ValueError(f"{owner}: {few}, but at least 2 samples are needed.")
        w, power = scaled_weights(weight[kept])
        require_memory(
            len(kept), len(kept), 48, what="two Gram matrices, with what decomposes them,",
            instead="fit fewer rows and transform the others",
        )  # fmt: skip
        with single_threaded_blas():
            # The centred Gram matrix of each view, decomposed.
            views, gammas = [], []
            for i, kernel in enumerate(kernels):
                used = kept_samples(samples[i], kept, kernel.precomputed)
                units = {"alpha": settings.alphas[i], "power": power}
                view, gamma = KernelView.of(used, kernel, settings.gammas[i], w, **units)
                views.append(view)
                gammas.append(gamma)
            require_ranks(views, owner)
            # The pairs of functions, and the evidence for them.
            state = self._pairs(settings.k, *views, n, kept)
        mean_coef = weight / weight.max()
        mean_coef /= mean_coef.sum()
        # Linear functions of dense samples have exact intercepts.
        names = ("x_dual_coef_", "x_intercept_"), ("y_dual_coef_", "y_intercept_")
        for kernel, rows, (coef, intercept) in zip(kernels, samples, names, strict=True):
            if is_linear(kernel, rows):
                mean, U = mean_and_directions(rows, mean_coef, state[coef])
                state[intercept] = -(mean @ U)
        self._set_fitted(
            X,
            **state,
            mean_coef_=mean_coef,
            alpha_=np.array(settings.alphas),
            gamma_=gammas[0],
            y_gamma_=gammas[1],
            X_fit_=copied(samples[0]),
            Y_fit_=copied(samples[1]),
        )
        return self

    def _settings(self):
        owner = type(self).__name__
        k = as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        each = zip(*(self._both(name) for name in ("kernel", "degree", "coef0")), strict=True)
        kernels = [checked_kernel(*three, owner) for three in each]
        gammas = [
            checked_gamma("auto" if gamma is None else gamma, owner)
            for gamma in self._both("gamma")
        ]
        alphas = [as_real(a, "alpha", owner=owner, at_least=0) for a in self._both("alpha")]
        return _Settings(k, kernels, gammas, alphas)

    def _both(self, name):
        return one_or_two(getattr(self, name), name, type(self).__name__)

    @property
    def _kernel_of_X(self):
        return self._both("kernel")[0]

    def _training_Y(self, y, kernel):
        """Return the second view of a fit, checked; a precomputed kernel is made symmetric."""
        samples, owner = self._checked_Y(y, "y", kernel), type(self).__name__
        if not kernel.precomputed:
            return samples
        if samples.shape[0] < samples.shape[1]:
            raise ValueError(
                f"y has shape {samples.shape}, but with kernel='precomputed' it must be the "
                "square matrix of the training samples. Splitters of scikit-learn cut y on one "
                "side only: to cross-validate, give row numbers as samples, and kernels that "
                "look values up (see the notes of KernelCCA)."
            )
        return given_gram(samples, "y", owner)

    def _checked_Y(self, Y, name, kernel, like=None):
        owner = type(self).__name__
        objects = not sparse.issparse(Y) and Y is not None and kernel.encode(Y) is not None
        if not objects and not sparse.issparse(Y):
            Y = as_columns(Y, name, owner)[0]
        return kernel_samples(
            Y, kernel, owner=owner, name=name, like=like, accept_sparse=not kernel.precomputed
        )

    def _pairs(self, wanted, x, y, n, kept):
        """Return the fitted attributes that follow from both views."""
        owner, k = type(self).__name__, min(wanted, x.rank, y.rank)
        if k < wanted:
            warn(
                "UserWarning",
                f"{owner}: n_components={wanted} is cut to {k}, as X has "
                f"rank {x.rank} and y rank {y.rank}.",
            )
        # The singular vectors of the covariances of the shrunk components.
        M = stoppable(lambda: (x.Q * x.shrinkage).T @ (y.Q * y.shrinkage))
        U, rho, V = leading_pairs(M, k)
        turn = signs(x.Q @ (x.shrinkage[:, None] * U) / x.S.s[:, None])
        f, g = x.functions(U * turn), y.functions(V * turn)
        rho = np.clip(rho, 0.0, 1.0)
        if not all(np.isfinite(part).all() for part in (rho, *f[:2], *g[:2])):
            raise ValueError(
                f"{owner}: the coefficients of the variates overflow: rescale the kernels or alpha."
            )
        # Covariances and correlations of the variates over the samples.
        cross = f.values.T @ g.values
        np.fill_diagonal(cross, 0.0)
        sizes = [np.linalg.norm(values, axis=0) for values in (f.values, g.values)]
        unit = [
            values / np.where(size > 0, size, 1.0)
            for values, size in zip((f.values, g.values), sizes, strict=True)
        ]

        def of_all(coef):
            every = np.zeros((n, k))
            every[kept] = coef
            return every

        return {
            "canonical_correlations_": rho,
            "x_dual_coef_": of_all(f.coef),
            "x_intercept_": f.intercept,
            "x_rank_": x.rank,
            "y_dual_coef_": of_all(g.coef),
            "y_intercept_": g.intercept,
            "y_rank_": y.rank,
            "training_correlations_": np.clip((unit[0] * unit[1]).sum(axis=0), 0.0, 1.0),
            "orthogonality_": max(f.deviation, g.deviation),
            "off_diagonal_": float(np.abs(cross).max()) + (f.noise + g.noise) * (k > 1),
        }

    # ---- later calls

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Return the variates of samples of X, and of Y if it is given.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features), or a list of objects
            With a precomputed kernel: the values against the training samples, (n_new, n_samples).
        Y : as X, or (n_new,), optional

        Returns
        -------
        x_variates : (n_new, k)
            Of the samples of X.
        y_variates : (n_new, k), only with `Y`
            Of the samples of Y.
        """
        self._check_fitted()
        checked = self._later_samples(X, self.X_fit_)
        variates = self._wrap(self._variates(0, checked), X)
        return variates if Y is None else (variates, self._variates(1, self._later_Y(Y, checked)))

    def correlations(self, X: Any, Y: Any) -> np.ndarray:
        """Return the correlations of the variates over other samples than those of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features), or a list of objects
            At least two samples.
        Y : as X, or (n_new,)

        Returns
        -------
        rho : (k,) float64
            In [-1, 1]; 0 for a variate that does not vary.
        """
        self._check_fitted()
        X = self._later_samples(X, self.X_fit_)
        if X.shape[0] < 2:
            raise ValueError(
                f"{type(self).__name__}: n_samples=1, but at least 2 samples are needed."
            )
        return column_correlations(self._variates(0, X), self._variates(1, self._later_Y(Y, X)))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean of `correlations`, by which a search may choose kernels and ridges.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features), or a list of objects
        y : as X, or (n_new,)

        Returns
        -------
        score : float
            At most 1.
        """
        return float(self.correlations(X, y).mean())

    def _later_Y(self, Y, X):
        owner, fitted = type(self).__name__, self.Y_fit_
        kernel = as_kernel(self._both("kernel")[1])
        Y = self._checked_Y(Y, "Y", kernel, getattr(fitted, "dtype", np.dtype(object)))
        require_as_many(X, Y, "Y")
        if Y.shape[1] != fitted.shape[1]:
            raise ValueError(
                f"Y has {Y.shape[1]} columns, but {owner} was fitted to {fitted.shape[1]}."
            )
        return Y

    def _variates(self, view, samples):
        return self._functions[view](samples)

    @property
    def _functions(self):
        names, gammas = ("kernel", "degree", "coef0"), (self.gamma_, self.y_gamma_)
        kernels = [
            as_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0)
            for kernel, degree, coef0, gamma in zip(*map(self._both, names), gammas, strict=True)
        ]
        x = self.X_fit_, kernels[0], self.mean_coef_, self.x_dual_coef_, self.x_intercept_
        y = self.Y_fit_, kernels[1], self.mean_coef_, self.y_dual_coef_, self.y_intercept_
        return cached(
            self,
            (self.X_fit_, self.Y_fit_),
            kernels,
            lambda: (DualFunctions(*x), DualFunctions(*y)),
        )

    def _n_out(self):
        return len(self.canonical_correlations_)
