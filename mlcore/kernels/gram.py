"""Gram matrices: computed, checked, and as inner products of polynomial features."""

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from mlcore.checks import as_integer, as_real, as_samples
from mlcore.checks.errors import warn
from mlcore.checks.symmetry import rounding_of_values
from mlcore.kernels.kernel import precision
from mlcore.kernels.packed import Packed
from mlcore.kernels.vector_kernels import GammaRule, VectorKernelName, as_kernel, resolve_gamma
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array

_BLOCK = 1024  # rows that are compared with the columns of the same places at once


def gram_matrix(
    X: Any,
    Y: Any = None,
    *,
    kernel: VectorKernelName | Callable[..., Any] = "rbf",
    gamma: float | GammaRule | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    out: np.ndarray | None = None,
) -> np.ndarray:
    r"""Kernel values between all rows of X and all rows of Y.

    Values are computed in blocks that stay in cache, in the precision of X, with as many threads as
    `mlcore.runtime.threads.effective_threads` says, and are the same bytes for any number of them.
    With ``Y=None`` half of the matrix is computed and the result is exactly symmetric; the diagonal
    of a distance kernel is exactly 1.

    Parameters
    ----------
    X : array-like or CSR (n, d)
    Y : array-like or CSR (m, d), optional
        X by default.
    kernel : str, callable or Kernel, default="rbf"
        =========== ============================================================
        linear      :math:`x \cdot y`
        polynomial  :math:`(\gamma\, x \cdot y + c_0)^{degree}`
        rbf         :math:`\exp(-\gamma \|x - y\|^2)`
        laplacian   :math:`\exp(-\gamma \sum |x_f - y_f|)`
        sigmoid     :math:`\tanh(\gamma\, x \cdot y + c_0)`
        cosine      :math:`x \cdot y / (\|x\| \|y\|)`, 0 where a norm is 0
        chi2        :math:`\exp(-\gamma \sum (x_f - y_f)^2 / (x_f + y_f))`, X, Y >= 0
        callable    ``kernel(X, Y)`` returning the (n, m) matrix, dense or sparse; or a `Kernel`
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
    # Check the samples, of one number of features.
    resolved = as_kernel(kernel, precomputed=False)
    X = _samples(resolved, X, "X", None)
    if Y is not None:
        Y = _samples(resolved, Y, "Y", X)
        if Y.shape[1] != X.shape[1]:
            raise ValueError(
                f"Y has {Y.shape[1]} features, but X has {X.shape[1]}; gram_matrix needs the same."
            )
    n, m = X.shape[0], X.shape[0] if Y is None else Y.shape[0]
    # A function or a kernel without packed rows computes its own values.
    if not resolved.packed:
        K = resolved.values(X, X if Y is None else Y)
        K = K.astype(precision(X), copy=False)
        return K if out is None else _into(out, K)
    # Resolve the parameters of a kernel by name.
    gamma = resolve_gamma("auto" if gamma is None else gamma, X)
    degree = as_integer(degree, "degree", at_least=0, at_most=2**31 - 1)
    coef0 = as_real(coef0, "coef0")
    resolved = as_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0)
    # Take the array of the caller, or a new one.
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
    # Without Y half of the matrix is computed.
    if Y is None:
        Packed(X, resolved, dtype=X.dtype).symmetric(out)
    else:
        columns = Packed(Y, resolved, dtype=X.dtype)
        rows = Packed(X, resolved, dtype=X.dtype, like=columns)
        rows.block(np.arange(n), columns.columns(), out, np.arange(n))
    return out


def _samples(kernel, X, name, like):
    encoded = kernel.encode(X)
    if encoded is not None:
        return encoded
    dtype = None if like is None else precision(like)
    X = as_samples(X, owner="gram_matrix", name=name, accept_sparse=True, like=dtype)
    kernel.require_valid(X, name)
    return X


def _into(out, K):
    require_out(out, K.shape, K.dtype)
    out[...] = K
    return out


def require_out(out: Any, shape: tuple[Any, ...], dtype: Any) -> None:
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


def as_square(K: Any, owner: str) -> np.ndarray:
    """Return K checked as samples are, and square."""
    K = as_samples(K, owner=owner, name="K")
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}; {owner} needs a square matrix.")
    return K


def symmetric_part(K: np.ndarray, owner: str, name: str = "X") -> np.ndarray:
    """Return K, or its symmetric part with a warning where it is not symmetric."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(K), _BLOCK)]
    difference = max(float(np.abs(K[rows] - K[:, rows].T).max()) for rows in blocks)
    size = max(float(np.abs(K[rows]).max()) for rows in blocks)
    if difference <= rounding_of_values(K.dtype) * size:
        return K
    warn(
        "UserWarning",
        f"{owner}: the precomputed kernel {name} is not symmetric, by up to {difference:.3g}; its "
        f"symmetric part ({name} + {name}.T) / 2 is used.",
    )
    require_memory(
        *K.shape,
        K.itemsize,
        what=f"the symmetric part of {name}",
        instead=f"pass a symmetric {name}",
    )
    symmetric = np.empty_like(K)
    for rows in blocks:
        symmetric[rows] = 0.5 * (K[rows] + K[:, rows].T)
    return symmetric


def polynomial_features(X: Any, degree: int, coef0: float = 1.0) -> np.ndarray:
    """Return the feature map whose inner product is the polynomial kernel (x.y + coef0)^degree.

    One column per monomial, with the square root of its multinomial coefficient: C(d + k - 1, k)
    columns for degree k when ``coef0=0``, else C(d + k, k). It serves to check and to teach the
    kernel, which computes the same inner products without it.

    Parameters
    ----------
    X : array-like (n, d)
    degree : int, at least 0
    coef0 : float, at least 0

    Returns
    -------
    features : float64 or float32 (n, number of monomials)
        One column for each monomial.

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


def is_positive_semidefinite(K: Any, *, tol: float | None = None) -> tuple[bool, float]:
    """Test if a symmetric matrix can be a Gram matrix (Mercer's condition on a sample).

    Parameters
    ----------
    K : array-like (n, n)
    tol : float, optional
        Distance that the smallest eigenvalue may lie below 0; ``n * eps * largest`` by default, the
        rounding of the eigenvalues themselves.

    Returns
    -------
    answer : bool
        False if the smallest eigenvalue is below ``-tol``.
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
