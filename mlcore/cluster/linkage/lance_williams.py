"""Agglomerative clustering from a matrix of distances, updated after Lance and Williams."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore._ext.cluster.linkage import lance_williams as _ext
from mlcore.cluster.metrics import distances, learned_scale
from mlcore.numerics.panels import as_panels
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

SQUARED = ("ward", "centroid", "median")  # methods whose recurrence holds for squared distances
_PAD = 16  # values: rows start on cache lines and are whole vectors
_MANY = 64  # features: with more, matrix products are faster than differences


def square_matrix(n: int, owner: str) -> np.ndarray:
    """Return an uninitialised array for n² distances, its rows padded with zeros."""
    stride = -(-n // _PAD) * _PAD
    require_memory(
        n, stride, 8, what=f"{owner}: the matrix of distances",
        instead="pass fewer rows, or choose single or ward linkage of points, which need none",
    )  # fmt: skip
    D = scratch_array((n, stride), np.float64)
    D[:, n:] = 0
    return D


def fill_euclidean(X: np.ndarray, D: np.ndarray, squared: bool = False) -> None:
    """Set D[i, j] to |x_i - x_j| or its square; close points lose no digits to cancellation."""
    n, d = X.shape
    threads = effective_threads(n * n * d / 2)
    if d <= _MANY:
        panels, centred, norms = as_panels(X), X[:0], X[:0, 0]
    else:
        panels, centred = np.empty((0, 0, 0)), X - X.mean(axis=0)
        norms = np.einsum("ij,ij->i", centred, centred)
    tile = _ext.TILE_ROWS
    scratch = np.empty((threads, tile * tile))
    with single_threaded_blas():
        for first, last in pieces(-(-n // tile), n * d * tile):
            _ext.distance_tiles(
                X, panels, centred, norms, squared, D, scratch, first, last, threads
            )  # fmt: skip


def fill_metric(X: Any, D: Any, metric: Any, owner: Any) -> None:
    """Set D[i, j] to the distance of samples i and j, by a SciPy metric or a function."""
    n, d = X.shape
    wide = X.astype(np.float64, copy=False)
    scale = learned_scale(wide, metric)
    step = max(1, 2**24 // (n * d))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        block = distances(wide[rows], wide[start:], metric, scale, owner)
        D[rows, start:n] = block
        D[start:n, rows] = block.T


def diameter(X: Any) -> Any:
    """Return the largest distance of two rows of X."""
    centred = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    best, pair = -1.0, (0, 0)
    with single_threaded_blas():
        for start in range(0, len(X), 256):
            rows = slice(start, start + 256)
            squares = centred[rows] @ (-2 * centred[start:].T)
            squares += norms[rows, None]
            squares += norms[start:]
            at = int(squares.argmax())
            if squares.flat[at] > best:
                best = squares.flat[at]
                pair = start + at // squares.shape[1], start + at % squares.shape[1]
    return float(np.linalg.norm(X[pair[0]] - X[pair[1]]))


def merge_matrix(
    D: np.ndarray, method: str, size: np.ndarray, name: np.ndarray, report: Callable[..., Any]
) -> tuple[Any, ...]:
    """Merge clusters until one is left, from the matrix D of their distances, which is overwritten.

    D has squared distances if the method is one of `SQUARED`; `name` (n,) is a sample of each
    cluster. Returned are a sample of both clusters, int64 (n - 1, 2), and distances (n - 1,).
    """
    n, stride = D.shape
    D[np.arange(n), np.arange(n)] = np.inf
    values = np.empty((10, stride))
    gone, sizes, nearest = values[:3]
    gone[:n], sizes[:n], nearest[:n] = 0, size, -1
    gone[n:], sizes[n:], nearest[n:] = np.inf, 1, np.inf
    names = np.zeros(stride, dtype=np.int64)
    names[:n] = name
    places, stale = np.zeros((3, stride), dtype=np.int32), np.ones(stride, dtype=np.uint8)
    state = np.array([n, stride, n, 0, 0])
    merged, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    flat, done = D.reshape(-1), 0
    while done < n - 1:
        new = _ext.merge_nearest(
            _ext.KINDS[method], state, flat, values, places, stale, names, merged[done:],
            heights[done:],
        )  # fmt: skip
        part = heights[done : done + new]
        if method in SQUARED:
            np.sqrt(part, out=part)
        report(part)
        done += new
    return merged, heights
