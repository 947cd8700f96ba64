"""Predictions and transforms of blocks, written where the caller keeps them."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.blocks.as_blocks import as_blocks
from mlcore.blocks.rounds import Calls, Workers
from mlcore.blocks.workers import workers_of


def predict_blocks(
    model: Any, blocks: Any, method: str = "predict", *, executor: Any = None, out: Any = None
) -> Any:
    """Return what a fitted model predicts for data in blocks, or write it where it is wanted.

    Parameters
    ----------
    model : Model
        Fitted.
    blocks : as for `fit_blocks`
        They need no y and no weights.
    method : str, default="predict"
        Or "predict_proba", "decision_function", "score_samples", "transform", ...
    executor : as for `fit_blocks`, optional
    out : array, memory map, Zarr or HDF5 array, optional
        Of shape (n_samples,) or (n_samples, n_columns), and of a type that can hold the values:
        gets those of a block as soon as they are there, so that few blocks' are in memory.

    Returns
    -------
    values : ndarray or csr_array, or `out`
        In the order of the blocks.

    Raises
    ------
    BlockError
        If a block cannot be read, or the model refuses it. Blocks before it are in `out`.
    TypeError, ValueError
        If the model has no such method, or `out` has another shape, or a type that would change
        values, as integers would fractions.

    Examples
    --------
    >>> from mlcore.blocks import predict_blocks, row_blocks
    >>> from mlcore.cluster import KMeans
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> model = KMeans(2, init=[[0.0], [10.0]]).fit(X)
    >>> predict_blocks(model, row_blocks(X, block_size=3))
    array([0, 0, 1, 1], dtype=int32)
    """
    if not callable(getattr(model, method, None)):
        raise TypeError(f"{type(model).__name__} has no method {method!r}.")
    blocks = as_blocks(blocks)
    shape = () if out is None else _shape_of(out)
    with executor if isinstance(executor, Workers) else workers_of(executor) as workers:
        results = workers.results(Calls(model, method), blocks)
        # Into memory.
        if out is None:
            parts = [
                np.asarray(part) if not sp.issparse(part) else part
                for part in results
                if part is not None
            ]
            if not parts:
                raise ValueError(f"blocks: none of the {len(blocks)} has any rows.")
            if sp.issparse(parts[0]):
                return sp.vstack(parts, format="csr")
            return np.concatenate(parts)
        # Into `out`, block by block.
        done = 0
        for part in results:
            if part is None:
                continue
            values = part.toarray() if sp.issparse(part) else np.asarray(part)
            n = done + len(values)
            if n > shape[0] or values.shape[1:] != shape[1:]:
                raise ValueError(
                    f"out has shape {shape}, but the values of the first {n} rows are "
                    f"of shape {(n, *values.shape[1:])}."
                )
            _require_type(values, out)
            out[done:n] = values
            done = n
        if done < shape[0]:
            raise ValueError(f"out has {shape[0]} rows, but the blocks have {done}.")
    return out


def _shape_of(out):
    shape = tuple(getattr(out, "shape", ()))
    if not shape:
        raise TypeError(
            f"out is of type {type(out).__name__}, but must be an array with one row for each of "
            "the blocks' rows."
        )
    return shape


def _require_type(values, out):
    """Refuse a type that cannot hold the values; floats may lose digits, but not overflow."""
    kind = np.dtype(getattr(out, "dtype", object))
    digits = values.dtype.kind in "iu" and kind.kind == "f"  # NumPy calls rounding them safe
    if kind.kind == "O" or not digits and np.can_cast(values.dtype, kind, "safe"):
        return
    lost = np.ones(values.shape, bool)
    with np.errstate(all="ignore"):
        if values.dtype.kind == "f" and kind.kind == "f":
            lost = np.isfinite(values) & ~np.isfinite(values.astype(kind))
        elif values.dtype.kind in "biu" and kind.kind in "biuf":
            lost = values.astype(kind).astype(values.dtype) != values
    if lost.any():
        raise TypeError(
            f"out is of type {kind}, which cannot hold values of type {values.dtype} such as "
            f"{values[lost][0]!s}."
        )


def transform_blocks(model: Any, blocks: Any, *, executor: Any = None, out: Any = None) -> Any:
    """Return data in blocks transformed by a fitted model, or write them where they are wanted.

    The same as ``predict_blocks(..., method="transform")``, which describes the parameters.

    Parameters
    ----------
    model : Model
    blocks : as for `fit_blocks`
    executor : as for `fit_blocks`, optional
    out : array, memory map, Zarr or HDF5 array, optional

    Returns
    -------
    values : ndarray or csr_array, or `out`
        The rows of all blocks, in their order.

    Raises
    ------
    BlockError, TypeError, ValueError
        As `predict_blocks`.

    Examples
    --------
    >>> from mlcore.blocks import row_blocks, transform_blocks
    >>> from mlcore.decomposition import PCA
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    >>> transform_blocks(PCA(1).fit(X), row_blocks(X, block_size=2)).shape
    (3, 1)
    """
    return predict_blocks(model, blocks, "transform", executor=executor, out=out)
