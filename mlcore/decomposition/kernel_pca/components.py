"""Eigenpairs of a centred Gram matrix as the fitted attributes of a kernel PCA."""

from typing import Any

import numpy as np

from mlcore.checks.errors import warn
from mlcore.decomposition.centered_gram import CenteredGram, Negative, warn_of_negative
from mlcore.decomposition.evidence import angle_bounds, gaps, is_complete, orthogonality, signs
from mlcore.kernels.kernel import Kernel
from mlcore.numerics.eigen import Eigenpairs, by_lapack, leading_eigenpairs
from mlcore.runtime.threads import single_threaded_blas

_SINGLE = 2e-7  # tolerance down to which a search in float32 helps


def uses_lapack(n: int, k: int, solver: str) -> bool:
    """Return True if the whole matrix is decomposed, False if block Lanczos searches."""
    return solver == "dense" or by_lapack(n, k)


def bytes_per_value(n: int, k: int, solver: str) -> int:
    """Return how many bytes a fit takes for each of the n² values of the matrix, its own 8 too."""
    return 34 + 16 * k // n if uses_lapack(n, k, solver) else 16


def eigenpairs(
    S: CenteredGram,
    k: int,
    solver: str,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
    owner: str,
) -> tuple[Eigenpairs, str]:
    """Return k leading eigenpairs and how they were found, "lapack" or "lanczos"."""
    if uses_lapack(S.n, k, solver):
        return leading_eigenpairs(S, k, rng, tol=tol, solver="lapack"), "lapack"
    rough = S.rounded() if tol >= _SINGLE else None
    found = leading_eigenpairs(S, k, rng, tol=tol, max_iter=max_iter, rough=rough)
    if not found.converged:
        warn(
            "ConvergenceWarning",
            f"{owner} stopped after max_iter={max_iter} steps with a residual of "
            f"{found.residuals.max():.1e}, above tol={tol:g}: raise max_iter or tol.",
        )
    return found, "lanczos"


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
    found: Eigenpairs, S: CenteredGram, positive: bool, solver: str, power: int, definite: bool
) -> dict[str, Any]:
    """Return the attributes of the components and their evidence.

    Parameters
    ----------
    found : Eigenpairs
        k of them, or all.
    S : CenteredGram
    positive : bool
        Leave out components of eigenvalue 0.
    solver : str
        "lapack" or "lanczos".
    power : int
        The weights are 2^power times those of S.
    definite : bool
        True if the kernel is positive semi-definite.
    """
    rounding = S.rounding(found.values[0])
    values = np.where(found.values > rounding, found.values, 0.0)
    k = np.count_nonzero(values) if positive else len(values)
    following = np.append(found.values, found.next_value)[k]
    raw, values, Q = found.values[:k], values[:k], found.vectors[:, :k]
    Q = Q * signs(Q / S.s[:, None])  # of the scores: those of copies are equal
    coef = S.coefficients(Q, values)
    largest, last = float(values.max(initial=0.0)) or 1.0, float(values[-1]) if k else 0.0
    residuals = found.residuals[:k]
    if solver == "lapack" or not definite:  # these are not relative to the largest eigenvalue
        residuals = np.linalg.norm(S @ Q - Q * raw, axis=0) / largest
    next_residual = found.next_residual if k == len(found.values) else 0.0
    if not definite:  # relative to the largest by modulus, which may be that of a negative one
        next_residual *= S.size / largest
    complete = solver == "lapack" and (
        len(found.values) == S.n
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
        "converged_": found.converged,
    }
