"""Signs of eigenvectors, and what shows how far computed eigenpairs are from the exact ones."""

import numpy as np
from scipy.linalg import blas, lapack

from mlcore.runtime.threads import single_threaded_blas

FAR = 1e8  # squared distance of the mean from 0 over the variance, by which half the digits go

_TIE = 1e-6  # entries so near the largest modulus count as equal to it


def signs(U: np.ndarray) -> np.ndarray:
    """Return for each column of U (d, k) the sign, 1.0 or -1.0, that fixes its direction.

    The first entry of nearly the largest modulus becomes positive, so that rounding breaks no tie.
    """
    size = np.abs(U)
    first = np.argmax(size >= (1 - _TIE) * size.max(axis=0), axis=0)
    return np.where(U[first, np.arange(U.shape[1])] < 0, -1.0, 1.0)


@single_threaded_blas()
def orthogonality(U: np.ndarray) -> float:
    """Return the largest ``|U'U - I|``, 0 for exactly orthonormal columns."""
    product = U.T.astype(np.float64) @ U
    product.flat[:: len(product) + 1] -= 1
    return float(np.abs(product).max(initial=0.0))


def gaps(values: np.ndarray, next_value: float) -> np.ndarray:
    """Return the distance of each of k descending values to the nearest other, over the largest.

    `next_value` follows them; it is -inf if there is none.
    """
    if not len(values) or not values[0] > 0:
        return np.zeros(len(values))
    below = values - np.append(values[1:], next_value)
    above = np.append(np.inf, -np.diff(values))
    return np.minimum(below, above) / values[0]


def angle_bounds(
    residuals: np.ndarray, gap: np.ndarray, rounding: float, next_residual: float = 0.0
) -> np.ndarray:
    """Return bounds (k,) of the sines of the angles to the exact eigenvectors (Davis, Kahan).

    They are the residual plus `rounding` of the matrix over the gap less the errors of both values;
    infinite at a tie. `next_residual` is that of the value after the last.
    """
    off = residuals + rounding
    if not len(off):
        return off
    following = np.append(off[1:], max(off[-1], next_residual + rounding))
    neighbour = np.maximum(following, np.append(off[0], off[:-1]))
    distance = gap - off - neighbour
    return np.where(distance > 0, off / np.where(distance > 0, distance, 1.0), np.inf)


@single_threaded_blas()
def bound_of_leading(S: np.ndarray, U: np.ndarray, next_value: float, lost: float) -> float:
    """Return a proved bound of the sum of the k largest eigenvalues of S; inf if there is no proof.

    For any s and Y >= 0 with ``Y >= S - sI`` the sum is at most ``ks + tr Y``, the dual. Here Y is
    in the span of U (n, k), s between its last value and `next_value`, and Cholesky decides,
    rounding allowed for: then S has at most k eigenvalues of s or more. `lost` is the size of the
    terms whose difference S is.
    """
    n, k = U.shape
    product = S @ U
    values = np.einsum("ij,ij->j", U, product)
    residual = np.linalg.norm(product - U * values)
    margin = 4 * n * np.finfo(np.float64).eps * max(float(values.max(initial=0.0)), lost)
    s = (values.min() + next_value) / 2
    if not values.min() - s > margin:
        return np.inf
    extra = 2 * margin + 2 * residual**2 / (s - next_value)
    M = blas.dsyrk(1.0, U * np.sqrt(values - s + extra), beta=-1.0, c=S.T, lower=1)
    M.flat[:: n + 1] += s - margin
    if lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)[1] != 0:
        return np.inf
    return float(values.sum() + k * (extra + 2 * margin))


@single_threaded_blas()
def is_complete(S: np.ndarray, values: np.ndarray, U: np.ndarray, next_value: float) -> bool:
    """Return True if it is proved that S has no more than k eigenvalues above the next one.

    ``sI - S + U diag(values) U'`` is positive definite, s between the last value and the next one,
    only if S has at most k eigenvalues of s or more. Cholesky decides, rounding allowed for.
    """
    n, largest = len(S), values[0]
    margin = 4 * n * np.finfo(np.float64).eps * largest
    s = (values[-1] + next_value) / 2
    if not values[-1] - s > margin:
        return False
    # One triangle, in LAPACK's order: two thirds of the time of the whole matrix.
    M = blas.dsyrk(1.0, U * np.sqrt(np.maximum(values, 0.0)), beta=-1.0, c=S.T, lower=1)
    M.flat[:: n + 1] += s - margin
    return lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)[1] == 0


def mean_is_near(center: np.ndarray, components: np.ndarray, along: np.ndarray) -> bool:
    """Return True if the mean adds less to the rounding of products than a few deviations.

    `along` are the variances along the components, in units of `center`.
    """
    squares = np.square(components.astype(np.float64)) @ np.square(center)
    return bool((squares <= 16 * along).all())


def mean_is_far(center: np.ndarray, along: np.ndarray, noise: float) -> bool:
    """Return True if the mean is so far from 0 that products with it lose the difference."""
    total = along.sum() + noise * (len(center) - len(along))
    return bool(np.sum(center**2) > FAR * total)
