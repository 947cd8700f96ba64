"""Affinities between samples, and the four normalisations of spectral clustering."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.checks import as_bool, as_choice, as_integer, as_real, as_samples
from mlcore.cluster.doubly_stochastic.doubly_stochastic import scaled_to_unit_sums
from mlcore.cluster.doubly_stochastic.frobenius import projected
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric
from mlcore.cluster.doubly_stochastic.total_support import require_rows
from mlcore.cluster.k_medoids.dissimilarities import given_distances
from mlcore.cluster.spectral.neighbor_graph import neighbor_graph
from mlcore.estimator.progress import Progress
from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.vector_kernels import KERNELS, GammaRule, VectorKernelName, resolve_gamma
from mlcore.numerics.neighbors import nearest_neighbors
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import single_threaded_blas

_Neighbors = Literal["nearest_neighbors", "mutual_nearest_neighbors"]
KINDS = ("rbf", *get_args(_Neighbors))
Normalization = Literal["ratio_cut", "normalized_cut", "doubly_stochastic", "frobenius"]
METHODS = get_args(Normalization)
_FEW_FEATURES = 16  # up to which squared distances come from differences: nothing cancels
_BLOCK = 1_000_000  # values worked on together
_TOLERANCES = {"doubly_stochastic": 1e-12, "frobenius": 1e-10}


def affinity(
    X: Any,
    *,
    kind: VectorKernelName | _Neighbors | Callable[..., Any] = "rbf",
    gamma: float | GammaRule | None = None,
    n_neighbors: int = 10,
    self_tuning: bool = False,
) -> Any:
    r"""Return the affinities between all samples, or between nearest neighbours.

    Parameters
    ----------
    X : array-like or sparse (n, d)
    kind : str or callable, default="rbf"
        "rbf" is :math:`\exp(-\gamma \|x_i - x_j\|^2)` for all pairs. "nearest_neighbors" joins two
        samples if either is among the `n_neighbors` nearest of the other,
        "mutual_nearest_neighbors" if both are. Other kernels of `mlcore.kernels.gram_matrix` by
        name or callable are dense.
    gamma : float, "scale" or "auto", optional
        1 / d by default (and with "auto"); "scale" is 1 / (d Var(X)). Neighbours are joined by the
        rbf with it, and by 1 where it is not given.
    n_neighbors : int, default=10
        Nearest other samples, also for the scales of `self_tuning`; all others, if they are fewer.
    self_tuning : bool, default=False
        Give each sample a scale of its own, the distance to its `n_neighbors`-th nearest
        neighbour: :math:`\exp(-\|x_i - x_j\|^2 / (\sigma_i \sigma_j))`. Where a scale is 0, among
        copies, the affinity is 1 to copies and 0 to others. `gamma` must be None.

    Returns
    -------
    K : ndarray (n, n), or csr_array of neighbours
        Exactly symmetric, in the precision of X; 1 on the diagonal for all kinds named above.

    Raises
    ------
    TypeError, ValueError
        For invalid input; the message names the argument.
    MemoryError
        If a dense result does not fit into free memory.

    Notes
    -----
    O(n² d) time, and O(n²) memory where the result is dense. Neighbours are found by a k-d tree in
    about O(n log n) time where features are few.

    References
    ----------
    .. [1] U. von Luxburg, *A tutorial on spectral clustering*, Statistics and Computing 17, 2007,
       section 2.2.
    .. [2] L. Zelnik-Manor, P. Perona, *Self-tuning spectral clustering*, NIPS 2004.

    Examples
    --------
    >>> from mlcore.cluster import affinity
    >>> affinity([[0.0], [1.0], [5.0]], kind="nearest_neighbors", n_neighbors=1).toarray()
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """
    owner = "affinity"
    X = as_samples(X, owner=owner, accept_sparse=True)
    self_tuning = as_bool(self_tuning, "self_tuning", owner=owner)
    n_neighbors = as_integer(n_neighbors, "n_neighbors", owner=owner, at_least=1)
    if self_tuning and gamma is not None:
        raise ValueError(
            f"{owner}: gamma={gamma!r} was given with self_tuning=True, which finds a scale for "
            "each sample instead; gamma must be None."
        )
    if isinstance(kind, str) and kind in KINDS[1:]:
        return _of_neighbors(X, kind, gamma, n_neighbors, self_tuning)
    if self_tuning:
        as_choice(kind, "kind", KINDS, owner=f"{owner} with self_tuning=True")
        return _self_tuned(X, n_neighbors)
    if not callable(kind) and not (isinstance(kind, str) and kind == "poly"):
        as_choice(kind, "kind", (*KERNELS, *KINDS[1:]), owner=owner)
    return gram_matrix(X, kernel=kind, gamma=gamma)


def normalize_affinity(
    K: Any,
    method: Normalization = "doubly_stochastic",
    *,
    tol: float | None = None,
    max_iter: int = 1000,
    overwrite: bool = False,
) -> Any:
    r"""Normalise a symmetric affinity matrix.

    Parameters
    ----------
    K : array-like or sparse (n, n)
        Symmetric up to rounding (entries below the diagonal count); none negative, except for
        "frobenius".
    method : str, default="doubly_stochastic"
        ================= ==========================================================
        ratio_cut         :math:`K - D + I` with the row sums of K in D: the nearest
                          matrix with unit row sums in L1 norm; entries may be
                          negative
        normalized_cut    :math:`D^{-1/2} K D^{-1/2}`, the first step of the next
        doubly_stochastic :math:`L K L` with unit row sums, L diagonal and positive:
                          the nearest in relative entropy
        frobenius         the nearest doubly stochastic matrix in Frobenius norm
        ================= ==========================================================
    tol : float, optional
        Largest difference of a row sum from 1, for the last two; by default 1e-12, and 1e-10 for
        "frobenius".
    max_iter : int, default=1000
        Most steps of the last two.
    overwrite : bool, default=False
        Let the result take the place of K, where K is a dense array of floats in C order.

    Returns
    -------
    F : ndarray or csr_array (n, n)
        Exactly symmetric, in the precision of K. Sparse K give a sparse result with entries where K
        has them; "ratio_cut" adds the diagonal, "frobenius" takes dense K only.

    Raises
    ------
    TypeError, ValueError
        For parameters out of range; K that is not square, not symmetric, negative or not finite; a
        row of zeros, except for "ratio_cut" and "frobenius"; K without total support, for
        "doubly_stochastic".
    MemoryError
        If the result does not fit into free memory.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met.

    See Also
    --------
    doubly_stochastic, frobenius_projection : the last two, with their residuals.

    References
    ----------
    .. [1] A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, section 6.3.2.
    .. [2] R. Zass, A. Shashua, *A unifying approach to hard and probabilistic clustering*, ICCV
       2005.
    .. [3] R. Zass, A. Shashua, *Doubly stochastic normalization for spectral clustering*, NIPS
       2006.

    Examples
    --------
    >>> from mlcore.cluster import normalize_affinity
    >>> normalize_affinity([[1.0, 0.5], [0.5, 1.0]], method="ratio_cut")
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    owner = "normalize_affinity"
    method = as_choice(method, "method", METHODS, owner=owner)
    tol = _TOLERANCES.get(method) if tol is None else as_real(tol, "tol", owner=owner, above=0.0)
    max_iter = as_integer(max_iter, "max_iter", owner=owner, at_least=1)
    overwrite = as_bool(overwrite, "overwrite", owner=owner)
    to_frobenius = method == "frobenius"
    matrix = as_symmetric(
        K,
        owner,
        negative=to_frobenius,
        additive=to_frobenius,
        sparse=not to_frobenius,
        overwrite=overwrite,
    )
    if method == "ratio_cut":
        return matrix.shifted(1.0 - matrix.sums)
    if method == "normalized_cut":
        require_rows(matrix, owner)
        return matrix.scaled(1.0 / np.sqrt(matrix.sums))
    if to_frobenius:
        return projected(matrix, owner, tol, max_iter, Progress()).matrix
    return scaled_to_unit_sums(matrix, owner, tol, True, max_iter, Progress()).matrix


def _of_neighbors(X, kind, gamma, n_neighbors, self_tuning):
    n = X.shape[0]
    gamma = None if gamma is None else resolve_gamma(gamma, X)
    if n == 1:
        return sp.csr_array(np.ones((1, 1), dtype=X.dtype))
    indices, distances = nearest_neighbors(X, min(n_neighbors, n - 1))
    values = None
    if self_tuning:
        scale = distances[:, -1]
        values = _tuned(np.square(distances), scale[:, None] * scale[indices]).ravel()
    elif gamma is not None:
        values = np.exp(-gamma * np.square(distances)).ravel()
    return neighbor_graph(indices, values, X.dtype, kind == "mutual_nearest_neighbors")


def shared_neighbors(X: Any, n_neighbors: Any) -> Any:
    """Return a CSR graph: 1 for two samples that are neighbours of each other, 1/2 where one is.

    A sample is the first of its own `n_neighbors`, as in scikit-learn.
    """
    n = X.shape[0]
    indices = np.arange(n)[:, None]
    if min(n_neighbors, n) > 1:
        indices = np.hstack([indices, nearest_neighbors(X, min(n_neighbors, n) - 1).indices])
    return _shared(indices.ravel(), indices.shape[1], X.dtype)


def shared_nearest(D: Any, n_neighbors: Any, owner: Any) -> Any:
    """Return the graph of `shared_neighbors` from a matrix of distances, dense or CSR.

    In a sparse matrix, only stored entries, zeros among them, are distances of neighbours.
    """
    D = given_distances(D, owner, symmetric=False)
    n = D.shape[0]
    k = min(n_neighbors, n)
    if not sp.issparse(D):
        return _shared(np.argsort(D, axis=1, kind="stable")[:, :k].ravel(), k, D.dtype)
    stored = np.diff(D.indptr)
    if stored.min() < k:
        raise ValueError(
            f"{owner}: n_neighbors={n_neighbors} neighbors are required, each sample itself among "
            f"them, but row {stored.argmin()} of X stores {stored.min()} distances."
        )
    # Sorted by row, then distance, then column.
    rows = np.repeat(np.arange(n), stored)
    order = np.lexsort((D.indices, D.data, rows))
    nearest = np.arange(len(order)) - D.indptr[rows] < k
    return _shared(D.indices[order[nearest]], k, D.dtype)


def _shared(indices, k, dtype):
    n = len(indices) // k
    graph = sp.csr_array((np.full(n * k, 0.5, dtype), indices, np.arange(n + 1) * k), shape=(n, n))
    return (graph + graph.T).tocsr()


def of_pairs(X: Any, function: Any, parameters: Any, owner: Any) -> Any:
    """Return the symmetric matrix of ``function(x, y, **parameters)``, called once a pair."""
    n = X.shape[0]
    require_memory(
        n, n, X.dtype.itemsize, what="the affinity matrix", instead="pass fewer rows",
    )  # fmt: skip
    K = scratch_array((n, n), X.dtype)
    rows = [X[[i]] for i in range(n)] if sp.issparse(X) else X
    for i in range(n):
        for j in range(i, n):
            value = function(rows[i], rows[j], **parameters)
            value = as_real(value, f"affinity(X[{i}], X[{j}])", owner=owner, at_least=0.0)
            K[i, j] = K[j, i] = value
    return K


def _tuned(squares, scales):
    """Return exp(-squares / scales); where a scale is 0, 1 for squares of 0, else 0."""
    exponents = np.divide(squares, scales, out=np.full_like(squares, np.inf), where=scales > 0)
    exponents[squares == 0] = 0.0
    return np.exp(-exponents)


def _self_tuned(X, n_neighbors):
    # One sample has an affinity to itself alone.
    n = X.shape[0]
    if n == 1:
        return np.ones((1, 1), dtype=X.dtype)
    require_memory(
        n, n, X.dtype.itemsize, what="the affinity matrix",
        instead="use kind='nearest_neighbors', which is sparse",
    )  # fmt: skip
    # The scale of a sample is the distance from its k-th neighbour.
    sigma = nearest_neighbors(X, min(n_neighbors, n - 1)).distances[:, -1]
    K = scratch_array((n, n), X.dtype)
    X = X.astype(np.float64)
    direct = not sp.issparse(X) and X.shape[1] <= _FEW_FEATURES
    if not sp.issparse(X):
        X -= X.mean(axis=0)
    # Compute blocks of rows from the diagonal on, and mirror them.
    norms = np.asarray((X * X).sum(axis=1)).ravel()
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        if direct:
            squares = cdist(X[rows], X[start:], "sqeuclidean")
        else:
            with single_threaded_blas():
                products = X[rows] @ X[start:].T
            products = products.toarray() if sp.issparse(products) else products
            squares = np.maximum(norms[rows, None] + norms[start:] - 2.0 * products, 0.0)
        values = _tuned(squares, sigma[rows, None] * sigma[start:])
        K[start:, rows] = values.T
        K[rows, rows.stop :] = values[:, rows.stop - start :]
        own = np.triu(K[rows, rows], 1)  # the mirrored product may round differently
        K[rows, rows] = own + own.T
    K.flat[:: n + 1] = 1.0
    return K
