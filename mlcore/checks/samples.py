"""Validation of samples, the matrix X."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks.arrays import as_floats, real_array, require_finite
from mlcore.checks.sparse import as_canonical_csr


def as_samples(
    X: Any,
    *,
    owner: str = "",
    name: str = "X",
    accept_sparse: bool = False,
    like: Any = None,
    min_samples: int = 1,
    check_finite: bool = True,
    table: Any = None,
) -> np.ndarray | sp.csr_array:
    """Return `X` as a C-contiguous (n_samples, n_features) array, or csr_array, for compiled code.

    float32 and float64 stay, other real types become float64; `like` converts to its precision.
    Sparse input, taken with `accept_sparse` only, becomes canonical CSR. `X` never changes, and is
    copied only if needed. Without `check_finite` the caller checks values. `table` may name the
    columns. TypeError for anything but numbers, ValueError for bad values and shapes.
    """
    dtype = None if like is None else _precision(like)
    if sp.issparse(X):
        if not accept_sparse:
            raise TypeError(
                f"Sparse data was passed as {name} to {owner or 'mlcore'}, which takes dense data "
                f"only: use {name}.toarray()."
            )
        X = as_canonical_csr(X, name, owner, dtype, check_finite)
        _require_shape(X.shape, name, owner, min_samples)
        return X
    argument, original = X, real_array(X, name)
    require_matrix(original, name, owner, X)
    _require_shape(original.shape, name, owner, min_samples)
    X = as_floats(original, float_type(original.dtype) if dtype is None else dtype)
    if check_finite:
        before = None if X is original else original
        require_finite(X, name, owner, before, argument if table is None else table)
    return X


def float_type(dtype: np.dtype) -> np.dtype:
    """Return the type to compute with, float32 or float64, for values of `dtype`."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def _precision(like):
    if isinstance(like, np.ndarray) or sp.issparse(like):
        like = like.dtype
    return np.dtype(like)


def require_matrix(array: np.ndarray, name: str, owner: str, argument: Any) -> None:
    """Refuse an array that has not two dimensions; `argument` is what the user gave."""
    if array.ndim == 2:
        return
    if array.ndim == 1 and hasattr(argument, "to_frame"):
        raise ValueError(
            f"{name}: expected 2D array, got a {type(argument).__name__} of shape {array.shape} "
            f"instead. Reshape your data with {name}.to_frame() for one feature; one sample is a "
            "frame of one row."
        )
    if array.ndim == 0:
        raise ValueError(
            f"{name}: expected 2D array, got scalar array instead: {array!r}. Reshape your data."
        )
    if array.ndim == 1:
        raise ValueError(
            f"{name}: expected 2D array, got 1D array of shape {array.shape} instead. Reshape your "
            f"data with {name}.reshape(-1, 1) for one feature or {name}.reshape(1, -1) for one "
            "sample."
        )
    raise ValueError(
        f"{name}: found array with dim {array.ndim} and shape {array.shape}. "
        f"{owner or 'mlcore'} expected <= 2."
    )


def _require_shape(shape, name, owner, min_samples):
    n_samples, n_features = shape
    owner = owner or "mlcore"
    if n_samples < min_samples:
        raise ValueError(
            f"{name}: found array with {n_samples} sample(s) (shape={shape}) while a minimum of "
            f"{min_samples} is required by {owner}; n_samples={n_samples}."
        )
    if n_features < 1:
        raise ValueError(
            f"{name}: found array with 0 feature(s) (shape={shape}) while a minimum of 1 is "
            f"required by {owner}."
        )
