"""Principal components in the feature space of a kernel."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_enough,
    require_random_state,
    scaled_weights,
)
from mlcore.decomposition.centered_gram import CenteredGram, warn_of_rounding
from mlcore.decomposition.kernel_pca.components import (
    bytes_per_value,
    components,
    eigenpairs,
    warn_if_indefinite,
)
from mlcore.decomposition.kernel_pca.nystroem import components_in_span, number_of_centers
from mlcore.decomposition.kernel_pca.preimages import PreImages
from mlcore.estimator.derived import cached
from mlcore.estimator.model import Transformer
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.kernel import (
    Kernel,
    copied,
    differences,
    mean_if_free,
    of_numbers,
    precision,
)
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.resolve import resolve_gamma
from mlcore.kernels.span import span_of
from mlcore.runtime.memory import require_memory

_METHODS = ("exact", "nystroem")
_SOLVERS = ("auto", "dense", "arpack", "randomized")


class KernelPCA(PreImages, Transformer, KernelModel):
    r"""Project samples onto their principal components in the feature space of a kernel.

    With :math:`\hat K = H K H^\top`, :math:`H = I - 1 w^\top / W`, w the sample weights and W their
    sum, the components are the eigenvectors q of :math:`w^{1/2} \hat K w^{1/2}` with the largest
    eigenvalues :math:`\lambda`; the score of a sample on one of them is the inner product of its
    centred image with a unit vector, :math:`y = \sum_i w_i^{1/2} q_i \lambda^{-1/2}
    \hat k(x_i, x)`.

    Parameters
    ----------
    n_components : int, optional
        Components; by default all whose eigenvalue is not 0: none where all samples are equal.
    kernel : str, callable or Kernel, default="linear"
        A name that `mlcore.kernels.gram_matrix` knows, "precomputed", a function ``kernel(X, Y)``
        of two sets of samples, or a `mlcore.kernels.Kernel`.
    gamma : float, "scale" or "auto", optional
        Width of the kernel: 1 / n_features by default and with "auto"; "scale" is
        1 / (n_features Var(X)).
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    alpha : float, default=1.0
        Penalty of the ridge regression of samples on scores that `inverse_transform` begins with.
    fit_inverse_transform : bool, default=False
        Prepare `inverse_transform`.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" decomposes the whole matrix by LAPACK; "arpack" and "randomized" are block Lanczos,
        where the matrix is not small. "auto" takes what is quicker. All find the same components.
    method : {"exact", "nystroem"}, default="exact"
        "exact" stores the Gram matrix. "nystroem" finds the best components among the functions
        ``sum_j a_j k(c_j, .)`` of few samples c_j, the centres, and how far their eigenvalues can
        be from the exact ones.
    n_centers : int, optional
        Largest number of centres of "nystroem": by default 500, or `n_components` if more. Those
        nearly in the span of others are left out.
    remove_zero_eig : bool, default=False
        Leave out components of eigenvalue 0 where `n_components` is more than the rank, too.
    tol : float, default=1e-6
        Largest residual of an eigenpair, divided by the largest eigenvalue; an eigenvalue's error
        is of the order of its square. A small matrix is decomposed to the rounding of float64.
    max_iter : int, default=1000
        Largest number of steps.
    random_state : None, int, Generator or RandomState, default=None
        Draws the first vectors of the search, and the centres of "nystroem".

    Attributes
    ----------
    eigenvalues_ : (n_components,) float64
        Descending; 0 where they are rounding, or negative.
    eigenvalue_bounds_ : (2, n_components) float64
        Only with "nystroem": the exact eigenvalues are not less than the first row and not more
        than the second, which is `eigenvalues_` and the sum of the squared distances of the samples
        from the span of the centres.
    eigenvectors_ : (n_samples, n_components) float64
        Orthonormal; 0 in samples of weight 0. Of the scores as large as the largest, the first is
        positive. Not with "nystroem".
    explained_variance_ratio_ : (n_components,) float64
        Each eigenvalue divided by the sum of all, which is the trace; by the sum of those found
        where negative ones make the trace less. With "nystroem" by the largest that it may be, so
        that the true ratio is not less.
    dual_coef_ : (n_samples, n_components) float64
        The score on a component is ``intercept_ + sum_i dual_coef_[i] k(x_i, x)``; the samples
        are the centres alone with "nystroem", as for `mean_coef_`.
    intercept_ : (n_components,) float64
    mean_coef_ : (n_samples,) float64
        The mean in feature space is the sum of these times the images of the samples; with
        "nystroem" its projection on the span of the centres.
    mean_squared_norm_ : float
        Of this mean.
    inverse_coef_ : (n_components, n_features) float64
    inverse_intercept_ : (n_features,) float64
        ``inverse_intercept_ + Y @ inverse_coef_`` predicts samples by their scores Y; there if
        `inverse_transform` is.
    next_value_ : float
        Estimate of the first eigenvalue left out; 0 if none is.
    residuals_ : (n_components,) float64
        ``|A q - lambda q|`` divided by the largest eigenvalue, and what rounding of the kernel's
        values may add; with "nystroem" a bound of it.
    orthogonality_ : float
        Largest entry of ``Q'Q - I``.
    gaps_ : (n_components,) float64
        Distance of each eigenvalue to the nearest other, over the largest.
    angle_bounds_ : (n_components,) float64
        Bounds of the sines of the angles between `eigenvectors_` and exact ones, if none was
        missed; infinite at a tie, where only the subspace is defined.
    condition_ : float
        Largest eigenvalue over the last.
    complete_ : bool
        True if it is proved that no eigenvector was missed; False where the last eigenvalue and the
        next are as good as equal, or Lanczos did not form the centred matrix.
    solver_ : str
        "lapack", "lanczos" or "nystroem".
    converged_ : bool
    X_fit_ : (n_samples, n_features)
        The samples of the fit, or the matrix of a precomputed kernel; with "nystroem" of the
        centres alone.
    center_indices_ : (n_centers,) intp
        Only with "nystroem": indices of the centres among the samples of the fit.
    origin_ : (n_features,) float64 or None
        The mean of the samples, if the linear kernel is computed from their differences to it, as
        it is if they are not sparse; all kernel values above are then of such differences.
    gamma_ : float
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n² d) time for the Gram matrix, which is stored in float64 and never centred, and O(n² k) for
    k eigenvectors by block Lanczos, or O(n³) by LAPACK where n is small or k large. "nystroem" with
    m centres takes O(n m (d + m)) time, and stores n m values.

    Samples far from the origin, compared with their distances, lose no digits with the linear
    kernel and those of distances. For a polynomial kernel of degree 2 or more the large offset is
    part of the function, and its Gram matrix is rounded before it is centred: subtract the mean
    first. So is that of sparse samples, whose mean is not subtracted.

    A kernel that is not positive semi-definite has negative eigenvalues: they count as 0, with a
    warning that gives the most negative one.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, *Nonlinear component analysis as a kernel
       eigenvalue problem*, Neural Computation 10, 1998.
    .. [2] C. Davis, W. Kahan, *The rotation of eigenvectors by a perturbation III*, SIAM Journal on
       Numerical Analysis 7, 1970.
    .. [3] Y. Chen, E. Epperly, J. Tropp, R. Webber, *Randomly pivoted Cholesky*, Communications on
       Pure and Applied Mathematics 78, 2025 (arXiv:2207.06503).
    .. [4] A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 5.4.

    Examples
    --------
    >>> from mlcore.decomposition import KernelPCA
    >>> model = KernelPCA(1).fit([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> model.eigenvalues_.round(9)
    array([8.])
    >>> abs(model.transform([[3.0, 5.0]])).round(9)
    array([[1.]])
    """

    _tags: ClassVar[dict[str, Any]] = {
        **KernelModel._tags,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    eigenvalues_: np.ndarray
    eigenvalue_bounds_: np.ndarray
    eigenvectors_: np.ndarray
    center_indices_: np.ndarray
    explained_variance_ratio_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    mean_coef_: np.ndarray
    mean_squared_norm_: float
    next_value_: float
    residuals_: np.ndarray
    orthogonality_: float
    gaps_: np.ndarray
    angle_bounds_: np.ndarray
    condition_: float
    complete_: bool
    solver_: str
    converged_: bool
    X_fit_: Any
    origin_: np.ndarray | None
    inverse_coef_: np.ndarray
    inverse_intercept_: np.ndarray
    _stored = {
        "eigenvalues_": "float64 k",
        "eigenvalue_bounds_": "float64 2 k",
        "eigenvectors_": "float64 n k",
        "center_indices_": "int m < _",
        "explained_variance_ratio_": "float64 k",
        "dual_coef_": "float64 m k",
        "intercept_": "float64 k",
        "mean_coef_": "float64 m",
        "mean_squared_norm_": "float",
        "next_value_": "float",
        "residuals_": "float64 k",
        "orthogonality_": "float",
        "gaps_": "float64 k",
        "angle_bounds_": "float64 k",
        "condition_": "float",
        "complete_": "bool",
        "solver_": "text",
        "converged_": "bool",
        "X_fit_": "rows m f",
        "origin_": "none | float f",
        "inverse_coef_": "float64 k f",
        "inverse_intercept_": "float64 f",
    }

    _no_blocks = "its Gram matrix is of all pairs of rows"
    _instead = {
        "kernel_params": "give a function of your own with its parameters bound",
        "iterated_power": "use tol=: Lanczos goes on until its residuals are that small",
        "copy_X": "drop it: X is never changed, and X_fit_ is a copy",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str | Callable[..., Any] | Kernel = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        method: str = "exact",
        n_centers: int | None = None,
        remove_zero_eig: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.method = method
        self.n_centers = n_centers
        self.remove_zero_eig = remove_zero_eig
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components.

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
        kernel, gamma = self._check_parameters()
        owner = type(self).__name__
        samples = self._training_samples(X)
        n = samples.shape[0]
        if n < 2:
            raise ValueError(f"{owner}: n_samples=1, but at least 2 samples are needed.")
        weight = as_weights(sample_weight, n)
        if self.n_components is not None:
            require_enough(n, self.n_components, "n_components", weight)
        rng = as_random_state(self.random_state, owner=owner)
        kept = np.flatnonzero(weight)
        w, power = scaled_weights(weight[kept])
        used = kept_samples(samples, kept, self._precomputed)
        given = isinstance(gamma, str) and (self._precomputed or not of_numbers(used))
        gamma = 0.0 if given else resolve_gamma(gamma, used, w)
        origin = mean_if_free(used, kernel, w)
        parts = used, w, power, kernel.with_gamma(gamma), origin, rng
        state = self._in_span(*parts) if self.method == "nystroem" else self._exact(*parts)
        used = parts = None  # freed before the samples are copied
        if self.method == "nystroem":
            state["center_indices_"] = chosen = kept[state["center_indices_"]]
            samples = kept_samples(samples, chosen, self._precomputed)
        else:
            for name in ("eigenvectors_", "dual_coef_", "mean_coef_"):
                part = state[name]
                state[name] = np.zeros((n, *part.shape[1:]))
                state[name][kept] = part
        self._set_fitted(X, **state, X_fit_=copied(samples), gamma_=gamma, origin_=origin)
        return self

    def _exact(self, used, w, power, kernel, origin, rng):
        """Return the attributes that the Gram matrix of samples of positive weight gives."""
        n = used.shape[0]
        k = n if self.n_components is None else int(self.n_components)
        each = bytes_per_value(n, k, self.eigen_solver)
        require_memory(
            n, n, each, what="the Gram matrix, with copies to decompose,",
            instead='fit fewer rows and transform the others, or use method="nystroem"',
        )  # fmt: skip
        S = CenteredGram(kernel.rows(differences(used, origin), double=True), w)
        how = self.eigen_solver, rng, self.tol, self.max_iter, type(self).__name__
        found, solver = eigenpairs(S, k, *how)
        warn_if_indefinite(S, kernel, precision(used), found.values[0], power, rng)
        definite = bool(kernel.positive_semidefinite)
        warn_of_rounding(S.hidden(float(found.values[0])), type(self).__name__)
        state = components(found, S, self._positive, solver, power, definite)
        if self.fit_inverse_transform:
            state |= self._way_back(used, w, state, state["dual_coef_"], kernel, used, origin)
        return state

    def _in_span(self, used, w, power, kernel, origin, rng):
        """Return the attributes that the span of few samples of positive weight gives."""
        k, samples = self.n_components, differences(used, origin)
        count = number_of_centers(self.n_centers, k, type(self).__name__)
        span, chosen = span_of(kernel, samples, count, rng, self._precomputed)
        state, V = components_in_span(span, kernel, samples, w, k, self._positive, power)
        if self.fit_inverse_transform:
            centers = kept_samples(used, chosen, precomputed=False)
            state |= self._way_back(used, w, state, V, kernel, centers, origin)
        return state | {"center_indices_": chosen}

    def transform(self, X: Any) -> Any:
        """Return the scores of each row of `X`, in the precision of the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features)
            With a precomputed kernel: the values against the training samples, (n_new, n_samples).

        Returns
        -------
        Y : (n_new, n_components)
            One column for each component.
        """
        self._check_fitted()
        samples = self._images(self._later_samples(X, self.X_fit_))
        scores = self._expansion.sums(samples, self.dual_coef_) + self.intercept_
        return self._wrap(scores.astype(precision(self.X_fit_), copy=False), X)

    def _images(self, samples):
        """Return checked samples as the kernel takes them."""
        return differences(samples, self.origin_)

    @property
    def _positive(self):
        """True if components of eigenvalue 0 are left out."""
        return self.remove_zero_eig or self.n_components is None

    def _n_out(self):
        return len(self.eigenvalues_)

    def _check_parameters(self):
        owner = type(self).__name__
        if self.n_components is not None:
            as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        kernel = self._checked_kernel()
        as_real(self.alpha, "alpha", owner=owner, at_least=0)
        as_bool(self.remove_zero_eig, "remove_zero_eig", owner=owner)
        as_bool(self.fit_inverse_transform, "fit_inverse_transform", owner=owner)
        if self.fit_inverse_transform and kernel.precomputed:
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel, which gives no samples to "
                "return: pass the kernel as a function."
            )
        as_choice(self.eigen_solver, "eigen_solver", _SOLVERS, owner=owner)
        as_choice(self.method, "method", _METHODS, owner=owner)
        if self.n_centers is not None:
            as_integer(self.n_centers, "n_centers", owner=owner, at_least=1)
        gamma = "auto" if self.gamma is None else self._checked_gamma(self.gamma)
        as_real(self.tol, "tol", owner=owner, above=0)
        as_integer(self.max_iter, "max_iter", owner=owner, at_least=1)
        require_random_state(self.random_state, owner=owner)
        return kernel, gamma

    @property
    def _expansion(self):
        kernel = self._fitted_kernel
        if kernel.precomputed:
            every = np.arange(len(self.dual_coef_))
            return Expansion(getattr(self, "center_indices_", every), kernel)
        vectors = self.X_fit_
        return cached(self, (vectors,), kernel, lambda: Expansion(self._images(vectors), kernel))
