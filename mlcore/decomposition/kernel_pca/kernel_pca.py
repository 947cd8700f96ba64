"""Principal components in the feature space of a kernel."""

import inspect
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from mlcore.checks import as_choice
from mlcore.checks.errors import warn
from mlcore.decomposition.centered_gram import (
    CenteredGram,
    Negative,
    warn_of_negative,
    warn_of_rounding,
)
from mlcore.decomposition.evidence import angle_bounds, gaps, is_complete, orthogonality, signs
from mlcore.decomposition.kernel_pca.kernel_projection import KernelProjection, way_back
from mlcore.decomposition.kernel_pca.nystroem_pca import NystroemPCA
from mlcore.estimator import progress
from mlcore.estimator.progress import Progress
from mlcore.kernels.kernel import Kernel, differences, precision
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.numerics.eigen import Eigenpairs, by_lapack, leading_eigenpairs
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_SINGLE = 2e-7  # tolerance down to which a search in float32 helps
_Solver = Literal["auto", "dense", "arpack", "randomized"]


class KernelPCA(KernelProjection):
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
    remove_zero_eig : bool, default=False
        Leave out components of eigenvalue 0 where `n_components` is more than the rank, too.
    tol : float, default=1e-6
        Largest residual of an eigenpair, divided by the largest eigenvalue; an eigenvalue's error
        is of the order of its square. A small matrix is decomposed to the rounding of float64.
    max_iter : int, default=1000
        Largest number of steps, of the search and of the iteration of `inverse_transform`.
    verbose : bool or int, default=False
        Print the steps of the search: True about once a second, 2 each.
    callback : callable, optional
        Called after each step as ``callback(step=, objective=, change=, seconds=)``: the objective
        is the sum of the eigenvalues, the change the largest residual.
    random_state : None, int, Generator or RandomState, default=None
        Draws the first vectors of the search.

    Attributes
    ----------
    eigenvalues_ : (n_components,) float64
        Descending; 0 where they are rounding, or negative.
    eigenvectors_ : (n_samples, n_components) float64
        Orthonormal; 0 in samples of weight 0. Of the scores as large as the largest, the first is
        positive.
    explained_variance_ratio_ : (n_components,) float64
        Each eigenvalue divided by the sum of all, which is the trace; by the sum of those found
        where negative ones make the trace less.
    dual_coef_ : (n_samples, n_components) float64
        The score on a component is ``intercept_ + sum_i dual_coef_[i] k(x_i, x)``.
    intercept_ : (n_components,) float64
    mean_coef_ : (n_samples,) float64
        The mean in feature space is the sum of these times the images of the samples.
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
        values may add.
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
        "lapack" or "lanczos".
    converged_ : bool
    X_fit_ : (n_samples, n_features)
        The samples of the fit, or the matrix of a precomputed kernel.
    origin_ : (n_features,) float64 or None
        The mean of the samples, if the linear kernel is computed from their differences to it, as
        it is if they are not sparse; all kernel values above are then of such differences.
    gamma_ : float
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n² d) time for the Gram matrix, which is stored in float64 and never centred, and O(n² k) for
    k eigenvectors by block Lanczos, or O(n³) by LAPACK where n is small or k large. `NystroemPCA`
    takes fewer samples as centres, for many rows.

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
    .. [3] A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 5.4.

    Examples
    --------
    >>> from mlcore.decomposition import KernelPCA
    >>> model = KernelPCA(1).fit([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> model.eigenvalues_.round(9)
    array([8.])
    >>> abs(model.transform([[3.0, 5.0]])).round(9)
    array([[1.]])
    """

    set_callbacks = progress.set_callbacks
    eigenvectors_: np.ndarray
    _stored = {"eigenvectors_": "float64 m k"}

    _no_blocks = "its Gram matrix is of all pairs of rows"
    _instead = {
        "method": "drop it: KernelPCA is exact, and NystroemPCA is Nystroem's method",
        "n_centers": "use NystroemPCA",
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
        eigen_solver: _Solver = "auto",
        remove_zero_eig: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
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
        self.remove_zero_eig = remove_zero_eig
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def __new__(cls, *args: Any, **params: Any) -> Any:
        if cls is KernelPCA and params.get("method") == "nystroem":  # as 0.2 spelled it
            params.pop("method")
            params.pop("eigen_solver", None)
            return NystroemPCA(*args, **params)
        return super().__new__(cls, *args, **params)

    __new__.__signature__ = inspect.signature(__init__)

    def _from_older_state(self, state):
        if "method" in state:  # 0.2
            nystroem = state.pop("method") == "nystroem"
            if "center_indices_" in state or (nystroem and "eigenvalues_" not in state):
                state.pop("eigen_solver", None)
                self.__class__ = NystroemPCA
                return NystroemPCA._from_older_state(self, state)
            state.pop("n_centers", None)
        return super()._from_older_state(state)

    def _settings(self):
        owner = type(self).__name__
        as_choice(self.eigen_solver, "eigen_solver", get_args(_Solver), owner=owner)
        if self.verbose is not False or self.callback is not None:
            Progress(self.verbose, self.callback, owner)  # which checks them
        return super()._settings()

    def _components(self, data, settings, rng, kept, n):
        used, owner = data.used, settings.owner
        # The Gram matrix, which is centred in its products.
        m = used.shape[0]
        k = m if settings.k is None else settings.k
        each = bytes_per_value(m, k, self.eigen_solver)
        require_memory(
            m, m, each, what="the Gram matrix, with copies to decompose,",
            instead="fit fewer rows and transform the others, or use NystroemPCA",
        )  # fmt: skip
        S = CenteredGram(data.kernel.rows(differences(used, data.origin), double=True), data.w)
        # Its leading eigenpairs, and warnings of what they hide.
        with Progress(self.verbose, self.callback, owner, self) as progress:
            pairs, solver = eigenpairs(
                S, k, self.eigen_solver, rng, self.tol, self.max_iter, data.power, progress, owner
            )
        largest = float(pairs.values[0])
        warn_if_indefinite(S, data.kernel, precision(used), largest, data.power, rng)
        warn_of_rounding(S.hidden(largest), owner)
        # The components, also as functions of samples of weight 0.
        definite = bool(data.kernel.positive_semidefinite)
        state = components(pairs, S, settings.positive, solver, data.power, definite)
        if settings.alpha is not None:
            V = state["dual_coef_"]
            state |= way_back(data, used, V, state, settings.alpha, owner)
        for name in ("eigenvectors_", "dual_coef_", "mean_coef_"):
            values = state[name]
            state[name] = np.zeros((n, *values.shape[1:]))
            state[name][kept] = values
        return state, None


def uses_lapack(n: int, k: int, solver: _Solver) -> bool:
    """Return True if the whole matrix is decomposed, False if block Lanczos searches."""
    return solver == "dense" or by_lapack(n, k)


def bytes_per_value(n: int, k: int, solver: _Solver) -> int:
    """Return how many bytes a fit takes for each of the n² values of the matrix, its own 8 too."""
    return 34 + 16 * k // n if uses_lapack(n, k, solver) else 16


def eigenpairs(
    S: CenteredGram,
    k: int,
    solver: _Solver,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
    power: int,
    progress: Progress,
    owner: str,
) -> tuple[Eigenpairs, str]:
    """Return k leading eigenpairs and what has found them, "lapack" or "lanczos".

    `progress` gets the sum of the eigenvalues for weights that are 2^power times those of S.
    """

    def report(step, total, residual):
        progress.step(step, float(np.ldexp(total, power + S.power)), residual)

    if uses_lapack(S.n, k, solver):
        return leading_eigenpairs(S, k, rng, tol=tol, report=report, solver="lapack"), "lapack"
    rough = S.rounded() if tol >= _SINGLE else None
    pairs = leading_eigenpairs(S, k, rng, tol=tol, max_iter=max_iter, report=report, rough=rough)
    if not pairs.converged:
        warn(
            "ConvergenceWarning",
            f"{owner} stopped after max_iter={max_iter} steps with a residual of "
            f"{pairs.residuals.max():.1e}, above tol={tol:g}: raise max_iter or tol.",
        )
    return pairs, "lanczos"


def warn_if_indefinite(
    S: CenteredGram, kernel: Kernel, dtype: Any, largest: float, power: int, rng: Any
) -> None:
    """Warn of the lowest eigenvalue if it is negative beyond rounding in the samples' type."""
    if kernel.positive_semidefinite:
        return
    lowest = -float(leading_eigenpairs(Negative(S), 1, rng, tol=1e-3, max_iter=50).values[0])
    if lowest < -S.rounding(largest) * float(np.finfo(dtype).eps / np.finfo(np.float64).eps):
        warn_of_negative(kernel, float(np.ldexp(lowest, power + S.power)))


@single_threaded_blas()
def components(
    pairs: Eigenpairs, S: CenteredGram, positive: bool, solver: _Solver, power: int, definite: bool
) -> dict[str, Any]:
    """Return the attributes of the components and their evidence.

    With `positive`, eigenvalues of 0 are left out; weights are 2^power times those of S;
    `definite`: the kernel is positive semi-definite.
    """
    # Eigenpairs, those that are rounding set to 0, and the coefficients of the scores.
    rounding = S.rounding(pairs.values[0])
    values = np.where(pairs.values > rounding, pairs.values, 0.0)
    k = np.count_nonzero(values) if positive else len(values)
    following = np.append(pairs.values, pairs.next_value)[k]
    raw, values, Q = pairs.values[:k], values[:k], pairs.vectors[:, :k]
    Q = Q * signs(Q / S.s[:, None])  # of the scores: those of copies are equal
    coef = S.coefficients(Q, values)
    largest, last = float(values.max(initial=0.0)) or 1.0, float(values[-1]) if k else 0.0
    # How near they are to the true ones, and whether none larger was missed.
    residuals = pairs.residuals[:k]
    if solver == "lapack" or not definite:  # these are not relative to the largest eigenvalue
        residuals = np.linalg.norm(S @ Q - Q * raw, axis=0) / largest
    next_residual = pairs.next_residual if k == len(pairs.values) else 0.0
    if not definite:  # relative to the largest by modulus, which may be that of a negative one
        next_residual *= S.size / largest
    complete = solver == "lapack" and (
        len(pairs.values) == S.n
        or k == 0
        or (last - following > 2 * rounding and is_complete(S.dense(), raw, Q, following))
    )
    gap = gaps(raw, following)
    half = S.power // 2
    return {
        "eigenvalues_": np.ldexp(values, power + S.power),
        "eigenvectors_": Q,
        "explained_variance_ratio_": values / (max(S.trace, values.sum()) or 1.0),
        "dual_coef_": np.ldexp(coef, -half),
        "intercept_": np.ldexp(-(S.means @ coef), half),
        "mean_coef_": S.mean_coef,
        "mean_squared_norm_": float(np.ldexp(S.mean_squared_norm, S.power)),
        "next_value_": float(np.ldexp(max(following, 0.0), power + S.power)),
        "residuals_": residuals + S.hidden(largest),
        "orthogonality_": orthogonality(Q),
        "gaps_": gap,
        "angle_bounds_": angle_bounds(residuals, gap, rounding / largest, next_residual),
        "condition_": largest / last if last > 0 else np.inf,
        "complete_": complete,
        "solver_": solver,
        "converged_": pairs.converged,
    }
