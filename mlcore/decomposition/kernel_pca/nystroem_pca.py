"""Principal components in the span of few samples, with bounds of the eigenvalues of all."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from mlcore.checks import as_integer
from mlcore.decomposition.centered_gram import warn_of_rounding
from mlcore.decomposition.evidence import angle_bounds, gaps, orthogonality, signs
from mlcore.decomposition.kernel_pca.kernel_projection import (
    KernelData,
    KernelProjection,
    Settings,
    way_back,
)
from mlcore.kernels.kernel import Kernel, differences
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.span import Span, span_of
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.numerics.eigen import largest_by_lapack
from mlcore.numerics.scatter import scatter_of
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_EPS = float(np.finfo(np.float64).eps)
_FEW = 10  # an eigenvalue of a small matrix is wrong by some roundings too
_CENTERS = 500


class NystroemPCA(KernelProjection):
    """Project samples onto the best components among the functions of few samples, the centres.

    The components of `KernelPCA` are functions of all samples, for which it stores the Gram matrix.
    Here they are of the form ``sum_j a_j k(c_j, .)`` with centres c_j drawn from the samples, as in
    Nystroem's method; it is proved how far their eigenvalues can be from the exact ones.

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
    n_centers : int, optional
        Largest number of centres: by default 500, or `n_components` if more. Those nearly in the
        span of others are left out.
    remove_zero_eig : bool, default=False
        Leave out components of eigenvalue 0 where `n_components` is more than the rank, too.
    tol : float, default=1e-6
        Length of the last step of the iteration of `inverse_transform` with the rbf kernel, in
        units of the width of the kernel.
    max_iter : int, default=1000
        Largest number of these steps.
    random_state : None, int, Generator or RandomState, default=None
        Draws the centres.

    Attributes
    ----------
    eigenvalues_ : (n_components,) float64
        Descending; 0 where they are rounding, or negative.
    eigenvalue_bounds_ : (2, n_components) float64
        The exact eigenvalues are not less than the first row and not more than the second, which
        is `eigenvalues_` and the sum of the squared distances of the samples from the span of the
        centres.
    explained_variance_ratio_ : (n_components,) float64
        Each eigenvalue divided by the largest that the sum of all may be, so that the true ratio
        is not less.
    dual_coef_ : (n_centers, n_components) float64
        The score on a component is ``intercept_ + sum_j dual_coef_[j] k(c_j, x)``.
    intercept_ : (n_components,) float64
    mean_coef_ : (n_centers,) float64
        The projection of the mean in feature space on the span of the centres is the sum of these
        times their images.
    mean_squared_norm_ : float
        Of this mean.
    inverse_coef_ : (n_components, n_features) float64
    inverse_intercept_ : (n_features,) float64
        ``inverse_intercept_ + Y @ inverse_coef_`` predicts samples by their scores Y; there if
        `inverse_transform` is.
    next_value_ : float
        Estimate of the first eigenvalue left out; 0 if none is.
    residuals_ : (n_components,) float64
        Bounds of ``|A q - lambda q|`` divided by the largest eigenvalue, and what rounding of the
        kernel's values may add.
    orthogonality_ : float
        Largest entry of ``U'U - I``, U the components in the span of the centres.
    gaps_ : (n_components,) float64
        Distance of each eigenvalue to the nearest other, over the largest.
    angle_bounds_ : (n_components,) float64
        Bounds of the sines of the angles between eigenvectors and exact ones, if none was missed;
        infinite at a tie, where only the subspace is defined.
    condition_ : float
        Largest eigenvalue over the last.
    complete_ : bool
        True if it is proved that no eigenvector was missed.
    solver_ : str
        "nystroem".
    converged_ : bool
    X_fit_ : (n_centers, n_features)
        The centres, or the matrix of a precomputed kernel of these.
    center_indices_ : (n_centers,) intp
        Indices of the centres among the samples of the fit.
    origin_ : (n_features,) float64 or None
        The mean of the samples, if the linear kernel is computed from their differences to it, as
        it is if they are not sparse; all kernel values above are then of such differences.
    gamma_ : float
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n m (d + m)) time for m centres and n m values of memory.

    Samples far from the origin, compared with their distances, lose no digits with the linear
    kernel and those of distances. For a polynomial kernel of degree 2 or more the large offset is
    part of the function, and its Gram matrix is rounded before it is centred: subtract the mean
    first. So is that of sparse samples, whose mean is not subtracted.

    References
    ----------
    .. [1] C. Williams, M. Seeger, *Using the Nyström method to speed up kernel machines*, Advances
       in Neural Information Processing Systems 13, 2001.
    .. [2] Y. Chen, E. Epperly, J. Tropp, R. Webber, *Randomly pivoted Cholesky*, Communications on
       Pure and Applied Mathematics 78, 2025 (arXiv:2207.06503).

    Examples
    --------
    >>> from mlcore.decomposition import NystroemPCA
    >>> model = NystroemPCA(1).fit([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> model.eigenvalues_.round(9)
    array([8.])
    >>> abs(model.transform([[3.0, 5.0]])).round(9)
    array([[1.]])
    """

    eigenvalue_bounds_: np.ndarray
    center_indices_: np.ndarray
    _stored = {"eigenvalue_bounds_": "float64 2 k", "center_indices_": "int m < _"}

    _no_blocks = "its features of all rows are in memory"
    _instead = {
        "eigen_solver": "drop it: the matrix of the centres is small",
        "iterated_power": "drop it: the matrix of the centres is small",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelName | Callable[..., Any] | Kernel = "linear",
        gamma: float | GammaRule | None = None,
        degree: int = 3,
        coef0: float = 1,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
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
        self.n_centers = n_centers
        self.remove_zero_eig = remove_zero_eig
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _settings(self):
        if self.n_centers is not None:
            owner = type(self).__name__
            as_integer(self.n_centers, "n_centers", owner=owner, at_least=1)
        return super()._settings()

    def _components(self, data, settings, rng, kept, n):
        samples, owner = differences(data.used, data.origin), settings.owner
        count = number_of_centers(self.n_centers, settings.k, owner)
        span, chosen = span_of(data.kernel, samples, count, rng, self._precomputed)
        state, V = components_in_span(span, samples, data, settings)
        if settings.alpha is not None:
            centers = kept_samples(data.used, chosen, precomputed=False)
            state |= way_back(data, centers, V, state, settings.alpha, owner)
        chosen = kept[chosen]
        return state | {"center_indices_": chosen}, chosen

    def _columns(self):
        return self.center_indices_


def number_of_centers(n_centers: int | None, k: int | None, owner: str) -> int:
    """Return the largest number of centres, for k components or all."""
    if n_centers is None:
        return max(_CENTERS, k or 0)
    if k is not None and k > n_centers:
        raise ValueError(
            f"{owner}: n_components={k} components are not in the span of n_centers={n_centers} "
            "samples; as many centres are needed, or more."
        )
    return n_centers


def components_in_span(
    span: Span, samples: Any, data: KernelData, settings: Settings
) -> tuple[dict[str, Any], np.ndarray]:
    """Return the attributes of the components, and V (n, k): weighted scores over eigenvalues.

    `samples` are those of `data` less its origin, or a precomputed kernel's (n, n) matrix;
    ValueError if it is not positive semi-definite. With features F the remainder ``K - F F'`` is;
    so no eigenvalue of the centred K is below that of ``F F'``, or above it by more than the
    samples' squared distances from the span add up to.
    """
    # The scatter A of the features in the span, and what the span leaves out.
    w, power = data.w, data.power + span.power
    F, distances = _features(span, data.kernel, samples, len(w))
    total = float(w.sum())
    with single_threaded_blas():
        mean = w @ F / total
    equal = bool((F == F[0]).all())
    F -= mean
    A = scatter_of(F, w, np.zeros(span.m)).scatter
    left_out = float(w @ distances)
    squares = float(A.trace()) + total * float(mean @ mean)
    rounding = _rounding(span, A + total * np.outer(mean, mean), w, squares + left_out)
    size = float(np.einsum("ij,ij->i", span.L, span.L).max())
    # The eigenpairs of A, those that are rounding set to 0.
    with single_threaded_blas():
        hidden = _EPS * total * size
        raw, U, floor = _eigenpairs(A, settings.k, settings.positive, len(w), hidden)
        k, share = U.shape[1], 0.0 if equal else hidden / max(raw[0], hidden)
        warn_of_rounding(share, settings.owner)
        scores = F @ U
        turn = signs(scores)
        U, scores = U * turn, scores * turn
        products = np.linalg.norm(A @ U - U * raw[:k], axis=0)
    values = np.where(raw[:k] > floor, raw[:k], 0.0)
    inverse = np.divide(1.0, values, out=np.zeros(k), where=values > 0)
    U, V = U * (values > 0), w[:, None] * scores * inverse
    # How far they may be from those of all samples.
    largest, last = float(raw[0]) or 1.0, float(values[-1]) if k else 0.0
    residuals = (products + left_out) / largest
    gap, following = gaps(values, raw[k]), raw[k] + left_out + 2 * rounding
    bounds = np.array([np.maximum(raw[:k] - rounding, 0.0), raw[:k] + left_out + rounding])
    half = span.power // 2
    return {
        "eigenvalues_": np.ldexp(values, power),
        "eigenvalue_bounds_": np.ldexp(bounds, power),
        "explained_variance_ratio_": values / (float(A.trace()) + left_out or 1.0),
        "dual_coef_": np.ldexp(span.coefficients(U), -half),
        "intercept_": np.ldexp(-(mean @ U), half),
        "mean_coef_": span.coefficients(mean[:, None])[:, 0],
        "mean_squared_norm_": float(np.ldexp(mean @ mean, span.power)),
        "next_value_": float(np.ldexp(raw[k], power)),
        "residuals_": residuals + share,
        "orthogonality_": orthogonality(U[:, values > 0]),
        "gaps_": gap,
        "angle_bounds_": angle_bounds(residuals, gap, rounding / largest, left_out / largest),
        "condition_": largest / last if last > 0 else np.inf,
        "complete_": bool(last > following),
        "solver_": "nystroem",
        "converged_": True,
    }, np.ldexp(V, -half)


def _eigenpairs(A, k, positive, n, hidden):
    """Return k + 1 eigenvalues, k eigenvectors, and what is rounding of n samples or `hidden`."""
    m = len(A)
    values, U = largest_by_lapack(A, m if k is None else min(m, k + 1))
    values = np.maximum(values, 0.0)
    floor = max(_EPS * (n + _FEW) * values[0], hidden)
    k = np.count_nonzero(values[:k] > floor) if positive else k
    # The centres may span fewer directions: of eigenvalue 0, without direction.
    values = np.append(values, np.zeros(max(0, k + 1 - len(values))))
    return values, np.c_[U[:, :k], np.zeros((m, max(0, k - U.shape[1])))], floor


def _features(span, kernel, samples, n):
    """Return the features of samples, (n, m), and their squared distances from the span."""
    require_memory(n, span.m, 8, what="the features of all samples", instead="lower n_centers")
    F = np.empty((n, span.m))
    for rows, phi in span.features(samples):
        F[rows] = phi
    squares = np.ldexp(kernel.diagonal(samples), -span.power)
    distances = squares - np.einsum("ij,ij->i", F, F)
    if distances.min() < -np.sqrt(_EPS) * max(1.0, squares.max()):
        raise ValueError(
            f"kernel {kernel.name!r} is not positive semi-definite on these samples: one has the "
            f"squared distance {np.ldexp(distances.min(), span.power):.6g} from the span of "
            "others. KernelPCA keeps the positive eigenvalues."
        )
    return F, np.maximum(distances, 0.0)


def _rounding(span, A, w, squares):
    """Return a bound of the rounding errors of eigenvalues, and of the trace that is left out.

    `A` (m, m) is ``F' W F``, `squares` ``sum_i w_i k(x_i, x_i)``, B = F L^-1. An error D of ``L
    L'`` changes ``F F'`` by ``B D B'`` and more, errors R of kernel values by ``R B' + B R'`` and
    ``R (L L')^-1 R'``.
    """
    m, total = span.m, float(w.sum())
    with single_threaded_blas():
        inverse = linalg.lapack.dtrtri(span.L, lower=1)[0]
        coefficients = max(float(np.vdot(A @ inverse, inverse)), 0.0)
        norm = float(np.vdot(inverse, inverse))
    coefficients += m * _EPS * norm * squares  # rounding of this very sum
    error = 2 * m * (span.rounding + _EPS)  # of a row; the norm of D too
    higher = error * norm
    if higher >= 1:
        return np.inf
    bound = error * coefficients / (1 - higher) + 2 * error * np.sqrt(total * coefficients)
    return bound + total * error * (1 + higher) + (len(w) + _FEW) * _EPS * squares
