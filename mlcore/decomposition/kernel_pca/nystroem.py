"""Principal components in the span of few samples, with bounds of the eigenvalues of all."""

from typing import Any

import numpy as np
from scipy import linalg

from mlcore.decomposition.centered_gram import warn_of_rounding
from mlcore.decomposition.evidence import angle_bounds, gaps, orthogonality, signs
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.span import Span
from mlcore.numerics.eigen import largest_by_lapack
from mlcore.numerics.scatter import scatter_of
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_EPS = float(np.finfo(np.float64).eps)
_FEW = 10  # an eigenvalue of a small matrix is wrong by some roundings too
_CENTERS = 500


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
    span: Span,
    kernel: Kernel,
    samples: Any,
    w: np.ndarray,
    k: int | None,
    positive: bool,
    power: int,
) -> tuple[dict[str, Any], np.ndarray]:
    """Return the attributes of the components, and ``V``: scores times weights over eigenvalues.

    Parameters
    ----------
    span : Span
    kernel : Kernel
    samples : float64 samples (n,), or the (n, n) matrix of a precomputed kernel
    w : float64 (n,)
        Weights, positive.
    k : int or None
        Components, at most.
    positive : bool
        Leave out components of eigenvalue 0.
    power : int
        The true weights are 2^power times `w`.

    Returns
    -------
    state : dict
    V : float64 (n, k)

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite on the samples.

    Notes
    -----
    With the features F of the samples ``K - F F'`` is positive semi-definite, and so is it between
    centring matrices. Adding it to the centred ``F F'`` makes no eigenvalue less, and none larger
    by more than its trace; that is at most the sum of the squared distances of the samples from the
    span, and the centred ``F F'`` has the eigenvalues of the scatter of F.
    """
    F, distances = _features(span, kernel, samples, len(w))
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
    with single_threaded_blas():
        raw, U = largest_by_lapack(A, span.m if k is None else min(span.m, k + 1))
        raw = np.maximum(raw, 0.0)
        hidden = _EPS * total * size
        share = 0.0 if equal else hidden / max(raw[0], hidden)
        warn_of_rounding(share, "KernelPCA")
        floor = max(_EPS * (len(w) + _FEW) * raw[0], hidden)
        k = np.count_nonzero(raw[:k] > floor) if positive else k
        # The centres may span fewer directions: of eigenvalue 0, without direction.
        raw = np.append(raw, np.zeros(max(0, k + 1 - len(raw))))
        U = np.c_[U[:, :k], np.zeros((span.m, max(0, k - U.shape[1])))]
        scores = F @ U
        turn = signs(scores)
        U, scores = U * turn, scores * turn
        products = np.linalg.norm(A @ U - U * raw[:k], axis=0)
    values = np.where(raw[:k] > floor, raw[:k], 0.0)
    inverse = np.divide(1.0, values, out=np.zeros(k), where=values > 0)
    U, V = U * (values > 0), w[:, None] * scores * inverse
    largest, last = float(raw[0]) or 1.0, float(values[-1]) if k else 0.0
    residuals = (products + left_out) / largest
    gap, following = gaps(values, raw[k]), raw[k] + left_out + 2 * rounding
    bounds = np.array([np.maximum(raw[:k] - rounding, 0.0), raw[:k] + left_out + rounding])
    half = span.power // 2
    return {
        "eigenvalues_": np.ldexp(values, power + span.power),
        "eigenvalue_bounds_": np.ldexp(bounds, power + span.power),
        "explained_variance_ratio_": values / (float(A.trace()) + left_out or 1.0),
        "dual_coef_": np.ldexp(span.coefficients(U), -half),
        "intercept_": np.ldexp(-(mean @ U), half),
        "mean_coef_": span.coefficients(mean[:, None])[:, 0],
        "mean_squared_norm_": float(np.ldexp(mean @ mean, span.power)),
        "next_value_": float(np.ldexp(raw[k], power + span.power)),
        "residuals_": residuals + share,
        "orthogonality_": orthogonality(U[:, values > 0]),
        "gaps_": gap,
        "angle_bounds_": angle_bounds(residuals, gap, rounding / largest, left_out / largest),
        "condition_": largest / last if last > 0 else np.inf,
        "complete_": bool(last > following),
        "solver_": "nystroem",
        "converged_": True,
    }, np.ldexp(V, -half)


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
            'others. method="exact" keeps the positive eigenvalues.'
        )
    return F, np.maximum(distances, 0.0)


def _rounding(span, A, w, squares):
    """Return a bound of the rounding errors of eigenvalues, and of the trace that is left out.

    With the coefficients B of the samples, ``B = F L^-1``, an error D of ``L L'`` about the Gram
    matrix of the centres changes ``F F'`` by ``B D B'`` and terms of higher order, and errors R of
    kernel values by ``R B' + B R'`` and ``R (L L')^-1 R'``.

    Parameters
    ----------
    span : Span
    A : (m, m)
        ``F' W F``.
    w : (n,)
    squares : float
        ``sum_i w_i k(x_i, x_i)``.
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
    found = error * coefficients / (1 - higher) + 2 * error * np.sqrt(total * coefficients)
    return found + total * error * (1 + higher) + (len(w) + _FEW) * _EPS * squares
