"""Gram matrices: kernel values between samples, and what checks them."""

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from mlcore.checks import as_choice, as_integer, as_real, as_samples, require_memory
from mlcore.exceptions import warn
from mlcore.kernels.packed import Packed
from mlcore.kernels.rows import KernelRows, called
from mlcore.scratch import scratch_array

__all__ = [
    "KERNELS",
    "KernelRows",
    "gram_matrix",
    "is_positive_semidefinite",
    "polynomial_features",
    "require_non_negative",
    "resolve_gamma",
    "symmetric_part",
]

_BLOCK = 1024
KERNELS = ("linear", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2")


def gram_matrix(
    X,
    Y=None,
    *,
    kernel: str | Callable = "rbf",
    gamma: float | str | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    out: np.ndarray | None = None,
) -> np.ndarray:
    r"""Kernel values between all rows of X and all rows of Y.

    Values are computed in blocks that stay in cache, in the precision of X, with as many threads as
    `mlcore.threads.effective_threads` says, and are the same bytes for any number of them. With
    ``Y=None`` half of the matrix is computed and the result is exactly symmetric; the diagonal of a
    distance kernel is exactly 1.

    Parameters
    ----------
    X : array-like or CSR (n, d)
    Y : array-like or CSR (m, d), optional
        X by default.
    kernel : str or callable, default="rbf"
        =========== ============================================================
        linear      :math:`x \cdot y`
        polynomial  :math:`(\gamma\, x \cdot y + c_0)^{degree}`
        rbf         :math:`\exp(-\gamma \|x - y\|^2)`
        laplacian   :math:`\exp(-\gamma \sum |x_f - y_f|)`
        sigmoid     :math:`\tanh(\gamma\, x \cdot y + c_0)`
        cosine      :math:`x \cdot y / (\|x\| \|y\|)`, 0 where a norm is 0
        chi2        :math:`\exp(-\gamma \sum (x_f - y_f)^2 / (x_f + y_f))`, X, Y >= 0
        callable    ``kernel(X, Y)`` returning the (n, m) matrix, dense or sparse
        =========== ============================================================
    gamma : float, "scale" or "auto", optional
        1 / d by default (and with "auto"); "scale" is 1 / (d Var(X)).
    degree : int, default=3
        Of the polynomial kernel, at least 0.
    coef0 : float, default=1.0
        Of the polynomial and sigmoid kernels.
    out : array (n, m), optional
        C-contiguous, of the result's dtype; written and returned.

    Returns
    -------
    K : array (n, m)
        float32 if X is, else float64.

    Raises
    ------
    ValueError, TypeError
        For invalid input; the message names the argument.
    MemoryError
        If the result does not fit into free memory; checked before it is allocated.

    Notes
    -----
    O(n m d) time; O((n + m) d) memory beside the result.

    The memory of a large result is kept for the next one when the last reference is gone, marked as
    free: the system counts it to the process until it needs it elsewhere.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, *Learning with Kernels*, MIT Press, 2002, chapter 2.

    Examples
    --------
    >>> from mlcore.kernels import gram_matrix
    >>> gram_matrix([[0.0], [1.0]], kernel="polynomial", gamma=1.0, degree=2)
    array([[1., 1.],
           [1., 4.]])
    """
    owner = "gram_matrix"
    X = as_samples(X, owner=owner, accept_sparse=True)
    if Y is not None:
        Y = as_samples(Y, owner=owner, name="Y", accept_sparse=True, like=X.dtype)
        if Y.shape[1] != X.shape[1]:
            raise ValueError(
                f"Y has {Y.shape[1]} features, but X has {X.shape[1]}; gram_matrix needs the same."
            )
    n, m = X.shape[0], X.shape[0] if Y is None else Y.shape[0]
    if callable(kernel):
        K = called(kernel, X, X if Y is None else Y).astype(X.dtype, copy=False)
        return K if out is None else _into(out, K)
    kernel = as_choice("polynomial" if kernel == "poly" else kernel, "kernel", KERNELS)
    gamma = resolve_gamma("auto" if gamma is None else gamma, X)
    degree = as_integer(degree, "degree", at_least=0, at_most=2**31 - 1)
    coef0 = as_real(coef0, "coef0")
    if kernel == "chi2":
        require_non_negative(X, "X")
        if Y is not None:
            require_non_negative(Y, "Y")
    if out is None:
        require_memory(
            n, m, X.dtype.itemsize, what="the Gram matrix",
            instead="compute it for blocks of rows of X, or use a model that never forms it",
        )  # fmt: skip
        out = scratch_array((n, m), X.dtype)
    else:
        require_out(out, (n, m), X.dtype)
        if any(isinstance(A, np.ndarray) and np.may_share_memory(out, A) for A in (X, Y)):
            raise ValueError("out shares memory with X or Y; an array of its own is needed.")
    parameters = dict(gamma=gamma, degree=degree, coef0=coef0, dtype=X.dtype)
    if Y is None:
        Packed(X, kernel, **parameters).symmetric(out)
    else:
        columns = Packed(Y, kernel, **parameters)
        rows = Packed(X, kernel, **parameters, like=columns)
        rows.block(np.arange(n), columns.columns(), out, np.arange(n))
    return out


def _into(out, K):
    require_out(out, K.shape, K.dtype)
    out[...] = K
    return out


def require_out(out, shape: tuple, dtype) -> None:
    """Refuse an `out` that is no writeable C-contiguous array of this shape and dtype."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}; a NumPy array is needed.")
    if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(
            f"out has shape {out.shape}, dtype {out.dtype} and C-contiguity "
            f"{out.flags.c_contiguous}; {shape}, {dtype} and True are needed."
        )
    if not out.flags.writeable:
        raise ValueError("out is read-only; a writeable array is needed.")


def as_square(K, owner: str) -> np.ndarray:
    """K as samples are checked, and square."""
    K = as_samples(K, owner=owner, name="K")
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}; {owner} needs a square matrix.")
    return K


def require_non_negative(X, name: str) -> None:
    """Refuse samples with negative values, for which the chi2 kernel is not defined."""
    low = X.data.min(initial=0.0) if sparse.issparse(X) else X.min(initial=0.0)
    if low < 0:
        raise ValueError(
            f"Negative values in data passed as {name} (least: {low:g}); "
            "the chi2 kernel needs values of at least 0."
        )


def resolve_gamma(gamma: float | str, X, weight=None) -> float:
    """The number that `gamma` means for these samples.

    Parameters
    ----------
    gamma : float of at least 0, "scale" for 1 / (d Var(X)), or "auto" for 1 / d
    X : ndarray or CSR (n, d)
    weight : (n,) float64, optional
        Of the samples in the variance; ones by default.

    Returns
    -------
    gamma : float
    """
    if isinstance(gamma, str):
        as_choice(gamma, "gamma", ("scale", "auto"))
        d = X.shape[1]
        if gamma == "auto":
            return 1.0 / d
        if weight is not None and np.ptp(weight) > 0:
            return _weighted_scale(X, weight)
        if sparse.issparse(X):
            size = X.shape[0] * d
            mean = X.data.sum(dtype=np.float64) / size
            variance = np.square(X.data, dtype=np.float64).sum() / size - mean**2
        else:
            centred = X - X.sum(dtype=np.float64) / X.size
            variance = float(np.einsum("ij,ij->", centred, centred)) / X.size
        return 1.0 / (d * variance) if variance > 0 and np.isfinite(1.0 / variance) else 1.0
    return as_real(gamma, "gamma", at_least=0.0)


def _weighted_scale(X, weight) -> float:
    """Return gamma="scale" where samples have weights: copies and weights then agree."""
    weight = weight / weight.max()
    n_features = X.shape[1]
    total = weight.sum() * n_features
    rows = X.sum(axis=1, dtype=np.float64)
    mean = float((weight * np.asarray(rows).ravel()).sum()) / total
    spread = 0.0
    for start in range(0, X.shape[0], _BLOCK):
        block, w = X[start : start + _BLOCK], weight[start : start + _BLOCK]
        if sparse.issparse(block):
            stored = np.diff(block.indptr)
            inside = np.repeat(w, stored) @ (block.data.astype(np.float64) - mean) ** 2
            spread += float(inside + mean**2 * (w @ (n_features - stored)))
        else:
            spread += float(w @ ((block.astype(np.float64) - mean) ** 2).sum(axis=1))
    variance = spread / total
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


def symmetric_part(K: np.ndarray, owner: str) -> np.ndarray:
    """Return K, or its symmetric part with a warning where it is not symmetric."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(K), _BLOCK)]
    difference = max(float(np.abs(K[rows] - K[:, rows].T).max()) for rows in blocks)
    size = max(float(np.abs(K[rows]).max()) for rows in blocks)
    if difference <= np.sqrt(np.finfo(K.dtype).eps) * size:
        return K
    warn(
        "UserWarning",
        f"{owner}: the precomputed kernel X is not symmetric, by up to {difference:.3g}; its "
        "symmetric part (X + X.T) / 2 is used.",
    )
    require_memory(
        *K.shape, K.itemsize, what="the symmetric part of X", instead="pass a symmetric X"
    )
    symmetric = np.empty_like(K)
    for rows in blocks:
        symmetric[rows] = 0.5 * (K[rows] + K[:, rows].T)
    return symmetric


def polynomial_features(X, degree: int, coef0: float = 1.0) -> np.ndarray:
    """The feature map whose inner product is the polynomial kernel (x.y + coef0)^degree.

    One column per monomial, with the square root of its multinomial coefficient: C(d + k - 1, k)
    columns for degree k when ``coef0=0``, else C(d + k, k). It is there to check and to teach the
    kernel, which computes the same inner products without the map.

    Parameters
    ----------
    X : array-like (n, d)
    degree : int, at least 0
    coef0 : float, at least 0

    Returns
    -------
    features : float64 or float32 (n, number of monomials)

    Raises
    ------
    MemoryError
        If the map does not fit into free memory.

    References
    ----------
    .. [1] A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 4.3.

    Examples
    --------
    >>> from mlcore.kernels import polynomial_features
    >>> polynomial_features([[1.0, 2.0]], degree=2, coef0=0.0).round(3)
    array([[1.   , 2.828, 4.   ]])
    """
    X = as_samples(X, owner="polynomial_features")
    degree = as_integer(degree, "degree", at_least=0)
    coef0 = as_real(coef0, "coef0", at_least=0.0)
    n, d = X.shape
    count = comb(d + degree - 1, degree) if coef0 == 0 else comb(d + degree, degree)
    require_memory(
        n, count, X.dtype.itemsize, what="the polynomial feature map",
        instead="use gram_matrix(kernel='polynomial'), which needs no map",
    )  # fmt: skip
    # A constant feature sqrt(coef0) turns the inhomogeneous kernel into the homogeneous one.
    if coef0 > 0:
        X = np.column_stack([X, np.full(n, np.sqrt(coef0), dtype=X.dtype)])
    features = np.empty((n, count), dtype=X.dtype)
    for column, factors in enumerate(combinations_with_replacement(range(X.shape[1]), degree)):
        ways = 1  # multinomial coefficient: degree! / product of (multiplicity!)
        left = degree
        for feature in sorted(set(factors)):
            ways *= comb(left, factors.count(feature))
            left -= factors.count(feature)
        features[:, column] = np.sqrt(ways) * X[:, factors].prod(axis=1)
    return features


def is_positive_semidefinite(K, *, tol: float | None = None) -> tuple[bool, float]:
    """Whether a symmetric matrix can be a Gram matrix (Mercer's condition on a sample).

    Parameters
    ----------
    K : array-like (n, n)
    tol : float, optional
        How far below 0 the smallest eigenvalue may lie; ``n * eps * largest`` by default, which is
        the rounding of the eigenvalues themselves.

    Returns
    -------
    answer : bool
    smallest : float
        The smallest eigenvalue of (K + K') / 2, as evidence.

    Notes
    -----
    A matrix that is not symmetric up to the same rounding is not positive semi-definite here.
    O(n³) time.

    Examples
    --------
    >>> from mlcore.kernels import is_positive_semidefinite
    >>> is_positive_semidefinite([[1.0, 2.0], [2.0, 1.0]])
    (False, -1.0)
    """
    K = as_square(K, "is_positive_semidefinite")
    eps = float(np.finfo(K.dtype).eps)
    K = K.astype(np.float64)
    eigenvalues = eigvalsh(0.5 * (K + K.T))
    smallest, size = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    tol = len(K) * eps * size if tol is None else as_real(tol, "tol", at_least=0.0)
    symmetric = bool(np.abs(K - K.T).max() <= max(tol, len(K) * eps * size))
    return symmetric and smallest >= -tol, smallest
