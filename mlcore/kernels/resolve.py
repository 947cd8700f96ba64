"""Resolution of the parameters ``kernel`` and ``gamma`` to a `Kernel` and a number."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_real
from mlcore.kernels.kernel import FunctionKernel, Kernel, PrecomputedKernel
from mlcore.kernels.vector_kernels import VECTOR_KERNELS

_BY_NAME = {kernel.name: kernel for kernel in VECTOR_KERNELS}
_ALIASES = {"poly": "polynomial"}
_BLOCK = 1024  # rows, each with its weight, that are summed at once
_ENTRIES = 2**20  # of a block of dense samples
KERNELS = tuple(_BY_NAME)


def as_kernel(
    kernel: Any,
    *,
    gamma: Any = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    precomputed: bool = True,
    owner: str = "",
) -> Kernel:
    """Return the `Kernel` for a name, for a user's function or for a `Kernel`.

    Parameters
    ----------
    kernel : str, callable or Kernel
    gamma, degree, coef0 : checked parameters of a kernel by name; `gamma` may be a rule's name
    precomputed : bool
        True if "precomputed" is one of the names.
    owner : str
        Model that the error names.

    Raises
    ------
    TypeError, ValueError
        If `kernel` is none of these.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    if not isinstance(kernel, str) or (kernel not in _BY_NAME and kernel not in _ALIASES):
        names = (*KERNELS, *_ALIASES, "precomputed") if precomputed else KERNELS
        as_choice(kernel, "kernel", names, owner=owner)
        return PrecomputedKernel()
    return _by_name(kernel, gamma, degree, coef0)


@lru_cache(typed=True)
def _by_name(name, gamma, degree, coef0):
    return _BY_NAME[_ALIASES.get(name, name)](gamma, degree, coef0)


def resolve_gamma(gamma: float | str, X, weight=None) -> float:
    """Return the number that `gamma` means for these samples.

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
            mean, squares = X.sum(dtype=np.float64) / X.size, 0.0
            # No copy of X, and Ctrl-C is heard between the blocks.
            n_rows = max(1, _ENTRIES // d)
            for start in range(0, X.shape[0], n_rows):
                centred = X[start : start + n_rows] - mean
                squares += float(np.einsum("ij,ij->", centred, centred))
            variance = squares / X.size
        return 1.0 / (d * variance) if variance > 0 and np.isfinite(1.0 / variance) else 1.0
    return as_real(gamma, "gamma", at_least=0.0)


def _weighted_scale(X, weight) -> float:
    """Return gamma="scale" of weighted samples; a weight of 2 counts as a copy."""
    weight = weight / weight.max()
    n_features = X.shape[1]
    total = weight.sum() * n_features
    rows = X.sum(axis=1, dtype=np.float64)
    mean = float((weight * np.asarray(rows).ravel()).sum()) / total
    squares = 0.0
    for start in range(0, X.shape[0], _BLOCK):
        block, w = X[start : start + _BLOCK], weight[start : start + _BLOCK]
        if sparse.issparse(block):
            stored = np.diff(block.indptr)
            inside = np.repeat(w, stored) @ (block.data.astype(np.float64) - mean) ** 2
            squares += float(inside + mean**2 * (w @ (n_features - stored)))
        else:
            squares += float(w @ ((block.astype(np.float64) - mean) ** 2).sum(axis=1))
    variance = squares / total
    return 1.0 / (n_features * variance) if variance > 0 else 1.0
